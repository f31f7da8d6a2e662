"""Expectations of single model requests (the `requests` of an `expect` block).

What the wire showed is looked at; on the XML fallback, whose requests leave the tools out in synthesis, `tools` is
compared in the subject's own neutral request where it shows one (scenarios.md).
"""

from collections.abc import Callable, Iterator, Mapping

from harness.checks.context import is_pointer
from harness.scenario.delivered import XML
from harness.scenario.expect_run import Judged, Look, shown, texts
from harness.scenario.format_expect import Expect, RequestExpect, TextExpect
from harness.scenario.reading import choice_word, control_word, texts_of
from harness.scenario.seen import Seen
from harness.vocabulary.content import ToolResult
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.trace import RequestSent


def requests(expect: Expect, seen: Seen) -> Look:
    """All of them."""
    for wanted in expect.requests:
        chosen = _chosen(wanted, seen)
        if not chosen:
            yield Judged(False, f"requests.{wanted.at}", "such a request", f"the run made {len(seen.requests)}")
        for sent in chosen:
            for key in sorted(wanted.model_fields_set - {"at"}):
                yield from _KEYS[key](wanted, sent, seen)


def _chosen(wanted: RequestExpect, seen: Seen) -> tuple[RequestSent, ...]:
    if wanted.at == "each":
        return seen.requests
    if wanted.at == "last":
        return seen.requests[-1:]
    return seen.requests[wanted.at - 1 : wanted.at] if isinstance(wanted.at, int) else ()


def _judged(sent: RequestSent, wanted: RequestExpect, key: str, kept: bool, expected: str, actual: str) -> Judged:
    return Judged(kept, f"requests.{wanted.at}.{key}", expected, actual, sent.n)


def _tool_choice(wanted: RequestExpect, sent: RequestSent, seen: Seen) -> Look:
    word = choice_word(sent.request, seen.arm.transport, tools=bool(seen.scenario.tools))
    yield _judged(sent, wanted, "tool_choice", word == wanted.tool_choice, str(wanted.tool_choice), word)


def _control(wanted: RequestExpect, sent: RequestSent, seen: Seen) -> Look:
    word = control_word(sent.request)
    yield _judged(sent, wanted, "control", word == wanted.control, str(wanted.control), word)


def _tools(wanted: RequestExpect, sent: RequestSent, seen: Seen) -> Look:
    first, now = _neutral(seen.requests[0]), _neutral(sent)
    exempt = _without_tools(sent, seen) and sent.built is None
    kept = exempt or first.tools == now.tools
    names = [tool.name for tool in now.tools]
    yield _judged(sent, wanted, "tools", kept, "the tools of the first request", "they are" if kept else f"{names}")


def _prefix(wanted: RequestExpect, sent: RequestSent, seen: Seen) -> Look:
    first, now = seen.requests[0].request, sent.request
    exempt = _without_tools(sent, seen)
    differs = [
        name
        for name in ("system", "tools")
        if getattr(first, name) != getattr(now, name) and not (exempt and name == "tools")
    ]
    actual = "it is" if not differs else f"another {' and other '.join(differs)}"
    yield _judged(sent, wanted, "prefix", not differs, "the frozen prefix of the first request", actual)


def _without_tools(sent: RequestSent, seen: Seen) -> bool:
    return seen.arm.transport == XML and sent.request.control is not None


def _neutral(sent: RequestSent) -> ModelRequest:
    return sent.request if sent.built is None else sent.built


def _elided(wanted: RequestExpect, sent: RequestSent, seen: Seen) -> Look:
    named = {name: seen.call_named(name) for name in wanted.elided or ()}
    expected = {name if call is None else call.call_id for name, call in named.items()}
    actual = {item.call_id for item in sent.request.items if isinstance(item, ToolResult) and is_pointer(item, item)}
    words = f"pointers for {sorted(expected) or 'no call'}"
    yield _judged(sent, wanted, "elided", expected == actual, words, f"pointers for {sorted(actual) or 'no call'}")


def _contains(wanted: RequestExpect, sent: RequestSent, seen: Seen) -> Look:
    yield from texts(f"requests.{wanted.at}", TextExpect(contains=wanted.contains), texts_of(sent.request), sent.n)


def _not_contains(wanted: RequestExpect, sent: RequestSent, seen: Seen) -> Look:
    none = TextExpect(not_contains=wanted.not_contains)
    yield from texts(f"requests.{wanted.at}", none, texts_of(sent.request), sent.n)


def _items(wanted: RequestExpect, sent: RequestSent, seen: Seen) -> Look:
    found = len(sent.request.items)
    yield _judged(sent, wanted, "items", found == wanted.items, shown(wanted.items), shown(found))


_KEYS: Mapping[str, Callable[[RequestExpect, RequestSent, Seen], Iterator[Judged]]] = {
    "tool_choice": _tool_choice,
    "control": _control,
    "tools": _tools,
    "prefix": _prefix,
    "elided": _elided,
    "contains": _contains,
    "not_contains": _not_contains,
    "items": _items,
}
