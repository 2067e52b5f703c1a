"""Instances of a pool in, what fills each slot out, and what fills none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwright.provision.aws.nodeset.ec2 import Instance
    from rackwright.provision.aws.nodeset.model import FoundNode, WantedNode

VISIBLE_AFTER = timedelta(minutes=5)
"""As long as an instance may be launched and not described yet (EC2 API, eventual consistency): one
that was terminated is described for about an hour."""


@dataclass(frozen=True, slots=True)
class Look:
    """A pool's instances, by what they are to it."""

    filling: dict[str, Instance]
    """Slot → instance that fills it."""
    last: dict[str, str]
    """Slot → instance that filled it last and is gone."""
    orphans: dict[str, Instance]
    """Instance of the pool that fills no slot; by id."""
    reasons: dict[str, str]
    """Orphan → why."""


def look(instances: Iterable[Instance], slots: Iterable[str], known: Mapping[str, str]) -> Look:
    """Sort a pool's instances.

    Args:
        instances: all that carry the pool's tag.
        slots: of the pool, those that Slurm fills among them.
        known: slot → instance that filled it when it was last looked at: of two, it is the one.
    """
    seen = Look({}, {}, {}, {})
    named = set(slots)
    for one in sorted(instances, key=lambda one: (known.get(one.slot) != one.id, one.launched, one.id)):
        if not one.there:
            _note_gone(seen.last, one)
        elif one.slot in named and one.slot not in seen.filling:
            seen.filling[one.slot] = one
        else:
            seen.orphans[one.id] = one
            seen.reasons[one.id] = _reason(one, seen.filling)
    return seen


def _note_gone(last: dict[str, str], one: Instance) -> None:
    """The latest counts; they come in the order of their launch, but for one that was known."""
    if one.slot:
        last[one.slot] = one.id


def _reason(one: Instance, filling: Mapping[str, Instance]) -> str:
    if not one.slot:
        return "it has no slot"
    if one.slot in filling:
        return f"slot {one.slot} is filled by {filling[one.slot].id}"
    return f"the plan has no slot {one.slot}"


def adoptable(seen: Look, missing: Mapping[str, WantedNode]) -> dict[str, Instance]:
    """Slot → orphan without a slot that has the slot's planned address: it lost no more than its tag."""
    loose = {one.address: one for one in seen.orphans.values() if not one.slot and one.address}
    return {slot: loose[node.address] for slot, node in sorted(missing.items()) if node.address in loose}


def just_launched(node: FoundNode, seen: Look, now: datetime | None = None) -> bool:
    """Whether a slot's instance may only not be visible yet."""
    if not node.instance or not node.launched or node.instance in seen.last.values():
        return False
    return (now or datetime.now(UTC)) - datetime.fromisoformat(node.launched) < VISIBLE_AFTER
