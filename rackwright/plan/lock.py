"""The lock: what was allocated once and never moves; text in, `Lock` out, and back.

```yaml
rackwright-lock: 1
cluster: lab
catalogue: "5e0c…"
fabrics:
  compute: {rails: 2}
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
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from rackwright import canonical, strict_yaml
from rackwright.errors import LockCorrupt
from rackwright.findings import Place
from rackwright.plan.ranges import Span, pair_up
from rackwright.spec.base import Model, Name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

VERSION: Literal[1] = 1
MOST_SLOTS = 1 << 20
"""In one span; more is no lock but an attempt on our memory."""
_RESERVED = frozenset({"on", "off", "yes", "no", "true", "false", "null"})
"""Names that YAML 1.1 reads as something else."""
_HINT = (
    "take the last version from version control (after a merge: one of both sides) "
    "and run `rackwright plan` again"
)


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
    yield f"cluster: {_key(lock.cluster)}"
    yield f'catalogue: "{lock.catalogue_sha256}"'
    yield "fabrics:" if lock.rails else "fabrics: {}"
    for fabric, rails in sorted(lock.rails.items()):
        yield f"  {_key(fabric)}: {{rails: {rails}}}"
    yield "pools:" if lock.pools else "pools: {}"
    for name, pool in sorted(lock.pools.items()):
        yield f"  {_key(name)}:"
        yield from (f"    {line}" for line in _pool_lines(pool))


def _pool_lines(pool: PoolSeats) -> Iterator[str]:
    seats = sorted(pool.seats.items())
    yield f"site: {_key(pool.site)}"
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
    for rack, in_rack in groupby(placed, key=lambda place: place[0]):
        spans = pair_up((number, unit) for _, number, unit in in_rack)
        yield f"  {rack}: {{{', '.join(f'{slots}: {units}' for slots, units in spans)}}}"


def _key(name: str) -> str:
    return f'"{name}"' if name in _RESERVED else name


_Spans = Mapping[int | str, int | str]


class _FabricText(Model):
    rails: Annotated[int, Field(ge=1)]


class _PoolText(Model):
    site: Name
    indexes: _Spans
    racks: Mapping[Annotated[str, StringConstraints(pattern=r"^r\d{2,4}p\d{2,4}$")], _Spans] = {}


class _LockText(Model):
    version: Annotated[Literal[1], Field(alias="rackwright-lock")]
    cluster: Name
    catalogue: str
    fabrics: dict[Name, _FabricText]
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
        rails={name: fabric.rails for name, fabric in shape.fabrics.items()},
        pools=pools,
    )
    _refuse_shared_indexes(path, pools)
    if shape.sha256 != lock.sha256:
        raise _corrupt(
            path, "sha256", got=f"content of {lock.sha256[:12]}…", expected=f"{shape.sha256[:12]}…"
        )
    return lock


def _shape(text: str, path: Path) -> _LockText:
    try:
        return _LockText.model_validate(strict_yaml.load(text))
    except strict_yaml.NotYaml as error:
        raise _corrupt(Place(path, error.line, error.column), "", got=error.problem) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        got = "nothing" if first["type"] == "missing" else repr(first["input"])[:80]
        raise _corrupt(path, key, got=got, expected=first["msg"]) from None


def _seats(path: Path, name: str, pool: _PoolText) -> dict[int, Seat]:
    key = f"pools.{name}.indexes"
    seats = {slot: Seat(index) for slot, index in _once(path, key, _pairs(path, key, pool.indexes))}
    if not pool.racks:
        return seats
    placed: dict[int, Seat] = {}
    for rack, spans in pool.racks.items():
        key = f"pools.{name}.racks.{rack}"
        for slot, unit in _pairs(path, key, spans):
            if slot not in seats or slot in placed:
                raise _corrupt(path, key, got=f"slot {slot}", expected="each slot that has an index, once")
            placed[slot] = Seat(seats[slot].index, rack, unit)
    missing = sorted(seats.keys() - placed.keys())
    if missing:
        raise _corrupt(path, f"pools.{name}.racks", got=f"no rack for slot {missing[0]}", expected="one")
    return dict(sorted(placed.items()))


def _pairs(path: Path, key: str, spans: _Spans) -> Iterator[tuple[int, int]]:
    for left, right in spans.items():
        try:
            slots, values = Span.parse(str(left)), Span.parse(str(right))
        except ValueError as error:
            raise _corrupt(path, key, got=str(error), expected="spans such as 1-96 or 1-25/8") from None
        if slots.count != values.count or slots.first == 0 or slots.count > MOST_SLOTS:
            raise _corrupt(path, key, got=f"{slots}: {values}", expected="as many values as slots, from 1")
        yield from zip(slots, values, strict=True)


def _once(path: Path, key: str, pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    seen: set[int] = set()
    for slot, value in pairs:
        if slot in seen:
            raise _corrupt(path, key, got=f"slot {slot} twice", expected="each slot once")
        seen.add(slot)
        yield slot, value


def _refuse_shared_indexes(path: Path, pools: Mapping[str, PoolSeats]) -> None:
    owner: dict[tuple[str, int], str] = {}
    for name, pool in pools.items():
        for slot, seat in pool.seats.items():
            other = owner.setdefault((pool.site, seat.index), f"{name} {slot}")
            if other != f"{name} {slot}":
                raise _corrupt(
                    path,
                    f"pools.{name}.indexes",
                    got=f"index {seat.index} for slot {slot}",
                    expected=f"an index that {other} does not have",
                )


def _corrupt(where: Place | Path, key: str, got: str = "", expected: str = "") -> LockCorrupt:
    return LockCorrupt(
        f"the lock cannot be used: {key or 'it'} is not what `rackwright plan` wrote",
        where=where if isinstance(where, Place) else Place(where),
        got=got,
        expected=expected,
        hint=_HINT,
    )
