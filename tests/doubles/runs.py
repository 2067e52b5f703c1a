"""Run folders as a validation leaves them, of nodes that are good, or faulty in one known way.

`build` writes one: raw output as the tools print it (our programs by their seal, foreign ones from
tests/cases), `run.json`, `expectations.json` and `measurements.json`. `World` says how the nodes
are; `WORLDS` has the faults that `rackwright lab fault` makes, by name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rackwright import canonical
from rackwright.validate import evidence
from rackwright.validate.busbw import COLLECTIVES, factor
from rackwright.validate.expectations import Expectation, Expectations, Key, Provenance
from rackwright.validate.measure import measure
from rackwright.validate.model import Artefact, Context, Ended, Rail, Run, Step, Tool, Unit
from rackwright.validate.parsers.lines import seal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CASES = Path(__file__).parents[1] / "cases"
FABRIC, SITE = "compute", "hall"
LINE_MBIT = 100.0
SIZES = (1_048_572, 4_194_300)
"""Bytes, each a multiple of 3 ranks of 4."""
UNREACHABLE = "iperf3/unreachable"
_NUMBERS = "whole numbers of 21 bits, seed 7"


@dataclass(frozen=True)
class World:
    """How the nodes are."""

    nodes: tuple[str, ...] = ("node-001", "node-002", "node-003")
    rails: int = 2
    rate: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """(node, rail) → Mbit/s that it carries, where that is not the line's; 0 is none."""
    down: frozenset[tuple[str, int]] = frozenset()
    """(node, rail) without a carrier."""
    result: Mapping[str, str] = field(default_factory=dict)
    """Node → seed of the hash of its matrix product, where that is not everybody's."""
    gflops: Mapping[str, float] = field(default_factory=dict)
    lost_at: str = ""
    """Check in which `lost` goes away; it is gone from there on."""
    lost: str = ""
    held: Mapping[str, str] = field(default_factory=dict)
    racks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


WORLDS: Mapping[str, World] = {
    "pass": World(),
    "slow-rail": World(rate={("node-002", 1): 20.0}),
    "cut-rail": World(rate={("node-002", 1): 0.0}, down=frozenset({("node-002", 1)})),
    "unreachable-rail": World(rate={("node-002", 1): 0.0}),
    "wrong-value": World(result={"node-002": "another"}),
    "killed-node": World(lost="node-002", lost_at="collectives"),
    "held": World(held={"node-003": "runs job 42"}),
}

CHECKS = ("links", "clock", "matrix", "memory", "disk", "pairs", "collectives")


def build(folder: Path, world: World | str = "pass") -> Path:
    """Write a run folder and return it."""
    world = WORLDS[world] if isinstance(world, str) else world
    hosts = tuple(node for node in world.nodes if node not in world.held)
    expected = canonical.dumps(expectations(world))
    _write(folder / "expectations.json", expected)
    run = _run(world, hosts, Artefact(path="expectations.json", sha256=canonical.sha256(expected)))
    run = run.model_copy(update={"steps": tuple(_steps(folder, world, hosts))})
    save(folder, run)
    return folder


def save(folder: Path, run: Run) -> None:
    """Write a run and the measurements that its raw output gives."""
    _write(folder / evidence.RUN, evidence.sealed(run))
    measured = measure(run, lambda artefact: (folder / artefact.path).read_text(encoding="utf-8"))
    _write(folder / "measurements.json", canonical.dumps(measured))


def load(folder: Path) -> Run:
    """The run of a folder."""
    return evidence.load(folder)


def expectations(world: World) -> Expectations:
    """What the lab's plan lets one expect, for as many rails."""
    found = [
        _bound("carrier", "links", Unit.YES_NO, at_least=1),
        _bound("offset", "clock", Unit.SECONDS, at_most=0.128),
        _bound("wrong", "matrix", Unit.COUNT, at_most=0),
        _bound("mismatches", "matrix", Unit.COUNT, at_most=0),
        _bound("failures", "memory", Unit.COUNT, at_most=0),
        _bound("verify_errors", "disk", Unit.COUNT, at_most=0),
        _bound("wrong", "collectives", Unit.COUNT, at_most=0),
        _planned(Key(name="bandwidth", check="pairs", fabric=FABRIC, rails=1), 0.75, 1),
    ]
    for collective in COLLECTIVES:
        for rails in sorted({1, world.rails}):
            key = Key(name="busbw", check="collectives", collective=collective, fabric=FABRIC, rails=rails)
            found.append(_planned(key, 0.5, rails))
    return Expectations(expectations=tuple(found))


def _bound(
    name: str, check: str, unit: Unit, *, at_least: float | None = None, at_most: float | None = None
) -> Expectation:
    return Expectation(
        key=Key(name=name, check=check),
        unit=unit,
        at_least=at_least,
        at_most=at_most,
        nominal=at_least or 0,
        provenance=Provenance.DEFINED,
        source="what right means",
    )


def _planned(key: Key, share: float, rails: int) -> Expectation:
    return Expectation(
        key=key,
        unit=Unit.MBIT_S,
        at_least=share * rails * LINE_MBIT,
        nominal=rails * LINE_MBIT,
        provenance=Provenance.PLAN,
        source=f"{share:g} of the planned {rails} x {LINE_MBIT:g} Mbit/s",
    )


def _run(world: World, hosts: tuple[str, ...], expected: Artefact) -> Run:
    return Run(
        cluster="lab",
        suite="acceptance",
        plan_sha256="1" * 64,
        started="2026-11-28T08:00:00Z",
        finished="2026-11-28T08:00:40Z",
        sites={SITE: world.nodes},
        site_kinds={SITE: "onprem"},
        racks={SITE: dict(world.racks)},
        rails=tuple(
            Rail(node=node, fabric=FABRIC, rail=rail, interface=f"r{rail}")
            for node in world.nodes
            for rail in range(world.rails)
        ),
        checks=CHECKS,
        not_applicable={"nccl-tests": "the platform lab-node has no such check"},
        held=dict(world.held),
        lost={world.lost: "node-002 does not respond: DOWN since 08:00:31"} if world.lost in hosts else {},
        job_ids=(7,),
        expectations=expected,
    )


def _steps(folder: Path, world: World, hosts: tuple[str, ...]) -> Iterator[Step]:
    makers = {
        "links": _links,
        "clock": _clock,
        "matrix": _matrix,
        "memory": _memory,
        "disk": _disk,
        "pairs": _pairs,
        "collectives": _collectives,
    }
    alive = hosts
    for check in CHECKS:
        if world.lost and check == world.lost_at:
            yield _node_lost(folder, check, hosts, world.lost)
            alive = tuple(node for node in hosts if node != world.lost)
        yield from makers[check](folder, world, alive)


def _step(folder: Path, step: Step, text: str) -> Step:
    """A step that ended well, with its output written."""
    _write(folder / (path := f"raw/{step.name}.out"), text)
    _write(folder / (empty := f"raw/{step.name}.err"), "")
    return step.model_copy(
        update={
            "stdout": Artefact(path=path, sha256=canonical.sha256(text)),
            "stderr": Artefact(path=empty, sha256=canonical.sha256("")),
        }
    )


def _blank(name: str, check: str, tool: Tool, nodes: tuple[str, ...], context: Context | None = None) -> Step:
    return Step(
        name=name,
        check=check,
        tool=tool,
        context=context or Context(),
        nodes=nodes,
        command=("srun", str(tool)),
        ended=Ended.DONE,
        exit_status=0,
        seconds=1.0,
    )


def _node_lost(folder: Path, check: str, hosts: tuple[str, ...], lost: str) -> Step:
    context = Context(fabric=FABRIC, rail=0)
    step = _blank(f"{check}/{FABRIC}-0", check, Tool(check), hosts, context)
    step = _step(folder, step, collectives(hosts, 90.0).splitlines(keepends=True)[0])
    return step.model_copy(
        update={
            "ended": Ended.NODE_LOST,
            "exit_status": 1,
            "reason": f"{lost} went away",
            "lost": (lost,),
        }
    )


def _links(folder: Path, world: World, hosts: tuple[str, ...]) -> Iterator[Step]:
    def state(node: str, rail: int) -> dict[str, object]:
        up = (node, rail) not in world.down
        return {"present": True, "carrier": up, "operstate": "up" if up else "lowerlayerdown", "mtu": 1500}

    for node in hosts:
        interfaces = {f"r{rail}": state(node, rail) for rail in range(world.rails)}
        step = _blank(f"links/{node}", "links", Tool.LINKS, (node,), Context(node=node))
        yield _step(folder, step, _line("links", host=node, interfaces=interfaces))


def _clock(folder: Path, _: World, hosts: tuple[str, ...]) -> Iterator[Step]:
    reference = f"median of {len(hosts)} hosts"
    lines = [
        _line("clock", host=node, reference=reference, offset_s=1e-6, uncertainty_s=2e-5) for node in hosts
    ]
    yield _step(folder, _blank("clock", "clock", Tool.CLOCK, hosts), "".join(lines))


def _matrix(folder: Path, world: World, hosts: tuple[str, ...]) -> Iterator[Step]:
    for number, node in enumerate(hosts):
        text = matrix(node, world.gflops.get(node, 10.8 + number / 100), world.result.get(node, ""))
        yield _step(folder, _blank(f"matrix/{node}", "matrix", Tool.MATRIX, (node,)), text)


def matrix(host: str, gflops: float, seed: str = "") -> str:
    """What the program prints; with a seed a wrong result."""
    return _line(
        "matrix",
        host=host,
        order=768,
        iterations=30,
        threads=1,
        pattern=_NUMBERS,
        gflops=gflops,
        gflops_min=gflops * 0.97,
        wrong=30 if seed else 0,
        mismatches=0,
        result_sha256=canonical.sha256(seed or "right"),
    )


def _memory(folder: Path, _: World, hosts: tuple[str, ...]) -> Iterator[Step]:
    text = (CASES / "stress-ng" / "good" / "input.txt").read_text(encoding="utf-8")
    for node in hosts:
        step = _blank(f"memory/{node}", "memory", Tool.STRESS_NG, (node,), Context(node=node))
        yield _step(folder, step, text)


def _disk(folder: Path, _: World, hosts: tuple[str, ...]) -> Iterator[Step]:
    text = (CASES / "fio" / "good" / "input.txt").read_text(encoding="utf-8")
    for node in hosts:
        yield _step(folder, _blank(f"disk/{node}", "disk", Tool.FIO, (node,), Context(node=node)), text)


def _pairs(folder: Path, world: World, hosts: tuple[str, ...]) -> Iterator[Step]:
    pairs = [(a, b) for number, a in enumerate(hosts) for b in hosts[number + 1 :]]
    for rail in range(world.rails):
        for pair in pairs:
            for direction in ("forward", "reverse"):
                yield _pair(folder, world, pair, rail, direction)


def _pair(folder: Path, world: World, pair: tuple[str, str], rail: int, direction: str) -> Step:
    a, b = pair
    rate = min(_rate(world, a, rail), _rate(world, b, rail))
    context = Context(node=a, peer=b, fabric=FABRIC, rail=rail, direction=direction)
    step = _blank(f"pairs/{FABRIC}-{rail}/{a}+{b}/{direction}", "pairs", Tool.IPERF3, pair, context)
    dark = [node for node in pair if (node, rail) in world.down]
    if dark:
        return _not_run(step, _no_carrier(dark[0], rail))
    if rate:
        return _step(folder, step, iperf3(rate * 0.95, direction))
    failed = {"ended": Ended.FAILED, "exit_status": 1, "reason": "exit status 1"}
    text = (CASES / UNREACHABLE / "input.txt").read_text(encoding="utf-8")
    return _step(folder, step, text).model_copy(update=failed)


def _no_carrier(node: str, rail: int) -> str:
    return f"{node} has no carrier on rail {rail} of {FABRIC}"


def _not_run(step: Step, reason: str) -> Step:
    return step.model_copy(
        update={"ended": Ended.NOT_RUN, "exit_status": None, "seconds": 0.0, "reason": reason}
    )


def _collectives(folder: Path, world: World, hosts: tuple[str, ...]) -> Iterator[Step]:
    for rail in (*range(world.rails), None):
        rails = tuple(range(world.rails)) if rail is None else (rail,)
        place = FABRIC if rail is None else f"{FABRIC}-{rail}"
        again = "/again-1" if world.lost_at == "collectives" and rail == 0 else ""
        name, context = f"collectives/{place}", Context(fabric=FABRIC, rail=rail)
        dark = {node: one for one in rails for node in hosts if (node, one) in world.down}
        for node, one in dark.items():
            step = _blank(f"{name}/{node}", "collectives", Tool.COLLECTIVES, (node,), context)
            yield _not_run(step, _no_carrier(node, one))
        fit = tuple(node for node in hosts if node not in dark)
        step = _blank(f"{name}{again}", "collectives", Tool.COLLECTIVES, fit, context)
        yield _collective(folder, step, min(_rate(world, node, one) for node in fit for one in rails), rails)


def _collective(folder: Path, step: Step, rate: float, rails: tuple[int, ...]) -> Step:
    if rate:
        return _step(folder, step, collectives(step.nodes, rate * len(rails) * 0.87))
    ended = {"ended": Ended.TIMED_OUT, "exit_status": None, "reason": "not finished after 20 s"}
    start = collectives(step.nodes, 1.0).splitlines(keepends=True)[0]
    return _step(folder, step, start).model_copy(update=ended)


def _rate(world: World, node: str, rail: int) -> float:
    return world.rate.get((node, rail), LINE_MBIT)


def iperf3(mbit_s: float, direction: str) -> str:
    """What the client prints that measured so much in one direction."""
    case = {"forward": "good", "reverse": "reverse", "bidir": "both-directions"}[direction]
    document = json.loads((CASES / "iperf3" / case / "input.txt").read_text(encoding="utf-8"))
    _scale(document, mbit_s)
    return json.dumps(document, indent=1) + "\n"


def _scale(value: Any, mbit_s: float) -> None:  # noqa: ANN401 (any JSON)
    if isinstance(value, list):
        for item in value:
            _scale(item, mbit_s)
    elif isinstance(value, dict):
        if "bits_per_second" in value:
            value["bytes"] = round(mbit_s * 1e6 / 8 * value["seconds"])
            value["bits_per_second"] = value["bytes"] * 8 / value["seconds"]
        for item in value.values():
            _scale(item, mbit_s)


def collectives(hosts: tuple[str, ...], mbit_s: float) -> str:
    """What the program prints whose every row has this bus bandwidth."""
    rows = [(name, size) for name in COLLECTIVES for size in SIZES]
    start = _line(
        "collectives",
        kind="start",
        ranks=len(hosts),
        hosts=list(hosts),
        rows=len(rows),
        interfaces=["r0"],
        pattern="float32, (7 index + 13 rank + 3 iteration) mod 251",
    )
    lines = [_row(name, size, hosts, mbit_s) for name, size in rows]
    return "".join([start, *lines, _line("collectives", kind="end", rows=len(rows))])


def _row(name: str, size: int, hosts: tuple[str, ...], mbit_s: float) -> str:
    seconds = size * 8 * factor(name, len(hosts)) / (mbit_s * 1e6)
    return _line(
        "collectives",
        kind="row",
        collective=name,
        algorithm="ring",
        size_bytes=size,
        ranks=len(hosts),
        hosts=sorted(hosts),
        iterations=3,
        seconds=seconds,
        seconds_min=seconds * 0.98,
        seconds_max=seconds * 1.03,
        busbw_mbit_s=mbit_s,
        wrong=0,
    )


def _line(tool: str, kind: str = "result", **fields: object) -> str:
    return seal({"schema": f"rackwright/{tool}/1", "kind": kind, **fields}) + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def fleet(count: int) -> World:
    """So many good nodes."""
    return replace(World(), nodes=tuple(f"node-{number:03}" for number in range(1, count + 1)))
