"""Each criterion turns a planted fault into FAIL; without that one criterion the fault is not seen by it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from rackwright.catalogue.model import Check
from rackwright.validate.expectations import Expectation, Expectations, Key, Provenance
from rackwright.validate.history import Earlier, History
from rackwright.validate.model import Measurements, Tool, Unit
from rackwright.validate.parsers.lines import seal as seal_line
from rackwright.validate.parsers.sealing import seal
from rackwright.verdict import asymmetry, collective, criteria, fleet, history, judge, stability
from rackwright.verdict.model import Value, Verdict
from tests.doubles import runs
from tests.doubles.one_check import exchanging, limits_of, planned, run_of, text_of, verdict
from tests.unit.verdict.test_links import verdict as of_link

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.doubles.judging import Case

    CaseOf = Callable[[runs.World | str], Case]
    Plant = Callable[[CaseOf], Verdict]

NODE = "node-001"
APART: Mapping[str, tuple[object, str]] = {
    "speed": (fleet.Speed, "judge"),
    "fleet-outlier": (fleet.Speed, "judge"),
    "fleet-common": (fleet.Speed, "judge"),
    "best-on-node": (fleet.BestOnNode, "judge"),
    "repeat-stability": (stability.Stability, "judge"),
    "asymmetry": (asymmetry.Asymmetry, "judge"),
    "repeat-offender": (history.RepeatOffender, "judge"),
    "collective-bandwidth": (collective.CollectiveBandwidth, "judge"),
}
"""Criteria that `judge` calls one by one."""


@dataclass(frozen=True)
class Changed:
    """A good run in which values are others."""

    check: str
    name: str
    value: float | str | bool
    world: runs.World | str = "pass"
    where: str = ""
    """Part of the step's name."""

    def __call__(self, case_of: CaseOf) -> Verdict:
        case = case_of(self.world)
        checks = {step.name: step.check for step in case.run.steps}
        changed = tuple(
            one.model_copy(update={"value": self.value})
            if (checks[one.step], one.name) == (self.check, self.name) and self.where in one.step
            else one
            for one in case.measurements().measurements
        )
        return case.verdict(Measurements(measurements=changed))


def _with_figure(case: Case, at_least: float) -> Case:
    more = Expectation(
        key=Key(name="gflops", check="matrix"),
        unit=Unit.GFLOPS,
        at_least=at_least,
        nominal=at_least,
        provenance=Provenance.OPERATOR,
        source="a test",
    )
    both = (*case.expectations.expectations, more)
    return replace(case, expectations=Expectations(expectations=both))


def _log(*lines: str) -> str:
    return seal("".join(f"{line}\n" for line in ("[    0.000000] Linux version 6.8.0", *lines)))


def _of(check: Check, tool: Tool, text: str, *expected: Expectation) -> Plant:
    return lambda _: verdict(run_of(check, tool, (NODE,)), {NODE: text}, (*limits_of(check), *expected))


PORTS = run_of(Check.COUNTERS, Tool.COUNTERS, (NODE,))


def _transport(_: CaseOf) -> Verdict:
    nodes = ("node-001", "node-002")
    run = run_of(Check.TRANSPORT, Tool.NCCL_LOG, nodes, together=True)
    expected = (planned(Check.TRANSPORT, "network", one_of=("AWS Libfabric",)),)
    return verdict(run, {nodes[0]: text_of("nccl-log/socket")}, expected)


def _uneven(case_of: CaseOf) -> Verdict:
    case = case_of("pass")
    for step in case.run.steps:
        if step.name.startswith("pairs/compute-1/") and "node-002" in step.nodes:
            way = str(step.context.direction)
            if (step.context.node == "node-002") == (way == "forward"):
                case = case.with_text(step.name, runs.iperf3(50.0, way))
    gates = tuple(
        one.model_copy(update={"at_least": 10.0}) if one.key.name == "bandwidth" else one
        for one in case.expectations.expectations
    )
    return replace(case, expectations=Expectations(expectations=gates)).verdict()


def _unstable(case_of: CaseOf) -> Verdict:
    case = case_of("pass")
    step = next(one for one in case.run.steps if one.name == f"matrix/{NODE}")
    assert step.stdout is not None
    texts, steps = dict(case.texts), list(case.run.steps)
    for number, speed in enumerate((10.0, 6.0)):
        output = step.stdout.model_copy(update={"path": f"raw/again-{number}"})
        steps.append(step.model_copy(update={"name": f"{step.name}/{number}", "stdout": output}))
        texts[output.path] = runs.matrix(NODE, speed)
    return replace(case, texts=texts, run=case.run.model_copy(update={"steps": tuple(steps)})).verdict()


def _of_two_rails(case_of: CaseOf) -> Verdict:
    """A rail of all nodes that is slow, where no figure says so."""
    case = case_of(replace(runs.fleet(8), rails=2, rate={(NODE, 1): 60.0}))
    gates = tuple(
        one.model_copy(update={"at_least": 10.0}) if one.key.name in {"bandwidth", "busbw"} else one
        for one in case.expectations.expectations
    )
    return replace(case, expectations=Expectations(expectations=gates)).verdict()


def _idle_port() -> str:
    about = {"host": NODE, "device": "mlx5_0", "port": 1, "ports": 1, "values": {"port_xmit_data": 7}}
    rows = ({"schema": "rackwright/counters/1", "kind": "sample", **about, "at_s": at} for at in (1.0, 9.0))
    return "".join(f"{seal_line(row)}\n" for row in rows)


def _again(case_of: CaseOf) -> Verdict:
    """A good run of a node that was put right three times."""
    case = case_of("pass")
    told = tuple(
        Earlier(run=f"{day}", started=f"2026-11-{day}T08:00:00Z", failed=bool(day % 2))
        for day in range(21, 27)
    )
    run = case.run.model_copy(update={"history": case.run.expectations})
    known = History(runs=("21",), nodes={NODE: told})
    return judge.judge(run, case.measurements(), case.expectations, known)


NINE = replace(runs.fleet(9), rails=1)
PLANTS: Mapping[str, Plant] = {
    "link-carrier": Changed("links", "carrier", value=False, where="node-001"),
    "link-path-mtu": lambda _: of_link("black-hole"),
    "link-black-hole": lambda _: of_link("untold"),
    "clock-offset": Changed("clock", "offset", 1.0),
    "matrix-verify": Changed("matrix", "wrong", 3, where="node-001"),
    "matrix-repeat": Changed("matrix", "mismatches", 3, where="node-001"),
    "result-hash": Changed("matrix", "result_hash", "f" * 64, where="node-001"),
    "memory-verify": Changed("memory", "failures", 1, where="node-001"),
    "disk-verify": Changed("disk", "verify_errors", 1, where="node-001"),
    "pair-bandwidth": Changed("pairs", "bandwidth", 70.0, where="node-001"),
    "collective-correct": Changed("collectives", "wrong", 1, where="compute-0"),
    "collective-bandwidth": Changed("collectives", "busbw", 20.0, where="compute-0"),
    "speed": lambda case_of: _with_figure(case_of("pass"), 10.81).verdict(),
    "fleet-outlier": lambda case_of: case_of(replace(NINE, gflops={NODE: 5.0})).verdict(),
    "fleet-common": lambda case_of: _with_figure(case_of(NINE), 20.0).verdict(),
    "best-on-node": _of_two_rails,
    "repeat-stability": _unstable,
    "asymmetry": _uneven,
    "transport": _transport,
    "traffic": lambda _: verdict(exchanging(PORTS), {NODE: _idle_port()}, limits_of(Check.COUNTERS)),
    "device-codes": _of(
        Check.KERNEL_LOG, Tool.DMESG, _log("[    9.000000] NVRM: Xid (PCI:0000:1b:00): 79, pid=1")
    ),
    "dcgm-diagnosis": _of(Check.DCGM_DIAG, Tool.DCGM_DIAG, text_of("dcgm-diag/fail-4-gpu-3")),
    "gpu-state": _of(Check.GPU_STATE, Tool.NVIDIA_SMI, text_of("nvidia-smi/remap-failure")),
    "repeat-offender": _again,
    "port-counters": _of(Check.COUNTERS, Tool.COUNTERS, text_of("counters/symbol-errors")),
}
"""Criterion → a run in which it alone sees a fault."""
ELSEWHERE = {"accelerator-correct", "accelerator-curve", "accelerator-bandwidth"}
"""Shown by tests of their own on the output of nccl-tests."""


def _failed(found: Verdict) -> set[str]:
    """Criteria by which somebody fails, for a reason of its own."""
    return {
        one.criterion
        for subject in found.subjects
        for one in subject.reasons
        if one.value is Value.FAIL and not one.explained_by
    }


def _without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in APART:
        monkeypatch.setattr(*APART[name], lambda *_: iter(()))
    else:
        left = tuple(one for one in criteria.CRITERIA if one.name != name)
        assert len(left) < len(criteria.CRITERIA)
        monkeypatch.setattr(judge, "CRITERIA", left)


def test_every_criterion_has_its_plant() -> None:
    names = {one.name for one in criteria.CRITERIA} | set(APART)
    assert set(PLANTS) | ELSEWHERE == names


@pytest.mark.parametrize("name", PLANTS)
def test_without_one_criterion_its_fault_is_not_seen(
    case_of: CaseOf, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _failed(PLANTS[name](case_of))
    assert name in before
    _without(name, monkeypatch)
    assert name not in _failed(PLANTS[name](case_of))


@pytest.mark.parametrize("name", PLANTS)
def test_a_fault_says_what_was_found_what_was_expected_and_what_to_do(case_of: CaseOf, name: str) -> None:
    found = PLANTS[name](case_of)
    told = [one for subject in found.subjects for one in subject.reasons if one.criterion == name]
    (fault, *_) = (one for one in told if one.value in (Value.FAIL, Value.ERROR))
    assert fault.measured is not None
    assert fault.expected
    assert fault.action
    assert fault.evidence
