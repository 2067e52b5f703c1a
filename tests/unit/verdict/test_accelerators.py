"""Each platform with a published figure: healthy PASS, 0.6 of it FAIL, garbled ERROR, missing NOT_RUN."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rackwright.catalogue.load import load as load_catalogue
from rackwright.catalogue.model import Check
from rackwright.errors import UsageError
from rackwright.validate.expectations import Expectation, Expectations, Key, Provenance
from rackwright.validate.measure import measure
from rackwright.validate.model import (
    Artefact,
    Context,
    Ended,
    Measurement,
    Measurements,
    Run,
    Step,
    Tool,
    Unit,
)
from rackwright.validate.parsers.table import parse
from rackwright.validate.published import of_accelerators, published
from rackwright.verdict import given
from rackwright.verdict.curve import dips, jumps
from rackwright.verdict.judge import judge
from rackwright.verdict.model import Value
from tests.doubles import nccl
from tests.doubles.mutants import of_text
from tests.doubles.one_check import run_of

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.validate.model import Parsed
    from rackwright.verdict.model import Reason

PUBLISHED = published()
PLATFORMS = sorted({(figure.platform, figure.nodes) for figure in PUBLISHED.figures})
SHA = "0" * 64
ACCELERATORS = 8
RIGHT = Expectation(
    key=Key(name="wrong", check=Check.NCCL_TESTS),
    unit=Unit.COUNT,
    at_most=0,
    nominal=0,
    provenance=Provenance.DEFINED,
    source="every element is as computed",
)


def _figures(platform: str, nodes: int) -> dict[int, float]:
    return {
        figure.size_bytes: figure.gb_s
        for figure in PUBLISHED.figures
        if (figure.platform, figure.nodes) == (platform, nodes)
    }


def _names(nodes: int) -> tuple[str, ...]:
    return tuple(f"node-{number:03d}" for number in range(1, nodes + 1))


def _reason(text: str | None, nodes: int, expected: tuple[Expectation, ...]) -> Reason:
    """What is said of the site by the criterion, or in place of it."""
    names = _names(nodes)
    artefact = Artefact(path="raw/x", sha256=SHA)
    step = Step(
        name="nccl-tests/all_reduce_perf",
        check=Check.NCCL_TESTS,
        tool=Tool.NCCL_TESTS,
        context=Context(nodes=names, collective="all_reduce", ranks=nodes * ACCELERATORS),
        nodes=names,
        command=("all_reduce_perf",),
        ended=Ended.NOT_RUN if text is None else Ended.DONE,
        stdout=None if text is None else artefact,
    )
    run = Run(
        cluster="atlas",
        suite="acceptance",
        plan_sha256=SHA,
        started="2026-11-28T08:00:00Z",
        finished="2026-11-28T08:10:00Z",
        sites={"hall": names},
        platforms={one.key.platform: names for one in expected if one.key.platform},
        rails=(),
        checks=(Check.NCCL_TESTS,),
        expectations=artefact,
        steps=(step,),
    )
    verdict = judge(run, measure(run, lambda _: text or ""), Expectations(expectations=(RIGHT, *expected)))
    site = next(subject for subject in verdict.subjects if subject.name == "hall")
    return next(reason for reason in site.reasons if reason.value is site.verdict)


def _text(platform: str, nodes: int, share: float) -> str:
    """Figures at their sizes, and two smaller sizes that make a curve of them."""
    figures = {size: gb_s * share for size, gb_s in _figures(platform, nodes).items()}
    least = min(figures)
    figures |= {least // 2: figures[least] * 0.98, least // 4: figures[least] * 0.95}
    return nccl.table(figures, nodes=nodes, accelerators=ACCELERATORS)


def _expected(platform: str, nodes: int) -> tuple[Expectation, ...]:
    return tuple(of_accelerators(platform, nodes, ACCELERATORS))


@pytest.mark.parametrize(("platform", "nodes"), PLATFORMS)
def test_a_healthy_run_passes_and_one_of_three_fifths_fails(platform: str, nodes: int) -> None:
    expected = _expected(platform, nodes)
    assert _reason(_text(platform, nodes, 1), nodes, expected).value is Value.PASS
    slow = _reason(_text(platform, nodes, 0.6), nodes, expected)
    assert (slow.value, slow.criterion) == (Value.FAIL, "accelerator-bandwidth")
    assert slow.action


@pytest.mark.parametrize(("platform", "nodes"), PLATFORMS)
def test_a_garbled_run_is_error_and_a_missing_one_not_run(platform: str, nodes: int) -> None:
    expected, text = _expected(platform, nodes), _text(platform, nodes, 1)
    assert _reason(text.replace("float", "flaot"), nodes, expected).value is Value.ERROR
    assert _reason("", nodes, expected).value is Value.ERROR
    assert _reason(None, nodes, expected).value is Value.NOT_RUN


def test_a_test_of_other_ranks_or_hosts_is_none_of_this_run() -> None:
    text = nccl.table(_figures("p5.48xlarge", 1), nodes=1, accelerators=ACCELERATORS)
    found = _reason(text, 2, _expected("p5.48xlarge", 2))
    assert (found.value, "nothing of node-002" in found.cause) == (Value.ERROR, True), found.cause
    of_four = nccl.table(_figures("p5.48xlarge", 2), nodes=2, accelerators=4)
    found = _reason(of_four, 2, _expected("p5.48xlarge", 2))
    assert (found.value, "ranks 8 where 16 was asked for" in found.cause) == (Value.ERROR, True), found.cause


def test_wrong_elements_fail_whatever_the_speed() -> None:
    text = nccl.table(_figures("p5.48xlarge", 2), nodes=2, accelerators=ACCELERATORS, wrong=3)
    found = _reason(text, 2, _expected("p5.48xlarge", 2))
    assert (found.value, found.criterion) == (Value.FAIL, "accelerator-correct")


def test_a_dip_fails_although_each_figure_is_reached() -> None:
    figures = {**_figures("p5.48xlarge", 1), 2**31: 470.0, 2**32: 300.0, 2**33: 478.0}
    found = _reason(nccl.table(figures, nodes=1, accelerators=8), 1, _expected("p5.48xlarge", 1))
    assert (found.value, found.criterion) == (Value.FAIL, "accelerator-curve")
    assert str(2**32) in found.cause


def test_a_single_size_is_no_curve_and_does_not_pass() -> None:
    figures = _figures("p5.48xlarge", 1)
    found = _reason(nccl.table(figures, nodes=1, accelerators=8), 1, _expected("p5.48xlarge", 1))
    assert (found.value, found.criterion) == (Value.NOT_RUN, "accelerator-curve")


A100_MIB = (24.6, 39.0, 66.9, 92.3, 120.4, 156.3, 202.2, 203.7, 223.9, 225.7, 231.4)
"""Mean of 729 nodes at 1 MiB to 1 GiB, GB/s (microsoft/superbench-results, NDmv4 v0.4)."""


def test_the_curve_that_a_fleet_published_has_no_dip() -> None:
    curve = {2 ** (20 + place): busbw for place, busbw in enumerate(A100_MIB)}
    assert dips(curve) == ()
    assert dips({**curve, 2**27: 140.0}) == (2**27,)


def test_a_small_size_that_takes_longer_than_a_greater_one_is_a_jump() -> None:
    curve = {2 ** (20 + place): busbw for place, busbw in enumerate(A100_MIB)}
    assert jumps(curve) == ()
    late = {**curve, 2**20: 2**20 / (2**24 / curve[2**24]) * 0.6}
    assert (dips(late), jumps(late)) == ((), (2**20,))


def test_a_jump_of_latency_fails_although_bandwidth_only_rises() -> None:
    figures = {**_figures("p5.48xlarge", 1), 2**31: 100.0, 2**32: 470.0, 2**33: 478.0}
    found = _reason(nccl.table(figures, nodes=1, accelerators=8), 1, _expected("p5.48xlarge", 1))
    assert (found.value, found.criterion) == (Value.FAIL, "accelerator-curve")
    assert "takes far longer than a greater size" in found.cause


def test_curves_of_several_steps_are_not_made_one() -> None:
    """One of small sizes that is fast, and one of great sizes that is slow throughout: neither dips."""
    run = run_of(Check.NCCL_TESTS, Tool.NCCL_TESTS, _names(2), together=True)
    step = run.steps[0]
    assert step.stdout is not None
    curves = {"all_reduce": {20: 100.0, 21: 110.0, 22: 120.0}, "all_gather": {23: 20.0, 24: 21.0, 25: 22.0}}
    values = tuple(
        Measurement(
            name="busbw",
            value=gb_s,
            unit=Unit.GB_S,
            context=Context(nodes=step.nodes, collective=collective, size_bytes=1 << power, ranks=16),
            step=step.name,
            artefact=step.stdout,
        )
        for collective, curve in curves.items()
        for power, gb_s in curve.items()
    )
    found = judge(run, Measurements(measurements=values), Expectations(expectations=()))
    site = next(subject for subject in found.subjects if subject.name == "hall")
    curve = next(one for one in site.reasons if one.criterion == "accelerator-curve")
    assert (curve.value, curve.cause) == (Value.PASS, "2 curves without a dip or a jump")


def test_a_node_of_the_site_that_took_no_part_is_missed() -> None:
    """A test of two nodes proves nothing of the third."""
    run = run_of(Check.NCCL_TESTS, Tool.NCCL_TESTS, _names(2), together=True)
    three = run.model_copy(update={"sites": {"hall": _names(3)}})
    table = nccl.table({1 << 20: 100.0, 1 << 25: 300.0}, nodes=2, accelerators=ACCELERATORS)
    measured = measure(three, lambda _: table)
    found = judge(three, measured, Expectations(expectations=()))
    site = next(subject for subject in found.subjects if subject.name == "hall")
    said = next(one for one in site.reasons if one.criterion == "accelerator-bandwidth")
    assert (said.value, said.cause) == (Value.ERROR, "node-003 took no part")


def test_without_a_figure_nothing_passes() -> None:
    found = _reason(_text("p5.48xlarge", 2, 1), 2, ())
    assert (found.value, found.cause.split(":")[0]) == (Value.NOT_RUN, "no expectation")


def test_a_figure_that_selects_no_value_does_not_pass() -> None:
    (first, *_) = _expected("p5.48xlarge", 2)
    other = first.model_copy(update={"key": first.key.model_copy(update={"size_bytes": 999})})
    found = _reason(_text("p5.48xlarge", 2, 1), 2, (first, other))
    assert (found.value, found.cause) == (
        Value.NOT_RUN,
        "the figure for all_reduce of 999 bytes selects no value",
    )


def test_a_figure_of_another_platform_judges_nothing() -> None:
    """Two platforms of as many accelerators are two things."""
    of_others = tuple(
        one.model_copy(update={"key": one.key.model_copy(update={"platform": "dgx-h100"})})
        for one in _expected("p5.48xlarge", 2)
    )
    run = run_of(Check.NCCL_TESTS, Tool.NCCL_TESTS, _names(2), together=True, platform="p5.48xlarge")
    verdict = judge(
        run, measure(run, lambda _: _text("p5.48xlarge", 2, 0.6)), Expectations(expectations=of_others)
    )
    site = next(subject for subject in verdict.subjects if subject.name == "hall")
    said = next(one for one in site.reasons if one.criterion == "accelerator-bandwidth")
    assert (said.value, said.cause.split(":")[0]) == (Value.NOT_RUN, "no expectation")


def test_a_figure_in_another_unit_judges_nothing() -> None:
    found = tuple(one.model_copy(update={"unit": Unit.MBIT_S}) for one in _expected("p5.48xlarge", 2))
    assert _reason(_text("p5.48xlarge", 2, 1), 2, found).value is Value.NOT_RUN


@pytest.mark.parametrize("platform", sorted(PUBLISHED.unpublished))
def test_of_a_platform_that_nobody_published_nothing_is_expected(platform: str) -> None:
    assert [one for nodes in (2, 4, 16) for one in of_accelerators(platform, nodes, 16)] == []


def test_figures_are_of_platforms_of_the_catalogue_and_name_their_sources() -> None:
    platforms = load_catalogue().platforms
    assert {figure.platform for figure in PUBLISHED.figures} | set(PUBLISHED.unpublished) <= set(platforms)
    assert {figure.source for figure in PUBLISHED.figures} == set(PUBLISHED.sources)


def test_no_figure_is_scaled_to_another_number_of_nodes() -> None:
    assert list(of_accelerators("p5.48xlarge", 3, 8)) == []


def _says_the_same(parsed: Parsed, original: Parsed) -> bool:
    """Whether each value is that of the original, within what figures of one row may differ."""
    pairs = list(zip(parsed.readings, original.readings, strict=True))
    return all(
        one.context == other.context and float(one.value) == pytest.approx(float(other.value), rel=0.02)
        for one, other in pairs
    )


def test_no_mutant_of_a_good_output_passes_unless_it_says_the_same() -> None:
    expected, text = _expected("p5.48xlarge", 2), _text("p5.48xlarge", 2, 1)
    original = parse(Tool.NCCL_TESTS, text)
    passing = [
        name
        for name, mutant in of_text(text)
        if _reason(mutant, 2, expected).value is Value.PASS
        and not _says_the_same(parse(Tool.NCCL_TESTS, mutant), original)
    ]
    assert passing == []


@pytest.mark.parametrize("share", [0.6, 0.85])
def test_no_mutant_of_a_slow_output_passes(share: float) -> None:
    expected = _expected("p5.48xlarge", 2)
    assert [
        name
        for name, mutant in of_text(_text("p5.48xlarge", 2, share))
        if _reason(mutant, 2, expected).value is Value.PASS
    ] == []


@pytest.mark.parametrize(
    ("share", "of", "refused"),
    [(0.69, None, True), (0.71, None, False), (0.69, PLATFORMS[0][0], True), (0.69, "another", False)],
)
def test_a_gate_of_an_operator_under_seven_tenths_of_what_was_published_is_refused(
    tmp_path: Path, share: float, of: str | None, *, refused: bool
) -> None:
    """Whatever the plan itself says: the published figure is that of the same platform and size."""
    platform, nodes = PLATFORMS[0]
    figures = _figures(platform, nodes)
    size, gb_s = max(figures.items())
    planned = Expectations(expectations=tuple(of_accelerators(platform, nodes, ACCELERATORS)))
    key = {"name": "busbw", "check": "nccl-tests", "collective": "all_reduce", "size_bytes": size}
    key |= {"platform": of} if of else {}
    gate = {"at_least": share * gb_s, "nominal": gb_s, "unit": "gb_s"}
    about = {"provenance": "operator", "source": "ours"}
    path = tmp_path / "expect.json"
    path.write_text(
        json.dumps({"schema": "rackwright/expectations/1", "expectations": [{"key": key, **gate, **about}]})
    )
    run = run_of(Check.NCCL_TESTS, Tool.NCCL_TESTS, _names(nodes), together=True, platform=of or platform)
    measured = measure(run, lambda _: _text(platform, nodes, 1.0))
    if not refused:
        assert len(given.over(planned, path, run, measured).expectations) > len(planned.expectations)
        return
    with pytest.raises(UsageError) as caught:
        given.over(planned, path, run, measured)
    assert (caught.value.code, "of what healthy nodes reached" in caught.value.expected) == ("EXP001", True)
