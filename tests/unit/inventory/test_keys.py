"""Host keys over time: first seen, printed again, changed, accepted, shared, damaged."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit, UsageError
from rackwright.inventory import store
from rackwright.inventory.keys import Acceptance
from rackwright.inventory.model import Absence

if TYPE_CHECKING:
    from tests.doubles.hall import Hall

ONE, TWO, THREE = "gpu-node-001", "gpu-node-002", "gpu-node-003"


def _accept(*slots: str) -> Acceptance:
    return Acceptance(frozenset(slots), "disk replaced, ticket 17", date(2026, 11, 28))


def test_keys_are_stored_once_and_survive_a_rotated_log(hall: Hall) -> None:
    first = hall.inventory()
    written = hall.observed_file.stat().st_mtime_ns
    for log in hall.consoles.iterdir():
        log.unlink()
    assert hall.inventory() == first
    assert hall.observed_file.stat().st_mtime_ns == written


def test_stored_keys_are_for_their_owner_alone(hall: Hall) -> None:
    hall.inventory()
    assert hall.observed_file.stat().st_mode & 0o777 == 0o600


def test_garbled_block_takes_nothing_from_a_host_that_is_known(hall: Hall) -> None:
    first = hall.inventory()
    with (hall.consoles / f"{ONE}.log").open("a") as log:
        log.write("-----BEGIN SSH HOST KEY KEYS-----\nssh-ed25519 AAAA\n-----END SSH HOST KEY KEYS-----\n")
    assert hall.inventory() == first


def test_changed_key_is_never_taken_silently(hall: Hall) -> None:
    before = hall.inventory().hosts[ONE].host_keys
    hall.prints(ONE, seed="another")
    for _ in range(2):
        after = hall.inventory()
        assert after.absent[ONE].code == "KEY007"
        assert after.absent[ONE].absence is Absence.NO_KEY
        assert before[0].fingerprint in after.absent[ONE].got
        assert set(after.hosts) == {TWO, THREE}
    assert store.load(hall.observed_file, "atlas").slots[ONE].host_keys == before


def test_host_that_prints_its_old_key_again_is_known_again(hall: Hall) -> None:
    first = hall.inventory()
    hall.prints(ONE, seed="another")
    hall.inventory()
    hall.prints(ONE)
    assert hall.inventory() == first


def test_accepted_key_is_taken_and_the_old_one_kept_with_the_reason(hall: Hall) -> None:
    before = hall.inventory().hosts[ONE].host_keys
    hall.prints(ONE, seed="another")
    after = hall.inventory(acceptance=_accept(ONE))
    assert after.hosts[ONE].host_keys != before
    stored = store.load(hall.observed_file, "atlas").slots[ONE]
    assert stored.host_keys == after.hosts[ONE].host_keys
    assert [(old.host_keys, old.reason, old.on) for old in stored.replaced] == [
        (before, "disk replaced, ticket 17", "2026-11-28")
    ]
    assert hall.inventory() == after
    assert store.load(hall.observed_file, "atlas").slots[ONE] == stored


def test_acceptance_is_for_the_named_host_alone(hall: Hall) -> None:
    hall.inventory()
    hall.prints(ONE, seed="another")
    hall.prints(TWO, seed="and another")
    after = hall.inventory(acceptance=_accept(ONE))
    assert ONE in after.hosts
    assert after.absent[TWO].code == "KEY007"


@pytest.mark.parametrize("slot", [ONE, "gpu-node-999"])
def test_acceptance_without_a_changed_key_is_refused(hall: Hall, slot: str) -> None:
    hall.inventory()
    with pytest.raises(UsageError) as refused:
        hall.inventory(acceptance=_accept(slot))
    assert refused.value.code == "KEY009"
    assert refused.value.where == slot


def test_key_that_two_hosts_print_is_nobodys(hall: Hall) -> None:
    hall.prints(ONE, seed="from the image")
    hall.prints(TWO, seed="from the image")
    inventory = hall.inventory()
    assert {slot: gone.code for slot, gone in inventory.absent.items()} == {ONE: "KEY008", TWO: "KEY008"}
    assert ONE in inventory.absent[TWO].got
    assert set(store.load(hall.observed_file, "atlas").slots) == {THREE}


def test_newcomer_with_a_known_hosts_key_does_not_displace_it_in_the_store(hall: Hall) -> None:
    hall.nodes = 4
    known = hall.inventory().hosts[ONE].host_keys
    hall.prints("gpu-node-004", seed=ONE)
    inventory = hall.inventory()
    assert set(inventory.absent) == {ONE, "gpu-node-004"}
    slots = store.load(hall.observed_file, "atlas").slots
    assert slots[ONE].host_keys == known
    assert "gpu-node-004" not in slots


def test_crossed_console_cables_are_found(hall: Hall) -> None:
    hall.prints(ONE, name=TWO)
    gone = hall.inventory().absent[ONE]
    assert (gone.code, gone.got) == ("KEY005", f"a key of {TWO}")


def _damage(text: str) -> dict[str, str]:
    return {
        "cut": text[: len(text) // 2],
        "empty": "",
        "not JSON": "keys: none",
        "another version": text.replace("observed/1", "observed/9"),
        "a key edited": text.replace("AAAAC3NzaC1lZDI1NTE5AAAAI", "AAAAC3NzaC1lZDI1NTE5AAAAJ", 1),
        "a slot renamed": text.replace(ONE, "gpu-node-009"),
        "a key more": text.replace('"cluster"', '"clusters": 1, "cluster"'),
    }


@pytest.mark.parametrize("damage", _damage(""))
def test_damaged_store_is_refused_as_a_whole_and_left_as_it_is(hall: Hall, damage: str) -> None:
    hall.inventory()
    damaged = _damage(hall.observed_file.read_text())[damage]
    hall.observed_file.write_text(damaged)
    with pytest.raises(EnvironmentUnfit) as refused:
        hall.inventory()
    assert (refused.value.code, refused.value.where) == ("OBS001", str(hall.observed_file))
    assert hall.observed_file.read_text() == damaged


def test_store_of_another_cluster_is_refused(hall: Hall) -> None:
    hall.inventory()
    with pytest.raises(EnvironmentUnfit) as refused:
        store.load(hall.observed_file, "other")
    assert (refused.value.code, refused.value.got, refused.value.expected) == ("OBS002", "atlas", "other")
