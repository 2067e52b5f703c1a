"""Turns of the daemon against an emulated EC2: what Slurm wants comes about, and nothing else stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.lab.aws.emulation import Faults
from tests.unit.burst.conftest import SLOT

if TYPE_CHECKING:
    import pytest

    from tests.unit.burst.conftest import Site

POWERING_UP = "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP"
POWERED_DOWN = "IDLE+CLOUD+POWERED_DOWN"


def test_a_node_that_slurm_asks_for_is_launched_once_and_configured_once(site: Site) -> None:
    site.slurm.states[SLOT] = POWERING_UP
    for _ in range(3):
        assert site.worker.turn()
    instance = site.instance()
    assert instance
    assert site.pool.launches() == 2
    assert site.roles.begun == [{SLOT: instance}]
    site.roles.end()
    site.worker.turn()
    assert site.roles.begun == [{SLOT: instance}]


def test_it_is_configured_once_its_keys_are_on_its_console(site: Site) -> None:
    site.slurm.states[SLOT] = POWERING_UP
    site.worker.turn()
    site.printed[site.instance()] = False
    site.worker.turn()
    assert site.roles.begun == []
    site.printed.clear()
    site.worker.turn()
    assert site.roles.begun == [{SLOT: site.instance()}]


def test_roles_that_fail_are_run_again(site: Site) -> None:
    site.slurm.states[SLOT] = POWERING_UP
    site.worker.turn()
    site.worker.turn()
    site.roles.end("fatal: [cnode-002]: UNREACHABLE! no route")
    site.worker.turn()
    assert site.roles.begun == [{SLOT: site.instance()}] * 2


def test_a_run_that_hangs_on_a_terminated_instance_keeps_the_next_one_of_its_slot_from_nothing(
    site: Site,
) -> None:
    site.slurm.states[SLOT] = POWERING_UP
    site.worker.turn()
    site.worker.turn()
    first = site.instance()
    site.slurm.states[SLOT] = "IDLE+CLOUD+POWERING_DOWN"
    site.worker.turn()
    site.slurm.states[SLOT] = POWERING_UP
    site.worker.turn()
    site.worker.turn()
    assert site.roles.begun == [{SLOT: first}, {SLOT: site.instance()}]
    site.roles.finish({SLOT: first}, "UNREACHABLE! no route")
    site.worker.turn()
    assert len(site.roles.begun) == 2, "what became of the first one says nothing of the second"


def test_an_instance_whose_roles_hang_is_told_as_that(site: Site) -> None:
    site.slurm.states[SLOT] = POWERING_UP
    site.worker.turn()
    site.worker.turn()
    site.slurm.states[SLOT] = "DOWN+CLOUD+POWERED_DOWN"
    site.worker.turn()
    assert site.reason().endswith("did not register within 900 s: its roles were still at work")


def test_a_node_that_slurm_gives_back_is_terminated_and_the_static_one_stays(site: Site) -> None:
    site.slurm.states[SLOT] = POWERING_UP
    site.worker.turn()
    site.slurm.states[SLOT] = "IDLE+CLOUD+POWERING_DOWN"
    site.worker.turn()
    assert set(site.pool.there()) == {"cnode-001"}
    assert not site.worker.turn(), "nothing is under way any more"


def test_an_instance_that_nobody_wants_is_terminated_and_one_of_no_slot_of_ours_is_left(site: Site) -> None:
    orphan = site.pool.launch_by_hand(SLOT, "10.64.0.17")
    stranger = site.pool.launch_by_hand()
    site.worker.turn()
    there = set(site.pool.there().values())
    assert orphan not in there
    assert stranger in there


def test_a_second_instance_in_a_slot_is_terminated(site: Site) -> None:
    site.slurm.states[SLOT] = POWERING_UP
    site.worker.turn()
    first = site.instance()
    second = site.pool.launch_by_hand(SLOT)
    site.worker.turn()
    left = {one.id for one in site.pool.ec2.instances("atlas", "cnode") if one.there}
    assert len(left & {first, second}) == 1


def test_without_capacity_the_node_is_down_with_ec2s_reason_for_its_time_and_then_tried_again(
    site: Site,
) -> None:
    site.pool.room(0)
    site.slurm.states[SLOT] = POWERING_UP
    site.worker.turn()
    assert "DOWN" in site.slurm.states[SLOT]
    assert site.reason().startswith("rackwright: EC2001 ")
    assert "InsufficientInstanceCapacity" in site.reason()
    site.slurm.clock += 599
    site.worker.turn()
    assert site.slurm.given_back == []
    site.slurm.clock += 1
    site.worker.turn()
    assert site.slurm.given_back == [SLOT]
    site.pool.cloud.faults = Faults()
    site.slurm.states[SLOT] = POWERING_UP
    site.worker.turn()
    assert site.instance()


def test_an_instance_that_never_registers_is_terminated_and_told_with_its_trouble(site: Site) -> None:
    site.slurm.states[SLOT] = POWERING_UP
    site.worker.turn()
    instance = site.instance()
    site.worker.turn()
    site.roles.end("fatal: [cnode-002]: UNREACHABLE! no route")
    site.worker.turn()
    site.slurm.states[SLOT] = "DOWN+CLOUD+POWERED_DOWN"
    site.worker.turn()
    assert site.instance() == ""
    assert site.reason().startswith(f"rackwright: {instance} did not register within 900 s: its roles failed")
    assert "no route" in site.reason()


def test_an_instance_that_went_by_itself_is_told(site: Site) -> None:
    site.slurm.states[SLOT] = "DOWN+CLOUD+NOT_RESPONDING"
    site.worker.turn()
    assert "is gone" in site.reason()


def test_a_worker_that_was_restarted_launches_nothing_twice(site: Site) -> None:
    site.slurm.states[SLOT] = POWERING_UP
    site.worker.turn()
    instance = site.instance()
    site.restart()
    site.worker.turn()
    assert site.instance() == instance
    assert site.pool.launches() == 2


def test_credentials_that_are_not_known_launch_nothing_are_told_once_and_are_the_reason(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "NOBODY")
    site.slurm.states[SLOT] = POWERING_UP
    assert site.worker.turn()
    assert site.worker.turn()
    assert site.instance() == ""
    assert caplog.text.count("AWS002") == 1
    monkeypatch.undo()
    site.slurm.states[SLOT] = "DOWN+CLOUD+POWERED_DOWN"
    for name, value in site.pool.cloud.environment().items():
        monkeypatch.setenv(name, value)
    site.worker.turn()
    assert "AWS002" in site.reason()
