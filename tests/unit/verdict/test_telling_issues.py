"""What went wrong elsewhere, as a run of ours: flaws of published gates, and issues that others met."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright import canonical, paths
from rackwright.catalogue.model import Check
from rackwright.cli.cluster import open_cluster
from rackwright.errors import UsageError
from rackwright.validate.expectations import Expectation, Expectations
from rackwright.validate.expected import expectations
from rackwright.validate.measure import measure
from rackwright.validate.model import Ended, Measurements, Tool, Unit
from rackwright.validate.parsers.sealing import seal
from rackwright.validate.published import of_accelerators
from rackwright.verdict import asymmetry, compare, curve, fleet, folder, learn, stability
from rackwright.verdict.judge import judge
from rackwright.verdict.model import Kind, Value
from tests.doubles import nccl, runs
from tests.doubles.judging import named, reason
from tests.doubles.one_check import first, limits_of, of_outputs, planned, run_of, text_of, verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwright.validate.model import Run
    from rackwright.verdict.model import Verdict
    from tests.doubles.judging import Case

    CaseOf = Callable[[runs.World | str], Case]

NODES = ("node-001", "node-002")
NCCL = run_of(Check.NCCL_TESTS, Tool.NCCL_TESTS, NODES, together=True, platform="p5.48xlarge")
P5 = tuple(of_accelerators("p5.48xlarge", 2, 8))
SIZES = (2**30, 2**33, 2**34)


def _nccl(figures: dict[int, float], nodes: int = 2) -> str:
    least = min(figures)
    below = {least // 2: figures[least] * 0.98, least // 4: figures[least] * 0.95}
    return nccl.table({**below, **figures}, nodes=nodes, accelerators=8)


def _ended(run: Run, ended: Ended) -> Run:
    return run.model_copy(
        update={
            "steps": tuple(one.model_copy(update={"ended": ended, "exit_status": 1}) for one in run.steps)
        }
    )


def test_a_launch_that_failed_is_no_fault_of_hardware_whatever_its_footer_says() -> None:
    """AWS, check 5: any bad status made it look for ``out of bound``, which every footer has (§1.7, 1)."""
    text = _nccl(dict.fromkeys(SIZES, 490.0))
    assert "Out of bounds" in text
    found = verdict(_ended(NCCL, Ended.FAILED), {NODES[0]: text}, P5)
    assert Value.FAIL not in {one.verdict for one in found.subjects}
    assert first(found, "hall").value is Value.ERROR


@pytest.mark.parametrize("order", [1, -1])
def test_a_later_good_value_does_not_make_up_for_a_bad_one(order: int) -> None:
    """AWS, check 5: a later pass was recorded for the same check (§1.7, 1)."""
    (step,) = NCCL.steps
    assert step.stdout is not None
    other = step.stdout.model_copy(update={"path": "raw/again"})
    again = step.model_copy(update={"name": "nccl-tests/again", "stdout": other})
    texts = [_nccl(dict.fromkeys(SIZES, busbw)) for busbw in (490.0, 300.0)][::order]
    run = NCCL.model_copy(update={"steps": (step, again)})
    by_path = dict(zip((step.stdout.path, other.path), texts, strict=True))
    measured = measure(run, lambda artefact: by_path[artefact.path])
    found = judge(run, measured, Expectations(expectations=P5))
    assert found.verdict is Value.FAIL


@pytest.mark.parametrize(("name", "value"), [("repeat-2", Value.ERROR), ("again-1", Value.PASS)])
def test_a_repeat_makes_up_for_no_other_and_a_second_try_does(name: str, value: Value) -> None:
    (step,) = NCCL.steps
    assert step.stdout is not None
    lost = step.model_copy(update={"ended": Ended.TIMED_OUT, "reason": "as planted"})
    after = step.model_copy(update={"name": f"{step.name}/{name}"})
    run = NCCL.model_copy(update={"steps": (lost, after)})
    right = planned(Check.NCCL_TESTS, "wrong", platform="p5.48xlarge", at_most=0)
    found = verdict(run, {NODES[0]: _nccl(dict.fromkeys(SIZES, 490.0))}, (*P5, right))
    assert found.verdict is value


def test_a_dry_run_is_no_pass() -> None:
    """AWS: a dry run was recorded as PASS (§1.7, 1)."""
    found = verdict(_ended(NCCL, Ended.NOT_RUN), {NODES[0]: ""}, P5)
    assert found.verdict is Value.NOT_RUN


def test_no_average_over_sizes_is_looked_at() -> None:
    """AznHC and OCI have gates on the footer's average, which is the sweep's (§1.7, 4; nccl-tests#115)."""
    platform = "p5en.48xlarge"
    expected = tuple(of_accelerators(platform, 16, 8))
    nodes = tuple(f"node-{number:03d}" for number in range(1, 17))
    run = run_of(Check.NCCL_TESTS, Tool.NCCL_TESTS, nodes, together=True, platform=platform)
    rising = {2**power: min(369.9, 0.05 * 2 ** (power - 18)) for power in range(20, 35)}
    table = nccl.table(rising, nodes=16, accelerators=8)
    average = sum(rising.values()) / len(rising)
    assert average < 0.5 * 369.9
    right = planned(Check.NCCL_TESTS, "wrong", platform=platform, at_most=0)
    assert first(verdict(run, {nodes[0]: table}, (*expected, right)), "hall").value is Value.PASS
    fallen = nccl.table({**rising, 2**34: 200.0}, nodes=16, accelerators=8)
    assert first(verdict(run, {nodes[0]: fallen}, (*expected, right)), "hall").value is Value.FAIL


def test_what_the_docs_say_of_bounds_is_what_is_judged_by() -> None:
    """AznHC's README and its configuration differ (§1.7, 5): here the page is held against the code."""
    page = " ".join((paths.repository() / "docs" / "verdict.md").read_text(encoding="utf-8").split())
    down = next(one.at_most for one in limits_of(Check.COUNTERS) if one.key.name == "down")
    for said in (
        f"at least {asymmetry.LEAST:g} of the other",
        f"(under {curve.DIP:.0%})".replace("%", " %"),
        f"differs by at most {stability.MOST_CV:.0%}".replace("%", " %"),
        f"modified z-score over {fleet.FAR:g}",
        f"under {fleet.NOTABLE:.0%} of the median".replace("%", " %"),
        f"more than {down:g} s in all",
        f"at most {learn.CLOSE:g} and at least {learn.LEAST:g} of it",
        f"{compare.LEAST:.0%} at least and {compare.MOST:.0%} at most".replace("%", " %"),
    ):
        assert said in page, said


def test_a_fast_rail_by_perftest_clears_no_slow_collective(case_of: CaseOf) -> None:
    """392 Gb/s by perftest, and 13 GB/s by NCCL (nccl#2409): both are judged, and no port is blamed."""
    case = case_of("pass")
    step = next(one for one in case.run.steps if one.name == "collectives/compute-0")
    found = case.with_text(step.name, runs.collectives(step.nodes, 13.0)).verdict()
    hall = reason(named(found, "hall"), "collective-bandwidth")
    assert (hall.value, hall.explained_by) == (Value.FAIL, "")
    assert {one.verdict for one in found.subjects if one.kind is Kind.RAIL} == {Value.PASS}


def test_a_plugin_that_one_node_lacks_is_told_of_that_node() -> None:
    """A plugin on some nodes only, an environment that is not forwarded (nccl#1634, nccl#876)."""
    efa, socket = (text_of(f"nccl-log/{case}").splitlines(keepends=True) for case in ("efa", "socket"))
    mixed = [line for line in efa if line.startswith("node-001")]
    mixed += [line for line in socket if line.startswith("node-002")]
    run = run_of(Check.TRANSPORT, Tool.NCCL_LOG, NODES, together=True)
    expected = (planned(Check.TRANSPORT, "network", one_of=("AWS Libfabric",)),)
    found = verdict(run, {NODES[0]: seal("".join(mixed))}, expected)
    assert [first(found, node).value for node in NODES] == [Value.PASS, Value.FAIL]


@pytest.mark.parametrize("ended", [Ended.TIMED_OUT, Ended.NODE_LOST])
def test_a_diagnosis_that_hangs_is_an_error_and_no_fault(ended: Ended) -> None:
    """DCGM hangs on B200 in a container (DCGM#247)."""
    run = _ended(run_of(Check.DCGM_DIAG, Tool.DCGM_DIAG, ("node-001",)), ended)
    found = verdict(run, {"node-001": text_of("dcgm-diag/good-4")})
    assert first(found, "node-001").value is Value.ERROR


LINKED = (
    *limits_of(Check.GPU_STATE),
    planned(Check.GPU_STATE, "gpus", at_least=8, at_most=8),
    planned(Check.GPU_STATE, "nvlink_gpus", at_least=8, at_most=8),
    planned(Check.GPU_STATE, "nvlinks_up", at_least=1, unit=Unit.YES_NO),
)


def _with_links(links: str | None) -> Verdict:
    """A node whose diagnosis passes, and whose GPUs are well."""
    outputs = {
        (Check.DCGM_DIAG, Tool.DCGM_DIAG): text_of("dcgm-diag/good-4"),
        (Check.GPU_STATE, Tool.NVIDIA_SMI): text_of("nvidia-smi/acceptance"),
    }
    told = {} if links is None else {(Check.GPU_STATE, Tool.NVLINK): text_of(f"nvlink/{links}")}
    return of_outputs("node-001", {**outputs, **told}, LINKED)


@pytest.mark.parametrize(
    ("links", "value", "cause"),
    [
        ("good", Value.PASS, ""),
        ("one-down", Value.FAIL, "nvlinks_up of gpu 3 is no"),
        ("all-down", Value.FAIL, "nvlinks_up of gpu 5 is no"),
        ("every-gpu-down", Value.FAIL, "nvlinks_up of gpu 0 is no, and 7 more"),
        ("gpu-missing", Value.ERROR, ""),
        ("cut-off", Value.ERROR, ""),
        ("no-driver", Value.ERROR, ""),
        (None, Value.NOT_RUN, "the figure for nvlink_gpus selects no value"),
    ],
)
def test_links_between_gpus_are_judged_whatever_the_diagnosis_says(
    links: str | None, value: Value, cause: str
) -> None:
    """All NVLinks down, and ``diag -r 2`` passes (DCGM#198)."""
    node = named(_with_links(links), "node-001")
    assert reason(node, "dcgm-diagnosis").value is Value.PASS
    assert node.verdict is value
    assert not cause or reason(node, "gpu-state").cause == cause


def test_gpus_that_are_fewer_than_planned_are_told_by_their_links_too() -> None:
    few = seal("".join(text_of("nvlink/not-sealed").splitlines(keepends=True)[: 4 * 19]))
    outputs = {
        (Check.GPU_STATE, Tool.NVIDIA_SMI): text_of("nvidia-smi/acceptance"),
        (Check.GPU_STATE, Tool.NVLINK): few,
    }
    found = named(of_outputs("node-001", outputs, LINKED), "node-001")
    assert reason(found, "gpu-state").cause == "nvlink_gpus is 4"


def test_a_narrower_pcie_link_than_the_gpu_has_is_no_fault_of_it() -> None:
    """Healthy GPUs fail ``PCIe width`` where a cloud gives fewer lanes (aws-k8s-tester#806)."""
    names = (
        "gpu_recovery_action",
        "remapped_rows.failure",
        "remapped_rows.pending",
        "pcie.link.width.current",
    )
    head = ", ".join(("index", "count", *names))
    row = "0, 1, None, No, No, 8"
    run = run_of(Check.GPU_STATE, Tool.NVIDIA_SMI, ("node-001",))
    wanted = [one for one in limits_of(Check.GPU_STATE) if one.key.name.startswith("row_remap")]
    found = verdict(run, {"node-001": seal(f"{head}\n{row}\n")}, tuple(wanted))
    assert first(found, "node-001").value is Value.PASS
    assert "gpu-state: pcie_width" in found.not_judged


def test_what_was_learned_on_another_kernel_judges_nothing(tmp_path: Path) -> None:
    """481 GB/s on 5.15, far less on 6.8 (nccl-tests#362): versions are a part of what a figure is for."""
    world = replace(runs.fleet(8), rails=1)
    old, new = (_on_kernel(tmp_path / kernel, world, kernel) for kernel in ("5.15", "6.8"))
    lesson = learn.learn([folder.load(old)])
    figure = next(one for one in lesson.learned if one.key.name == "gflops")
    assert figure.key.versions == {"kernel": "5.15"}
    file = tmp_path / "figures.json"
    file.write_text(canonical.dumps(Expectations(expectations=(figure,))), encoding="utf-8")
    folder.load(old, file)
    with pytest.raises(UsageError, match="selects no value") as caught:
        folder.load(new, file)
    assert "5.15" in caught.value.got


def _on_kernel(where: Path, world: runs.World, kernel: str) -> Path:
    made = runs.build(where / "run", world)
    images = {"debian": {"os": "debian-13", "kernel": kernel}}
    runs.save(made, runs.load(made).model_copy(update={"images": images}))
    return made


def test_a_slow_pair_names_the_one_slow_host(case_of: CaseOf) -> None:
    """88 and 49 GB/s between pairs, by one host (nccl-tests#106)."""
    found = case_of("slow-rail").verdict()
    failed = {one.name for one in found.subjects if one.kind is Kind.NODE and one.verdict is Value.FAIL}
    assert failed == {"node-002"}


@pytest.mark.parametrize("spec", ["lab.yaml", "lab-hybrid.yaml"])
def test_a_lab_platform_s_own_figures_pass_its_healthy_hosts_and_fail_three_fifths(
    case_of: CaseOf, spec: str
) -> None:
    """Healthy PASS, 0.6 of it FAIL, garbled ERROR, missing NOT_RUN, by the gates of the catalogue."""
    expected = _gates(spec)
    healthy = replace(case_of("pass"), expectations=expected)
    slow = runs.World(rate={(node, rail): 60.0 for node in runs.World().nodes for rail in (0, 1)})
    assert healthy.verdict().verdict is Value.PASS
    assert replace(case_of(slow), expectations=expected).verdict().verdict is Value.FAIL
    pair = next(one.name for one in healthy.run.steps if one.check == "pairs")
    assert healthy.with_text(pair, "garbled").verdict().verdict is Value.ERROR
    steps = tuple(
        one.model_copy(update={"ended": Ended.NOT_RUN, "stdout": None, "stderr": None})
        if one.name == pair
        else one
        for one in healthy.run.steps
    )
    assert healthy.having(steps=steps).verdict().verdict is Value.NOT_RUN


def _gates(spec: str) -> Expectations:
    """What the plan of an example lets one expect of its first nodes."""
    opened = open_cluster(paths.repository() / "clusters" / spec)
    known = expectations(opened.plan, opened.catalogue, runs.World().nodes)
    return known.model_copy(
        update={"expectations": tuple(one for one in known.expectations if _is_measured(one))}
    )


def _is_measured(one: Expectation) -> bool:
    return one.key.check in runs.CHECKS and one.key.ranks is None


def test_measurements_of_nobody_are_no_verdict() -> None:
    assert judge(NCCL, Measurements(measurements=()), Expectations(expectations=P5)).verdict is Value.ERROR
