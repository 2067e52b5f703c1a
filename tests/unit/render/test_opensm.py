"""What a subnet manager's host is given, before and after its fabric was looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.plan.build import build
from rackwright.render.fabric import ibnetdiscover, kept
from rackwright.render.fabric.network import network
from rackwright.render.fabric.opensm import of_hosts
from rackwright.render.files import write_all
from rackwright.spec.load import load

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.model import Plan

SPEC = paths.repository() / "clusters" / "onprem-dgx-h100.yaml"


@pytest.fixture
def plan(catalogue: Catalogue) -> Plan:
    return build(load(SPEC), catalogue, None)[0]


def test_master_and_standby_of_every_subnet_differ_in_their_priority_alone(plan: Plan) -> None:
    files = dict(of_hosts(plan, {}))
    assert {path.rpartition("/")[0] for path in files} == {
        f"{slot}/{subnet}" for slot in ("mgmt-001", "mgmt-002") for subnet in ("compute", "storage")
    }
    master, standby = (files[f"mgmt-00{n}/compute/opensm.conf"] for n in (1, 2))
    assert master.replace("sm_priority 15", "sm_priority 14") == standby
    assert "routing_engine ftree\n" in master


def test_a_standby_begins_after_its_master(plan: Plan) -> None:
    """Both at once can both become master, and stay it (`STANDBY_WAITS_S` says why)."""
    files = dict(of_hosts(plan, {}))
    waits = [files[f"mgmt-00{n}/compute/opensm.env"].splitlines()[-1] for n in (1, 2)]
    assert waits == ["START_AFTER_S=0", "START_AFTER_S=20"]


def test_guids_are_listed_once_they_are_known(plan: Plan) -> None:
    """A list of GUIDs that were made up would make opensm refuse a healthy tree."""
    before = dict(of_hosts(plan, {}))
    assert not any("guid_file" in text for text in before.values())
    assert not any(path.endswith("_guids.txt") for path in before)
    after = dict(of_hosts(plan, {"compute": network(plan, "compute")}))
    assert (
        "root_guid_file /etc/rackwright/opensm/compute/root_guids.txt\n"
        in after["mgmt-001/compute/opensm.conf"]
    )
    assert len(after["mgmt-001/compute/root_guids.txt"].splitlines()) == 16
    assert len(after["mgmt-001/compute/cn_guids.txt"].splitlines()) == 127 * 8
    assert "guid_file" not in after["mgmt-001/storage/opensm.conf"]


def test_a_kept_dump_is_what_roles_are_given(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = network(plan, "compute")
    kept.keep(plan.cluster.name, "compute", ibnetdiscover.write(found))
    paths_ = {file.path for file in write_all(plan, tmp_path / "rendered")}
    assert "subnet_manager/mgmt-002/compute/root_guids.txt" in paths_
    assert "subnet_manager/mgmt-002/storage/root_guids.txt" not in paths_
