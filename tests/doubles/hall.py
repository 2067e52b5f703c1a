"""A cluster in files, loaded and planned as any other, whose hosts print on consoles what a test says."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from rackwright import paths
from rackwright.catalogue import load as catalogue
from rackwright.inventory.collect import Wait, collect
from rackwright.plan.build import build
from rackwright.plan.observed import HostKey
from rackwright.spec.load import load
from tests.doubles.fake_ec2 import FakeEc2

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.inventory.keys import Acceptance
    from rackwright.inventory.model import Inventory
    from rackwright.plan.model import Plan

_BOOT = """[    0.000000] Linux version 6.12
-----BEGIN SSH HOST KEY KEYS-----
{key.type} {key.key} root@{name}
-----END SSH HOST KEY KEYS-----
"""


@cache
def host_key(seed: str) -> HostKey:
    """A real Ed25519 key, the same for the same seed (wire form: RFC 8709 §4)."""
    private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(seed.encode()).digest())
    wire = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20" + private.public_key().public_bytes_raw()
    return HostKey(type="ssh-ed25519", key=base64.b64encode(wire).decode())


@dataclass
class Hall:
    """Cluster `atlas`: pool `gpu-node` in hall `hall-a`, and one instance in a zone where wanted."""

    folder: Path
    nodes: int = 3
    burst: int = 0
    bastion: str | None = None
    held: frozenset[int] = frozenset()
    undelivered: frozenset[int] = frozenset()
    with_zone: bool = False
    zone_burst: int = 0
    own_vpc: bool = True
    ec2: FakeEc2 = field(default_factory=FakeEc2)
    with_slurm: bool = False
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.consoles = self.folder / "console"
        self.consoles.mkdir()

    @property
    def spec_path(self) -> Path:
        return self.folder / "atlas.yaml"

    @property
    def observed_file(self) -> Path:
        return paths.observed_file("atlas")

    def write(self) -> None:
        """The spec, as JSON (which is YAML), and its asset file."""
        (self.folder / "gpu.csv").write_text(self._assets())
        self.spec_path.write_text(json.dumps(self._spec()))

    def plan(self) -> Plan:
        self.write()
        return build(load(self.spec_path), catalogue.load(), None)[0]

    def prints(self, slot: str, seed: str = "", name: str = "") -> None:
        """The host boots once more and prints the key of that seed, under that name."""
        with (self.consoles / f"{slot}.log").open("a") as log:
            log.write(_BOOT.format(key=host_key(seed or slot), name=name or slot))

    def inventory(self, wait_seconds: float = 0, acceptance: Acceptance | None = None) -> Inventory:
        return collect(self.plan(), self.folder, Wait(wait_seconds, self.told.append), acceptance)

    def _spec(self) -> object:
        zone = {"use2": _zone(own=self.own_vpc)} if self.with_zone else {}
        nodes = {"static": 1, "burst": self.zone_burst}
        cloud = {"site": "use2", "platform": "p5.48xlarge", "nodes": nodes, "image": "debian"}
        return {
            "rackwright": 1,
            "cluster": {"name": "atlas", "domain": "atlas.example"},
            "images": {"debian": {"os": "debian-13"}},
            "sites": {"hall-a": self._site()} | zone,
            "pools": {"gpu-node": self._pool()} | ({"cloud": cloud} if self.with_zone else {}),
            "fabrics": {"compute": _rails("10.66.0.0/15")},
            "schedulers": {"main": _slurm()} if self.with_slurm else {},
        }

    def _site(self) -> object:
        access = {"user": "ops", "console_logs": "file:console"}
        return {
            "kind": "onprem",
            "racks": {"rows": 10, "per_row": 40, "units": 48, "power_kw": 40},
            "access": access | ({"bastion": self.bastion} if self.bastion else {}),
            "networks": {"management": {"cidr": "10.64.0.0/16"}, "bmc": {"cidr": "10.65.0.0/16"}},
            "bmc": {"credentials": "file:bmc.csv", "ca": "file:ca.pem"},
        }

    def _pool(self) -> object:
        return {
            "site": "hall-a",
            "platform": "lab-node",
            "nodes": {"static": self.nodes, "burst": self.burst},
            "image": "debian",
            "roles": ["slurm-controller"],
            "fabrics": {"compute": {"nics": 2}},
            "assets": "file:gpu.csv",
        }

    def _assets(self) -> str:
        numbers = (n for n in range(1, self.nodes + self.burst + 1) if n not in self.undelivered)
        rows = [_asset(number, "maintenance" if number in self.held else "") for number in numbers]
        return "\n".join(["slot,serial,bmc_address,bmc_mac,boot_mac,hca_guids,state", *rows, ""])


def _asset(number: int, state: str) -> str:
    mac = f"{number >> 8:02x}:{number & 255:02x}"
    return f"gpu-node-{number:03d},SN{number:05d},,02:00:00:00:{mac},02:00:00:01:{mac},,{state}"


def _slurm() -> object:
    return {"kind": "slurm", "sites": ["hall-a"], "partitions": {"all": {"pools": ["gpu-node"]}}}


def _zone(*, own: bool) -> object:
    brought = {"existing": "vpc-01234567", "subnets": {"nodes": "subnet-01234567"}}
    return {
        "kind": "aws",
        "account": "123456789012",
        "region": "us-east-2",
        "zone_id": "use2-az2",
        "vpc": {"cidrs": ["10.128.0.0/16"]} if own else brought,
    }


def _rails(cidr: str) -> object:
    return {"kind": "ethernet", "speed": "100g", "topology": {"kind": "rails"}, "cidr": cidr}
