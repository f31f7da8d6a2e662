"""A case: one scenario on one transport in one streaming mode, and the names it goes by.

The item id is what pytest, every report and the command line use. The run id is a short code of the case, its subject
and its seed: the same everywhere, so that a replay needs no record of the failing run (scenarios.md, "A failure, as
printed").
"""

import re
from dataclasses import dataclass
from hashlib import sha256

SIM = "sim"
"""Stands for the transport where there is no wire."""
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no letter that reads like a digit."""
_LENGTH = 6
_ITEM = re.compile(
    r"(?P<scenario>[a-z0-9-]{1,80})\[(?:(?P<sim>sim)|(?P<transport>[a-z-]+?)-(?P<mode>stream|plain))\]\Z"
)


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """`transport` is a transport id, or "sim"; `streaming` is None at depth sim, where no bytes flow."""

    scenario: str
    transport: str
    streaming: bool | None

    @property
    def column(self) -> str:
        """What is in brackets in the item id: `openai-chat-stream`, `openai-chat-plain`, `sim`."""
        if self.streaming is None:
            return self.transport
        return f"{self.transport}-{'stream' if self.streaming else 'plain'}"

    @property
    def item_id(self) -> str:
        """`<scenario>[<column>]`."""
        return f"{self.scenario}[{self.column}]"


def parse_item_id(text: str) -> Case | None:
    """The case of an item id; None for any other text."""
    match = _ITEM.match(text)
    if match is None:
        return None
    if match["sim"]:
        return Case(match["scenario"], SIM, None)
    return Case(match["scenario"], match["transport"], match["mode"] == "stream")


def run_id(case: Case, subject: str, seed: int) -> str:
    """Six characters that name this case of this subject under this seed."""
    digest = sha256(f"{case.item_id}\n{subject}\n{seed}".encode(errors="surrogatepass")).digest()
    number = int.from_bytes(digest[:8], "big")
    return "".join(_ALPHABET[number >> 5 * place & 31] for place in range(_LENGTH))


def is_run_id(text: str) -> bool:
    """Whether the text has the form of a run id (in either letter case)."""
    return len(text) == _LENGTH and all(letter in _ALPHABET for letter in text.upper())
