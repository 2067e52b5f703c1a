"""`rackwright inventory` as a whole process, and what Ansible and ssh then take to read it.

    .venv/bin/python benchmarks/inventory.py [HOSTS …]

Every host has booted once and printed its key. The block form is the same inventory as YAML blocks:
why `hosts.yml` is written as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from tests.doubles.hall import Hall  # noqa: E402 (found by the line above)

SIZES = (32, 1024, 3072)
BIN = Path(sys.executable).parent


def seconds(command: list[str | Path], environment: dict[str, str]) -> float:
    """One run."""
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(hosts: int, folder: Path) -> None:
    """Print one line."""
    hall = Hall(folder, nodes=hosts)
    hall.write()
    for number in range(1, hosts + 1):
        hall.prints(f"gpu-node-{number:03d}")
    state = folder / "state" / "rackwright" / "atlas" / "inventory"
    environment = os.environ | {
        "XDG_STATE_HOME": str(folder / "state"),
        "ANSIBLE_CONFIG": str(state / "ansible.cfg"),
        "ANSIBLE_HOME": str(folder / "ansible"),
        "LC_ALL": "C.UTF-8",
    }
    seconds([BIN / "rackwright", "plan", hall.spec_path], environment)
    first = seconds([BIN / "rackwright", "inventory", hall.spec_path], environment)
    again = seconds([BIN / "rackwright", "inventory", hall.spec_path], environment)
    listing: list[str | Path] = [BIN / "ansible-inventory", "--list"]
    read = seconds(listing, environment)
    blocks = folder / "blocks.yml"
    blocks.write_text(yaml.safe_dump(json.loads((state / "hosts.yml").read_text())))
    as_blocks = seconds([*listing, "-i", blocks], environment)
    ssh = seconds(["ssh", "-G", "-F", state / "ssh_config", f"gpu-node-{hosts:03d}"], environment)
    print(f"{hosts:6,}  {first:8.2f}  {again:8.2f}  {read:15.1f}  {as_blocks:14.1f}  {ssh * 1e3:10.0f}")


def main(sizes: tuple[int, ...]) -> None:
    """Print one line a size."""
    print(" hosts   first s   again s   Ansible reads s   block form s   ssh -G ms")
    for hosts in sizes:
        with tempfile.TemporaryDirectory() as folder:
            measure(hosts, Path(folder))


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES)
