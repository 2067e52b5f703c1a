"""Every host has a BMC of its own: verified, closed to strangers, and true."""

from __future__ import annotations

import http.client
import socket
import ssl
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import processes
from rackwright.lab.status import read_world
from tests.hosts.lab import WITHIN_S

if TYPE_CHECKING:
    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab

SLOTS = ("head-001", "node-001", "node-002", "node-003")


@pytest.mark.parametrize("slot", SLOTS)
def test_a_bmc_answers_its_own_password_with_serial_and_macs(lab: Lab, slot: str) -> None:
    system = lab.redfish(slot)
    nics = lab.redfish(slot, "/EthernetInterfaces").body["Members"]
    host = lab.host(slot)
    assert system.status == http.HTTPStatus.OK
    assert system.text("SerialNumber") == f"LAB-000{SLOTS.index(slot) + 1}"
    assert isinstance(nics, list)
    assert [nic["@odata.id"].rpartition("/")[2] for nic in nics] == [nic.mac for nic in host.nics]


def test_a_wrong_password_opens_nothing(lab: Lab) -> None:
    assert lab.redfish("node-001", password="x" * 32).status == http.HTTPStatus.UNAUTHORIZED
    other = lab.password("node-002")
    assert lab.redfish("node-001", password=other).status == http.HTTPStatus.UNAUTHORIZED


def test_another_authority_does_not_vouch_for_a_bmc(lab: Lab) -> None:
    host = lab.host("node-001")
    strangers = ssl.create_default_context()
    with (
        socket.create_connection((host.bmc_address, host.bmc_port), timeout=WITHIN_S) as plain,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        strangers.wrap_socket(plain, server_hostname=host.bmc_address)


def test_a_certificate_is_for_its_own_address_only(lab: Lab) -> None:
    host = lab.host("node-001")
    context = ssl.create_default_context(cafile=str(lab.places.state / "bmc-ca.pem"))
    with (
        socket.create_connection((host.bmc_address, host.bmc_port), timeout=WITHIN_S) as plain,
        pytest.raises(ssl.SSLCertVerificationError, match="not valid for"),
    ):
        context.wrap_socket(plain, server_hostname=lab.host("node-002").bmc_address)


def test_no_password_is_on_a_command_line(lab: Lab) -> None:
    lines = [" ".join(processes.arguments(pid)) for pid in processes.all_pids()]
    assert sum("rackwright.lab.bmc" in line and lab.name in line for line in lines) >= len(SLOTS)
    for slot in SLOTS:
        assert not any(lab.password(slot) in line for line in lines)


def test_what_holds_passwords_is_for_root_alone(lab: Lab) -> None:
    files = [lab.places.state / "secrets" / "bmc.csv", lab.places.authority / "key.pem", lab.places.socket]
    files += [lab.places.bmc(slot) / name for slot in SLOTS for name in ("passwords", "key.pem")]
    assert {file.stat().st_mode & 0o077 for file in files} == {0}


def test_a_second_up_verifies_and_changes_nothing(lab: Lab) -> None:
    world = read_world(lab.places)
    pids = [lab.places.labd_pid, *(lab.places.bmc_pid(host.slot) for host in world.hosts)]
    before = [processes.read_pid_file(file) for file in pids]
    again = lab.up()
    assert (again["made"], again["cleared"]) == ([], [])
    assert [processes.read_pid_file(file) for file in pids] == before
    assert "was up" in lab.rackwright("lab", "up", str(lab.spec)).stdout
