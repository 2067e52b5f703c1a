"""What differs between nodes as found and nodes as wanted: per slot, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.provision.notes import GONE, Change

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.provision.aws.nodeset.model import FoundNode, WantedNode

_PLANNED = ("address", "state")


def changes(found: Mapping[str, FoundNode], wanted: Mapping[str, WantedNode]) -> list[Change]:
    """Every difference, by slot; whatever fills a slot on demand is none."""
    slots = sorted(found.keys() | wanted.keys())
    return [change for slot in slots for change in _of_slot(slot, found.get(slot), wanted.get(slot))]


def _of_slot(slot: str, before: FoundNode | None, after: WantedNode | None) -> Iterator[Change]:
    if after is None:
        yield Change(slot, "slot", "", GONE)
    elif before is None:
        yield Change(slot, "state", "", after.state)
    else:
        for field in _PLANNED:
            old, new = getattr(before, field) or "", getattr(after, field) or ""
            if old != new:
                yield Change(slot, field, old, new)


def drift(before: Mapping[str, FoundNode], after: Mapping[str, FoundNode]) -> list[Change]:
    """What became of nodes between two looks at them."""
    both = sorted(before.keys() & after.keys())
    return [change for slot in both for change in _between(slot, before[slot], after[slot])]


def _between(slot: str, before: FoundNode, after: FoundNode) -> Iterator[Change]:
    for field in ("state", "instance"):
        old, new = getattr(before, field), getattr(after, field)
        if old != new:
            yield Change(slot, field, old, new)
