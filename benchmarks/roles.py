"""Tasks and seconds of each role, and its share of a converge: the first one of fresh hosts, and one more.

    .venv/bin/python benchmarks/roles.py [HOSTS]

A lab of its own of so many hosts is made and taken away. Where there is the guests' image of
`make test-kernel`, roles that do something only on a kernel of its own are measured in two emulated
machines as well. Seconds are those from a task's start to its end on a host, as the events of
`rackwright converge` have them: hosts share this machine, so what can be compared is the share.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ruamel.yaml import YAML

from benchmarks.labs import NAME, RACKWRIGHT, REPOSITORY, SETTINGS, cluster
from bootstrap import guest
from rackwright.lab.netns import Namespace
from tests.kernel.guests import BRIDGES, HEAD, NODE, OUTER, Guests
from tests.kernel.machine import accelerator, missing_programs
from tests.kernel.network import Network
from tests.kernel.nvmeof import Storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HOSTS = 4
SPARE_OF_THE_NODE = ("/dev/vdc", "/dev/vdd")
TUNING = {"sysctl": {"vm.swappiness": 7}, "cmdline": {"iommu": "pt"}, "transparent_hugepages": "never"}


@dataclass
class Cost:
    """Of one role in one converge: its hosts, its tasks that ran on them, and their seconds together."""

    hosts: set[str] = field(default_factory=set)
    tasks: int = 0
    seconds: float = 0.0


def costs(events: Iterable[str]) -> dict[str, Cost]:
    """Role → what it took; a role whose tasks were all skipped is not there.

    Args:
        events: lines of a converge's ``events.jsonl``.
    """
    found: dict[str, Cost] = {}
    for event in map(json.loads, events):
        if event["remote"]:
            cost = found.setdefault(event["role"] or "(playbook)", Cost())
            cost.hosts.add(event["host"])
            cost.tasks += 1
            cost.seconds += event["seconds"] or 0.0
    return found


def lab(hosts: int) -> list[dict[str, Cost]]:
    """Costs of the first converge of a fresh lab, and of a second one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = os.environ | {"XDG_STATE_HOME": str(folder / "state")}
        spec = str(cluster(folder / "clusters", hosts))

        def rackwright(*words: str) -> None:
            subprocess.run([RACKWRIGHT, *words], env=environment, check=True, capture_output=True)

        try:
            for words in (("lab", "up"), ("plan",), ("up", "--yes"), ("inventory", "--wait", "600")):
                rackwright(*words, spec)
            return _twice(rackwright, spec, folder / "state" / "rackwright" / NAME, ["site.yml"])
        finally:
            subprocess.run(
                [RACKWRIGHT, "lab", "down", NAME], env=environment, check=False, capture_output=True
            )
            SETTINGS.unlink(missing_ok=True)


def _twice(
    rackwright: Callable[..., object], spec: str, state: Path, playbooks: Iterable[str]
) -> list[dict[str, Cost]]:
    found = []
    for _ in range(2):
        lines: list[str] = []
        for playbook in playbooks:
            rackwright("converge", spec, "--playbook", str(REPOSITORY / "playbooks" / playbook))
            lines += (state / "converge" / "events.jsonl").read_text(encoding="utf-8").splitlines()
        found.append(costs(lines))
    return found


def emulated() -> list[dict[str, Cost]]:
    """The same of kernel settings and storage in two guests."""
    network = Network(Namespace(f"rw-guests-{os.getpid()}"), BRIDGES)
    network.make(OUTER)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        guests = Guests(folder, network, accelerator(guest.current() / guest.KERNEL, folder))
        try:
            with network.entered():
                guests.prepare()
                guests.boot()
                _wish(guests)
                return _twice(
                    guests.rackwright, str(guests.spec), guests.state, ["kernel.yml", "storage.yml"]
                )
        finally:
            guests.down()
            network.remove()


def _wish(guests: Guests) -> None:
    """Soft RoCE, a disk of the head for the node, scratch and kernel settings on the node."""
    Storage(guests).write(transport="rdma", file_system="ext4", mount="/fast")
    yaml = YAML(typ="safe")
    values = yaml.load(guests.spec)
    scratch = {"kind": "local-nvme", "pools": ["node"], "mount": "/scratch", "file_system": "ext4"}
    values["storage"]["scratch"] = {**scratch, "devices": list(SPARE_OF_THE_NODE)}
    values["pools"]["node"]["tuning"] = TUNING
    with guests.spec.open("w", encoding="utf-8") as file:
        yaml.dump(values, file)
    guests.rackwright("plan", str(guests.spec))


def show(title: str, first: dict[str, Cost], again: dict[str, Cost]) -> None:
    """A line for each role, the longest first, and one for all."""
    print(f"{title}\n  {'role':18} hosts tasks/host  first s/host  share  again s/host  share")
    whole = [sum(cost.seconds for cost in run.values()) for run in (first, again)]
    for role, cost in sorted(first.items(), key=lambda one: -one[1].seconds):
        later, hosts = again.get(role, Cost()), len(cost.hosts)
        print(
            f"  {role:18} {hosts:5} {cost.tasks / hosts:10.1f}"
            f" {cost.seconds / hosts:13.1f} {cost.seconds / whole[0]:6.0%}"
            f" {later.seconds / hosts:13.1f} {later.seconds / whole[1]:6.0%}"
        )
    print(f"  all: second converge {whole[1] / whole[0]:.2f} of the first one's seconds")


def main() -> None:
    """Measure the lab, then the guests."""
    if os.geteuid() != 0:
        print("not run: a lab and guests need root")
        return
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    hosts = int(sys.argv[1]) if sys.argv[1:] else HOSTS
    show(f"lab of {hosts} hosts, containers", *lab(hosts))
    if missing_programs() or not guest.current().is_dir():
        print("guests: not run: `make test-kernel` brings what they need")
        return
    show(f"{HEAD} and {NODE}, emulated machines", *emulated())


if __name__ == "__main__":
    main()
