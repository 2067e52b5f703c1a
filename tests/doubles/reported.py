"""Runs with their verdicts, as a judge would hand them to the report: two rails, all tools, one fault."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from rackwright.canonical import sha256
from rackwright.validate.expectations import Expectation, Expectations, Key, Provenance
from rackwright.validate.model import (
    Artefact,
    Context,
    Ended,
    Measurement,
    Measurements,
    Rail,
    Run,
    Step,
    Tool,
    Unit,
)
from rackwright.verdict.model import Kind, Reason, Subject, Value, Verdict

if TYPE_CHECKING:
    from pathlib import Path

SHA = "5" * 64
SIZES = (1024, 16384, 262144, 1 << 20, 1 << 22)
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all")
RATE, BOUND, SLOW = 100.0, 75.0, 12.14
LATENCY_S = 0.0007
Figure = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Reported:
    """All that the report is made of."""

    verdict: Verdict
    run: Run
    measurements: Measurements
    expectations: Expectations

    def write_raw(self, folder: Path) -> None:
        """The files its links lead to."""
        paths = {
            artefact.path for step in self.run.steps for artefact in (step.stdout, step.stderr) if artefact
        }
        for name in (*paths, "run.json", "measurements.json", self.run.expectations.path):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(name)


def names(count: int) -> tuple[str, ...]:
    """Slots of a pool."""
    return tuple(f"node-{number:03d}" for number in range(1, count + 1))


def artefact(path: str) -> Artefact:
    """A file as `write_raw` writes it."""
    return Artefact(path=path, sha256=sha256(path))


def step(name: str, tool: Tool, nodes: tuple[str, ...], **more: object) -> Step:
    """A step that ended well, unless said otherwise."""
    values = {
        "name": name,
        "check": name.partition("/")[0],
        "tool": tool,
        "context": Context(),
        "nodes": nodes,
        "command": ("srun", "--jobid=17", f"--nodelist={','.join(nodes[:3])}", tool.value, "--json"),
        "ended": Ended.DONE,
        "exit_status": 0,
        "seconds": 2.1347,
        "stdout": artefact(f"raw/{name}.out"),
        "stderr": artefact(f"raw/{name}.err"),
        **more,
    }
    return Step.model_validate(values)


def measured(of: Step, name: str, value: Figure, unit: Unit, **context: object) -> Measurement:
    """A value read from a step's output."""
    return Measurement(
        name=name,
        value=value,
        unit=unit,
        context=Context.model_validate(context),
        step=of.name,
        artefact=of.stdout or artefact("raw/none"),
    )


def _pairs(nodes: tuple[str, ...], slow: str) -> tuple[list[Step], list[Measurement]]:
    steps, values = [], []
    far = [(one, nodes[(index + 1) % len(nodes)]) for index, one in enumerate(nodes)]
    for rail in (0, 1):
        for one, other in combinations(nodes, 2) if len(nodes) <= 40 else far:
            made = step(f"pairs/compute-{rail}/{one}+{other}", Tool.IPERF3, (one, other))
            steps.append(made)
            for direction in ("forward", "reverse"):
                rate = (
                    SLOW if rail == 1 and slow in {one, other} else RATE * 0.945 + len(one + direction) / 100
                )
                about = {
                    "node": one,
                    "peer": other,
                    "fabric": "compute",
                    "rail": rail,
                    "direction": direction,
                }
                values.append(measured(made, "bandwidth", rate, Unit.MBIT_S, **about))
    return steps, values


def _collectives(nodes: tuple[str, ...], slow: str) -> tuple[list[Step], list[Measurement]]:
    steps, values = [], []
    for rail in (0, 1, None):
        made = step(f"collectives/{'all' if rail is None else f'compute-{rail}'}", Tool.COLLECTIVES, nodes)
        steps.append(made)
        for number, collective in enumerate(COLLECTIVES):
            for size in SIZES:
                slowed = slow in nodes and rail != 0
                top = SLOW * (2 if rail is None else 1) if slowed else RATE * (1.9 if rail is None else 0.94)
                rate = size * 8 / (size * 8 / top + LATENCY_S * 1e6 * (1 + number / 4))
                about = {"fabric": "compute", "rail": rail, "collective": collective, "size_bytes": size}
                more = {"ranks": len(nodes), "nodes": nodes}
                values.append(measured(made, "busbw", rate, Unit.MBIT_S, **about, **more))
                values.append(measured(made, "wrong", 0, Unit.COUNT, **about, **more))
    return steps, values


def _burn_in(nodes: tuple[str, ...]) -> tuple[list[Step], list[Measurement]]:
    steps, values = [], []
    for index, node in enumerate(nodes):
        matrix = step(f"matrix/{node}", Tool.MATRIX, (node,))
        disk = step(f"disk/{node}", Tool.FIO, (node,))
        clock = step(f"clock/{node}", Tool.CLOCK, (node,))
        links = step(f"links/{node}", Tool.LINKS, (node,))
        steps += [matrix, disk, clock, links]
        values += [
            measured(matrix, "rate", 21.4 + index % 7 / 10, Unit.GFLOPS, node=node),
            measured(matrix, "result_hash", sha256("result"), Unit.SHA256, node=node),
            measured(disk, "read_bandwidth", 812.0 + index % 11, Unit.MIB_S, node=node),
            measured(disk, "write_bandwidth", 431.0 - index % 11, Unit.MIB_S, node=node),
            measured(clock, "offset", 0.000021 * (index % 5 - 2), Unit.SECONDS, node=node),
        ]
        values += [
            measured(links, "carrier", rail < 2, Unit.YES_NO, node=node, fabric="compute", rail=rail)
            for rail in (0, 1)
        ]
    return steps, values


def expectations() -> Expectations:
    """Of both rails, and of the clock."""
    source = "0.75 of the planned 100 Mbit/s of fabric compute"

    def bandwidth(check: str, name: str, nominal: float, **key: object) -> Expectation:
        return Expectation(
            key=Key.model_validate({"check": check, "name": name, "fabric": "compute", **key}),
            unit=Unit.MBIT_S,
            at_least=nominal * BOUND / RATE,
            nominal=nominal,
            provenance=Provenance.PLAN,
            source=source,
        )

    clock = Expectation(
        key=Key(check="clock", name="offset"),
        unit=Unit.SECONDS,
        at_most=0.001,
        nominal=0.001,
        provenance=Provenance.OPERATOR,
        source="a millisecond, over the management network",
    )
    return Expectations(
        expectations=(
            bandwidth("pairs", "bandwidth", RATE, rails=1),
            bandwidth("collectives", "busbw", RATE, rails=1, size_bytes=SIZES[-1]),
            bandwidth("collectives", "busbw", 2 * RATE, rails=2, size_bytes=SIZES[-1]),
            clock,
        )
    )


def reported(count: int = 3, slow: str = "") -> Reported:
    """A run over so many nodes; of `slow`, a node, rail 1 is slow."""
    nodes = names(count)
    parts = [_pairs(nodes, slow), _collectives(nodes, slow), _burn_in(nodes)]
    steps = tuple(one for made, _ in parts for one in made)
    values = tuple(value for _, made in parts for value in made)
    run = Run(
        cluster="lab",
        suite="acceptance",
        plan_sha256=SHA,
        started="2026-11-28T07:40:12Z",
        finished="2026-11-28T07:40:51Z",
        sites={"hall": nodes},
        rails=tuple(
            Rail(node=node, fabric="compute", rail=rail, interface=f"r{rail}")
            for node in nodes
            for rail in (0, 1)
        ),
        checks=("links", "clock", "matrix", "disk", "pairs", "collectives"),
        not_applicable={"fleet-relative": "needs at least 8 nodes, these are 3"},
        held={"node-009": "runs job 4711"},
        job_ids=(17,),
        expectations=artefact("expectations.json"),
        steps=steps,
    )
    return Reported(_verdict(run, slow), run, Measurements(measurements=values), expectations())


def _verdict(run: Run, slow: str) -> Verdict:
    nodes = run.sites["hall"]
    subjects = [_rail(node, rail, slow=node == slow and rail == 1) for node in nodes for rail in (0, 1)]
    subjects += [_node(node, slow=node == slow) for node in nodes]
    subjects.append(_site(slow))
    subjects.sort(key=lambda subject: subject.verdict is Value.PASS)
    return Verdict(
        cluster=run.cluster,
        suite=run.suite,
        started=run.started,
        verdict=Value.FAIL if slow else Value.PASS,
        subjects=tuple(subjects),
        not_applicable=run.not_applicable,
        not_judged={"matrix rate": "nobody published a figure for this platform"},
        held=run.held,
    )


def _rail(node: str, rail: int, *, slow: bool) -> Subject:
    reasons = [
        Reason(
            criterion="pair-bandwidth",
            value=Value.FAIL if slow else Value.PASS,
            cause=f"r{rail} is slow to both of its partners" if slow else f"r{rail} reaches its bound",
            measured=SLOW if slow else 94.58,
            expected="at least 75 mbit_s",
            unit=Unit.MBIT_S,
            provenance="plan: 0.75 of the planned 100 Mbit/s of fabric compute",
            action=f"Check cable and port of {node} on rail {rail}: rackwright node drain SPEC {node}"
            if slow
            else "",
            evidence=tuple(
                artefact(f"raw/pairs/compute-{rail}/{'+'.join(sorted((node, other)))}.out")
                for other in names(3)
                if other != node
            )
            if slow
            else (),
        ),
        Reason(criterion="carrier", value=Value.PASS, cause="carrier", measured=True, expected="yes"),
    ]
    return Subject(
        name=f"{node}/r{rail}",
        kind=Kind.RAIL,
        verdict=Value.FAIL if slow else Value.PASS,
        reasons=tuple(reasons),
    )


def _node(node: str, *, slow: bool) -> Subject:
    reasons = [
        Reason(criterion="result-hash", value=Value.PASS, cause="the same as on all others"),
        Reason(criterion="clock", value=Value.PASS, cause="in time", measured=0.000021, unit=Unit.SECONDS),
    ]
    if slow:
        reasons.append(
            Reason(criterion="rails", value=Value.FAIL, cause=f"{node}/r1 is FAIL", explained_by=f"{node}/r1")
        )
    return Subject(
        name=node, kind=Kind.NODE, verdict=Value.FAIL if slow else Value.PASS, reasons=tuple(reasons)
    )


def _site(slow: str) -> Subject:
    reason = Reason(
        criterion="collectives",
        value=Value.FAIL if slow else Value.PASS,
        cause="collectives over rail 1 are slow" if slow else "collectives reach their bound",
        measured=SLOW if slow else 93.2,
        expected="at least 75 mbit_s",
        unit=Unit.MBIT_S,
        explained_by=f"{slow}/r1" if slow else "",
    )
    return Subject(name="hall", kind=Kind.SITE, verdict=Value.FAIL if slow else Value.PASS, reasons=(reason,))
