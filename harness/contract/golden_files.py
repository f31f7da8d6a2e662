"""Golden payloads as files a reviewer can read: one JSON document each, keys in the order of the wire.

The extension only delegates: syrupy stores and asserts; how a payload is written down is `readable`. It is loaded by
suites that use it, and needs syrupy's pytest plugin there.
"""

import json
from typing import Any

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


def readable(payload: bytes) -> str:
    """A payload's JSON, indented, key order and every character kept."""
    return json.dumps(json.loads(payload), indent=2, ensure_ascii=False) + "\n"


class GoldenPayload(SingleFileSnapshotExtension):
    """One payload, one file, called as the assertion calls it: `assert payload == snapshot(name=...)`."""

    _write_mode = WriteMode.TEXT
    file_extension = "json"

    def serialize(self, data: Any, **_: Any) -> str:
        """The file's text. `data` is a payload's bytes."""
        return readable(data)

    @classmethod
    def get_snapshot_name(cls, *, test_location: Any, index: Any = 0) -> str:
        """The name that the assertion gives, where it gives one."""
        named = index if isinstance(index, str) else None
        return named or str(super().get_snapshot_name(test_location=test_location, index=index))
