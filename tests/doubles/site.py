"""A spec in files with its controllers on loopback, and `rackwright` run on it as a user would."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rackwright import paths
from tests.doubles.redfish import Bmc, Hall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SCRIPT = Path(sys.executable).with_name("rackwright")
NETWORK = IPv4Address("127.77.0.0")
FIRST_ADDRESS = 16
"""Addresses of a network that are reserved; slots come after them."""
TIMEOUT_S = 600


class Site:
    """Cluster of one pool `node` in hall `hall`, planned; its stack is `<name>-hall`.

    Args:
        folder: for the spec and for the state.
        name: of the cluster; stack settings lie in the checkout, so no two sites may share it.
        hosts: how many.
        password: of every controller.
    """

    def __init__(self, folder: Path, name: str, hosts: int = 3, password: str = "secret") -> None:  # noqa: S107 (a double's)
        self.folder, self.name = folder, name
        numbers = range(1, hosts + 1)
        self.hall = Hall(folder, {f"node-{number:03d}": _bmc(number, password) for number in numbers})
        self.held: set[str] = set()
        self.serials: dict[str, str] = {}
        """What the asset file says where that is not what the machine says."""
        self.environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        self.plan()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the controllers, and take the stack's settings out of the checkout."""
        self.hall.close()
        self.settings.unlink(missing_ok=True)

    def move(self, folder: Path) -> None:
        """To another machine, as far as anybody can tell: other folders, and a checkout without settings."""
        before, self.folder = self.folder, folder
        shutil.copytree(before, folder, symlinks=True)
        shutil.rmtree(before / "state")
        for references_to in ("ca.pem", "bmc.csv"):
            (before / references_to).unlink()
        self.environment["XDG_STATE_HOME"] = str(folder / "state")
        self.settings.unlink()

    @property
    def spec(self) -> Path:
        return self.folder / f"{self.name}.yaml"

    @property
    def state(self) -> Path:
        return self.folder / "state" / "rackwright" / self.name

    @property
    def stack_name(self) -> str:
        return f"{self.name}-hall"

    @property
    def project(self) -> Path:
        return paths.repository() / "stacks" / "onprem"

    @property
    def settings(self) -> Path:
        return self.project / f"Pulumi.{self.stack_name}.yaml"

    @property
    def credentials(self) -> Path:
        return self.folder / "bmc.csv"

    def bmc(self, slot: str) -> Bmc:
        return self.hall.bmcs[slot]

    def slow_down(self, seconds: float) -> None:
        """Every controller takes that long for every answer."""
        for bmc in self.hall.bmcs.values():
            bmc.answer_delay_s = seconds

    def plan(self) -> None:
        """Write all files as they now are, and plan."""
        self.write()
        self.run("plan")

    def write(self) -> None:
        self.spec.write_text(json.dumps(self._spec()))
        header = "slot,serial,bmc_address,bmc_mac,boot_mac,hca_guids,state"
        (self.folder / "assets.csv").write_text("\n".join([header, *self._rows(), ""]))
        shutil.copy(self.hall.authority.pem, self.folder / "ca.pem")
        self.let_in(self.hall.credentials())

    def let_in(self, credentials: str) -> None:
        self.credentials.write_text(credentials)
        self.credentials.chmod(0o600)

    def command(self, *words: str) -> list[str]:
        """Words of a command on this spec: the verb, the spec, its options."""
        verb = list(words[:2]) if words[0] == "stacks" else [words[0]]
        return [str(SCRIPT), *verb, str(self.spec), *words[len(verb) :]]

    def run(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run one command to its end, and assert its exit code."""
        done = subprocess.run(
            self.command(*words),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def stack(self, *words: str, code: int = 0) -> Mapping[str, Any]:
        """The one stack of a command's JSON answer."""
        answer = json.loads(self.run(*words, "--format", "json", code=code).stdout)
        assert answer["schema"] == "rackwright/stacks/1"
        entry: Mapping[str, Any] = answer["stacks"][f"onprem/{self.stack_name}"]
        return entry

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Begin a command that a test will cut off."""
        return subprocess.Popen(
            self.command(*words),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def pulumi(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A plain `pulumi` in the stack's folder, in the environment that `rackwright env` prints."""
        script = 'eval "$(rackwright env "$1")" && cd "$2" && shift 2 && pulumi "$@"'
        arguments = [
            str(self.spec),
            str(self.project),
            *words,
            "--stack",
            self.stack_name,
            "--non-interactive",
        ]
        path = f"{SCRIPT.parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-ec", script, "-", *arguments],
            env={**self.environment, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def checkpoint(self) -> Mapping[str, Any]:
        """The engine's state of the stack, from its file."""
        file = self.state / "engine" / ".pulumi" / "stacks" / "onprem" / f"{self.stack_name}.json"
        state: Mapping[str, Any] = json.loads(file.read_text())["checkpoint"]["latest"]
        return state

    def _rows(self) -> Iterator[str]:
        for slot, bmc in self.hall.bmcs.items():
            serial = self.serials.get(slot, bmc.serial)
            mac = bmc.macs[-1]
            state = "maintenance" if slot in self.held else ""
            yield f"{slot},{serial},{bmc.address},{mac.replace('02:00', '02:01', 1)},{mac},,{state}"

    def _spec(self) -> object:
        return {
            "rackwright": 1,
            "cluster": {"name": self.name, "domain": "test.example"},
            "images": {"debian": {"os": "debian-13"}},
            "sites": {
                "hall": {
                    "kind": "onprem",
                    "racks": {"rows": 20, "per_row": 40, "units": 48, "power_kw": 40},
                    "access": {"console_logs": "state:console"},
                    "networks": {"management": {"cidr": "10.99.0.0/16"}, "bmc": {"cidr": f"{NETWORK}/16"}},
                    "bmc": {"credentials": "file:bmc.csv", "ca": "file:ca.pem", "port": self.hall.port},
                }
            },
            "pools": {
                "node": {
                    "site": "hall",
                    "platform": "lab-node",
                    "nodes": {"static": len(self.hall.bmcs)},
                    "image": "debian",
                    "assets": "file:assets.csv",
                }
            },
        }


def _bmc(number: int, password: str) -> Bmc:
    """A controller whose host lists another NIC before the one it boots from."""
    tail = f"{number >> 8:02x}:{number & 255:02x}"
    macs = [f"02:ff:00:00:{tail}", f"02:00:00:00:{tail}"]
    return Bmc(str(NETWORK + FIRST_ADDRESS + number - 1), f"S{number:05d}", macs, password=password)
