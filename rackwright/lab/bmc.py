"""The management controller of one host: Redfish over TLS on its own address, power by labd.

sushy-tools' emulator with what it lacks: power acts at once instead of within 11 s after the next
look, its truth is labd's, and serial number and MACs are the machine's. Passwords are known only as
bcrypt hashes, from a file.
"""

from __future__ import annotations

import logging
import os
import socket
import ssl
import sys
from typing import TYPE_CHECKING, NoReturn

import jinja2
from sushy_tools import error  # type: ignore[import-untyped]
from sushy_tools.emulator import main as emulator  # type: ignore[import-untyped]
from sushy_tools.emulator.resources.systems import fakedriver  # type: ignore[import-untyped]
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import processes
from rackwright.lab.authority import CERTIFICATE, KEY
from rackwright.lab.bmc_config import CONFIG, MODULE, PASSWORDS, Config
from rackwright.lab.places import Places
from rackwright.lab.protocol import Answer, LabdSilent, Request, Verb, ask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ALREADY_RUNS = 75
_IDLE_S = 60.0
"""A client that says nothing for so long is hung up on."""
_ORDERS = {
    "On": Verb.ON,
    "ForceOn": Verb.ON,
    "ForceOff": Verb.OFF,
    "GracefulShutdown": Verb.SHUTDOWN,
    "GracefulRestart": Verb.RESTART,
    "ForceRestart": Verb.RESET,
}
_UNAVAILABLE = 503
_TEMPLATE = "system.json"
_BEFORE_SERIAL = '"UUID":'
_SERIAL = '"SerialNumber": {{ config.LAB_SERIAL|tojson }},'


class LabDriver(fakedriver.FakeDriver):  # type: ignore[misc]
    """The emulator's driver for a machine of the lab; `machine` and `labd` are set before it is made."""

    machine: Config
    labd: Path

    def get_power_state(self, identity: str) -> str:
        """Ask labd: off, or on."""
        self._get(identity)
        states = self._ask(Verb.STATE).states or {}
        return "Off" if states.get(self.machine.slot) == "off" else "On"

    def set_power_state(self, identity: str, state: str) -> None:
        """Have labd do it now."""
        self._get(identity)
        if state not in _ORDERS:
            raise error.NotSupportedError(f"ResetType {state} is not supported")
        self._ask(_ORDERS[state])

    def get_nics(self, identity: str) -> list[dict[str, str]]:
        """The machine's interfaces."""
        self._get(identity)
        return [{"id": mac, "mac": mac} for mac in self.machine.macs]

    def _ask(self, verb: Verb) -> Answer:
        try:
            return ask(self.labd, Request(verb, self.machine.slot))
        except LabdSilent as silent:
            raise error.FishyError(f"the lab's daemon does not answer: {silent}", _UNAVAILABLE) from None
        except EnvironmentUnfit as unfit:
            raise error.FishyError(unfit.got) from None


class _Handler(WSGIRequestHandler):
    timeout = _IDLE_S
    protocol_version = "HTTP/1.1"


class _Server(ThreadedWSGIServer):
    """TLS is negotiated in the client's own thread: one that says nothing holds up nobody."""

    def __init__(self, config: Config, listening: socket.socket, context: ssl.SSLContext) -> None:
        super().__init__(config.address, config.port, emulator.app.wsgi_app, _Handler, fd=listening.fileno())
        self.ssl_context = context
        self._context = context

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept, and put TLS on it without speaking yet."""
        connection, address = super().get_request()
        tls = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return tls, address


def main(arguments: Sequence[str]) -> NoReturn:
    """Be one controller until a signal ends it."""
    places = Places.parse(arguments)
    slots = [word.removeprefix("--slot=") for word in arguments if word.startswith("--slot=")]
    if places is None or len(slots) != 1:
        sys.exit(f"usage: {MODULE} --cluster=NAME --state=DIR --run=DIR --slot=SLOT")
    os.chdir("/")
    folder = places.bmc(slots[0])
    try:
        processes.claim_pid_file(places.bmc_pid(slots[0]))
        config = Config.read(folder / CONFIG)
        listening = socket.create_server((config.address, config.port), reuse_port=False)
    except processes.AlreadyRuns:
        sys.exit(ALREADY_RUNS)
    except (OSError, ValueError, TypeError, KeyError) as problem:
        sys.exit(f"BMC of {slots[0]}: {problem}")
    _configure(places, folder, config)
    _Server(config, listening, _tls(folder)).serve_forever()
    sys.exit(0)


def _tls(folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    return context


def _configure(places: Places, folder: Path, config: Config) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # a line for each request tells nobody anything
    LabDriver.machine, LabDriver.labd = config, places.socket
    fakedriver.FakeDriver = LabDriver
    emulator.app.configure(
        extra_config={
            "LAB_SERIAL": config.serial,
            "SUSHY_EMULATOR_FAKE_DRIVER": True,
            "SUSHY_EMULATOR_STATE_DIR": str(folder / "settings"),
            "SUSHY_EMULATOR_AUTH_FILE": str(folder / PASSWORDS),
            "SUSHY_EMULATOR_FAKE_SYSTEMS": [
                {"uuid": config.uuid, "name": config.serial, "power_state": "Off", "nics": []}
            ],
        }
    )
    _serve_serial()


def _serve_serial() -> None:
    """Put the serial number into the emulator's template, which has none."""
    loader = emulator.app.jinja_loader
    source = loader.get_source(emulator.app.jinja_env, _TEMPLATE)[0]
    if source.count(_BEFORE_SERIAL) != 1:
        msg = f"this version of sushy-tools has another {_TEMPLATE}"
        raise RuntimeError(msg)
    changed = source.replace(_BEFORE_SERIAL, f"{_SERIAL}\n    {_BEFORE_SERIAL}")
    emulator.app.jinja_loader = jinja2.ChoiceLoader([jinja2.DictLoader({_TEMPLATE: changed}), loader])


if __name__ == "__main__":
    main(sys.argv[1:])
