"""A lab of 4, 8 and 12 hosts: what each command to a verdict costs, and how that grows.

    .venv/bin/python benchmarks/labs.py [HOSTS …]

For each size a lab of its own name, range and state is made, proven and taken away. A command has
three figures: its seconds; the processor time of its own processes (the controller's: engine, Ansible,
ssh), a host; and that of the whole machine meanwhile, a host: the hosts' own daemons and the emulators
run on the same cores. Processor time is what can be compared between machines that are busy.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from tests.hosts.lab import write_spec  # noqa: E402 (found by the line above)

SIZES = (4, 8, 12)
NAME, RANGE = "lab-bench", "10.99"
RACKWRIGHT = Path(sys.executable).parent / "rackwright"
_FOUND = 1
"""Exit code of a FAIL, as on a machine too busy for its hosts' rates: the validation was made."""
SETTINGS = REPOSITORY / "stacks" / "onprem" / f"Pulumi.{NAME}-hall.yaml"
"""What `up` writes into the checkout for a plain `pulumi`."""
COMMANDS = (
    ("lab up", ("lab", "up", "SPEC")),
    ("plan", ("plan", "SPEC")),
    ("up", ("up", "SPEC", "--yes")),
    ("up, again", ("up", "SPEC", "--yes")),
    ("inventory", ("inventory", "SPEC", "--wait", "600")),
    ("converge", ("converge", "SPEC")),
    ("converge, again", ("converge", "SPEC")),
    ("validate", ("validate", "SPEC", "--out", "RUN")),
    ("lab down", ("lab", "down", NAME)),
)


@dataclass(frozen=True)
class Cost:
    """Of one command: seconds, and seconds of processor time of its processes and of the whole machine."""

    seconds: float
    own_s: float
    machine_s: float


def cluster(folder: Path, hosts: int) -> Path:
    """The lab's example with a head and so many nodes more, two in a rack."""
    spec = write_spec(folder, NAME, RANGE, nodes=hosts - 1)
    racks = spec.read_text().replace("per_row: 2", f"per_row: {hosts}").replace("feed_kw: 5", "feed_kw: 50")
    spec.write_text(racks)
    head, *_ = (folder / "assets" / "lab.csv").read_text().splitlines()
    rows = (_row(number) for number in range(hosts))
    (folder / "assets" / "lab.csv").write_text("\n".join([head, *rows]) + "\n")
    return spec


def _row(number: int) -> str:
    name = f"node-{number:03d}" if number else "head-001"
    tail = f"00:00:00:{16 + number:02x}"
    return f"{name},LAB-{number + 1:04d},{RANGE}.1.{16 + number},02:77:01:{tail[3:]},02:77:{tail},,"


def cost(command: tuple[str, ...], environment: dict[str, str]) -> Cost:
    """What one command costs.

    Raises:
        SystemExit: it failed; what it printed is shown.
    """
    before, start = _used(), time.perf_counter()
    ran = subprocess.run([RACKWRIGHT, *command], env=environment, capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - start, _used()
    if ran.returncode not in {0, _FOUND}:
        sys.exit(f"rackwright {' '.join(command)} failed\n{ran.stdout}{ran.stderr}")
    return Cost(seconds, after[0] - before[0], after[1] - before[1])


def _used() -> tuple[float, float]:
    """Seconds of processor time: of all processes started here that have ended, and of the machine."""
    mine = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, user, nice, system, _, _, irq, softirq, *_ = Path("/proc/stat").read_text().split()
    busy = sum(map(int, (user, nice, system, irq, softirq)))
    return mine.ru_utime + mine.ru_stime, busy / os.sysconf("SC_CLK_TCK")


def measure(hosts: int, folder: Path) -> dict[str, Cost]:
    """Command → what it costs with so many hosts; afterwards nothing is left."""
    environment = os.environ | {"XDG_STATE_HOME": str(folder / "state")}
    places = {"SPEC": str(cluster(folder / "clusters", hosts)), "RUN": str(folder / "run")}
    found = {}
    try:
        for name, words in COMMANDS:
            found[name] = cost(tuple(places.get(word, word) for word in words), environment)
    finally:
        subprocess.run([RACKWRIGHT, "lab", "down", NAME], env=environment, check=False, capture_output=True)
        SETTINGS.unlink(missing_ok=True)
    return found


def show(found: dict[int, dict[str, Cost]]) -> None:
    """Print a line for each command and size."""
    print(f"{'command':16} {'hosts':>6} {'seconds':>8} {'own cpu s/host':>15} {'machine cpu s/host':>19}")
    for name, _ in COMMANDS:
        for hosts, costs in found.items():
            one = costs[name]
            own, machine = one.own_s / hosts, one.machine_s / hosts
            print(f"{name:16} {hosts:6} {one.seconds:8.1f} {own:15.2f} {machine:19.2f}")


def main() -> None:
    """Measure each size, then print all."""
    if os.geteuid() != 0:
        print("not run: a lab needs root")
        return
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    found = {}
    for hosts in [int(word) for word in sys.argv[1:]] or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            found[hosts] = measure(hosts, Path(folder))
    show(found)


if __name__ == "__main__":
    main()
