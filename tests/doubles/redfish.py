"""A hall of management controllers on loopback: HTTPS, the documented Redfish subset, and faults.

One process serves any number of them, each at its own address of 127.0.0.0/8 and one port, and
counts what was asked of each. It shares no code with what it tests; `tests/unit/provision` also
runs the reconciler against sushy-tools' emulator, which somebody else wrote.

Source: DMTF DSP0266 (protocol) and DSP2046 (ComputerSystem, EthernetInterface).
"""

from __future__ import annotations

import base64
import json
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler
from socketserver import BaseRequestHandler, BaseServer
from typing import TYPE_CHECKING, Self, TypeAlias

from tests.doubles.authority import Authority

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | None"

ROOT = "/redfish/v1/"
SYSTEMS = "/redfish/v1/Systems"
FOREVER = 3600.0
_HELLO = 1 << 16
"""More bytes than a client's first words of TLS have."""
_RESET = struct.pack("ii", 1, 0)
"""struct linger: nothing is waited for when the socket is closed."""


class Fault(Enum):
    """How a controller misbehaves."""

    DEAF = auto()
    """Accepts a connection and never speaks TLS."""
    MUTE = auto()
    """Speaks TLS and never answers."""
    TRICKLE = auto()
    """Answers a byte a second."""
    HALF = auto()
    """Stops in the middle of an answer."""
    CLOSED = auto()
    """Closes every connection, once it has heard something."""
    RESET = auto()
    """Resets every connection."""
    PLAIN = auto()
    """Answers HTTP without TLS."""
    FOREIGN = auto()
    """Shows a certificate of another authority."""
    MISPLACED = auto()
    """Shows a certificate for another address."""
    LOGIN_PAGE = auto()
    """Answers with HTML."""
    LIST = auto()
    """Answers with JSON that is no object."""
    SHAPE = auto()
    """Answers with an object of the wrong types."""
    UNAVAILABLE = auto()
    """Answers 503."""
    BUSY = auto()
    """Refuses every action for now, in the words at which sushy tries again."""
    STUCK = auto()
    """Accepts a power-on and does nothing."""
    DEAF_TO_POWER = auto()
    """Accepts a power-on, does it, and never answers."""


@dataclass
class Bmc:
    """One controller and its host."""

    address: str
    serial: str
    macs: list[str]
    user: str = "admin"
    password: str = field(default="secret", repr=False)
    power: str = "Off"
    boot_target: str = "None"
    boot_enabled: str = "Disabled"
    boot_offered: list[str] = field(default_factory=lambda: ["None", "Pxe", "Hdd", "UefiHttp"])
    beside: list[str] = field(default_factory=list)
    """Serial numbers of further systems it serves, listed first."""
    power_delay_s: float = 0
    """From a power-on to ``On``; ``PoweringOn`` in between."""
    answer_delay_s: float = 0
    fault: Fault | None = None
    asked: Counter[str] = field(default_factory=Counter)
    """Requests by kind: ``GET``, ``PATCH``, ``On``, …"""
    on_at: float = 0
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def reset(self, kind: str) -> None:
        """The action ComputerSystem.Reset."""
        with self._counting:
            self.asked[kind] += 1
        if self.fault is Fault.STUCK:
            return
        if kind in {"On", "ForceOn"} and self.power == "Off":
            self.power, self.on_at = "On", time.monotonic() + self.power_delay_s
        elif kind in {"ForceOff", "GracefulShutdown"}:
            self.power = "Off"

    @property
    def power_state(self) -> str:
        """As Redfish reports it."""
        return "PoweringOn" if self.power == "On" and time.monotonic() < self.on_at else self.power

    def system(self, path: str) -> Json:
        """The host's ComputerSystem."""
        return {
            "@odata.id": path,
            "Id": "host",
            "Name": "host",
            "SerialNumber": f"{self.serial} ",
            "PowerState": self.power_state,
            "Boot": {
                "BootSourceOverrideTarget": self.boot_target,
                "BootSourceOverrideEnabled": self.boot_enabled,
                "BootSourceOverrideTarget@Redfish.AllowableValues": list(self.boot_offered),
            },
            "EthernetInterfaces": {"@odata.id": f"{path}/EthernetInterfaces"},
            "Actions": {
                "#ComputerSystem.Reset": {
                    "target": f"{path}/Actions/ComputerSystem.Reset",
                    "ResetType@Redfish.AllowableValues": [
                        "On",
                        "ForceOff",
                        "GracefulShutdown",
                        "ForceRestart",
                    ],
                }
            },
        }

    def resource(self, path: str) -> Json:
        """What a GET of a path answers, None where there is nothing."""
        host = f"{SYSTEMS}/host"
        boards = {f"{SYSTEMS}/board{number}": serial for number, serial in enumerate(self.beside)}
        nics = {f"{host}/EthernetInterfaces/{number}": mac for number, mac in enumerate(self.macs)}
        known: dict[str, Json] = {
            ROOT: {
                "Id": "Root",
                "Name": "Root",
                "RedfishVersion": "1.11.0",
                "Systems": {"@odata.id": SYSTEMS},
            },
            SYSTEMS: _collection("Systems", [*boards, host]),
            host: self.system(host),
            f"{host}/EthernetInterfaces": _collection("EthernetInterfaces", list(nics)),
        }
        known |= {nic: {"Id": nic[-1], "Name": "NIC", "MACAddress": mac} for nic, mac in nics.items()}
        known |= {
            board: {"Id": board[-1], "Name": "board", "SerialNumber": serial, "PowerState": "On"}
            for board, serial in boards.items()
        }
        return known.get(path)


def _collection(name: str, members: list[str]) -> Json:
    return {"Name": name, "Members": [{"@odata.id": member} for member in members]}


class Hall:
    """All controllers of a hall, served until `close`.

    Args:
        folder: for the authority's files.
        bmcs: by slot.
        port: 0 picks a free one.
    """

    def __init__(self, folder: Path, bmcs: Mapping[str, Bmc], port: int = 0) -> None:
        self.bmcs = dict(bmcs)
        self.authority = Authority(folder)
        self.foreign = Authority(folder, "foreign-ca")
        self._server = _Server(self, port)
        self.port = self._server.port

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving; threads that hang on a fault end with it."""
        self._server.close()

    def asked(self, kind: str) -> dict[str, int]:
        """How often each slot was asked that."""
        return {slot: bmc.asked[kind] for slot, bmc in self.bmcs.items()}

    def credentials(self) -> str:
        """The CSV that lets in everywhere."""
        rows = [f"{slot},{bmc.user},{bmc.password}" for slot, bmc in self.bmcs.items()]
        return "\n".join(["slot,user,password", *rows, ""])


class _Server:
    """Listens on all of loopback, and only there; a thread for each connection."""

    def __init__(self, hall: Hall, port: int) -> None:
        self.hung = threading.Event()
        self._hall = hall
        self._by_address = {bmc.address: bmc for bmc in hall.bmcs.values()}
        self._contexts: dict[Path, ssl.SSLContext] = {}
        self._socket = listening(port)
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the listening; hanging threads notice."""
        self.hung.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _accept(self) -> None:
        while not self.hung.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, ValueError):
            bmc = self._by_address.get(connection.getsockname()[0])
            if bmc is None or bmc.fault is Fault.CLOSED:
                connection.recv(_HELLO)  # what is not read when it is closed makes a reset of it
                return
            if bmc.fault is Fault.RESET:
                connection.recv(_HELLO)  # reset earlier, Python's ssl leaves its socket open (3.11)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                return
            if bmc.fault is Fault.PLAIN:
                connection.recv(_HELLO)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                return
            if bmc.fault is Fault.DEAF:
                self.hung.wait(FOREVER)
                return
            with self._context(bmc).wrap_socket(connection, server_side=True) as secured:
                _Handler(secured, bmc, self.hung)

    def _context(self, bmc: Bmc) -> ssl.SSLContext:
        authority = self._hall.foreign if bmc.fault is Fault.FOREIGN else self._hall.authority
        path = authority.chain_for("198.51.100.1" if bmc.fault is Fault.MISPLACED else bmc.address)
        if path not in self._contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(path)
            self._contexts[path] = context
        return self._contexts[path]


def listening(port: int, address: str = "0.0.0.0", backlog: int = 1024) -> socket.socket:  # noqa: S104 (see below)
    """A socket that is reached through the loopback device only, whatever its address."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
    listener.bind((address, port))
    listener.listen(backlog)
    return listener


_NOBODY = BaseServer(("", 0), BaseRequestHandler)
"""Handlers want a server; ours needs nothing of one."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body in one segment, or Nagle and delayed ACK add 40 ms to every answer.
    wbufsize = -1

    def __init__(self, connection: ssl.SSLSocket, bmc: Bmc, hung: threading.Event) -> None:
        self.bmc = bmc
        self.hung = hung
        super().__init__(connection, connection.getpeername(), _NOBODY)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.bmc.asked["GET"] += 1
        if self._misbehaves() or self._stranger():
            return
        resource = self.bmc.resource(self.path)
        self._answer(
            200 if resource is not None else 404, resource if resource is not None else _error("gone")
        )

    def do_PATCH(self) -> None:
        self.bmc.asked["PATCH"] += 1
        body = self._body()
        if self._misbehaves() or self._stranger():
            return
        boot = body["Boot"]
        assert isinstance(boot, dict)
        self.bmc.boot_target = str(boot.get("BootSourceOverrideTarget", self.bmc.boot_target))
        self.bmc.boot_enabled = str(boot.get("BootSourceOverrideEnabled", self.bmc.boot_enabled))
        self._answer(204, None)

    def do_POST(self) -> None:
        body = self._body()
        if self._misbehaves() or self._stranger():
            return
        if self.bmc.fault is Fault.BUSY:
            self.bmc.asked["refused"] += 1
            self._answer(503, _error("SYS518: iDRAC is currently unable to process the request"))
            return
        self.bmc.reset(str(body["ResetType"]))
        if self.bmc.fault is Fault.DEAF_TO_POWER:
            self.hung.wait(FOREVER)
        self._answer(204, None)

    def _body(self) -> dict[str, Json]:
        read: dict[str, Json] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return read

    def _stranger(self) -> bool:
        if self.path.rstrip("/") == ROOT.rstrip("/"):
            return False
        expected = base64.b64encode(f"{self.bmc.user}:{self.bmc.password}".encode()).decode()
        if self.headers["Authorization"] == f"Basic {expected}":
            return False
        self._answer(401, _error("Access denied"))
        return True

    def _misbehaves(self) -> bool:
        self.hung.wait(self.bmc.answer_delay_s)
        match self.bmc.fault:
            case Fault.MUTE:
                self.hung.wait(FOREVER)
            case Fault.TRICKLE:
                self._trickle(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"
                )
            case Fault.HALF:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{")
                self.wfile.flush()
                self.hung.wait(FOREVER)
            case Fault.LOGIN_PAGE:
                self._send(200, b"<html><title>Log in</title></html>")
            case Fault.LIST:
                self._answer(200, [])
            case Fault.SHAPE:
                self._answer(200, {"Systems": 5, "Members": 7, "Id": []})
            case Fault.UNAVAILABLE:
                self._answer(503, _error("Starting"))
            case _:
                return False
        self.close_connection = True
        return True

    def _trickle(self, answer: bytes) -> None:
        for byte in answer + b" " * 5000:
            if self.hung.wait(1):
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()

    def _answer(self, status: int, document: Json) -> None:
        self._send(status, b"" if document is None else json.dumps(document).encode())

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _error(message: str) -> Json:
    return {"error": {"code": "Base.1.8.GeneralError", "message": message}}
