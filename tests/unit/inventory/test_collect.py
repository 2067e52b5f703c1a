"""Which hosts are expected, which are named as absent and why, and how waiting ends."""

from __future__ import annotations

import os
import time
from datetime import date
from typing import TYPE_CHECKING

import pytest

from rackwright import locks
from rackwright.errors import EnvironmentUnfit
from rackwright.inventory import store
from rackwright.inventory.collect import Wait, collect
from rackwright.inventory.keys import Acceptance
from rackwright.inventory.model import Absence
from tests.doubles.hall import host_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.hall import Hall

ONE, TWO, THREE, FOUR = (f"gpu-node-00{number}" for number in range(1, 5))
LONG = 600


class Then(list[str]):
    """What was told; once something is, something happens."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__()
        self._act = act

    def append(self, line: str) -> None:
        super().append(line)
        self._act()


"""Seconds; a test that waits so long has failed."""


def test_every_slot_is_either_a_host_or_absent_with_its_reason(hall: Hall) -> None:
    hall.nodes, hall.burst, hall.with_zone = 5, 1, True
    hall.held, hall.undelivered = frozenset({2}), frozenset({3})
    inventory = hall.inventory()
    assert set(inventory.hosts) == {ONE}
    assert {slot: gone.absence for slot, gone in inventory.absent.items()} == {
        TWO: Absence.HELD,
        THREE: Absence.UNDELIVERED,
        FOUR: Absence.NO_KEY,
        "gpu-node-005": Absence.NO_KEY,
        "gpu-node-006": Absence.ON_DEMAND,
        "cloud-001": Absence.NO_INSTANCE,
    }
    assert inventory.absent[FOUR].code == "KEY001"


def test_held_host_is_not_connected_to_though_its_key_is_known(hall: Hall) -> None:
    assert TWO in hall.inventory().hosts
    hall.held = frozenset({2})
    assert hall.inventory().absent[TWO].absence is Absence.HELD


def test_burst_host_that_has_printed_its_keys_is_a_host(hall: Hall) -> None:
    hall.nodes, hall.burst = 2, 1
    assert THREE in hall.inventory().hosts


def test_burst_host_with_another_hosts_keys_is_a_fault(hall: Hall) -> None:
    hall.nodes, hall.burst = 2, 1
    hall.prints(THREE, name=ONE)
    assert hall.inventory().absent[THREE].code == "KEY005"


def test_log_may_be_named_without_a_suffix(hall: Hall) -> None:
    (hall.consoles / f"{ONE}.log").rename(hall.consoles / ONE)
    assert ONE in hall.inventory().hosts


def test_log_that_cannot_be_read_is_a_fault_of_its_host_alone(hall: Hall) -> None:
    (hall.consoles / f"{ONE}.log").unlink()
    (hall.consoles / f"{ONE}.log").mkdir()
    inventory = hall.inventory()
    assert inventory.absent[ONE].code == "KEY006"
    assert set(inventory.hosts) == {TWO, THREE}


def test_block_far_from_the_end_of_a_long_log_is_found(hall: Hall) -> None:
    with (hall.consoles / f"{ONE}.log").open("a") as log:
        log.writelines("node_exporter: nothing new\n" for _ in range(200_000))
    assert ONE in hall.inventory().hosts


def test_missing_folder_says_where_it_looked(hall: Hall) -> None:
    hall.consoles.rename(hall.folder / "elsewhere")
    assert str(hall.consoles) in hall.inventory().absent[ONE].got


def test_waiting_ends_as_soon_as_all_keys_are_there(hall: Hall) -> None:
    hall.nodes = 4
    hall.told = Then(lambda: hall.prints(FOUR))
    started = time.monotonic()
    inventory = hall.inventory(wait_seconds=LONG)
    assert set(inventory.hosts) == {ONE, TWO, THREE, FOUR}
    assert time.monotonic() - started < LONG / 2
    assert hall.told == [f"waiting for the keys of 1 of 4 hosts, first {FOUR}"]


def test_waiting_lets_a_begun_block_end(hall: Hall) -> None:
    hall.nodes = 4
    hall.prints(FOUR)
    log = hall.consoles / f"{FOUR}.log"
    whole = log.read_text()
    log.write_text(whole[:-20])
    hall.told = Then(lambda: log.write_text(whole))
    inventory = hall.inventory(wait_seconds=LONG)
    assert FOUR in inventory.hosts


def test_waiting_prefers_the_keys_of_a_boot_that_is_under_way(hall: Hall) -> None:
    """A machine that is being reinstalled: the block of the boot before is not what it will be."""
    hall.nodes = 4
    hall.prints(FOUR, seed="of the image before")
    log = hall.consoles / f"{FOUR}.log"
    log.write_text(log.read_text() + "-----BEGIN SSH HOST KEY KEYS-----\n")
    hall.told = Then(lambda: hall.prints(FOUR))
    inventory = hall.inventory(wait_seconds=LONG)
    assert inventory.hosts[FOUR].host_keys == (host_key(FOUR),)


def test_a_key_that_is_accepted_while_another_waits_stays_accepted(hall: Hall) -> None:
    """Both write down what they know: who waited longer knows nothing of what was accepted meanwhile."""
    hall.nodes = 4
    hall.inventory()
    hall.prints(ONE, seed="another")

    def accept() -> None:
        word = Acceptance(frozenset({ONE}), "new disk", date(2026, 11, 28))
        assert ONE in collect(hall.plan(), hall.folder, Wait(0, print), word).hosts
        hall.prints(FOUR)

    hall.told = Then(accept)
    inventory = hall.inventory(wait_seconds=LONG)
    assert set(inventory.hosts) == {ONE, TWO, THREE, FOUR}, "nor is it told as changed"
    known = store.load(hall.observed_file, "atlas").slots
    assert [given_up.reason for given_up in known[ONE].replaced] == ["new disk"]
    assert known[ONE].host_keys == (host_key("another"),)
    assert FOUR in known


def test_a_key_that_changes_and_is_accepted_while_another_waits_is_read_anew(hall: Hall) -> None:
    hall.nodes = 4
    hall.inventory()

    def accept() -> None:
        hall.prints(ONE, seed="another")
        word = Acceptance(frozenset({ONE}), "new disk", date(2026, 11, 28))
        collect(hall.plan(), hall.folder, Wait(0, print), word)

    hall.told = Then(accept)
    assert hall.inventory(wait_seconds=1).hosts[ONE].host_keys == (host_key("another"),)


def test_who_cannot_write_down_what_is_known_is_told_who_keeps_it(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_HELD_FOR_S", 0.1)
    hall.inventory()
    lock = hall.observed_file.with_suffix(".lock")
    with locks.alone(lock, EnvironmentUnfit):
        assert ONE in hall.inventory().hosts, "who has nothing to write needs no lock"
        hall.nodes = 4
        hall.prints(FOUR)
        with pytest.raises(EnvironmentUnfit) as caught:
            hall.inventory()
    assert (caught.value.code, caught.value.where) == ("OBS003", str(lock))
    assert f"process {os.getpid()} of " in caught.value.got
    assert FOUR in hall.inventory().hosts


def test_waiting_ends_after_its_time(hall: Hall) -> None:
    hall.nodes = 4
    started = time.monotonic()
    inventory = hall.inventory(wait_seconds=1.2)
    assert 1.2 <= time.monotonic() - started < LONG / 2
    assert inventory.absent[FOUR].code == "KEY001"


def test_nobody_waits_for_a_host_that_waiting_cannot_help(hall: Hall) -> None:
    hall.nodes, hall.burst = 4, 1
    hall.held = frozenset({4})
    hall.prints(ONE, name=TWO)
    started = time.monotonic()
    assert hall.inventory(wait_seconds=LONG).absent[ONE].code == "KEY005"
    assert time.monotonic() - started < LONG / 2
    assert hall.told == []


def test_thousands_of_hosts_cost_seconds_at_most(
    hall: Hall, record_property: Callable[[str, object], None]
) -> None:
    hall.nodes = 3072
    for number in range(4, hall.nodes + 1):
        hall.prints(f"gpu-node-{number:03d}")
    plan = hall.plan()
    started = time.monotonic()
    inventory = hall.inventory()
    record_property("seconds", time.monotonic() - started)
    assert len(inventory.hosts) == len(plan.pools["gpu-node"].slots)
