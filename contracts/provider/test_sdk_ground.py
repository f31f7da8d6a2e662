"""The ground that the installed SDKs give: when an upgrade moves it, this says where.

`sdk-ground.json` beside this file lists, for each place of payloads and answers that the transports rely on, what the
SDK's types say of it. `make ground` writes it anew: read the difference before you commit it.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from harness.recording.ground import differences, ground_of, ground_text
from harness.wire.registry import CODEC_IDS

FILE = Path(__file__).with_name("sdk-ground.json")


def committed() -> dict[str, Any]:
    ground: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return ground


@pytest.mark.parametrize("transport", CODEC_IDS)
def test_the_sdks_types_are_what_they_were(transport: str) -> None:
    moved = differences(committed()[transport], ground_of(transport))
    assert not moved, "\n".join(
        ["the SDK's types, or what relies on them, have changed: read, mend, `make ground`", *moved]
    )


def test_the_file_covers_every_wire_and_is_as_it_is_written() -> None:
    assert list(committed()) == list(CODEC_IDS)
    assert FILE.read_text(encoding="utf-8") == ground_text(committed())


def test_each_kind_of_change_is_named() -> None:
    was = committed()["openai-chat"]
    now = copy.deepcopy(was)
    del now["answer"]["/choices/*/message/tool_calls"]
    now["answer"]["/id"] = "integer"
    now["answer"]["/choices/*/finish_reason"] += "|tired"
    now["answer"]["/carbon"] = "number"
    assert differences(was, now) == [
        "answer /carbon: new; number",
        f"answer /choices/*/finish_reason: was {was['answer']['/choices/*/finish_reason']}; "
        f"is {now['answer']['/choices/*/finish_reason']}",
        "answer /choices/*/message/tool_calls: gone; was array|null",
        f"answer /id: was {was['answer']['/id']}; is integer",
    ]
