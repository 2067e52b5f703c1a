"""User data is the boot seed of an instance, in the form that cloud-init reads, and holds no secret."""

from __future__ import annotations

import configparser
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.render import boot
from rackwright.render.cloud import FIRST_LINE, MOST_BYTES, user_data

if TYPE_CHECKING:
    from rackwright.plan.model import Plan

KEYS = ("ssh-ed25519 AAAA1 one", "ssh-ed25519 AAAA2 two")
Document = dict[str, Any]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return open_cluster(paths.repository() / "clusters" / "lab-hybrid.yaml").plan


@pytest.fixture(scope="module")
def text(plan: Plan) -> str:
    return user_data(plan, "cnode", "cnode-002", KEYS)


@pytest.fixture(scope="module")
def document(text: str) -> Document:
    """As cloud-init reads it: YAML behind a first line that says what it is."""
    assert text.startswith(FIRST_LINE)
    read: Document = YAML(typ="safe").load(text)
    return read


def files(document: Document) -> dict[str, str]:
    return {one["path"]: one["content"] for one in document["write_files"]}


def test_an_instance_has_its_slots_name(document: Document) -> None:
    assert (document["hostname"], document["fqdn"]) == ("cnode-002", "cnode-002.lab.internal")
    assert document["manage_etc_hosts"] is False


def test_it_knows_itself_and_its_controller_at_the_other_site(document: Document) -> None:
    lines = [line.split() for line in files(document)["/etc/hosts"].splitlines() if line[0].isdigit()]
    assert ["10.78.0.16", "head-001.lab.internal", "head-001"] in lines
    assert ["10.78.32.17", "cnode-002.lab.internal", "cnode-002"] in lines
    assert len(lines) == 3


def test_who_may_log_in_is_as_in_the_hall(document: Document, plan: Plan) -> None:
    hall = {f"/{path}": text for path, text in boot.login_files(plan.sites["hall"].access, KEYS).items()}
    hall.pop("/etc/resolv.conf")
    assert hall.items() <= files(document).items()
    assert document["users"] == []
    modes = {one["path"]: one["permissions"] for one in document["write_files"]}
    assert modes.pop("/etc/sudoers.d/rackwright") == "0440"
    assert set(modes.values()) == {"0644"}


def test_an_instance_asks_its_zone_for_names(document: Document) -> None:
    assert "/etc/resolv.conf" not in files(document)


def test_interfaces_have_their_planned_addresses(document: Document) -> None:
    parser = configparser.ConfigParser()
    parser.read_string(files(document)["/etc/systemd/network/10-management.network"])
    assert parser["Match"]["Name"] == "mgmt0"
    assert (parser["Network"]["Address"], parser["Network"]["Gateway"]) == ("10.78.32.17/24", "10.78.32.1")
    rail = configparser.ConfigParser()
    rail.read_string(files(document)["/etc/systemd/network/20-r1.network"])
    assert rail["Network"]["Address"] == "10.78.49.17/24"


def test_an_interface_that_no_source_names_is_left_to_dhcp() -> None:
    plan = open_cluster(paths.repository() / "clusters" / "aws-trn2.yaml").plan
    written = files(YAML(typ="safe").load(user_data(plan, "trn2", "trn2-001", KEYS)))
    assert not any(path.startswith("/etc/systemd/network") for path in written)


def test_it_fits_however_many_nodes_there_are(plan: Plan, text: str) -> None:
    pool = plan.pools["cnode"]
    many = {
        f"cnode-{number:04d}": pool.slots["cnode-002"].model_copy(update={"name": f"cnode-{number:04d}"})
        for number in range(3000)
    }
    grown = plan.model_copy(
        update={"pools": {**plan.pools, "cnode": pool.model_copy(update={"slots": many})}}
    )
    other = user_data(grown, "cnode", "cnode-2999", KEYS)
    assert len(other.encode()) < MOST_BYTES
    assert len(other) - len(text) < 100


def test_a_hall_has_no_user_data(plan: Plan) -> None:
    with pytest.raises(TypeError, match="pool node is in a hall"):
        user_data(plan, "node", "node-001", KEYS)
