"""Parsers over the logs of 4,096 nodes: seconds, MB/s, and the most memory that was ever taken.

    .venv/bin/python benchmarks/parse.py [MEGABYTES …]

The logs are made anew and are the same each time (tests/doubles/fleet_logs.py). Each size is parsed by a
process of its own, first on one processor, then on all by one process each; a byte is never parsed twice by
either. Memory is what the kernel says of these processes. Limit: 1 GB in 60 s on 2 processors (issue 8).
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from rackwright.validate.model import Completeness, Tool  # noqa: E402 (found by the line above)
from rackwright.validate.parsers.flow import parts  # noqa: E402 (as above)
from rackwright.validate.parsers.table import parse  # noqa: E402 (as above)
from tests.doubles.fleet_logs import write  # noqa: E402 (as above)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.doubles.fleet_logs import Written

NODES = 4096
SIZES_MB = (64, 256, 1024)
LIMIT_MB, LIMIT_S = 1024, 60.0
MB = 2**20


def parsed(files: Sequence[tuple[Tool, str]]) -> tuple[int, int, dict[Tool, float]]:
    """Readings, the most memory of this process in MiB, and processor seconds of each tool."""
    readings, seconds = 0, Counter[Tool]()
    for tool, path in files:
        began = time.process_time()
        with Path(path).open("rb") as raw:
            found = parse(tool, parts(raw))
        seconds[tool] += time.process_time() - began  # type: ignore[assignment]  # (a Counter of seconds)
        if found.status is not Completeness.COMPLETE:
            raise SystemExit(f"{path}: {found.status}: {found.problem}")
        readings += len(found.readings)
    return readings, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, dict(seconds)


def shared(files: list[Written], parts_: int) -> list[list[tuple[Tool, str]]]:
    """So many shares of about one size."""
    shares: list[list[tuple[Tool, str]]] = [[] for _ in range(parts_)]
    sizes = [0] * parts_
    for one in sorted(files, key=lambda file: -file.size):
        least = sizes.index(min(sizes))
        shares[least].append((one.tool, str(one.path)))
        sizes[least] += one.size
    return shares


def timed(files: list[Written], processors: int) -> tuple[float, int, int, Counter[Tool]]:
    """Seconds, readings, memory of the greatest process, processor seconds of each tool."""
    began = time.perf_counter()
    with ProcessPoolExecutor(processors, multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(parsed, shared(files, processors)))
    by_tool = Counter[Tool]()
    for _, _, seconds in found:
        by_tool.update(seconds)
    took = time.perf_counter() - began
    return took, sum(one[0] for one in found), max(one[1] for one in found), by_tool


def main(sizes: tuple[int, ...]) -> None:
    """Print a line a size and number of processors."""
    print("    MB  files  processors   seconds   MB/s   MB/s of processor time   readings   MiB of memory")
    for megabytes in sizes:
        with tempfile.TemporaryDirectory() as folder:
            files = write(Path(folder), NODES, megabytes * MB)
            size = sum(one.size for one in files) / MB
            for processors in sorted({1, os.cpu_count() or 1}):
                took, readings, memory, by_tool = timed(files, processors)
                busy = sum(by_tool.values())
                print(
                    f"{size:6.0f}  {len(files):5}  {processors:10}  {took:8.1f}  {size / took:5.0f}  "
                    f"{size / busy:22.0f}  {readings:9,}  {memory:14}"
                )
            of_tool = {tool: sum(one.size for one in files if one.tool is tool) / MB for tool in by_tool}
            rates = (
                f"{tool} {of_tool[tool]:.0f} MB at {of_tool[tool] / by_tool[tool]:.0f} MB/s"
                for tool in by_tool
            )
            print(f"        {', '.join(rates)}")
            if megabytes == LIMIT_MB:
                free = busy / processors
                print(f"        {'within' if took <= LIMIT_S else 'OVER'} the limit of {LIMIT_S:g} s", end="")
                print(f"; {free:.0f} s of processor time each, which it would take on an idle machine")


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES_MB)
