"""Plays a cassette in place of a provider, and says in one sentence what did not fit.

A miss comes out of one SDK bare and out of the other as a failed connection; here both become one error that names the
cassette, the place in the payload and the mend. An interaction that nobody asked for is an error too.
Source: wire facts 1 (vcrpy).
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.recording.differences import first_difference
from harness.recording.vcr_config import origin_of, recorder

_MEND = "if the change is meant, record the cassette anew"


class CassetteMiss(ValueError):
    """What was asked for is not what the cassette holds. The text names the file, the place and the mend."""


@contextmanager
def replaying(file: Path) -> Iterator[Any]:
    """Answer every HTTP request from a cassette while the context is open; nothing is recorded or sent.

    Raises ValueError for a file that is no cassette, CassetteMiss for a request that it does not hold (also where an
    SDK has wrapped the miss), and CassetteMiss where interactions were left unplayed.
    """
    origin_of(file)
    with recorder().use_cassette(str(file)) as cassette:
        try:
            yield cassette
        except Exception as error:
            miss = _miss_behind(error)
            if miss is None:
                raise
            raise CassetteMiss(f"{file}: {_what_differs(cassette, miss.failed_request)}; {_MEND}") from error
        if not cassette.all_played:
            played = f"{cassette.play_count} of {len(cassette)} interactions were asked for"
            raise CassetteMiss(f"{file}: only {played}; {_MEND}")


def _miss_behind(error: BaseException | None) -> Any:
    """The recorder's own error, which an SDK may have wrapped; None where there is none."""
    from vcr.errors import CannotOverwriteExistingCassetteException

    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, CannotOverwriteExistingCassetteException):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


def _what_differs(cassette: Any, failed: Any) -> str:
    """The request against the next interaction that nobody has asked for; both are redacted."""
    sent = cassette.filter_request(failed)
    waiting = [number for number in range(len(cassette)) if not cassette.play_counts[number]]
    if not waiting:
        return f"{sent.method} {sent.path} comes after all {len(cassette)} interactions were played"
    recorded = cassette.requests[waiting[0]]
    where = f"interaction {waiting[0] + 1} of {len(cassette)}"
    if (recorded.method, recorded.path) != (sent.method, sent.path):
        return f"{where} is {recorded.method} {recorded.path}, asked for is {sent.method} {sent.path}"
    difference = first_difference(_parsed(recorded.body), _parsed(sent.body))
    if difference is None:
        return f"{where} has another payload: a value has another type, or a key stands twice"
    pointer = difference.pointer or "the payload"
    return f"{where} has another payload: {pointer} is {difference.before} there, {difference.after} was sent"


def _parsed(body: Any) -> Any:
    try:
        return json.loads(body or b"")
    except (ValueError, RecursionError):
        return body
