"""`rackwright up` and its kin by the real engine, against controllers that misbehave as real ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.provision import busy
from tests.doubles.redfish import Fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.doubles.site import Site

pytestmark = pytest.mark.engine


def _power(slot: str, before: str, after: str) -> dict[str, str]:
    return {"slot": slot, "field": "power", "before": before, "after": after}


def test_up_powers_each_host_on_once_and_a_second_up_changes_nothing(make_site: Callable[..., Site]) -> None:
    site = make_site()
    assert site.stack("preview")["changes"] == [_power(slot, "", "on") for slot in site.hall.bmcs]
    assert {bmc.power for bmc in site.hall.bmcs.values()} == {"Off"}
    first = site.stack("up", "--yes")
    assert first["changes"] == [_power(slot, "", "on") for slot in site.hall.bmcs]
    assert first["outputs"]["schema"] == "rackwright/stack-outputs/onprem/1"
    second = site.stack("up", "--yes")
    assert second["changes"] == []
    assert set(second["resources"]) == {"same"}
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)
    assert {host["state"] for host in second["outputs"]["hosts"].values()} == {"on"}


def test_the_state_goes_on_from_a_machine_with_other_folders(
    make_site: Callable[..., Site], tmp_path: Path
) -> None:
    site = make_site()
    site.run("up", "--yes")
    site.move(tmp_path / "home of another")
    assert site.stack("preview")["changes"] == []
    site.bmc("node-002").power = "Off"
    assert site.stack("up", "--yes")["changes"] == [_power("node-002", "off", "on")]
    site.run("destroy", "--yes")


def test_a_host_switched_off_by_hand_shows_in_preview_and_comes_back_with_up(
    make_site: Callable[..., Site],
) -> None:
    site = make_site()
    site.run("up", "--yes")
    site.bmc("node-002").power = "Off"
    assert site.stack("preview")["changes"] == [_power("node-002", "off", "on")]
    assert site.bmc("node-002").power == "Off"
    site.run("up", "--yes")
    assert site.bmc("node-002").power == "On"
    assert site.hall.asked("On") == {"node-001": 1, "node-002": 2, "node-003": 1}
    assert site.stack("preview")["changes"] == []


def test_refresh_tells_what_became_of_hosts_and_changes_none(make_site: Callable[..., Site]) -> None:
    site = make_site()
    site.run("up", "--yes")
    site.bmc("node-001").power = "Off"
    answer = site.stack("refresh")
    assert answer["changes"] == [_power("node-001", "on", "off")]
    assert answer["outputs"]["hosts"]["node-001"]["state"] == "off"
    assert site.stack("refresh")["changes"] == []
    assert site.bmc("node-001").power == "Off"
    assert site.stack("preview")["changes"] == [_power("node-001", "off", "on")]


def test_a_host_in_maintenance_is_held_and_not_spoken_to(make_site: Callable[..., Site]) -> None:
    site = make_site()
    site.held = {"node-003"}
    site.plan()
    assert list(site.stack("preview")["held"]) == ["node-003"]
    answer = site.stack("up", "--yes")
    assert list(answer["held"]) == ["node-003"]
    assert answer["outputs"]["hosts"]["node-003"]["state"] == "held"
    assert "node-003: held" in site.run("up", "--yes").stdout
    assert not site.bmc("node-003").asked
    assert site.bmc("node-003").power == "Off"
    site.held = set()
    site.plan()
    site.run("up", "--yes")
    assert site.bmc("node-003").power == "On"


def test_maintenance_of_a_host_that_runs_leaves_it_running(make_site: Callable[..., Site]) -> None:
    site = make_site()
    site.run("up", "--yes")
    site.held = {"node-001"}
    site.plan()
    site.run("up", "--yes")
    site.bmc("node-001").power = "Off"
    assert site.stack("up", "--yes")["changes"] == []
    assert site.bmc("node-001").power == "Off"


def test_a_host_with_a_slurm_job_is_held_also_by_a_plain_pulumi_and_comes_up_after_it(
    make_site: Callable[..., Site],
) -> None:
    site = make_site()
    site.run("up", "--yes")
    site.bmc("node-001").power = site.bmc("node-002").power = "Off"
    busy.write(site.state, {"node-002": "runs Slurm job 7 of alice"})
    assert site.stack("preview")["changes"] == [_power("node-001", "off", "on")]
    answer = site.stack("up", "--yes")
    assert answer["changes"] == [_power("node-001", "off", "on")]
    assert answer["held"] == {"node-002": "runs Slurm job 7 of alice"}
    assert answer["outputs"]["hosts"]["node-002"]["state"] == "held"
    assert "node-002: held: runs Slurm job 7 of alice" in site.run("up", "--yes").stdout
    assert site.pulumi("up", "--yes").returncode == 0
    assert site.hall.asked("On") == {"node-001": 2, "node-002": 1, "node-003": 1}
    busy.write(site.state, {})
    site.run("up", "--yes")
    assert site.bmc("node-002").power == "On"
    assert site.stack("preview")["changes"] == []


def test_another_machine_in_a_slot_is_left_alone_and_the_others_come_up(
    make_site: Callable[..., Site],
) -> None:
    site = make_site()
    site.serials = {"node-002": "S99999"}
    site.plan()
    answer = site.stack("up", "--yes", code=2)
    assert [failure["subject"] for failure in answer["failures"]] == ["node-002"]
    assert answer["failures"][0]["code"] == "IDENTITY001"
    assert "got serial S00002, expected S99999" in answer["failures"][0]["cause"]
    assert site.hall.asked("On") == {"node-001": 1, "node-002": 0, "node-003": 1}
    assert not site.bmc("node-002").asked["PATCH"]
    site.serials = {}
    site.plan()
    assert site.stack("up", "--yes")["failures"] == []
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)


def test_a_machine_swapped_by_hand_is_named_by_preview_and_refused_by_up(
    make_site: Callable[..., Site],
) -> None:
    site = make_site()
    site.run("up", "--yes")
    site.bmc("node-003").serial = "S77777"
    preview = site.stack("preview", code=1)
    assert {"slot": "node-003", "field": "serial", "before": "S77777", "after": "S00003"} in preview[
        "changes"
    ]
    assert [failure["code"] for failure in preview["failures"]] == ["IDENTITY001"]
    assert site.stack("refresh", code=2)["failures"] == preview["failures"]
    site.run("up", "--yes", code=2)
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)


_CODES = {
    Fault.DEAF: "BMC002",
    Fault.MUTE: "BMC002",
    Fault.CLOSED: "BMC001",
    Fault.FOREIGN: "BMC003",
    Fault.LOGIN_PAGE: "BMC006",
    Fault.UNAVAILABLE: "BMC005",
}


@pytest.mark.slow
def test_controllers_that_cannot_be_used_are_named_and_stop_nobody(make_site: Callable[..., Site]) -> None:
    site = make_site(len(_CODES) + 2)
    bad = dict(zip(site.hall.bmcs, _CODES, strict=False))
    for slot, fault in bad.items():
        site.bmc(slot).fault = fault
    locked = list(site.hall.bmcs)[-1]
    site.bmc(locked).password = "another"  # noqa: S105 (the double's)
    foreseen = site.stack("preview", code=3)["failures"]
    done = site.run("up", "--yes", code=2)
    answer = site.stack("up", "--yes", code=2)
    assert answer["failures"] == foreseen
    told = {failure["subject"]: failure["code"] for failure in answer["failures"]}
    assert told == {slot: _CODES[fault] for slot, fault in bad.items()} | {locked: "BMC004"}
    for slot, code in told.items():
        assert f"{slot}: error {code}: BMC 127.77.0." in done.stderr
    well = [slot for slot in site.hall.bmcs if slot not in told]
    assert {slot: site.hall.asked("On")[slot] for slot in well} == dict.fromkeys(well, 1)
    assert done.stderr.splitlines()[-1] == f"not brought to the wanted state: {', '.join(told)}"
    assert site.run("preview", code=3).stderr.splitlines()[-1] == f"`up` would fail on: {', '.join(told)}"
    for bmc in site.hall.bmcs.values():
        bmc.fault, bmc.password = None, "secret"
    assert {change["slot"] for change in site.stack("up", "--yes")["changes"]} == set(told)
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)


def test_destroy_forgets_without_asking_and_powers_nothing_off(make_site: Callable[..., Site]) -> None:
    site = make_site()
    site.run("up", "--yes")
    asked = site.hall.asked("GET")
    site.let_in("")
    done = site.run("destroy", "--yes")
    assert "none is powered off" in done.stderr
    assert "node-001: slot forgotten" in done.stdout
    assert site.hall.asked("GET") == asked
    assert {bmc.power for bmc in site.hall.bmcs.values()} == {"On"}
    site.let_in(site.hall.credentials())
    site.run("up", "--yes")
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)


def test_settings_of_a_stack_that_are_gone_are_written_again(make_site: Callable[..., Site]) -> None:
    """A second checkout, or ``git clean``: the state is there, the ignored settings are not."""
    site = make_site()
    site.run("up", "--yes")
    site.settings.unlink()
    assert site.stack("up", "--yes")["changes"] == []
    assert site.settings.exists()


def test_plain_pulumi_works_in_the_stack_folder(make_site: Callable[..., Site]) -> None:
    site = make_site()
    site.run("stacks", "init")

    def pulumi(*words: str) -> str:
        done = site.pulumi(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "HostSet" in pulumi("preview")
    assert {bmc.power for bmc in site.hall.bmcs.values()} == {"Off"}
    pulumi("up", "--yes")
    assert {bmc.power for bmc in site.hall.bmcs.values()} == {"On"}
    pulumi("preview", "--expect-no-changes")
    site.bmc("node-002").power = "Off"
    assert 'hosts["node-002"].power' in pulumi("preview", "--json") or "update" in pulumi("preview")
    pulumi("up", "--yes")
    assert site.bmc("node-002").power == "On"
    pulumi("refresh", "--yes")
    pulumi("destroy", "--yes")
    assert site.hall.asked("On") == {"node-001": 1, "node-002": 2, "node-003": 1}


def test_plain_pulumi_names_a_bad_host_in_one_line_and_brings_up_the_others(
    make_site: Callable[..., Site],
) -> None:
    site = make_site()
    site.run("stacks", "init")
    site.bmc("node-002").fault = Fault.FOREIGN
    done = site.pulumi("up", "--yes")
    assert done.returncode != 0
    assert "node-002: BMC003 BMC 127.77.0.17" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert site.hall.asked("On") == {"node-001": 1, "node-002": 0, "node-003": 1}
