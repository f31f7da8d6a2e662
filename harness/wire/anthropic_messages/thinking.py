"""Messages rules of thinking: which settings and which effort a model takes, where the blocks stand, that they are
signed. That they come back unchanged is in `replay`.
"""

from collections.abc import Iterator

from harness.wire.anthropic_messages import models
from harness.wire.anthropic_messages.view import THINKING, Turn, View
from harness.wire.rules import Hit, Rule

_ERRORS = "documentation of errors and of extended thinking; public reports of this text"


def _small_budget(view: View) -> Iterator[Hit]:
    budget = view.thinking.get("budget_tokens")
    if view.thinking.get("type") == "enabled" and isinstance(budget, int) and budget < 1024:
        yield Hit("/thinking/budget_tokens")


def _large_budget(view: View) -> Iterator[Hit]:
    budget, limit = view.thinking.get("budget_tokens"), view.payload.get("max_tokens")
    manual = view.thinking.get("type") == "enabled" and not view.payload.get("tools")
    if manual and isinstance(budget, int) and isinstance(limit, int) and budget >= limit:
        yield Hit("/max_tokens")


def _forced(view: View) -> Iterator[Hit]:
    choice = view.payload.get("tool_choice")
    forces = isinstance(choice, dict) and choice.get("type") in ("any", "tool")
    if forces and view.thinking.get("type") == "enabled":
        yield Hit("/tool_choice")


def _no_manual(view: View) -> Iterator[Hit]:
    if view.thinking.get("type") == "enabled" and models.refuses_manual_thinking(view.model):
        yield Hit("/thinking/type")


def _no_adaptive(view: View) -> Iterator[Hit]:
    if view.thinking.get("type") == "adaptive" and models.refuses_adaptive_thinking(view.model):
        yield Hit("/thinking/type")


def _always_on(view: View) -> Iterator[Hit]:
    if view.thinking.get("type") == "disabled" and models.always_thinks(view.model):
        yield Hit("/thinking/type")


def _no_effort(view: View) -> Iterator[Hit]:
    if view.effort is not None and models.efforts(view.model) == ():
        yield Hit("/output_config/effort")


def _other_effort(view: View) -> Iterator[Hit]:
    taken = models.efforts(view.model)
    if view.effort is not None and taken and view.effort not in taken:
        yield Hit("/output_config/effort", {"effort": view.effort, "taken": ", ".join(sorted(taken))})


def _unsigned(view: View) -> Iterator[Hit]:
    for block in view.blocks:
        key = {"thinking": "signature", "redacted_thinking": "data"}.get(block.kind)
        if key is not None and not isinstance(block.body.get(key), str):
            words = {"i": block.i, "j": block.j, "kind": block.kind, "key": key}
            yield Hit(f"{block.pointer}/{key}", words)


def _no_thinking(view: View) -> Iterator[Hit]:
    if view.thinking.get("type") != "enabled":
        return
    said = _open_turn(view)
    first = said.blocks[0] if said is not None and said.blocks else None
    if first is not None and first.kind not in THINKING:
        yield Hit(first.pointer, {"i": first.i, "j": first.j, "kind": first.kind})


def _open_turn(view: View) -> Turn | None:
    """The assistant turn that began the tool loop which the request goes on with; None if it goes on with none."""
    begun: Turn | None = None
    for turn in view.turns:
        if turn.role == "assistant":
            begun = begun or turn
        elif turn.role == "user" and not turn.of("tool_result"):
            begun = None
    last = view.turns[-1] if view.turns else None
    return begun if last is not None and last.of("tool_result") else None


THINKING_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.anthropic-messages.thinking-budget-minimum",
        statement="A manual thinking budget is at least 1024 tokens.",
        message="thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        source="documentation of extended thinking",
        mend="give a budget of 1024 or more, or adaptive thinking",
        find=_small_budget,
    ),
    Rule(
        id="wire.anthropic-messages.thinking-budget-below-limit",
        statement="Without tools (interleaved thinking), the thinking budget is below max_tokens.",
        message="`max_tokens` must be greater than `thinking.budget_tokens`",
        source="documentation of extended thinking; public reports of this text",
        mend="raise max_tokens above the budget",
        find=_large_budget,
    ),
    Rule(
        id="wire.anthropic-messages.thinking-not-forced",
        statement="With manual thinking, tool_choice forces no tool.",
        message="Thinking may not be enabled when tool_choice forces tool use.",
        source="github.com/mastra-ai/mastra/issues/7507",
        mend="use adaptive thinking, or tool_choice auto or none",
        find=_forced,
    ),
    Rule(
        id="wire.anthropic-messages.thinking-not-manual",
        statement="Since 4.7 there is no manual thinking (a budget).",
        message='"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
        source=_ERRORS,
        mend="send adaptive thinking, and the depth as output_config.effort",
        find=_no_manual,
    ),
    Rule(
        id="wire.anthropic-messages.thinking-not-adaptive",
        statement="Before 4.6 there is no adaptive thinking.",
        message="adaptive thinking is not supported on this model",
        source=_ERRORS,
        mend="give a manual budget, or no thinking",
        find=_no_adaptive,
    ),
    Rule(
        id="wire.anthropic-messages.thinking-not-disabled",
        statement="Models whose thinking is always on (Fable, Mythos) do not take it disabled.",
        message='"thinking.type.disabled" is not supported for this model. Thinking defaults to adaptive mode when not '
        'specified; use "thinking.type.enabled" with "budget_tokens" for extended thinking.',
        source=_ERRORS,
        mend="leave `thinking` out",
        find=_always_on,
    ),
    Rule(
        id="wire.anthropic-messages.effort-supported",
        statement="Effort is for Opus 4.5 and models since 4.6.",
        message="This model does not support the effort parameter.",
        source="public reports of this text (claude-haiku-4-5)",
        mend="leave output_config.effort out",
        find=_no_effort,
    ),
    Rule(
        id="wire.anthropic-messages.effort-level",
        statement="The effort is a level of the model: Opus 4.6 has no xhigh, Opus 4.5 neither xhigh nor max.",
        message="This model does not support effort level '{effort}'. Supported levels: {taken}.",
        source="recorded 400 answer of api.anthropic.com",
        recorded="400 for claude-opus-4-6 with xhigh",
        mend="choose one of the levels that the answer names",
        find=_other_effort,
    ),
    Rule(
        id="wire.anthropic-messages.thinking-signed",
        statement="A replayed thinking block carries its signature, a redacted one its data.",
        message="messages.{i}.content.{j}.{kind}.{key}: Field required",
        source="API reference, thinking blocks; public reports of this text",
        mend="replay the block as it was received",
        find=_unsigned,
    ),
    Rule(
        id="wire.anthropic-messages.thinking-first",
        statement="With manual thinking, the assistant turn whose tools are being answered starts with thinking.",
        message="messages.{i}.content.{j}.type: Expected `thinking` or `redacted_thinking`, but found `{kind}`. When "
        "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost "
        "set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns.",
        source="github.com/pydantic/pydantic-ai/issues/2075",
        mend="replay the thinking blocks of the turn, first and unchanged, or disable thinking",
        find=_no_thinking,
    ),
)
