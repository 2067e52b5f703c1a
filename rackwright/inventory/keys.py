"""What the consoles say now against what was seen before: each slot's host keys, or why none.

The first keys that a slot prints are taken: its console is the out-of-band channel. Keys that
differ later are never taken silently. A log that was rotated away, or that cannot be read any
more, takes nothing from a slot whose keys were read in full before: ssh compares them itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.errors import UsageError
from rackwright.inventory.console import KeyFault
from rackwright.plan.observed import Observed, ObservedSlot, ReplacedKeys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from rackwright.inventory.console import Reading
    from rackwright.inventory.zone import Instance
    from rackwright.plan.observed import HostKey

CHANGED = KeyFault(
    "KEY007",
    "the host prints other keys than before",
    "if it was reinstalled or replaced: rackwright inventory SPEC --accept-changed-key HOST --reason TEXT",
)
SHARED = KeyFault(
    "KEY008",
    "several hosts print the same key, so none of them can be told apart",
    "take the host keys out of the image, so that each host makes its own, and boot them again",
)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """An operator's word that the changed keys of some slots are right."""

    slots: frozenset[str]
    reason: str
    on: date


@dataclass(frozen=True, slots=True)
class Fault:
    """Why one slot has no known key."""

    kind: KeyFault
    got: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What is known after the consoles were read.

    Args:
        observed: with the new keys of slots without a fault.
        faults: by slot.
    """

    observed: Observed
    faults: dict[str, Fault]


def judge(observed: Observed, readings: Mapping[str, Reading], acceptance: Acceptance | None) -> Judged:
    """Take what the consoles say into what was seen before.

    Raises:
        UsageError: a slot is accepted that prints no changed keys.
    """
    changed = {slot for slot, reading in readings.items() if _differs(reading, observed.slots.get(slot))}
    accepted = acceptance.slots if acceptance else frozenset()
    _refuse_needless(accepted - changed, readings)
    faults = {
        slot: Fault(CHANGED, _change(observed.slots[slot], readings[slot])) for slot in changed - accepted
    }
    known: dict[str, ObservedSlot] = {}
    for slot in readings.keys() - faults.keys():
        seen = _known(observed.slots.get(slot), readings[slot], acceptance)
        if isinstance(seen, Fault):
            faults[slot] = seen
        else:
            known[slot] = seen
    shared = _shared(known)
    taken = {slot: seen for slot, seen in known.items() if slot not in shared}
    return Judged(observed.model_copy(update={"slots": {**observed.slots, **taken}}), faults | shared)


def renewed(observed: Observed, instances: Mapping[str, Instance], gone: Iterable[str]) -> Observed:
    """What is known, for the instances that fill the slots now: another instance is another machine.

    Its keys are new and nobody has to accept them: EC2, not the network, says which instance prints them.

    Args:
        observed: until now.
        instances: slot → instance, over all zones.
        gone: slots that no instance fills.
    """
    slots = {slot: seen for slot, seen in observed.slots.items() if slot not in set(gone)}
    for slot, instance in instances.items():
        if slot in slots and slots[slot].instance != instance.id:
            del slots[slot]
    return observed.model_copy(update={"slots": slots})


def placed(observed: Observed, instances: Mapping[str, Instance]) -> Observed:
    """What is known, with the instances whose keys are."""
    known = {
        slot: observed.slots[slot].model_copy(update={"instance": found.id, "address": found.address})
        for slot, found in instances.items()
        if slot in observed.slots
    }
    return observed.model_copy(update={"slots": {**observed.slots, **known}})


def _differs(reading: Reading, stored: ObservedSlot | None) -> bool:
    return bool(stored and reading.keys and set(reading.keys) != set(stored.host_keys))


def _refuse_needless(slots: frozenset[str], readings: Mapping[str, Reading]) -> None:
    if not slots:
        return
    first = min(slots)
    raise UsageError(
        "there is no changed key to accept",
        code="KEY009",
        where=", ".join(sorted(slots)),
        got="the keys that are known already" if first in readings else "no such host in the plan",
        expected="hosts that `rackwright inventory` reports as KEY007",
    )


def _change(stored: ObservedSlot, reading: Reading) -> str:
    return f"{_fingerprints(reading.keys)} instead of {_fingerprints(stored.host_keys)}"


def _known(
    stored: ObservedSlot | None, reading: Reading, acceptance: Acceptance | None
) -> ObservedSlot | Fault:
    if stored and not (acceptance and _differs(reading, stored)):
        return stored
    if reading.fault:
        return Fault(reading.fault, reading.got)
    replaced = (*stored.replaced, _given_up(stored, acceptance)) if stored and acceptance else ()
    return ObservedSlot(host_keys=reading.keys, replaced=replaced)


def _given_up(stored: ObservedSlot, acceptance: Acceptance) -> ReplacedKeys:
    return ReplacedKeys(host_keys=stored.host_keys, reason=acceptance.reason, on=acceptance.on.isoformat())


def _shared(known: Mapping[str, ObservedSlot]) -> dict[str, Fault]:
    """The slots of which another has the same key."""
    owners: dict[HostKey, list[str]] = {}
    for slot in sorted(known):
        for key in known[slot].host_keys:
            owners.setdefault(key, []).append(slot)
    return {
        slot: Fault(SHARED, f"{key.fingerprint} on {len(slots)} hosts: {', '.join(slots[:4])}")
        for key, slots in owners.items()
        if len(slots) > 1
        for slot in slots
    }


def _fingerprints(keys: Iterable[HostKey]) -> str:
    return ", ".join(key.fingerprint for key in keys)
