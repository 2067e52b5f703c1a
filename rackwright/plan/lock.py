"""The lock: what was allocated once and never moves; text in, `Lock` out, and back.

```yaml
rackwright-lock: 1
cluster: lab
catalogue: "5e0c…"
fabrics:
  compute:
    rails: 2              # its address range is split into two networks; see `fabric.locked` for the rest
    places:
      node: {1-3: 0-2}    # slots 1 to 3 have the places 0 to 2
pools:
  node:
    site: hall
    indexes:
      1-3: 1-3          # slots 1 to 3 have the indexes 1 to 3
    racks:
      r01p01: {1-2: 2-3}     # slots 1 and 2 stand in units 2 and 3
sha256: "91ab…"         # of all above: a cut or edited lock is found, never half read
```
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, ValidationError

from rackwright import canonical, strict_yaml
from rackwright.findings import Place
from rackwright.plan.fabric.locked import FabricSeats, FabricText, seats_of
from rackwright.plan.fabric.locked import lines as fabric_lines
from rackwright.plan.lock_text import RackName, Spans, corrupt, key_text, once, pairs, racks_lines
from rackwright.plan.ranges import pair_up
from rackwright.spec.base import Model, Name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VERSION: Literal[1] = 1


@dataclass(frozen=True, slots=True)
class Seat:
    """What belongs to one slot for good."""

    index: int
    """In its site, from 0."""
    rack: str | None = None
    """None in the cloud."""
    unit: int | None = None
    """Lowest rack unit, from 1."""


@dataclass(frozen=True, slots=True)
class PoolSeats:
    """The seats of one pool."""

    site: str
    seats: Mapping[int, Seat]
    """By slot number."""


@dataclass(frozen=True, slots=True)
class Lock:
    """All that was allocated."""

    cluster: str
    catalogue_sha256: str
    rails: Mapping[str, int]
    """Fabric → number of equal networks that its address range is split into, a power of two."""
    pools: Mapping[str, PoolSeats]
    fabrics: Mapping[str, FabricSeats] = field(default_factory=dict)
    """Of every fabric with cables."""

    @property
    def sha256(self) -> str:
        """Hash of the text, as it stands in its last line."""
        return canonical.sha256(_body(self))


def render(lock: Lock) -> str:
    """The text of a lock: same lock, same bytes."""
    body = _body(lock)
    return f'{body}sha256: "{canonical.sha256(body)}"\n'


def _body(lock: Lock) -> str:
    return "".join(f"{line}\n" for line in _lines(lock))


def _lines(lock: Lock) -> Iterator[str]:
    yield f"# What is allocated in cluster {lock.cluster}. `rackwright plan` alone writes it; commit it."
    yield f"rackwright-lock: {VERSION}"
    yield f"cluster: {key_text(lock.cluster)}"
    yield f'catalogue: "{lock.catalogue_sha256}"'
    names = sorted(lock.rails.keys() | lock.fabrics.keys())
    yield "fabrics:" if names else "fabrics: {}"
    for name in names:
        seats = lock.fabrics.get(name, FabricSeats())
        yield from (f"  {line}" for line in fabric_lines(name, lock.rails.get(name), seats))
    yield "pools:" if lock.pools else "pools: {}"
    for name, pool in sorted(lock.pools.items()):
        yield f"  {key_text(name)}:"
        yield from (f"    {line}" for line in _pool_lines(pool))


def _pool_lines(pool: PoolSeats) -> Iterator[str]:
    seats = sorted(pool.seats.items())
    yield f"site: {key_text(pool.site)}"
    yield "indexes:" if seats else "indexes: {}"
    for slots, indexes in pair_up((number, seat.index) for number, seat in seats):
        yield f"  {slots}: {indexes}"
    placed = sorted(
        (seat.rack, number, seat.unit)
        for number, seat in seats
        if seat.rack is not None and seat.unit is not None
    )
    if placed:
        yield "racks:"
    yield from (f"  {line}" for line in racks_lines(placed))


class _PoolText(Model):
    site: Name
    indexes: Spans
    racks: Mapping[RackName, Spans] = {}


class _LockText(Model):
    version: Annotated[Literal[1], Field(alias="rackwright-lock")]
    cluster: Name
    catalogue: str
    fabrics: dict[Name, FabricText]
    pools: dict[Name, _PoolText]
    sha256: str


def parse(text: str, path: Path) -> Lock:
    """Read a lock whole.

    Args:
        text: content of the file.
        path: the file, for the error's place only.

    Raises:
        LockCorrupt: no YAML, unknown or missing keys, a slot, index or unit given twice, or a
            content that is not what its own hash says.
    """
    shape = _shape(text, path)
    pools = {name: PoolSeats(pool.site, _seats(path, name, pool)) for name, pool in shape.pools.items()}
    lock = Lock(
        cluster=shape.cluster,
        catalogue_sha256=shape.catalogue,
        rails={name: fabric.rails for name, fabric in shape.fabrics.items() if fabric.rails is not None},
        pools=pools,
        fabrics=dict(_fabrics(path, shape.fabrics)),
    )
    _refuse_shared_indexes(path, pools)
    if shape.sha256 != lock.sha256:
        raise corrupt(path, "sha256", got=f"content of {lock.sha256[:12]}…", expected=f"{shape.sha256[:12]}…")
    return lock


def _fabrics(path: Path, fabrics: Mapping[str, FabricText]) -> Iterator[tuple[str, FabricSeats]]:
    """Those of which more is kept than how their addresses are split."""
    for name, text in fabrics.items():
        seats = seats_of(path, name, text)
        if seats != FabricSeats():
            yield name, seats


def _shape(text: str, path: Path) -> _LockText:
    try:
        return _LockText.model_validate(strict_yaml.load(text))
    except strict_yaml.NotYaml as error:
        raise corrupt(Place(path, error.line, error.column), "", got=error.problem) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        got = "nothing" if first["type"] == "missing" else repr(first["input"])[:80]
        raise corrupt(path, key, got=got, expected=first["msg"]) from None


def _seats(path: Path, name: str, pool: _PoolText) -> dict[int, Seat]:
    key = f"pools.{name}.indexes"
    seats = {slot: Seat(index) for slot, index in once(path, key, pairs(path, key, pool.indexes))}
    if not pool.racks:
        return seats
    placed: dict[int, Seat] = {}
    for rack, spans in pool.racks.items():
        key = f"pools.{name}.racks.{rack}"
        for slot, unit in pairs(path, key, spans):
            if slot not in seats or slot in placed:
                raise corrupt(path, key, got=f"slot {slot}", expected="each slot that has an index, once")
            placed[slot] = Seat(seats[slot].index, rack, unit)
    missing = sorted(seats.keys() - placed.keys())
    if missing:
        raise corrupt(path, f"pools.{name}.racks", got=f"no rack for slot {missing[0]}", expected="one")
    return dict(sorted(placed.items()))


def _refuse_shared_indexes(path: Path, pools: Mapping[str, PoolSeats]) -> None:
    owner: dict[tuple[str, int], str] = {}
    for name, pool in pools.items():
        for slot, seat in pool.seats.items():
            other = owner.setdefault((pool.site, seat.index), f"{name} {slot}")
            if other != f"{name} {slot}":
                raise corrupt(
                    path,
                    f"pools.{name}.indexes",
                    got=f"index {seat.index} for slot {slot}",
                    expected=f"an index that {other} does not have",
                )
