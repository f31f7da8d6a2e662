"""What the installed SDKs' types say of the places that the transports rely on, in a form to commit and compare.

One line a place: its JSON types, the strings it allows, and whether it must be there. Places that are only written
(ornaments of encoded answers) are left out, and so is what only the SDKs know.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from harness.recording.drift import every, ground
from harness.recording.drift_sides import written
from harness.recording.reliance import relied_on
from harness.recording.shapes import Ground, Shape
from harness.wire.registry import CODEC_IDS
from harness.wire.schema import PARTS

Lines: TypeAlias = dict[str, dict[str, str]]
"""Part -> place -> what is said of it."""


def ground_of(transport: str) -> Lines:
    """The ground of one wire. A place that the types do not name says "not named"."""
    found: Lines = {}
    for part in PARTS:
        types = ground(transport, part)
        ours = Shape(types)
        for document in written(transport, part):
            ours.add(document)
        relied = relied_on(transport, part, every(ours))
        found[part] = {place: _said(types, place) for place in sorted(relied & set(ours.places))}
    return found


def _said(types: Ground, place: str) -> str:
    known = types.at(place)
    if known is None:
        return "not named"
    kinds = "any" if known.free else "|".join(sorted(known.kinds))
    values = f" {'|'.join(sorted(known.values))}" if known.values else ""
    above, _, name = place.rpartition("/")
    holder = types.at(above)
    return f"{kinds}{values}{', required' if holder and name in holder.required else ''}"


def differences(was: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]) -> list[str]:
    """One line a place that differs, in order of parts and places; [] where nothing does."""
    found = []
    for part in now:
        before, after = was.get(part, {}), now[part]
        for place in sorted(set(before) | set(after)):
            if place not in before:
                found.append(f"{part} {place}: new; {after[place]}")
            elif place not in after:
                found.append(f"{part} {place}: gone; was {before[place]}")
            elif before[place] != after[place]:
                found.append(f"{part} {place}: was {before[place]}; is {after[place]}")
    return found


def ground_text(ground: Mapping[str, object]) -> str:
    """The file's text."""
    return json.dumps(ground, indent=1, ensure_ascii=False) + "\n"


def write(file: Path) -> None:
    """Write the ground of all wires."""
    file.write_text(ground_text({transport: ground_of(transport) for transport in CODEC_IDS}), encoding="utf-8")
