"""How the SDKs' types and recorded traffic differ from what is written here, place by place.

Three sides of one wire are laid beside each other: the installed SDK's types, what this project renders and encodes,
and what was recorded. What others have and we have not is news; what is ours and others have no longer, or have with
another type, breaks something where the parsers rely on it or the SDK would refuse it. Source: the SDKs' own types.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.recording.drift_sides import heard as recorded_documents
from harness.recording.drift_sides import written
from harness.recording.exchange import Exchange
from harness.recording.reliance import relied_on
from harness.recording.shapes import Ground, Known, Seen, Shape
from harness.wire.schema import PARTS, Part, sdk_schema

SDK, RECORDED = "sdk", "recorded"


class Change(StrEnum):
    """What kind of a difference it is, as seen from what is written here. A member is one of a union, told by its
    `type` or `role`: an item, a block, an event of a stream."""

    NEW_FIELD = "new-optional-field"
    NEW_REQUIRED = "new-required-field"
    NEW_VALUE = "new-value"
    NEW_MEMBER = "new-member"
    REMOVED_FIELD = "removed-field"
    REMOVED_VALUE = "removed-value"
    REMOVED_MEMBER = "removed-member"
    TYPE = "type-changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference at one place (see `recording.shapes` for places).

    `sides`, of "sdk" and "recorded": who has what is new, or has no longer what is ours. `name` is the value or member,
    "" for a field. `theirs` and `ours` are JSON types, where they differ. `breaks`: something here relies on it.
    `example` is the place of a recording that shows it, "" if none can.
    """

    transport: str
    part: Part
    place: str
    change: Change
    sides: tuple[str, ...]
    name: str = ""
    theirs: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()
    breaks: bool = False
    example: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    place: str
    change: Change
    name: str = ""
    theirs: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()
    breaks: bool = False
    example: str = ""


@dataclass(frozen=True, slots=True)
class _Spot:
    """One place from all sides. `relied` holds all places that the parsers rely on, `nullable` those where null is
    written here too: a field that may be null may as well be left out."""

    place: str
    known: Known | None
    ours: Seen | None
    heard: Seen | None
    relied: frozenset[str]
    nullable: frozenset[str]
    sent: bool


def ground(transport: str, part: Part) -> Ground:
    """The installed SDK's types of one part of a wire."""
    return Ground(sdk_schema(transport, part), closed=part != "request")


def drift(transports: Iterable[str], exchanges: Sequence[Exchange] | None = None) -> list[Difference]:
    """All differences of these transports: of the SDK's types from what is written here and, with exchanges, of those
    from both. The order is that of transports, parts and places."""
    found: list[Difference] = []
    for transport in transports:
        for part in PARTS:
            types = ground(transport, part)
            ours = Shape(types)
            for document in written(transport, part):
                ours.add(document)
            recorded = None if exchanges is None else Shape(types)
            for document, origin in recorded_documents(exchanges or (), transport, part):
                if recorded is not None:
                    recorded.add(document, origin)
            found += compare(transport, part, types, ours, recorded, relied_on(transport, part, every(ours)))
    return found


def every(shape: Shape) -> frozenset[str]:
    """All places of a shape, those of its members included."""
    tags = {f"{place}{{{tag}}}" for place, seen in shape.places.items() for tag in seen.tags}
    return frozenset(tags | set(shape.places))


def compare(
    transport: str, part: Part, types: Ground, ours: Shape, recorded: Shape | None, relied: frozenset[str]
) -> list[Difference]:
    """The differences of one part of one wire, each once with the sides that have it. `relied` are the places that the
    parsers cannot do without."""
    heard_places = recorded.places if recorded else {}
    nullable = frozenset(place for place, seen in ours.places.items() if "null" in seen.kinds)
    found: dict[tuple[str, Change, str], list[tuple[str, _Row]]] = {}
    for place in sorted(set(ours.places) | set(heard_places)):
        known, mine, heard = types.at(place), ours.places.get(place), heard_places.get(place)
        spot = _Spot(place, known, mine, heard, relied, nullable, part == "request")
        for side, rows in ((SDK, _by_types(spot)), (RECORDED, _by_traffic(spot))):
            for row in rows:
                found.setdefault((row.place, row.change, row.name), []).append((side, row))
    return [_merged(transport, part, rows) for rows in found.values()]


def _merged(transport: str, part: Part, rows: list[tuple[str, _Row]]) -> Difference:
    first = rows[0][1]
    return Difference(
        transport=transport,
        part=part,
        place=first.place,
        change=first.change,
        sides=tuple(side for side, _ in rows),
        name=first.name,
        theirs=first.theirs,
        ours=first.ours,
        breaks=any(row.breaks for _, row in rows),
        example=next((row.example for _, row in rows if row.example), ""),
    )


def _by_types(spot: _Spot) -> Iterator[_Row]:
    """What is written here, beside the SDK's types. A type that does not name what is still heard breaks nothing."""
    known, ours, place = spot.known, spot.ours, spot.place
    if ours is None:
        return
    if known is None:
        yield _Row(place, Change.REMOVED_FIELD, ours=_sorted(ours.kinds), breaks=_gone(spot))
        return
    if known.free:
        return
    if set(ours.kinds) - known.kinds:
        yield _Row(place, Change.TYPE, "", _sorted(known.kinds), _sorted(ours.kinds), breaks=True)
    if known.values is not None:
        yield from (_Row(place, Change.REMOVED_VALUE, one, breaks=True) for one in _less(ours.values, known.values))
        yield from (_Row(place, Change.NEW_VALUE, one) for one in _less(known.values, ours.values) if ours.values)
    for tag in _less(ours.tags, known.tags):
        still = spot.heard is not None and tag in spot.heard.tags
        yield _Row(place, Change.REMOVED_MEMBER, tag, breaks=f"{place}{{{tag}}}" in spot.relied and not still)
    yield from (_Row(place, Change.NEW_MEMBER, one) for one in _less(known.tags, ours.tags) if ours.tags)
    if ours.objects:
        for name in _less(known.fields, ours.fields):
            yield _Row(f"{place}/{name}", _newness(known, name), breaks=name in known.required)


def _gone(spot: _Spot) -> bool:
    return spot.sent or (spot.place in spot.relied and spot.heard is None)


def _by_traffic(spot: _Spot) -> Iterator[_Row]:
    """What was recorded, beside the types and what is written here. Requests are other clients': they break nothing."""
    known, ours, seen, place = spot.known, spot.ours, spot.heard, spot.place
    if seen is None or (known is not None and known.free):
        return
    if known is None:
        if ours is None:
            kinds = _sorted(seen.kinds)
            yield _Row(place, Change.NEW_FIELD, theirs=kinds, example=next(iter(seen.kinds.values())))
        return
    strange = _less(seen.kinds, known.kinds | set(ours.kinds if ours else ()))
    if strange:
        mine = _sorted(ours.kinds if ours else known.kinds)
        breaks = ours is not None and not spot.sent
        yield _Row(place, Change.TYPE, "", _sorted(seen.kinds), mine, breaks, seen.kinds[strange[0]])
    for one in _news(seen.values, ours.values if ours else {}, known.values):
        yield _Row(place, Change.NEW_VALUE, one, example=seen.values[one])
    for one in _news(seen.tags, ours.tags if ours else {}, known.tags):
        yield _Row(place, Change.NEW_MEMBER, one, example=seen.tags[one])
    if ours is not None and ours.objects and seen.objects:
        yield from _fields(spot, known, ours, seen)


def _fields(spot: _Spot, known: Known, ours: Seen, seen: Seen) -> Iterator[_Row]:
    for name in _less(seen.fields, ours.fields):
        if name in known.fields:
            yield _Row(f"{spot.place}/{name}", _newness(known, name))
    always = [name for name, count in ours.fields.items() if count == ours.objects and not spot.sent]
    for name in _less(always, seen.fields):
        below = f"{spot.place}/{name}"
        breaks = name in known.required or (below in spot.relied and below not in spot.nullable)
        yield _Row(below, Change.REMOVED_FIELD, breaks=breaks)


def _newness(known: Known, name: str) -> Change:
    return Change.NEW_REQUIRED if name in known.required else Change.NEW_FIELD


def _news(heard: Collection[str], ours: Collection[str], known: Collection[str] | None) -> list[str]:
    """What is heard and not ours; where nothing is ours, what is heard and not known."""
    return _less(heard, ours or known or heard)


def _less(these: Collection[str], those: Collection[str]) -> list[str]:
    return sorted(set(these) - set(those))


def _sorted(kinds: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(kinds))
