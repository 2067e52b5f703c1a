"""Mutants of every format by rule: none becomes PASS, but for those that mean the same, each with its reason.

Where a criterion judges what a tool says, a run is judged as a whole; of the other tools an output counts as
passed as soon as it is complete, which is more than any verdict gives it.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright.catalogue.model import Check
from rackwright.validate.model import Completeness, Context, Tool, Unit
from rackwright.validate.parsers.table import PARSERS, parse
from rackwright.verdict.model import Value
from tests.doubles import nccl, schema_mutants
from tests.doubles.one_check import limits_of, planned, run_of, verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rackwright.validate.expectations import Expectation
    from rackwright.validate.model import Parsed, Reading, Run
    from tests.doubles.judging import Case
    from tests.doubles.runs import World

CASES = Path(__file__).parents[2] / "cases"
NODE, NODES = ("node-001",), ("node-001", "node-002")
WORLDS = {
    Tool.COLLECTIVES: "collectives/compute-0",
    Tool.MATRIX: "matrix/node-001",
    Tool.STRESS_NG: "memory/node-001",
    Tool.FIO: "disk/node-001",
    Tool.IPERF3: "pairs/compute-0/node-001+node-002/forward",
    Tool.LINKS: "links/node-001",
    Tool.CLOCK: "clock",
}
"""Tools of the lab's own suite, each with a step of a good run."""
_FIGURES = {2**30: 440.0, 2**29: 420.0, 2**28: 400.0}


@dataclass(frozen=True)
class Judged:
    """One output of a tool, and how it is judged."""

    name: str
    tool: Tool
    text: str
    value: Callable[[str], Value]
    run: Run | None = None

    def read(self, text: str) -> Parsed:
        return parse(self.tool, text)


def _judge(run: Run, expected: tuple[Expectation, ...], text: str) -> Value:
    return verdict(run, {run.steps[0].nodes[0]: text}, expected).verdict


def _text(case: str) -> str:
    return (CASES / case / "input.txt").read_text(encoding="utf-8")


def _of_one_check(  # noqa: PLR0913, PLR0917 (what a run is of)
    case: str, check: Check, tool: Tool, nodes: tuple[str, ...], expected: tuple[Expectation, ...],
    text: str = "", **about: object,
) -> Judged:  # fmt: skip
    run = run_of(check, tool, nodes, together=len(nodes) > 1)
    context = run.steps[0].context.over(Context.model_validate(about))
    run = run.model_copy(update={"steps": (run.steps[0].model_copy(update={"context": context}),)})
    return Judged(case, tool, text or _text(case), partial(_judge, run, expected), run)


def _all_of_level_3(text: str) -> str:
    """A diagnosis with the tests of level 3 that its case leaves out, each as one that it has."""
    head, brace, rest = text.partition("{")
    document = json.loads(brace + rest)
    body = next(one for name, one in document.items() if "Diagnostic" in name)
    tests = [(one, test) for one in body["test_categories"] for test in one["tests"]]
    category, pattern = next((one, test) for one, test in tests if test["name"] == "targeted_power")
    healthy = json.loads(json.dumps(next(test for _, test in tests if test["name"] == "memory"))) | {
        "name": ""
    }
    assert pattern
    category["tests"] += [{**healthy, "name": name} for name in ("memory_bandwidth", "targeted_stress")]
    return head + json.dumps(document, indent=1)


def _subjects() -> Iterator[Judged]:
    gpus = (*limits_of(Check.GPU_STATE), planned(Check.GPU_STATE, "gpus", at_least=8, at_most=8))
    for name in ("good", "events", "off-the-bus-without-xid"):
        yield _of_one_check(f"dmesg/{name}", Check.KERNEL_LOG, Tool.DMESG, NODE, ())
    for name in ("acceptance", "acceptance-power-brake", "acceptance-remap-failure"):
        yield _of_one_check(f"nvidia-smi/{name}", Check.GPU_STATE, Tool.NVIDIA_SMI, NODE, gpus)
    links = (
        planned(Check.GPU_STATE, "nvlink_gpus", at_least=8, at_most=8),
        planned(Check.GPU_STATE, "nvlinks_up", at_least=1, unit=Unit.YES_NO),
    )
    for name in ("good", "one-down", "all-down"):
        yield _of_one_check(f"nvlink/{name}", Check.GPU_STATE, Tool.NVLINK, NODE, links)
    for name, level in (
        ("good-4", 3),
        ("fail-4-gpu-3", 3),
        ("skip-4", 3),
        ("good-3", 2),
        ("fail-3-gpu-3", 2),
    ):
        case = f"dcgm-diag/{name}"
        text = _all_of_level_3(_text(case)) if level == 3 else _text(case)
        about = {"parameters": {"level": level}}
        yield _of_one_check(case, Check.DCGM_DIAG, Tool.DCGM_DIAG, NODE, (), text, **about)
    for name in ("good", "symbol-errors"):
        yield _of_one_check(
            f"counters/{name}", Check.COUNTERS, Tool.COUNTERS, NODE, limits_of(Check.COUNTERS)
        )
    yield from _of_nccl()


def _of_nccl() -> Iterator[Judged]:
    bounds = (
        planned(Check.NCCL_TESTS, "wrong", at_most=0),
        planned(Check.NCCL_TESTS, "busbw", at_least=1, unit=Unit.GB_S),
    )
    way = (
        planned(Check.TRANSPORT, "network", one_of=("AWS Libfabric",)),
        planned(Check.TRANSPORT, "provider", one_of=("efa",)),
        planned(Check.TRANSPORT, "nics", at_least=32, at_most=32),
        planned(Check.TRANSPORT, "gpudirect", at_least=1, unit=Unit.YES_NO),
    )
    asked = {"collective": "all_reduce", "ranks": 16}
    texts = {"table": nccl.table(_FIGURES, nodes=2, accelerators=8)}
    for name in ("json-1", "json-2", "json-3"):
        texts[name] = _text(f"nccl-tests/{name}").replace("2026-11-20 10", "2026-11-28 08")
    texts["wrong-elements"] = _text("nccl-tests/wrong-elements")
    for name, text in texts.items():
        case = f"nccl-tests/{name}"
        yield _of_one_check(case, Check.NCCL_TESTS, Tool.NCCL_TESTS, NODES, bounds, text, **asked)
    for name in ("efa", "socket", "algorithms"):
        yield _of_one_check(f"nccl-log/{name}", Check.TRANSPORT, Tool.NCCL_LOG, NODES, way)


def _of_a_world(case: Case, tool: Tool, step: str) -> Judged:
    output = next(one.stdout for one in case.run.steps if one.name == step)
    assert output is not None
    return Judged(
        step, tool, case.texts[output.path], lambda text: case.with_text(step, text).verdict().verdict
    )


def _well(tool: Tool, text: str) -> Value:
    """Whether an output of a tool without a criterion is whole, says so itself, and tells of no fault."""
    parsed = parse(tool, text)
    bad = {(one.name, one.value) for one in parsed.readings} & {("sealed", False), ("faulty", True)}
    return Value.PASS if parsed.status is Completeness.COMPLETE and not bad else Value.ERROR


def _unjudged() -> Iterator[Judged]:
    """Healthy outputs of tools that no criterion judges."""
    judged = {one.tool for one in _subjects()} | WORLDS.keys()
    for tool in (tool for tool in PARSERS if tool not in judged):
        for name in GOOD.get(tool, ("good",)):
            yield Judged(f"{tool}/{name}", tool, _text(f"{tool}/{name}"), partial(_well, tool))


GOOD = {
    Tool.NVBANDWIDTH: ("good", "json"),
    Tool.PERFTEST: ("good", "latency", "json"),
    Tool.RCCL_TESTS: ("good", "in-place-only"),
}


@dataclass
class Tally:
    """What became of mutants."""

    made: Counter[str] = field(default_factory=Counter)
    alike: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    survivors: list[str] = field(default_factory=list)


TALLY = Tally()


def _hunt(judged: Judged) -> list[str]:
    """Mutants that pass and should not; all are counted."""
    original, known, survivors = judged.read(judged.text), dict[str, Value](), []
    for mutant in schema_mutants.of(judged.tool, judged.text):
        TALLY.made[mutant.kind] += 1
        read = judged.read(mutant.text)
        key = repr((read.status, read.readings))
        if key not in known:
            known[key] = judged.value(mutant.text)
        if known[key] is not Value.PASS:
            continue
        reason = _alike(judged.tool, original, read)
        TALLY.alike[mutant.kind] += bool(reason)
        TALLY.reasons[reason] += 1
        if not reason:
            survivors.append(f"{judged.name}: {mutant.kind}: {mutant.name}")
    return survivors


def _alike(tool: Tool, original: Parsed, mutated: Parsed) -> str:
    """Why a mutant that passes is none: it says what the original says, as far as anybody can tell."""
    if mutated.readings == original.readings:
        return "nothing that is read has changed"
    if _without_seal(mutated) == _without_seal(original):
        return "only its last line is gone, which it says itself, and all ranks are told"
    if _figures(mutated) == _figures(original):
        return f"{tool}: a parameter that nothing repeats and no verdict looks at has changed"
    left = {repr(one) for one in _figures(mutated) if one[:2] != ("sealed", False)}
    if left < {repr(one) for one in _figures(original)} or _fewer(mutated, original):
        return LESS.get(tool, "")
    return FREE.get(tool, "") if len(mutated.readings) == len(original.readings) else ""


def _fewer(mutated: Parsed, original: Parsed) -> bool:
    """Whether nothing is told but what the original tells, and not all of that."""
    known = list(map(repr, original.readings))
    return len(mutated.readings) < len(known) and {repr(one) for one in mutated.readings} <= set(known)


def _without_seal(parsed: Parsed) -> list[Reading]:
    return [one for one in parsed.readings if one.name != "sealed"]


def _figures(parsed: Parsed) -> list[tuple[object, ...]]:
    return [
        (one.name, one.value, one.context.model_copy(update={"parameters": {}})) for one in parsed.readings
    ]


LESS: Mapping[Tool, str] = {
    Tool.DCGM_DIAG: "dcgm-diag: one of several deployment checks of DCGM 3; how many a host has nobody tells",
    Tool.NVBANDWIDTH: "nvbandwidth: a test less; which were asked for is on its command line alone",
    Tool.PERFTEST: "perftest: a size less; which were asked for is on its command line alone",
    Tool.NCCL_LOG: "nccl-log: its last line and algorithms are gone; it says so, and all ranks are told",
}
"""Why less may be as good, where no verdict looks at what is gone."""
FREE: Mapping[Tool, str] = {
    Tool.GPU_BURN: "gpu-burn: another speed or temperature, which nothing repeats and no criterion judges",
    Tool.PERFTEST: "perftest: another size, to which a latency has no relation",
    Tool.RCCL_TESTS: "rccl-tests: another name of a host; who was asked is compared with it in a run",
}
"""Why something else may be as good, where no verdict looks at it."""


@pytest.mark.parametrize("judged", list(_subjects()), ids=lambda one: one.name)
def test_no_mutant_of_a_judged_output_passes(judged: Judged) -> None:
    assert _hunt(judged) == []


@pytest.mark.parametrize(("tool", "step"), WORLDS.items())
def test_no_mutant_of_an_output_of_the_lab_passes(
    case_of: Callable[[World | str], Case], tool: Tool, step: str
) -> None:
    assert _hunt(_of_a_world(case_of("pass"), tool, step)) == []


@pytest.mark.parametrize("judged", list(_unjudged()), ids=lambda one: one.name)
def test_no_mutant_of_another_tool_means_something_else(judged: Judged) -> None:
    assert _hunt(judged) == []


def test_what_became_of_all_mutants(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\nmutants {TALLY.made.total():,}")  # noqa: T201 (the count is part of the proof)
        for kind in schema_mutants.Kind:
            killed = TALLY.made[kind] - TALLY.alike[kind]
            print(f"  {kind:<28} {TALLY.made[kind]:6,} made {killed:6,} killed {TALLY.alike[kind]:6,} alike")  # noqa: T201 (as above)
        for reason, count in TALLY.reasons.most_common():
            print(f"  alike {count:6,}: {reason}")  # noqa: T201 (as above)
    assert TALLY.reasons.total() == TALLY.alike.total(), "each that means the same has its reason"
