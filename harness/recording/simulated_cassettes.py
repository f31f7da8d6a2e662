"""Records the project's own cassettes from the simulated provider, over a real socket of 127.0.0.1.

One conversation each: the model asks for two tools, gets their results, and answers. `make cassettes` records them all;
equal code records equal bytes, and a file whose exchanges are the same keeps its date.
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.contract.sample_requests import ORDINARY
from harness.data_root import data_root
from harness.provider.loopback import LoopbackServer
from harness.provider.replies import Reply, TurnReply
from harness.provider.simulated import SimulatedProvider
from harness.recording.vcr_config import Origin, origin_of, recorder
from harness.transports.client import ModelClient
from harness.transports.registry import TRANSPORT_IDS
from harness.vocabulary.content import AssistantMessage, Item, Opaque, Text, ToolCall, ToolResult
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import TurnEnded
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.vocabulary.usage import Usage

_REASONING = {
    "openai-responses": {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Two look-ups."}],
        "encrypted_content": "c2ltdWxhdGVk",
    },
    "anthropic-messages": {"type": "thinking", "thinking": "Two look-ups.", "signature": "c2ltdWxhdGVk"},
}
_PARTS = (
    Text("I look in two places."),
    ToolCall("call_1", "search", '{"query":"stamps"}'),
    ToolCall("call_2", "clock", "{}"),
)
_RESULTS = {"search": "1. Café <Zur Post> & Söhne", "clock": "16:05"}


def scripted(transport: str) -> tuple[ModelTurn, ModelTurn]:
    """The two turns that the provider plays."""
    thought = (Opaque(transport, _REASONING[transport]),) if transport in _REASONING else ()
    asks = ModelTurn(
        message=AssistantMessage((*thought, *_PARTS)),
        stop=StopReason.TOOL_CALLS,
        usage=Usage(input_tokens=210, output_tokens=41),
    )
    says = ModelTurn(
        message=AssistantMessage((Text("Café Zur Post & Söhne: 郵便局 — open until 18:00."),)),
        stop=StopReason.END,
        usage=Usage(input_tokens=290, output_tokens=17),
    )
    return asks, says


async def converse(client: ModelClient) -> list[ModelTurn]:
    """The conversation from the client's side; the turns that it read. Raises RuntimeError where an attempt fails."""
    items: list[Item] = [ORDINARY.items[0]]
    turns: list[ModelTurn] = []
    for _ in range(2):
        turn = await _turn(client, replace(ORDINARY, items=tuple(items)))
        turns.append(turn)
        items.append(turn.message)
        items += [
            ToolResult(call_id=call.call_id, tool=call.name, content=(Text(_RESULTS[call.name]),))
            for call in turn.message.calls
        ]
    return turns


async def _turn(client: ModelClient, request: ModelRequest) -> ModelTurn:
    events = [event async for event in client.attempt(request)]
    end = events[-1]
    if not isinstance(end, TurnEnded):
        raise RuntimeError(f"the attempt failed: {end}")
    return end.turn


class _Script:
    """Plays its turns in order."""

    def __init__(self, turns: Sequence[ModelTurn]) -> None:
        self._turns = turns

    def reply(self, n: int, request: ModelRequest) -> Reply:
        return TurnReply(self._turns[n - 1])


def base_url(transport: str, host: str) -> str:
    """What the SDK of a transport takes."""
    return host if transport == "anthropic-messages" else f"{host}/v1"


def place(folder: Path, transport: str, streaming: bool) -> Path:
    """Where below `folder` a cassette stands."""
    return folder / transport / f"tool-loop-{'stream' if streaming else 'plain'}.yaml"


def record(folder: Path, transport: str, streaming: bool, origin: Origin) -> Path:
    """Record one cassette below `folder` and return it.

    Raises RuntimeError where an attempt fails or the provider finds fault; the file that was there then stays.
    """
    file = place(folder, transport, streaming)
    provider = SimulatedProvider(transport, _Script(scripted(transport)), lambda record: None, lambda: 0.0)
    with TemporaryDirectory() as scratch:
        draft = Path(scratch) / file.name
        with LoopbackServer(provider) as server, recorder(origin=origin, mode="all").use_cassette(str(draft)):
            asyncio.run(_recorded(transport, streaming, server.url))
        if provider.faults or any(exchange.violations for exchange in provider.exchanges):
            raise RuntimeError(f"{file}: the provider found fault: {provider.faults or provider.exchanges}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(draft.read_bytes())
    return file


async def _recorded(transport: str, streaming: bool, host: str) -> None:
    client = ModelClient(transport, base_url=base_url(transport, host), stream=streaming, timeout=10.0)
    try:
        await converse(client)
    finally:
        await client.aclose()


def unchanged(file: Path, transport: str, streaming: bool) -> bool:
    """Whether recording again, on the same date, gives the bytes that are there."""
    if not file.is_file():
        return False
    with TemporaryDirectory() as scratch:
        again = record(Path(scratch), transport, streaming, origin_of(file))
        return again.read_bytes() == file.read_bytes()


def main(folder: Path | None = None) -> None:
    """Record all cassettes; write those whose exchanges have changed."""
    folder = folder or data_root() / "cassettes"
    origin = Origin(origin="simulated", date=datetime.now(UTC).date().isoformat())
    for transport in TRANSPORT_IDS:
        for streaming in (True, False):
            file = place(folder, transport, streaming)
            same = unchanged(file, transport, streaming)
            if not same:
                record(folder, transport, streaming, origin)
            sys.stdout.write(f"{'unchanged' if same else 'recorded':10} {file}\n")


if __name__ == "__main__":
    main()
