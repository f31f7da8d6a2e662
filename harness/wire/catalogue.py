"""All rules of all wires by their ids, for those who explain or list them."""

from typing import Any

from harness.wire.rules import Rule


def rules() -> dict[str, Rule[Any]]:
    """Rule by id, wire by wire, each wire in the order in which its provider looks."""
    from harness.wire.anthropic_messages.oracle import RULES as MESSAGES
    from harness.wire.openai_chat.oracle import RULES as CHAT
    from harness.wire.openai_responses.oracle import RULES as RESPONSES
    from harness.wire.xml_fallback.oracle import PROTOCOL_RULES as XML

    wires = ("openai-responses", "openai-chat", "anthropic-messages", "xml-fallback")
    tables: tuple[tuple[Rule[Any], ...], ...] = (RESPONSES, CHAT, MESSAGES, XML)
    shapes = [_shape(wire) for wire in wires]
    return {rule.id: rule for table in (*tables, shapes) for rule in table}


def _shape(wire: str) -> Rule[Any]:
    """The rule that a decoder keeps while it reads: its messages name the part that has a wrong shape."""
    return Rule(
        id=f"wire.{wire}.shape",
        statement="The body is JSON, and each part of it has the type that the API reference gives.",
        message="names the part, and what was expected there",
        source="API reference, request bodies",
        mend="send the shape that the API reference gives",
        find=lambda _: (),
    )
