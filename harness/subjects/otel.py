"""The calls of a run as OpenTelemetry spans, `execute_tool NAME`, by the GenAI semantic conventions.

Give a `CallSpans` to a driver as its `told_call` port. Trace and span ids are those of the records, so that a resumed
run goes on in its trace. Spans hold no argument and no result. This module alone knows the OpenTelemetry SDK; nothing
imports it unless spans are wanted.
"""

try:
    from opentelemetry.context import Context
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
    from opentelemetry.sdk.trace.id_generator import IdGenerator
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON
    from opentelemetry.trace import SpanKind, Status, StatusCode
except ImportError as missing:
    raise ImportError(
        f"spans need the OpenTelemetry SDK ({missing}); install it: pip install 'run-loop-harness[otel]'"
    ) from missing

from harness import __version__
from harness.redaction.scrub import redact
from harness.vocabulary import call_attributes as names
from harness.vocabulary.tools import CallRecord, OutcomeClass

_FAILED = (OutcomeClass.ERROR, OutcomeClass.UNCERTAIN)
_NANOSECONDS = 1_000_000_000


class CallSpans:
    """Exports one span a call, at once. A call that was denied, refused or cancelled was not executed: it has none.

    Times are those of the run's clock, taken as seconds since the epoch. `error.type` is the outcome class, `error` or
    `uncertain`. An exporter that fails is logged by the SDK and never ends the run.
    """

    def __init__(self, exporter: SpanExporter, *, service: str = "run-loop-harness") -> None:
        self._ids = _RecordIds()
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource({"service.name": service}),
            shutdown_on_exit=False,
            id_generator=self._ids,
        )
        self._provider.add_span_processor(SimpleSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("harness.loop", __version__)

    def __call__(self, call: CallRecord) -> None:
        """Export the span of a call that a driver tells."""
        if call.outcome is None:
            return
        ended = round((call.ended_at or 0.0) * _NANOSECONDS)
        begun = ended - round((call.latency_ms or 0.0) * 1_000_000)
        self._ids.call = call
        # An empty context: a span that happens to be current is no parent of a call of this run.
        span = self._tracer.start_span(
            f"{names.EXECUTE_TOOL} {redact(call.tool)}",
            context=Context(),
            kind=SpanKind.INTERNAL,
            attributes=_attributes(call),
            start_time=begun,
        )
        if call.outcome in _FAILED:
            span.set_status(Status(StatusCode.ERROR))
        span.end(end_time=ended)

    def close(self) -> None:
        """Shut the exporter down."""
        self._provider.shutdown()


def _attributes(call: CallRecord) -> dict[str, str | int | bool]:
    assert call.outcome is not None
    made: dict[str, str | int | bool | None] = {
        names.OPERATION: names.EXECUTE_TOOL,
        names.TOOL: redact(call.tool),
        names.TOOL_TYPE: "function",
        names.CALL_ID: call.call_id or None,
        names.ERROR_TYPE: call.outcome.value if call.outcome in _FAILED else None,
        names.SIGNATURE: call.signature,
        names.OUTCOME_CLASS: call.outcome.value,
        names.OUTCOME_HASH: call.outcome_hash,
        names.COUNTED: call.counted,
        names.STEP: call.step,
    }
    return {name: value for name, value in made.items() if value is not None}


class _RecordIds(IdGenerator):
    """The ids of the call at hand."""

    call: CallRecord

    def generate_span_id(self) -> int:
        return int(self.call.span_id, 16)

    def generate_trace_id(self) -> int:
        return int(self.call.trace_id, 16)
