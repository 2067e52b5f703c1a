"""Ratio of NVMe/TCP between two guests to the same disk at its target, by fio in one run.

    python benchmarks/nvmeof.py

Needs root and the guests' image of `make test-kernel`. Both guests are emulated machines on the same cores,
without KVM unless there is one: the ratio tells what a path costs beside a disk here, nothing of hardware.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bootstrap import guest
from rackwright.lab.netns import Namespace
from tests.kernel.guests import BRIDGES, HEAD, NODE, OUTER, Guests
from tests.kernel.machine import accelerator, missing_programs
from tests.kernel.network import Network
from tests.kernel.nvmeof import DISK, Storage

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUNDS, SECONDS = 3, 10


@dataclass(frozen=True)
class Load:
    """What fio does.

    Args:
        name: as printed.
        words: fio's options.
        key: of fio's figures, ``iops`` or ``bw_bytes``.
        unit: as printed.
        divisor: from fio's figure to that unit.
    """

    name: str
    words: str
    key: str
    unit: str
    divisor: float


LOADS = (
    Load("random reads of 4 KiB", "--rw=randread --bs=4k", "iops", "IOPS", 1),
    Load("random writes of 4 KiB", "--rw=randwrite --bs=4k", "iops", "IOPS", 1),
    Load("reads of 64 KiB in order", "--rw=read --bs=64k", "bw_bytes", "MB/s", 1e6),
    Load("writes of 64 KiB in order", "--rw=write --bs=64k", "bw_bytes", "MB/s", 1e6),
)


def main() -> None:
    """Print both figures of each load, and their ratio."""
    absent = missing_programs()
    if os.geteuid() != 0 or absent or not guest.current().is_dir():
        print(f"not measured: needs root and the image of `make test-kernel`; not installed: {absent}")
        return
    network = Network(Namespace(f"rw-guests-{os.getpid()}"), BRIDGES)
    network.make(OUTER)
    with tempfile.TemporaryDirectory() as folder:
        guests = Guests(Path(folder), network, accelerator(guest.current() / guest.KERNEL, Path(folder)))
        try:
            with network.entered():
                guests.prepare()
                guests.boot()
                measure(guests)
        finally:
            guests.down()
            network.remove()


def measure(guests: Guests, loads: Sequence[Load] = LOADS) -> None:
    """Serve the target's disk, and measure it here and there in turn: what is busy is busy for both."""
    storage = Storage(guests)
    storage.write()
    storage.converge(HEAD, NODE)
    print(f"accelerator {guests.accelerator}, median of {ROUNDS} rounds of {SECONDS} s")
    for load in loads:
        rounds = [
            (_figure(guests, HEAD, DISK, load), _figure(guests, NODE, storage.device, load))
            for _ in range(ROUNDS)
        ]
        local, remote = (median(one) for one in zip(*rounds, strict=True))
        ratio = median(there / here for here, there in rounds)
        print(
            f"{load.name:<26} at the target {local:8.1f}   over NVMe/TCP {remote:8.1f} {load.unit}"
            f"   ratio {ratio:.3f}"
        )


def _figure(guests: Guests, name: str, device: str, load: Load) -> float:
    fixed = f"--name=one --direct=1 --ioengine=psync --time_based --runtime={SECONDS} --size=128m"
    said = guests.run(name, f"fio {fixed} --filename={device} {load.words} --output-format=json")
    job = json.loads(said[said.index("{") :])["jobs"][0]
    side = "write" if "write" in load.words else "read"
    return float(job[side][load.key]) / load.divisor


if __name__ == "__main__":
    main()
