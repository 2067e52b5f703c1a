"""`rackwright plan` and `rackwright fabric` as whole processes, on InfiniBand fat trees of growing size.

    .venv/bin/python benchmarks/fabric.py [NODES …]

Each size is planned without a lock, then its cut-sheet is written and its own dump is compared with the
plan. With ibsim and infiniband-diags installed, 16,384 adapters are also read from a simulated network
by ibnetdiscover, which is what the comparison is measured against (issue 7: at most one fifth of it).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

import yaml  # noqa: E402 (beside the checkout's own packages)

from rackwright.errors import EnvironmentUnfit  # noqa: E402 (found by the line above)
from rackwright.render.fabric import ibnetdiscover  # noqa: E402
from rackwright.validate.fabric.simulation import simulated  # noqa: E402
from tests.doubles import superpod  # noqa: E402

SIZES = (32, 128, 512, 1024, 2048, 4096, 8192, 16_384)
SHEET_NODES, SHEET_S = 2048, 2.0
"""16,384 accelerators with their cut-sheet: at most 2 s for the whole process."""
PLAN_NODES, PLAN_S, PLAN_MIB = 16_384, 10.0, 2048
"""131,072 accelerators: planned in at most 10 s and 2 GB."""
MOST_NDR = 8192
"""Nodes of 8 adapters that three tiers of 64-port switches carry without oversubscription."""
RACKWRIGHT = Path(sys.executable).parent / "rackwright"


def spec(folder: Path, nodes: int) -> Path:
    """A spec of that many nodes; its leaves are oversubscribed where a tree without would be too big."""
    wide: dict[str, Any] = {"oversubscription": {"leaf": 3, "spine": 3}, "unit_nodes": 48, "partial": True}
    topology = wide if nodes > MOST_NDR else {}
    values = superpod.values(nodes, **topology)
    path = folder / "pod.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def timed(*command: str | Path, state: Path, output: Path | None = None) -> tuple[float, float]:
    """Seconds and peak memory (MiB) of one process: the better of two, as other work only ever adds."""
    return min(_timed(*command, state=state, output=output) for _ in range(1 if command[0] == "plan" else 2))


def _timed(*command: str | Path, state: Path, output: Path | None) -> tuple[float, float]:
    start = time.perf_counter()
    with (output or Path(os.devnull)).open("wb") as stdout:
        process = subprocess.Popen(
            [RACKWRIGHT, *command, "-q"], env=os.environ | {"XDG_STATE_HOME": str(state)}, stdout=stdout
        )
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def read_by_ibnetdiscover(dump: Path, folder: Path) -> float | None:
    """Seconds that ibnetdiscover takes for a network in simulation; None where the tools are missing."""
    found = ibnetdiscover.read(dump.read_text(encoding="utf-8"), str(dump))
    tool = shutil.which("ibnetdiscover", path=f"{os.environ['PATH']}:/usr/sbin")
    attach = next(one.id for one in found.devices.values() if not one.is_switch)
    try:
        with simulated(found, attach, folder, 300) as simulation:
            start = time.perf_counter()
            subprocess.run(
                [tool or "ibnetdiscover"],
                env=simulation.environment,
                cwd=simulation.folder,
                stdout=subprocess.DEVNULL,
                check=True,
            )
            return time.perf_counter() - start
    except (EnvironmentUnfit, FileNotFoundError):
        return None


def one(nodes: int) -> None:
    """Print one line, and what it says of the limits."""
    with tempfile.TemporaryDirectory() as name:
        folder, state = Path(name), Path(name) / "state"
        path = spec(folder, nodes)
        plan_s, plan_mib = timed("plan", path, state=state)
        again_s, _ = timed("plan", path, state=state)
        sheet, dump = folder / "sheet.csv", folder / "dump.txt"
        sheet_s, _ = timed("fabric", "export", path, "--as", "cutsheet", state=state, output=sheet)
        timed("fabric", "export", path, "--as", "ibnetdiscover", state=state, output=dump)
        diff_s, _ = timed("fabric", "diff", path, "--observed", dump, state=state)
        cables = len(sheet.read_text(encoding="utf-8").splitlines()) - 1
        times = f"{plan_s:8.2f} {plan_mib:6.0f} {again_s:8.2f} {sheet_s:8.2f} {diff_s:8.2f}"
        print(f"{nodes * 8:12,} {cables:9,} {times}  {sheet_s / cables * 1e6:8.1f}", flush=True)
        if nodes == SHEET_NODES:
            _say("cut-sheet", sheet_s <= SHEET_S, f"{SHEET_S:g} s")
            reading_s = read_by_ibnetdiscover(dump, folder)
            if reading_s is not None:
                print(f"{'':12} ibnetdiscover reads it in {reading_s:.1f} s")
                _say("diff", diff_s * 5 <= reading_s, "a fifth of that")
        if nodes == PLAN_NODES:
            _say("plan", plan_s <= PLAN_S and plan_mib <= PLAN_MIB, f"{PLAN_S:g} s and {PLAN_MIB} MiB")


def _say(what: str, good: bool, limit: str) -> None:  # noqa: FBT001 (one call a limit)
    print(f"{'':12} {what}: {'within' if good else 'OVER'} the limit of {limit}")


def main(sizes: tuple[int, ...]) -> None:
    """Print one line a size."""
    print("accelerators    cables   plan s    MiB  again s  sheet s   diff s  us a cable")
    for nodes in sizes:
        one(nodes)


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES)
