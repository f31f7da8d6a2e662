"""A turn of the script, prepared once and played as often as it repeats: neutral parts, ids, usage.

Reasoning is given in the provider's own shape, so that its replay can be judged; on Chat and on the XML fallback there
is none in a turn (wire facts 2.1).
"""

from base64 import b64encode
from dataclasses import dataclass, field
from hashlib import sha256

from harness.scenario.arms import SIM
from harness.scenario.format import Scenario
from harness.scenario.format_script import Call, Turn, UsageSpec
from harness.scenario.format_tools import Tool
from harness.scenario.known_calls import PREFIX
from harness.scenario.plan import arguments_text, compact
from harness.vocabulary.content import AssistantMessage, AssistantPart, Opaque, Refusal, Text, ToolCall
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.vocabulary.usage import Usage

DEFAULT_USAGE = Usage(input_tokens=100, cached_tokens=0, cache_write_tokens=0, output_tokens=10, reasoning_tokens=0)
"""What a turn costs where the script does not say."""
MARK = "{n}"
_NUMBER = "\x00n"
_NUMERIC = ("integer", "number")


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A scripted call. `varies`: its arguments hold `{n}`. `call_id` None: it takes its number in the run."""

    tool: str
    arguments: str
    varies: bool
    call_id: str | None


@dataclass(frozen=True, slots=True)
class PreparedTurn:
    """A turn of the script for one transport. `spec` is as it was written."""

    spec: Turn
    transport: str
    calls: tuple[PreparedCall, ...]
    usage: Usage
    stop: StopReason
    spoken: tuple[AssistantPart, ...]
    varies: bool
    fixed: ModelTurn | None = field(default=None, compare=False)

    def play(self, repetition: int, first_call: int) -> ModelTurn:
        """The turn in its `repetition` (from 1); its calls are numbered from `first_call`."""
        if self.fixed is not None:
            return self.fixed
        parts: list[AssistantPart] = list(self.spoken)
        if self.varies:
            parts = [self._filled(part, repetition) for part in parts]
        for place, call in enumerate(self.calls):
            text = call.arguments.replace(MARK, str(repetition)) if call.varies else call.arguments
            call_id = f"{PREFIX}{first_call + place}" if call.call_id is None else call.call_id
            if self.varies:
                call_id = call_id.replace(MARK, str(repetition))
            parts.append(ToolCall(call_id, call.tool, text))
        return ModelTurn(message=AssistantMessage(tuple(parts)), stop=self.stop, usage=self.usage)

    def _filled(self, part: AssistantPart, repetition: int) -> AssistantPart:
        if isinstance(part, (Text, Refusal)):
            return type(part)(part.text.replace(MARK, str(repetition)))
        # Sealed anew: another thought has another seal.
        thought = reasoning((self.spec.reasoning or "").replace(MARK, str(repetition)), self.transport)
        return part if thought is None else thought


def prepared(scenario: Scenario, transport: str) -> tuple[PreparedTurn, ...]:
    """The script for one transport."""
    return tuple(_prepare(turn, scenario, transport) for turn in scenario.script)


def _prepare(turn: Turn, scenario: Scenario, transport: str) -> PreparedTurn:
    repeats = turn.repeat > 1
    calls = tuple(_prepare_call(call, scenario.tools.get(call.tool), repeats) for call in turn.calls)
    spoken = tuple(_spoken(turn, transport))
    texts = (turn.say, turn.refusal, turn.reasoning, *[one.id for one in turn.calls])
    varies = repeats and any(MARK in (text or "") for text in texts)
    usage, stop = usage_of(turn.usage), _stop(turn)
    fixed = None
    if not calls and not varies:
        fixed = ModelTurn(message=AssistantMessage(spoken), stop=stop, usage=usage)
    return PreparedTurn(turn, transport, calls, usage, stop, spoken, varies, fixed)


def _prepare_call(call: Call, tool: Tool | None, repeats: bool) -> PreparedCall:
    text = arguments_text(call)
    if repeats and MARK in text and call.arguments is not None:
        text = compact(_numbered(call.arguments, tool)).replace(compact(_NUMBER), MARK)
    return PreparedCall(call.tool, text, repeats and MARK in text, call.id)


def _numbered(arguments: dict[str, object], tool: Tool | None) -> dict[str, object]:
    """The arguments with `{n}` marked as a number where the tool's schema asks for one."""
    schema = tool.parameters if tool is not None and tool.parameters is not None else {}
    properties = schema.get("properties", {})
    numeric = {name for name, one in properties.items() if isinstance(one, dict) and one.get("type") in _NUMERIC}
    return {name: _NUMBER if value == MARK and name in numeric else value for name, value in arguments.items()}


def _spoken(turn: Turn, transport: str) -> list[AssistantPart]:
    parts: list[AssistantPart] = []
    thought = reasoning(turn.reasoning, transport) if turn.reasoning is not None else None
    if thought is not None:
        parts.append(thought)
    if turn.say is not None:
        parts.append(Refusal(turn.say) if turn.stop == "refusal" else Text(turn.say))
    if turn.refusal is not None:
        parts.append(Refusal(turn.refusal))
    return parts


def _stop(turn: Turn) -> StopReason:
    if turn.stop is not None:
        return StopReason(turn.stop)
    if turn.calls:
        return StopReason.TOOL_CALLS
    return StopReason.REFUSAL if turn.refusal is not None else StopReason.END


def reasoning(text: str, transport: str) -> Opaque | None:
    """Hidden thinking in the shape of the transport's provider; None where a turn cannot hold it."""
    seal = b64encode(sha256(text.encode()).digest() * 2).decode()
    if transport == "anthropic-messages":
        return Opaque(transport, {"type": "thinking", "thinking": text, "signature": seal})
    if transport == "openai-responses":
        name = "rs_" + sha256(text.encode()).hexdigest()[:24]
        summary = [{"type": "summary_text", "text": text}]
        return Opaque(transport, {"id": name, "type": "reasoning", "summary": summary, "encrypted_content": seal})
    return Opaque(SIM, {"text": text}) if transport == SIM else None


def usage_of(spec: UsageSpec | None) -> Usage:
    """Tokens of a turn: what is given, the default for what is left out, None for what is null."""
    if spec is None:
        return DEFAULT_USAGE
    counted = {
        "input": DEFAULT_USAGE.input_tokens,
        "cached": DEFAULT_USAGE.cached_tokens,
        "cache_write": DEFAULT_USAGE.cache_write_tokens,
        "output": DEFAULT_USAGE.output_tokens,
        "reasoning": DEFAULT_USAGE.reasoning_tokens,
    }
    counted |= {name: getattr(spec, name) for name in spec.model_fields_set}
    return Usage(**{f"{name}_tokens": value for name, value in counted.items()})
