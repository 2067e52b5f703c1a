"""`rackwright converge` as a whole process: processor time and seconds a host, and how they grow.

    .venv/bin/python benchmarks/converge.py [HOSTS …]

There are no hosts: the playbook's connection is local, so this is what Ansible, its runners and our
module cost on the machine that runs them, without ssh and without what roles do. Each host has ten
tasks of `tree`, as many remote ones as the roles of a node have; four hosts are a shard.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from tests.doubles.hall import Hall  # noqa: E402 (found by the line above)

SIZES = (1, 4, 8, 12)
TASKS = 10
RACKWRIGHT = Path(sys.executable).parent / "rackwright"
_PLAY = """
- hosts: all
  connection: local
  gather_facts: false
  tags: [configure]
  tasks:
"""
_TASK = """
    - name: Files {number}
      tree:
        files:
          {folder}/{{{{ inventory_hostname }}}}/{number}: {{content: "{number}", mode: "0644"}}
"""


def cluster(hosts: int, folder: Path) -> Path:
    """A spec of so many hosts, each of which has printed its key."""
    hall = Hall(folder, nodes=hosts)
    hall.write()
    spec = json.loads(hall.spec_path.read_text(encoding="utf-8"))
    spec["pools"]["gpu-node"] |= {"roles": [], "nodes_per_rack": 4}
    hall.spec_path.write_text(json.dumps(spec), encoding="utf-8")
    for number in range(1, hosts + 1):
        hall.prints(f"gpu-node-{number:03d}")
    return hall.spec_path


def playbook(folder: Path) -> Path:
    """A play of that many tasks."""
    written = folder / "site.yml"
    tasks = [_TASK.format(number=number, folder=folder / "hosts") for number in range(TASKS)]
    written.write_text(_PLAY + "".join(tasks), encoding="utf-8")
    return written


def measure(hosts: int, folder: Path) -> None:
    """Print one line: the second run, in which nothing changes."""
    spec, play = cluster(hosts, folder), playbook(folder)
    environment = os.environ | {"XDG_STATE_HOME": str(folder / "state")}
    subprocess.run([RACKWRIGHT, "plan", spec], env=environment, check=True, capture_output=True)
    command: list[str | Path] = [RACKWRIGHT, "converge", spec, "--playbook", play, "-q"]
    run(command, environment)
    seconds, cpu_s = run(command, environment)
    each_ms = cpu_s / hosts / TASKS * 1e3
    print(f"{hosts:6,}  {cpu_s:8.1f}  {cpu_s / hosts:10.2f}  {each_ms:9.0f}  {seconds:8.1f}")


def run(command: list[str | Path], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds, and processor time of all its processes."""
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def main(sizes: tuple[int, ...]) -> None:
    """Print one line a size."""
    print(" hosts     cpu s  cpu s/host  ms a task   seconds")
    for hosts in sizes:
        with tempfile.TemporaryDirectory() as folder:
            measure(hosts, Path(folder))


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES)
