"""`rackwright --help` as a whole process against an empty Python in the same run.

    .venv/bin/python benchmarks/help.py [RUNS]

The two are started in turn, so that other work on the machine meets both alike; the ratio of the
medians is what counts, as a slow machine and a fast one can be compared by it.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

LIMIT = 8.0
"""Issue 3: at most 8 times an empty Python."""
RUNS = 15
RACKWRIGHT = Path(sys.executable).parent / "rackwright"
COMMANDS: dict[str, list[str | Path]] = {
    "empty Python": [sys.executable, "-c", "pass"],
    "rackwright --help": [RACKWRIGHT, "--help"],
    "rackwright inventory --help": [RACKWRIGHT, "inventory", "--help"],
}


def seconds(command: list[str | Path]) -> float:
    """One run."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main(runs: int) -> None:
    """Print one line a command."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    empty = statistics.median(times["empty Python"])
    print(f"{'':28}   min ms  median ms   max ms   ratio")
    for name, one in times.items():
        median = statistics.median(one)
        spread = f"{min(one) * 1e3:8.0f} {median * 1e3:10.0f} {max(one) * 1e3:8.0f}"
        print(f"{name:28} {spread} {median / empty:7.1f}")
    ratio = statistics.median(times["rackwright --help"]) / empty
    print(f"rackwright --help: {ratio:.1f}, {'within' if ratio <= LIMIT else 'OVER'} the limit of {LIMIT:g}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
