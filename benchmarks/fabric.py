"""`rackwright plan` and `rackwright fabric` as whole processes, on InfiniBand fat trees of growing size.

    .venv/bin/python benchmarks/fabric.py [NODES …]

Each size is planned without a lock and again with it, then its cut-sheet is written and its own dump is
compared with the plan: seconds on the clock, and of processor (user and system), the cheapest of three runs.
All sizes are one design, oversubscribed so that 64-port switches carry the biggest: what one more node costs
would otherwise be that of another tree. The line of a single node is what it takes to start.

16,384 accelerators without oversubscription are a line of their own. With ibsim and infiniband-diags
installed, they are also read from a simulated network by ibnetdiscover, which is what the comparison is
measured against. At the end stand the four limits of issue 7, on the clock and by processor time (the first
says nothing on a machine with other work), and growth by processor time alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

import yaml  # noqa: E402 (beside the checkout's own packages)

from benchmarks.growth import STEEPER, growth  # noqa: E402
from rackwright.errors import EnvironmentUnfit  # noqa: E402 (found by the line above)
from rackwright.render.fabric import ibnetdiscover  # noqa: E402
from rackwright.validate.fabric.simulation import Simulation, simulated  # noqa: E402
from tests.doubles import superpod  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (32, 128, 512, 1024, 2048, 4096, 8192, 16_384)
START_NODES = 1
RUNS = 3
TAPERED: dict[str, Any] = {"oversubscription": {"leaf": 3, "spine": 3}, "unit_nodes": 48}
"""The design of all sizes; without oversubscription 64-port switches carry half the biggest."""
SHEET_NODES, SHEET_S = 2048, 2.0
"""16,384 accelerators with their cut-sheet: at most 2 s for the whole process."""
PLAN_NODES, PLAN_S, PLAN_MIB = 16_384, 10.0, 2048
"""131,072 accelerators: planned in at most 10 s and 2 GB."""
DIFF_SHARE = 0.2
"""Of what ibnetdiscover takes to read the same 16,384 adapters."""
RACKWRIGHT = Path(sys.executable).parent / "rackwright"


class Cost(NamedTuple):
    """What one process took."""

    wall_s: float
    cpu_s: float
    memory_mib: float

    def __str__(self) -> str:
        return f"{self.wall_s:7.2f} {self.cpu_s:6.2f}"


class Sample(NamedTuple):
    """One size."""

    nodes: int
    cables: int
    plan: Cost
    again: Cost
    sheet: Cost
    diff: Cost
    reading: Cost | None
    """By ibnetdiscover, and by ibsim for it; None where it was not asked for, or its tools are missing."""

    def __str__(self) -> str:
        head = f"{self.nodes * 8:12,} {self.cables:9,} {self.plan} {self.plan.memory_mib:5.0f}"
        return f"{head} {self.again} {self.sheet} {self.diff}"


HEAD = "accelerators    cables    plan    cpu   MiB   again    cpu   sheet    cpu    diff    cpu"


def spec(folder: Path, nodes: int, topology: dict[str, Any]) -> Path:
    """A spec of that many nodes."""
    path = folder / "pod.yaml"
    values = superpod.values(nodes, **topology, partial=True)
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def cheapest(state: Path, *command: str | Path, output: Path | None = None, gone: Path | None = None) -> Cost:
    """A command of ours: the cheapest of some runs, as other work only ever adds.

    Args:
        state: folder of the state.
        command: with its arguments.
        output: where its standard output goes.
        gone: what is taken away before each run.
    """
    return min((_one(state, command, output, gone) for _ in range(RUNS)), key=lambda one: one.cpu_s)


def _one(state: Path, command: tuple[str | Path, ...], output: Path | None, gone: Path | None) -> Cost:
    if gone is not None:
        gone.unlink(missing_ok=True)
    return cost([RACKWRIGHT, *command, "-q"], os.environ | {"XDG_STATE_HOME": str(state)}, output)


def cost(command: list[str | Path], environment: dict[str, str], output: Path | None = None) -> Cost:
    """One process, to its end."""
    start = time.perf_counter()
    with (output or Path(os.devnull)).open("wb") as stdout:
        process = subprocess.Popen(command, env=environment, stdout=stdout)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"{command} failed")
    return Cost(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def read_by_ibnetdiscover(dump: Path, folder: Path) -> Cost | None:
    """A network in simulation, read by ibnetdiscover; None where the tools are missing."""
    found = ibnetdiscover.read(dump.read_text(encoding="utf-8"), str(dump))
    tool = shutil.which("ibnetdiscover", path=f"{os.environ['PATH']}:/usr/sbin")
    attach = next(one.id for one in found.devices.values() if not one.is_switch)
    if tool is None:
        return None
    try:
        with simulated(found, attach, folder, 300) as simulation:
            return min((_reading(tool, simulation) for _ in range(2)), key=lambda one: one.wall_s)
    except EnvironmentUnfit:
        return None


def _reading(tool: str, simulation: Simulation) -> Cost:
    """The tool's processor time, and ibsim's while it answers."""
    before = _cpu_of_children()
    found = cost([tool], simulation.environment)
    return found._replace(cpu_s=found.cpu_s + _cpu_of_children() - before)


def _cpu_of_children() -> float:
    """Seconds of processor that children of ours, such as ibsim, have had till now."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == os.getpid():
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def sample(nodes: int, topology: dict[str, Any], *, read: bool = False) -> Sample:
    """All that is measured of one size."""
    with tempfile.TemporaryDirectory() as name:
        folder, state = Path(name), Path(name) / "state"
        path, sheet, dump = spec(folder, nodes, topology), folder / "sheet.csv", folder / "dump.txt"
        plan = cheapest(state, "plan", path, gone=folder / "pod.lock.yaml")
        again = cheapest(state, "plan", path)
        sheeted = cheapest(state, "fabric", "export", path, "--as", "cutsheet", output=sheet)
        _one(state, ("fabric", "export", path, "--as", "ibnetdiscover"), dump, None)
        diff = cheapest(state, "fabric", "diff", path, "--observed", dump)
        reading = read_by_ibnetdiscover(dump, folder) if read else None
        cables = len(sheet.read_text(encoding="utf-8").splitlines()) - 1
    return Sample(nodes, cables, plan, again, sheeted, diff, reading)


def limits(whole: Sample, found: list[Sample]) -> Iterator[str]:
    """The four of the issue: of 16,384 accelerators without oversubscription, and of the biggest size."""
    yield _seconds("16,384 accelerators with their cut-sheet", whole.sheet, SHEET_S)
    yield from _share(whole)
    for one in found:
        if one.nodes == PLAN_NODES:
            yield _seconds("131,072 accelerators planned", one.plan, PLAN_S)
            yield f"131,072 accelerators planned: {_of(one.plan.memory_mib, PLAN_MIB, 'MiB')}"


def _seconds(what: str, took: Cost, limit_s: float) -> str:
    return f"{what}: {_of(took.wall_s, limit_s, 's')}; by processor {_of(took.cpu_s, limit_s, 's')}"


def _of(got: float, limit: float, unit: str) -> str:
    return f"{got:.3g} of {limit:g} {unit} {'within' if got <= limit else 'OVER'}"


def _share(one: Sample) -> Iterator[str]:
    if one.reading is None:
        yield "diff: not measured against ibnetdiscover, whose package or ibsim's is missing"
        return
    clock, processor = one.diff.wall_s / one.reading.wall_s, one.diff.cpu_s / one.reading.cpu_s
    yield (
        f"diff over ibnetdiscover, which takes {one.reading}: {_of(clock, DIFF_SHARE, '')}; "
        f"by processor {_of(processor, DIFF_SHARE, '')}"
    )


def linear(start: Sample, found: list[Sample]) -> Iterator[str]:
    """What one more node costs to plan, and one more cable on the sheet and in the comparison."""
    yield from _growth("plan", "node", start.plan, {one.nodes: one.plan for one in found})
    yield from _growth("plan again", "node", start.again, {one.nodes: one.again for one in found})
    yield from _growth("cut-sheet", "cable", start.sheet, {one.cables: one.sheet for one in found})
    yield from _growth("diff", "cable", start.diff, {one.cables: one.diff for one in found})


def _growth(what: str, each: str, start: Cost, found: dict[int, Cost]) -> Iterator[str]:
    """By processor time."""
    grown = growth(start.cpu_s, {size: one.cpu_s for size, one in found.items()})
    if grown is not None:
        first = f"{grown.first_us:.0f} µs of processor up to {grown.up_to:,}"
        most = f"at most {grown.most_us:.0f} beyond, at {grown.reached:,}"
        yield f"{what}: one more {each} costs {first}, {most}; {_of(grown.steeper, STEEPER, 'times')}"


def main(sizes: tuple[int, ...]) -> None:
    """Print one line a size, then what they say of the limits."""
    print(HEAD)
    start = shown(START_NODES, TAPERED)
    found = [shown(nodes, TAPERED) for nodes in sizes]
    print("without oversubscription")
    whole = shown(SHEET_NODES, {}, read=True)
    for line in (*limits(whole, found), *linear(start, found)):
        print(line)


def shown(nodes: int, topology: dict[str, Any], *, read: bool = False) -> Sample:
    """One size, printed as soon as it is measured."""
    found = sample(nodes, topology, read=read)
    print(found, flush=True)
    return found


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES)
