"""A real BMC process on loopback, with a labd that only notes what it is asked."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import authority, bmc_config, logins
from rackwright.lab.protocol import Answer, Request, Verb
from rackwright.spec.credentials import Login

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.lab.places import Places

ADDRESS = "127.0.0.1"
LOGIN = Login("admin", "a fresh canary")
SERIAL = 'LAB-"{{ 7 * 7 }}'
"""What no factory prints, and no template may read."""
MACS = ("02:77:00:00:00:11", "02:aa:00:00:00:01")


@dataclass
class Labd:
    """Notes requests, and says what a test wants."""

    asked: list[Request] = field(default_factory=list)
    answer: Answer = field(default_factory=lambda: Answer(states={"node-001": "off"}))


class _Notes(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server = self.server
        assert isinstance(server, _NoteServer)
        server.labd.asked.append(Request.parse(self.rfile.readline()))
        self.wfile.write(server.labd.answer.line())


class _NoteServer(socketserver.ThreadingUnixStreamServer):
    labd: Labd


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    from rackwright.lab.places import Places as Real  # noqa: PLC0415 (the name is the annotation's)

    folder = tmp_path_factory.mktemp("bmc")
    return Real("lab", folder / "state", folder / "run")


@pytest.fixture(scope="module")
def labd(places: Places) -> Iterator[Labd]:
    places.run.mkdir()
    with _NoteServer(str(places.socket), _Notes) as server:
        server.labd = Labd()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.labd
        server.shutdown()


@dataclass(frozen=True)
class Bmc:
    """How a test reaches it."""

    port: int
    ca: str

    def ask(
        self, path: str, body: object = None, login: Login | None = LOGIN
    ) -> tuple[int, dict[str, object]]:
        context = ssl.create_default_context(cadata=self.ca)
        connection = http.client.HTTPSConnection(ADDRESS, self.port, timeout=120, context=context)
        headers = {"Content-Type": "application/json"}
        if login is not None:
            token = base64.b64encode(f"{login.user}:{login.password}".encode()).decode()
            headers["Authorization"] = f"Basic {token}"
        text = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, text, headers)
        response = connection.getresponse()
        raw = response.read()
        connection.close()
        return response.status, json.loads(raw) if raw.startswith(b"{") else {}


@pytest.fixture(scope="module")
def bmc(places: Places, labd: Labd) -> Iterator[Bmc]:
    assert labd.asked == []
    folder = places.bmc("node-001")
    folder.mkdir(parents=True)
    signer = authority.authority(places.authority, "lab")
    authority.certify(folder, ADDRESS, signer)
    with socket.socket() as free:
        free.bind((ADDRESS, 0))
        port = free.getsockname()[1]
    config = bmc_config.Config(
        "node-001", ADDRESS, port, SERIAL, "0e8f7d1c-0000-4000-8000-000000000001", MACS
    )
    (folder / bmc_config.CONFIG).write_text(config.dumps())
    (folder / bmc_config.PASSWORDS).write_text(logins.hashed(LOGIN))
    options = [*places.arguments(), "--slot=node-001"]
    with subprocess.Popen(
        [sys.executable, "-I", "-m", bmc_config.MODULE, *options], stderr=subprocess.DEVNULL
    ) as process:
        _until_it_listens(port, process)
        yield Bmc(port, signer.pem)
        process.kill()


def _until_it_listens(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while True:
        try:
            socket.create_connection((ADDRESS, port), timeout=60).close()
        except ConnectionRefusedError:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        else:
            return


def _system(bmc: Bmc) -> str:
    _, systems = bmc.ask("/redfish/v1/Systems")
    members = systems["Members"]
    assert isinstance(members, list)
    assert len(members) == 1
    return str(members[0]["@odata.id"])


@pytest.mark.parametrize(
    "login", [None, Login("admin", "wrong"), Login("other", LOGIN.password), Login("", "")]
)
@pytest.mark.parametrize("path", ["/redfish/v1/Systems", "/redfish/v1/Managers", "/redfish/v1/Chassis"])
def test_without_its_password_it_tells_nothing(bmc: Bmc, path: str, login: Login | None) -> None:
    assert bmc.ask(path, login=login)[0] == http.HTTPStatus.UNAUTHORIZED


def test_it_tells_serial_and_macs_as_they_are(bmc: Bmc) -> None:
    _, system = bmc.ask(_system(bmc))
    assert system["SerialNumber"] == SERIAL
    _, nics = bmc.ask(f"{_system(bmc)}/EthernetInterfaces")
    members = nics["Members"]
    assert isinstance(members, list)
    found = [bmc.ask(nic["@odata.id"])[1]["PermanentMACAddress"] for nic in members]
    assert found == list(MACS)


def test_power_is_asked_every_time(bmc: Bmc, labd: Labd) -> None:
    for state, power in (("off", "Off"), ("booting", "On"), ("on", "On"), ("off", "Off")):
        labd.answer = Answer(states={"node-001": state})
        assert bmc.ask(_system(bmc))[1]["PowerState"] == power


@pytest.mark.parametrize(
    ("kind", "verb"),
    [
        ("On", Verb.ON),
        ("ForceOn", Verb.ON),
        ("ForceOff", Verb.OFF),
        ("GracefulShutdown", Verb.SHUTDOWN),
        ("GracefulRestart", Verb.RESTART),
        ("ForceRestart", Verb.RESET),
    ],
)
def test_an_order_reaches_labd_before_it_is_answered(bmc: Bmc, labd: Labd, kind: str, verb: Verb) -> None:
    labd.answer = Answer(states={"node-001": "off"})
    system = _system(bmc)
    labd.asked.clear()
    status, _ = bmc.ask(f"{system}/Actions/ComputerSystem.Reset", {"ResetType": kind})
    assert status == http.HTTPStatus.NO_CONTENT
    assert labd.asked == [Request(verb, "node-001")]


@pytest.mark.parametrize("kind", ["Nmi", "PushPowerButton", "", None])
def test_what_it_cannot_do_it_refuses_and_nothing_happens(bmc: Bmc, labd: Labd, kind: str | None) -> None:
    system = _system(bmc)
    labd.asked.clear()
    status, _ = bmc.ask(f"{system}/Actions/ComputerSystem.Reset", {"ResetType": kind})
    assert status == http.HTTPStatus.NOT_IMPLEMENTED
    assert labd.asked == []


def test_what_labd_could_not_do_is_no_success(bmc: Bmc, labd: Labd) -> None:
    system = _system(bmc)
    labd.answer = Answer(error="the disk is broken")
    status, body = bmc.ask(f"{system}/Actions/ComputerSystem.Reset", {"ResetType": "On"})
    labd.answer = Answer(states={"node-001": "off"})
    assert status == http.HTTPStatus.INTERNAL_SERVER_ERROR
    assert "the disk is broken" in str(body)


def test_without_labd_it_says_so_and_claims_no_power_state(bmc: Bmc, places: Places) -> None:
    system = _system(bmc)
    away = places.socket.rename(places.socket.with_suffix(".away"))
    try:
        status, body = bmc.ask(system)
    finally:
        away.rename(places.socket)
    assert status == http.HTTPStatus.SERVICE_UNAVAILABLE
    assert "PowerState" not in body


def test_a_client_that_never_speaks_holds_up_nobody(bmc: Bmc) -> None:
    with socket.create_connection((ADDRESS, bmc.port)), socket.create_connection((ADDRESS, bmc.port)):
        assert bmc.ask("/redfish/v1/Systems")[0] == http.HTTPStatus.OK


def test_a_port_that_is_taken_ends_it_with_a_reason(bmc: Bmc, places: Places) -> None:
    folder = places.bmc("node-002")
    folder.mkdir()
    config = bmc_config.Config("node-002", ADDRESS, bmc.port, "S", "u", MACS)
    (folder / bmc_config.CONFIG).write_text(config.dumps())
    options = [*places.arguments(), "--slot=node-002"]
    done = subprocess.run(
        [sys.executable, "-I", "-m", bmc_config.MODULE, *options],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert "Address already in use" in done.stderr
