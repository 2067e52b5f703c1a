"""The life of a HostSet: only what differs is touched, the rest is carried over as it was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.provision.onprem import hostset
from tests.doubles.redfish import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.provision.onprem.model import FoundSet, WantedSet
    from tests.unit.provision.conftest import Ground


def _up(ground: Ground, found: FoundSet | None, wanted: WantedSet) -> FoundSet:
    return hostset.brought_up(found, wanted, ground.access, ground.reconciler)


def _forget_what_was_asked(ground: Ground) -> None:
    for bmc in ground.hall.bmcs.values():
        bmc.asked.clear()


def test_a_second_run_touches_nobody(ground: Ground) -> None:
    first = _up(ground, None, ground.wanted_set())
    _forget_what_was_asked(ground)
    assert _up(ground, first, ground.wanted_set()) == first
    assert not any(bmc.asked for bmc in ground.hall.bmcs.values())


def test_only_hosts_that_differ_are_spoken_to(make_ground: Callable[..., Ground]) -> None:
    ground = make_ground(3)
    first = _up(ground, None, ground.wanted_set())
    ground.bmc("node-002").power = "Off"
    read = hostset.read(first, ground.access, ground.reconciler)
    assert {slot: host.power for slot, host in read.hosts.items()} == {
        "node-001": "on",
        "node-002": "off",
        "node-003": "on",
    }
    _forget_what_was_asked(ground)
    _up(ground, read, ground.wanted_set())
    assert ground.hall.asked("On") == {"node-001": 0, "node-002": 1, "node-003": 0}
    assert not ground.bmc("node-001").asked


def test_a_failed_host_is_tried_again_and_the_others_are_kept(make_ground: Callable[..., Ground]) -> None:
    ground = make_ground(3)
    ground.bmc("node-003").fault = Fault.UNAVAILABLE
    first = _up(ground, None, ground.wanted_set())
    assert [failure.subject for failure in hostset.failures_of(first.hosts)] == ["node-003"]
    ground.bmc("node-003").fault = None
    second = _up(ground, first, ground.wanted_set())
    assert not list(hostset.failures_of(second.hosts))
    assert ground.hall.asked("On") == dict.fromkeys(ground.hall.bmcs, 1)


def test_a_slot_that_is_gone_is_forgotten_as_it_is(ground: Ground) -> None:
    first = _up(ground, None, ground.wanted_set())
    _forget_what_was_asked(ground)
    wanted = ground.wanted_set()
    fewer = wanted.model_copy(update={"hosts": {"node-001": wanted.hosts["node-001"]}})
    assert list(_up(ground, first, fewer).hosts) == ["node-001"]
    assert not ground.bmc("node-002").asked
    assert ground.bmc("node-002").power == "On"


def test_a_look_that_is_stopped_keeps_what_was_known(make_ground: Callable[..., Ground]) -> None:
    ground = make_ground(3)
    first = _up(ground, None, ground.wanted_set())
    ground.reconciler.stop()
    assert hostset.read(first, ground.access, ground.reconciler) == first


def test_reading_another_machine_keeps_what_was_wanted(ground: Ground) -> None:
    first = _up(ground, None, ground.wanted_set())
    ground.bmc("node-001").serial = "S77777"
    for _ in range(2):
        first = hostset.read(first, ground.access, ground.reconciler)
    host = first.hosts["node-001"]
    assert (host.serial, host.found_serial, host.power) == ("S00001", "S77777", "unknown")
    assert host.failure is not None
    assert host.failure.code == "IDENTITY001"


def test_drift_shows_in_inputs_too(ground: Ground) -> None:
    first = _up(ground, None, ground.wanted_set())
    ground.bmc("node-002").power = "Off"
    read = hostset.read(first, ground.access, ground.reconciler)
    drifted = hostset.drifted(ground.wanted_set(), read)
    assert [host.power for host in drifted.hosts.values()] == ["on", "off"]


def test_a_preview_foresees_hosts_as_wanted_and_speaks_to_nobody(ground: Ground) -> None:
    foreseen = hostset.foreseen(ground.wanted_set(node_002="maintenance"))
    assert [host.power for host in foreseen.hosts.values()] == ["on", "held"]
    assert not any(bmc.asked for bmc in ground.hall.bmcs.values())


def test_references_are_read_when_they_are_needed(ground: Ground) -> None:
    bmc = ground.wanted_set().bmc
    reach = hostset.access(bmc, ground.folders)
    assert reach.ca == ground.hall.authority.pem
    assert reach.credentials.of("node-001") is not None
    (ground.folders.spec / "bmc.csv").unlink()
    with pytest.raises(EnvironmentUnfit, match="secret cannot be read"):
        hostset.access(bmc, ground.folders)


@pytest.mark.parametrize("content", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_an_authority_without_a_certificate_is_told(ground: Ground, content: str) -> None:
    ground.hall.authority.pem.write_text(content)
    with pytest.raises(EnvironmentUnfit) as raised:
        hostset.access(ground.wanted_set().bmc, ground.folders)
    assert (raised.value.code, raised.value.where) == ("BMC011", "state:bmc-ca.pem")


def test_new_hosts_that_could_not_be_brought_up_are_foreseen_with_their_reason(
    make_ground: Callable[..., Ground],
) -> None:
    ground = make_ground(3)
    wanted = ground.wanted_set()
    ground.bmc("node-001").serial = "another"
    ground.bmc("node-002").macs = ["02:00:00:00:00:99"]
    seen = hostset.previewed(None, wanted, ground.access, ground.reconciler)
    told = {failure.subject: failure.code for failure in hostset.failures_of(seen.hosts)}
    assert told == {"node-001": "IDENTITY001", "node-002": "IDENTITY002"}
    assert seen.hosts["node-003"].power == "on"
    assert {bmc.power for bmc in ground.hall.bmcs.values()} == {"Off"}
