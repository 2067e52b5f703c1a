"""What differs between hosts as found and hosts as wanted: per slot, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.provision.notes import GONE, Change

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.provision.onprem.model import FoundHost, WantedHost

_PLANNED = ("bmc_address", "boot_mac", "held")


def changes(found: Mapping[str, FoundHost], wanted: Mapping[str, WantedHost]) -> list[Change]:
    """Every difference, by slot; none for a held host that is known as held."""
    slots = sorted(found.keys() | wanted.keys())
    return [change for slot in slots for change in _of_slot(slot, found.get(slot), wanted.get(slot))]


def _of_slot(slot: str, before: FoundHost | None, after: WantedHost | None) -> Iterator[Change]:
    if after is None:
        yield Change(slot, "slot", "", GONE)
    elif before is None:
        yield Change(slot, "power", "", after.power)
    else:
        yield from _of_known(slot, before, after)


def _of_known(slot: str, before: FoundHost, after: WantedHost) -> Iterator[Change]:
    for field in _PLANNED:
        old, new = str(getattr(before, field)), str(getattr(after, field))
        if old != new:
            yield Change(slot, field, old, new)
    serial = before.found_serial or before.serial
    if serial != after.serial:
        yield Change(slot, "serial", serial, after.serial)
    if after.power != before.power:
        yield Change(slot, "power", before.power, after.power)


def drift(before: Mapping[str, FoundHost], after: Mapping[str, FoundHost]) -> list[Change]:
    """What became of hosts between two looks at them: power, and which machine is there."""
    both = sorted(before.keys() & after.keys())
    return [change for slot in both for change in _between(slot, before[slot], after[slot])]


def _between(slot: str, before: FoundHost, after: FoundHost) -> Iterator[Change]:
    if before.power != after.power:
        yield Change(slot, "power", before.power, after.power)
    if after.found_serial and after.found_serial != (before.found_serial or before.serial):
        yield Change(slot, "serial", before.found_serial or before.serial, after.found_serial)
