"""The on-prem reconciler against controllers on loopback: identity, next boot, power, and nothing twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.errors import SubjectFailed
from rackwright.provision.onprem.bounded import Limits
from rackwright.provision.onprem.reconcile import bring_up, look
from tests.doubles.redfish import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.provision.conftest import Ground

ONE = "node-001"


def _changed_nothing(ground: Ground, slot: str = ONE) -> bool:
    return set(ground.bmc(slot).asked) <= {"GET"}


def test_a_host_that_is_off_boots_from_the_network_and_is_powered_on_once(ground: Ground) -> None:
    found = bring_up(ONE, ground.wanted()[ONE], ground.access)
    assert (found.power, found.found_serial, found.failure) == ("on", "S00001", None)
    bmc = ground.bmc(ONE)
    assert (bmc.boot_target, bmc.boot_enabled) == ("Pxe", "Once")
    assert (bmc.asked["On"], bmc.asked["PATCH"]) == (1, 1)


@pytest.mark.parametrize("state", ["On", "PoweringOn"])
def test_a_host_that_runs_or_is_about_to_is_adopted_as_it_is(ground: Ground, state: str) -> None:
    bmc = ground.bmc(ONE)
    bmc.power_delay_s = 600 if state == "PoweringOn" else 0
    bmc.reset("On")
    bmc.asked.clear()
    assert bmc.power_state == state
    assert bring_up(ONE, ground.wanted()[ONE], ground.access).power == "on"
    assert _changed_nothing(ground)


def test_the_next_boot_is_set_only_where_it_differs(ground: Ground) -> None:
    bmc = ground.bmc(ONE)
    bmc.boot_target, bmc.boot_enabled = "Pxe", "Continuous"
    bring_up(ONE, ground.wanted()[ONE], ground.access)
    assert bmc.asked["PATCH"] == 0
    assert bmc.asked["On"] == 1


def test_a_controller_without_pxe_boots_by_http(ground: Ground) -> None:
    bmc = ground.bmc(ONE)
    bmc.boot_offered = ["Hdd", "UefiHttp"]
    bring_up(ONE, ground.wanted()[ONE], ground.access)
    assert bmc.boot_target == "UefiHttp"


def test_a_host_that_cannot_boot_from_the_network_is_not_powered_on(ground: Ground) -> None:
    ground.bmc(ONE).boot_offered = ["Hdd", "Cd"]
    with pytest.raises(SubjectFailed) as raised:
        bring_up(ONE, ground.wanted()[ONE], ground.access)
    assert raised.value.failures[0].code == "BMC009"
    assert "Hdd, Cd" in raised.value.failures[0].cause
    assert _changed_nothing(ground)


def test_another_serial_number_is_left_untouched_and_named(ground: Ground) -> None:
    wanted = ground.wanted()[ONE].model_copy(update={"serial": "S99999"})
    with pytest.raises(SubjectFailed) as raised:
        bring_up(ONE, wanted, ground.access)
    failure = raised.value.failures[0]
    assert (failure.subject, failure.code) == (ONE, "IDENTITY001")
    assert "got serial S00001, expected S99999" in failure.cause
    assert _changed_nothing(ground)


def test_another_boot_mac_is_left_untouched_and_named(ground: Ground) -> None:
    wanted = ground.wanted()[ONE].model_copy(update={"boot_mac": "02:00:00:00:99:99"})
    with pytest.raises(SubjectFailed) as raised:
        bring_up(ONE, wanted, ground.access)
    failure = raised.value.failures[0]
    assert (failure.subject, failure.code) == (ONE, "IDENTITY002")
    assert "02:00:00:00:00:01" in failure.cause
    assert "expected boot MAC 02:00:00:00:99:99" in failure.cause
    assert _changed_nothing(ground)


@pytest.mark.parametrize("form", ["02:00:00:00:00:0A", "02-00-00-00-00-0a", "02000000000a"])
def test_a_mac_is_the_same_in_every_form(ground: Ground, form: str) -> None:
    ground.bmc(ONE).macs = [form]
    wanted = ground.wanted()[ONE].model_copy(update={"boot_mac": "02:00:00:00:00:0a"})
    assert bring_up(ONE, wanted, ground.access).power == "on"


def test_the_host_is_found_among_other_systems_of_its_controller(ground: Ground) -> None:
    ground.bmc(ONE).beside = ["BOARD-7"]
    wanted = ground.wanted()[ONE]
    assert bring_up(ONE, wanted, ground.access).power == "on"
    ground.bmc(ONE).serial = "S99999"
    with pytest.raises(SubjectFailed, match=ONE) as raised:
        look(ONE, wanted, ground.access)
    assert "BOARD-7, S99999" in raised.value.failures[0].cause


@pytest.mark.parametrize("power", ["On", "Off"])
def test_a_look_reads_power_and_serial_and_changes_nothing(ground: Ground, power: str) -> None:
    ground.bmc(ONE).power = power
    found = look(ONE, ground.wanted()[ONE], ground.access)
    assert (found.power, found.found_serial) == (power.lower(), "S00001")
    assert _changed_nothing(ground)


def test_held_hosts_are_not_even_spoken_to(ground: Ground) -> None:
    hosts = ground.wanted(node_001="maintenance")
    for deed in (bring_up, look):
        found = ground.reconciler.each(deed, hosts, ground.access)
        assert (found[ONE].power, found[ONE].held) == ("held", "maintenance")
    assert not ground.bmc(ONE).asked
    assert ground.bmc("node-002").power == "On"


def test_a_slow_power_on_is_waited_for(ground: Ground) -> None:
    bmc = ground.bmc(ONE)
    bmc.power_delay_s = 600
    assert bring_up(ONE, ground.wanted()[ONE], ground.access).power == "on"
    assert bmc.power_state == "PoweringOn"


def test_after_a_stop_no_further_host_is_begun(make_ground: Callable[..., Ground]) -> None:
    ground = make_ground(3)
    ground.reconciler.stop()
    found = ground.reconciler.each(bring_up, ground.wanted(node_003="maintenance"), ground.access)
    assert [host.failure.code if host.failure else "" for host in found.values()] == ["UP010", "UP010", ""]
    assert not any(bmc.asked for bmc in ground.hall.bmcs.values())


def test_one_bad_host_costs_the_others_nothing(make_ground: Callable[..., Ground]) -> None:
    ground = make_ground(20)
    hosts = ground.wanted()
    hosts["node-007"] = hosts["node-007"].model_copy(update={"serial": "S99999"})
    found = ground.reconciler.each(bring_up, hosts, ground.access)
    assert [slot for slot, host in found.items() if host.failure] == ["node-007"]
    assert found["node-007"].found_serial == "S00007"
    assert ground.hall.asked("On") == dict.fromkeys(hosts, 1) | {"node-007": 0}


def test_a_power_on_that_is_accepted_and_not_done_is_a_failure(ground: Ground) -> None:
    ground.bmc(ONE).fault = Fault.STUCK
    with pytest.raises(SubjectFailed) as raised:
        bring_up(ONE, ground.wanted()[ONE], ground.limited(Limits(power_s=0.3, poll_s=0.05)))
    assert raised.value.failures[0].code == "BMC007"
    assert ground.bmc(ONE).asked["On"] == 1
