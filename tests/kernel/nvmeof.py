"""NVMe-oF storage on the guests: head-001 serves a spare disk to node-001 over both rails."""

from __future__ import annotations

import base64
import json
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ruamel.yaml import YAML

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from tests.kernel.guests import HEAD, NODE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.plan.nvmeof_model import NvmeofPlan
    from tests.kernel.guests import Guests

PLAYBOOK = str(paths.repository() / "playbooks" / "storage.yml")
"""All other roles are other tests'."""
PCI = ("0000:00:11.0", "0000:00:12.0")
"""Of the cards behind eth1 and eth2."""
DISK = "/dev/vdc"
"""A spare one of the target."""


def _key(seed: int) -> str:
    """As `nvme gen-dhchap-key` makes one."""
    raw = bytes([seed] * 32)
    return f"DHHC-1:00:{base64.b64encode(raw + zlib.crc32(raw).to_bytes(4, 'little')).decode()}:"


@contextmanager
def own_spec(guests: Guests) -> Iterator[None]:
    """The guests' spec is what it was when a test has ended that wrote it."""
    before = guests.spec.read_text()
    try:
        yield
    finally:
        guests.spec.write_text(before)
        guests.rackwright("plan", str(guests.spec))


@dataclass
class Storage:
    """The spec's storage, written anew by a test."""

    guests: Guests

    key = _key(1)
    other_key = _key(2)

    def write(
        self,
        *,
        dhchap: bool = False,
        transport: str = "tcp",
        served: bool = True,
        non_optimized: tuple[int, ...] = (),
        **wishes: object,
    ) -> None:
        """Give the guests' spec this storage; wishes are of the namespace, or of its subsystem.

        In no Slurm: both are of one shard then, and one run has targets before hosts.

        Args:
            dhchap: whether hosts prove who they are.
            transport: tcp, or rdma over soft links.
            served: whether it has its subsystem, or none any more.
            non_optimized: ANA groups that are worse reached by all of its paths.
            wishes: values of the spec.
        """
        chosen = [name for name in ("use", "loss_timeout_s", "policy") if name in wishes]
        of_subsystem: dict[str, object] = {name: wishes.pop(name) for name in chosen}
        namespace: dict[str, object] = {"nsid": 1, "device": DISK, **wishes}
        subsystem: dict[str, object] = {
            "target": HEAD,
            "hosts": [NODE],
            "namespaces": {"one": namespace},
            **of_subsystem,
        }
        storage: dict[str, object] = {
            "kind": "nvmeof",
            "site": "hall",
            "targets": ["head"],
            "hosts": ["node"],
            "transport": transport,
            "networks": {"rails": {"non_optimized": list(non_optimized)}},
            "subsystems": {"fast": subsystem} if served else {},
            **({"dhchap": "state:secrets/dhchap.csv"} if dhchap else {}),
        }
        yaml = YAML(typ="safe")
        values = yaml.load(self.guests.spec_without_slurm)
        values["storage"] = {"fast": storage}
        if transport == "rdma":
            values["fabrics"]["rails"]["rdma"] = {"kind": "soft"}
            for pool in ("head", "node"):
                values["pools"][pool]["fabrics"]["rails"]["pci"] = list(PCI)
        with self.guests.spec.open("w", encoding="utf-8") as file:
            yaml.dump(values, file)
        keys = self.guests.state / "secrets" / "dhchap.csv"
        keys.write_text(f"slot,host_key,controller_key\n{NODE},{self.key},\n")
        self.guests.rackwright("plan", str(self.guests.spec))

    def take_away(self) -> None:
        """All of it out of the spec."""
        self.guests.spec.write_text(self.guests.spec_without_slurm)
        self.guests.rackwright("plan", str(self.guests.spec))

    @property
    def plan(self) -> NvmeofPlan:
        plan = open_cluster(self.guests.spec).plan.nvmeof
        assert plan is not None
        return plan

    @property
    def nqn(self) -> str:
        return next(iter(self.plan.hosts[NODE].subsystems))

    @property
    def host_nqn(self) -> str:
        return self.plan.hosts[NODE].identity.nqn

    @property
    def uuid(self) -> str:
        return self.plan.hosts[NODE].subsystems[self.nqn].namespaces[0]

    @property
    def device(self) -> str:
        """As the host sees it."""
        return f"/dev/disk/by-id/nvme-uuid.{self.uuid}"

    @property
    def addresses(self) -> list[str]:
        return [port.address for port in self.plan.targets[HEAD].ports]

    def converge(self, *hosts: str, code: int = 0, tags: str = "configure,validate") -> str:
        """Bring hosts to the spec by the roles of storage alone; what was said."""
        words = ("converge", str(self.guests.spec), "--limit", ",".join(hosts), "--tags", tags)
        done = self.guests.rackwright(*words, "--playbook", PLAYBOOK, code=code)
        return done.stdout + done.stderr

    def changed(self, *hosts: str) -> dict[str, int]:
        """Host → tasks that changed something in one more run."""
        words = ("converge", str(self.guests.spec), "--limit", ",".join(hosts))
        report = self.guests.json(*words, "--playbook", PLAYBOOK)
        found: dict[str, int] = {}
        for name, host in json.loads(json.dumps(report["hosts"])).items():
            if host["tasks"]["changed"]:
                found[name] = host["tasks"]["changed"]
        return found

    def drift(self, host: str, code: int = 0) -> list[dict[str, str]]:
        """What `rackwright drift` says of storage on a host."""
        words = ("drift", str(self.guests.spec), "--limit", host, "--playbook", PLAYBOOK)
        found: list[dict[str, str]] = json.loads(json.dumps(self.guests.json(*words, code=code)["drift"]))
        return found
