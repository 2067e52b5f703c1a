"""The reconciler against sushy-tools' emulator: a Redfish service that somebody else wrote."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bcrypt
import pytest

from rackwright import paths
from rackwright.errors import SubjectFailed
from rackwright.plan.model import HostPlan
from rackwright.provision.onprem.model import WantedHost, wanted_host
from rackwright.provision.onprem.reconcile import bring_up, look
from rackwright.provision.onprem.redfish import Access
from rackwright.spec.credentials import parse
from tests.doubles.authority import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SLOT, ADDRESS, MAC = "node-001", "127.79.0.1", "02:00:00:00:00:01"
LOGINS = "slot,user,password\n*,admin,secret\n"


@dataclass
class Emulated:
    """A controller, and what its host does."""

    folder: Path
    access: Access

    @property
    def power(self) -> str:
        return (self.folder / "power").read_text()

    @property
    def asked(self) -> list[str]:
        return (self.folder / "asked").read_text().split()


def _configuration(folder: Path, port: int) -> dict[str, object]:
    return {
        "ADDRESS": ADDRESS,
        "PORT": port,
        "CHAIN": str(Authority(folder).chain_for(ADDRESS)),
        "SERIAL": "S00001",
        "SUSHY_EMULATOR_FAKE_DRIVER": True,
        "SUSHY_EMULATOR_AUTH_FILE": str(folder / "htpasswd"),
        "SUSHY_EMULATOR_STATE_DIR": str(folder),
        "SUSHY_EMULATOR_FAKE_SYSTEMS": [
            {
                "uuid": "27946b59-9e44-4fa7-8e91-f3527a1ef094",
                "name": SLOT,
                "power_state": "Off",
                "nics": [{"mac": "02:ff:00:00:00:01", "ip": ""}, {"mac": MAC, "ip": ""}],
            }
        ],
    }


@pytest.fixture
def emulated(tmp_path: Path) -> Iterator[Emulated]:
    with socket.socket() as free:
        free.bind((ADDRESS, 0))
        port = free.getsockname()[1]
    hashed = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    (tmp_path / "htpasswd").write_text(f"admin:{hashed}\n")
    (tmp_path / "power").write_text("Off")
    (tmp_path / "asked").touch()
    (tmp_path / "config.json").write_text(json.dumps(_configuration(tmp_path, port)))
    command = [sys.executable, "-m", "tests.doubles.emulator", str(tmp_path / "config.json")]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(command, cwd=paths.repository(), stdout=log, stderr=log) as process,
    ):
        _listens(port, process, tmp_path / "log")
        yield Emulated(tmp_path, Access(port, tmp_path / "bmc-ca.pem", parse(LOGINS, "file:bmc.csv")))
        process.terminate()


def _listens(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < until:
        with socket.socket() as one:
            if one.connect_ex((ADDRESS, port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(log.read_text())


@pytest.fixture
def wanted() -> WantedHost:
    return wanted_host(HostPlan(bmc_address=ADDRESS, serial="S00001", boot_mac=MAC, held=""))


def test_a_host_is_brought_up_once_and_then_adopted(emulated: Emulated, wanted: WantedHost) -> None:
    assert look(SLOT, wanted, emulated.access).power == "off"
    for _ in range(2):
        assert bring_up(SLOT, wanted, emulated.access).power == "on"
    assert emulated.power == "On"
    assert emulated.asked == ["On"]
    assert look(SLOT, wanted, emulated.access).power == "on"


def test_another_machine_and_another_password_are_told(emulated: Emulated, wanted: WantedHost) -> None:
    for differing, code in (
        ({"serial": "S2"}, "IDENTITY001"),
        ({"boot_mac": "02:00:00:00:00:02"}, "IDENTITY002"),
    ):
        with pytest.raises(SubjectFailed) as raised:
            bring_up(SLOT, wanted.model_copy(update=differing), emulated.access)
        assert raised.value.failures[0].code == code
    wrong = Access(
        emulated.access.port, emulated.access.ca, parse(LOGINS.replace("secret", "wrong"), "file:x")
    )
    with pytest.raises(SubjectFailed) as raised:
        bring_up(SLOT, wanted, wrong)
    assert raised.value.failures[0].code == "BMC004"
    assert emulated.asked == []
