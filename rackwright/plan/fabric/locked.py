"""What the lock keeps of a fabric: its tree, who has which place in it, and where its switches stand.

```yaml
  compute:
    tree: {attach: rail, units: 4, unit_nodes: 32, …}
    places:
      h100: {1-127: 0-126}       # slots 1 to 127 have the places 0 to 126
    manager: {1: 127}            # the fabric manager has place 127
    switches:
      leaf:
        r01p04: {1-8: 33-40}     # leaves 1 to 8 stand in units 33 to 40
    site: hall                   # of a fabric without nodes alone: where its switches still stand
```
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field

from rackwright.plan.fabric.frame import Frame
from rackwright.plan.lock_text import RackName, Spans, corrupt, key_text, once, pairs, racks_lines, spans_text
from rackwright.spec.base import Model, Name
from rackwright.spec.fabrics import Attach

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Stand(NamedTuple):
    """Where a switch stands."""

    rack: str
    unit: int
    """Lowest, from 1."""


@dataclass(frozen=True, slots=True)
class FabricSeats:
    """What belongs to a fabric for good."""

    tree: Frame | None = None
    """None for one switch a rail."""
    places: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """Pool → slot number → place, from 0: unit and seat in the unit follow from it."""
    manager: Mapping[int, int] = field(default_factory=dict)
    """The fabric manager's places, numbered from 1."""
    switches: Mapping[str, Mapping[int, Stand]] = field(default_factory=dict)
    """Tier (``leaf``, or ``p2-leaf`` of the second plane) → number of the switch → where it stands."""
    site: str | None = None
    """Of the tree whose last node is gone; None where nodes tell the site."""


class _TreeText(Model):
    attach: Attach
    units: Annotated[int, Field(ge=1)]
    unit_nodes: Annotated[int, Field(ge=1)]
    rails: Annotated[int, Field(ge=1)]
    planes: Annotated[int, Field(ge=1)]
    breakout: Annotated[int, Field(ge=1)]
    ports: Annotated[int, Field(ge=2)]
    uplinks: Annotated[int, Field(ge=1)]
    spines: Annotated[int, Field(ge=1)]
    pod_leaves: Annotated[int, Field(ge=1)]
    spine_uplinks: Annotated[int, Field(ge=0)]
    cores: Annotated[int, Field(ge=0)]


class FabricText(Model):
    """A fabric as it stands in a lock."""

    rails: Annotated[int, Field(ge=1)] | None = None
    """Equal networks that its address range is split into."""
    tree: _TreeText | None = None
    places: Mapping[Name, Spans] = {}
    manager: Mapping[int | str, int | str] = {}
    switches: Mapping[str, Mapping[RackName, Spans]] = {}
    site: Name | None = None


def lines(name: str, rails: int | None, seats: FabricSeats) -> Iterator[str]:
    """The lines of one fabric."""
    body = list(_body(rails, seats))
    if len(body) == 1:
        yield f"{key_text(name)}: {{{body[0]}}}"
        return
    yield f"{key_text(name)}:"
    yield from (f"  {line}" for line in body)


def _body(rails: int | None, seats: FabricSeats) -> Iterator[str]:
    if rails is not None:
        yield f"rails: {rails}"
    if seats.tree is not None:
        numbers = ", ".join(f"{key}: {value}" for key, value in asdict(seats.tree).items())
        yield f"tree: {{{numbers}}}"
    if seats.places:
        yield "places:"
        for pool, places in sorted(seats.places.items()):
            yield f"  {key_text(pool)}: {spans_text(sorted(places.items()))}"
    if seats.manager:
        yield f"manager: {spans_text(sorted(seats.manager.items()))}"
    if seats.switches:
        yield "switches:"
        for tier, stands in sorted(seats.switches.items()):
            yield f"  {tier}:"
            placed = sorted((stand.rack, number, stand.unit) for number, stand in stands.items())
            yield from (f"    {line}" for line in racks_lines(placed))
    if seats.site is not None:
        yield f"site: {key_text(seats.site)}"


def seats_of(path: Path, name: str, text: FabricText) -> FabricSeats:
    """What a lock's text says of a fabric.

    Raises:
        LockCorrupt: a slot, place or switch given twice, or no tree that could be built.
    """
    places = {
        pool: dict(once(path, f"fabrics.{name}.places.{pool}", _pairs(path, name, spans)))
        for pool, spans in text.places.items()
    }
    manager = dict(once(path, f"fabrics.{name}.manager", _pairs(path, name, text.manager)))
    tree = None if text.tree is None else _tree(path, name, text.tree)
    _refuse_shared_places(path, name, places, manager, tree)
    stands = {tier: dict(_stands(path, name, racks)) for tier, racks in text.switches.items()}
    return FabricSeats(tree, places, manager, stands, text.site)


def _pairs(path: Path, name: str, spans: Spans) -> Iterator[tuple[int, int]]:
    return pairs(path, f"fabrics.{name}", spans)


def _tree(path: Path, name: str, text: _TreeText) -> Frame:
    tree = Frame(**{one.name: getattr(text, one.name) for one in fields(Frame)})
    whole = tree.uplinks % tree.spines == 0 and (
        tree.spine_uplinks % tree.cores == 0 if tree.cores else not tree.spine_uplinks
    )
    if not whole:
        raise corrupt(path, f"fabrics.{name}.tree", got="links that cannot be shared out equally")
    return tree


def _refuse_shared_places(
    path: Path,
    name: str,
    pools: Mapping[str, Mapping[int, int]],
    manager: Mapping[int, int],
    tree: Frame | None,
) -> None:
    owner = dict.fromkeys(manager.values(), "manager")
    for pool, places in pools.items():
        for slot, place in places.items():
            other = owner.setdefault(place, f"{pool} {slot}")
            if other != f"{pool} {slot}":
                raise corrupt(
                    path,
                    f"fabrics.{name}.places.{pool}",
                    got=f"place {place} for slot {slot}",
                    expected=f"a place that {other} does not have",
                )
    if tree is not None and max(owner, default=0) >= tree.places:
        raise corrupt(path, f"fabrics.{name}.places", got=f"place {max(owner)} of {tree.places}")


def _stands(path: Path, name: str, racks: Mapping[str, Spans]) -> Iterator[tuple[int, Stand]]:
    seen: set[int] = set()
    for rack, spans in racks.items():
        for number, unit in _pairs(path, name, spans):
            if number in seen:
                raise corrupt(path, f"fabrics.{name}.switches", got=f"switch {number} twice")
            seen.add(number)
            yield number, Stand(rack, unit)
