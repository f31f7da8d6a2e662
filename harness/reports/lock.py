"""One run at a time writes into a reports folder: a second one would tear the record of the first.

The lock is the operating system's own, on an open file: it ends with the process, however that ends. Where the system
has no such locks (Windows, some network folders), nothing is locked.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.reports.record import RecordError

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # pragma: no cover - Windows
    flock = None  # type: ignore[assignment]

LOCK_NAME = ".lock"


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Hold `folder`, which exists, for one run. Raises RecordError if another run holds it, or it takes no file."""
    try:
        file = (folder / LOCK_NAME).open("ab")
    except OSError as error:
        raise RecordError(f"{folder}: cannot be written: {error.strerror}; choose another --output folder") from None
    with file:
        if flock is not None:
            try:
                flock(file, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                words = "another run is writing there; wait for its end, or choose another --output folder"
                raise RecordError(f"{folder}: {words}") from None
            except OSError:
                pass  # no locks in this file system
        yield
