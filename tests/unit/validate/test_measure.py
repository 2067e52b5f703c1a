"""Measurements of a run: placed on rails, held against who was asked, and nothing of what is not whole."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright import canonical
from rackwright.catalogue.model import Check
from rackwright.validate.measure import measure, understood
from rackwright.validate.model import (
    Completeness,
    Context,
    Ended,
    Measurements,
    Parsed,
    Reading,
    Run,
    Step,
    Tool,
    Unit,
)
from rackwright.validate.parsers import table
from rackwright.validate.parsers.lines import seal
from rackwright.validate.parsers.table import VERSIONS, parse
from tests.doubles import runs
from tests.doubles.one_check import run_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return runs.build(tmp_path / "run", "pass")


def _measured(folder: Path, run: Run) -> Measurements:
    return measure(run, lambda artefact: (folder / artefact.path).read_text(encoding="utf-8"))


def _step(run: Run, name: str) -> Step:
    return next(step for step in run.steps if step.name == name)


def _text(folder: Path, step: Step) -> str:
    assert step.stdout is not None
    return (folder / step.stdout.path).read_text(encoding="utf-8")


def test_half_a_character_in_one_output_makes_that_one_corrupt_and_no_more(folder: Path) -> None:
    """JSON can spell it, no file can hold it: it stopped the judgement of a whole fleet."""
    text = text_of("dcgm-diag/fail-4-gpu-3")
    warned = re.sub(r'"warning": "[^"]*"', r'"warning": "\\ud800"', text)
    assert warned != text
    assert parse(Tool.DCGM_DIAG, text).status is Completeness.COMPLETE
    assert parse(Tool.DCGM_DIAG, warned).status is Completeness.CORRUPT
    run = runs.load(folder)
    clock = _step(run, "clock")
    line = {"schema": "rackwright/clock/1", "kind": "result", "host": "\ud800", "reference": "x"}
    odd = seal({**line, "offset_s": 0.0, "uncertainty_s": 0.0}) + "\n"
    for output in (odd, odd.replace("result", "\ud801".encode("unicode-escape").decode())):
        found = understood(clock, output, run)
        assert found.status is not Completeness.COMPLETE
        canonical.dumps(found)


def test_a_half_that_two_parts_of_an_output_have_between_them_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def log(parts: Iterable[str]) -> Parsed:
        reading = Reading(name=json.loads("".join(parts)), value=1, unit=Unit.COUNT)
        return Parsed(status=Completeness.COMPLETE, readings=(reading,))

    monkeypatch.setattr(table, "LOGS", {Tool.NCCL_TESTS: log})
    spelled = r'"a\ud800b"'
    assert parse(Tool.NCCL_TESTS, spelled).status is Completeness.CORRUPT
    for cut in range(len(spelled)):
        assert parse(Tool.NCCL_TESTS, [spelled[:cut], spelled[cut:]]).status is Completeness.CORRUPT
    assert parse(Tool.NCCL_TESTS, list(spelled)).status is Completeness.CORRUPT, "character by character"
    assert parse(Tool.NCCL_TESTS, ['"', "\ud800", '"']).status is Completeness.CORRUPT
    assert parse(Tool.NCCL_TESTS, [r'"\ud83d', r'\ude00"']).readings[0].name == "\U0001f600", "a whole one"


def test_what_has_no_half_is_not_written_down_only_to_see_whether_it_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def written(_reading: Reading) -> str:
        raise AssertionError

    monkeypatch.setattr(Reading, "model_dump_json", written)
    for tool, case in ((Tool.DCGM_DIAG, "dcgm-diag/fail-4-gpu-3"), (Tool.NCCL_TESTS, "nccl-tests/json-1")):
        assert parse(tool, text_of(case)).readings


def test_interface_is_placed_on_its_rail(folder: Path) -> None:
    found = _measured(folder, runs.load(folder)).measurements
    carriers = {
        (one.context.node, one.context.fabric, one.context.rail) for one in found if one.name == "carrier"
    }
    assert carriers == {(node, "compute", rail) for node in runs.WORLDS["pass"].nodes for rail in (0, 1)}


def test_every_value_leads_back_to_its_step_and_file(folder: Path) -> None:
    run = runs.load(folder)
    for one in _measured(folder, run).measurements:
        assert _step(run, one.step).stdout == one.artefact


def test_every_value_says_by_which_parser_of_which_platform_and_versions_it_was_read(folder: Path) -> None:
    run = runs.load(folder)
    nodes = runs.WORLDS["pass"].nodes
    images = {"dgx": {"kernel": "6.8", "nccl": "2.26"}, "login": {"kernel": "6.8"}}
    run = run.model_copy(update={"platforms": {"a": nodes[:1], "b": nodes[1:]}, "images": images})
    found = _measured(folder, run).measurements
    assert {one.parser for one in found} == {f"{step.tool}/{VERSIONS[step.tool]}" for step in run.steps}
    assert {one.platform for one in found if one.context.node == nodes[0] and not one.context.nodes} == {"a"}
    assert {one.platform for one in found if set(one.context.nodes) == set(nodes)} == {""}
    assert all(one.versions == {"kernel": "6.8"} for one in found)


def test_context_of_the_step_completes_that_of_the_tool(folder: Path) -> None:
    found = _measured(folder, runs.load(folder)).measurements
    pair = next(one for one in found if one.step.endswith("compute-1/node-001+node-002/reverse"))
    assert pair.context.over(Context()) == pair.context
    assert (pair.context.node, pair.context.peer, pair.context.rail) == ("node-001", "node-002", 1)
    assert pair.context.direction == "reverse"


@pytest.mark.parametrize("name", ["links/node-001", "clock", "matrix/node-001", "collectives/compute-0"])
def test_output_without_a_host_that_was_asked_is_incomplete(folder: Path, name: str) -> None:
    run = runs.load(folder)
    step = _step(run, name)
    more = step.model_copy(update={"nodes": (*step.nodes, "node-009")})
    parsed = understood(more, _text(folder, step), run)
    assert (parsed.status, parsed.problem) == (Completeness.INCOMPLETE, "nothing of node-009")
    assert parsed.readings == ()


def test_output_of_a_host_that_was_not_asked_is_not_used(folder: Path) -> None:
    run = runs.load(folder)
    step = _step(run, "clock")
    fewer = step.model_copy(update={"nodes": step.nodes[1:]})
    assert understood(fewer, _text(folder, step), run).problem == "node-001 was not asked"


def test_interface_that_is_no_rail_is_not_guessed(folder: Path) -> None:
    run = runs.load(folder)
    step = _step(run, "links/node-001")
    without = run.model_copy(update={"rails": run.rails[1:]})
    assert understood(step, _text(folder, step), without).status is Completeness.CORRUPT


@pytest.mark.parametrize("ended", [Ended.TIMED_OUT, Ended.NODE_LOST, Ended.NOT_RUN])
def test_step_that_did_not_end_by_itself_gives_nothing(folder: Path, ended: Ended) -> None:
    run = runs.load(folder)
    steps = tuple(step.model_copy(update={"ended": ended}) for step in run.steps)
    assert _measured(folder, run.model_copy(update={"steps": steps})).measurements == ()


def test_step_that_failed_still_tells_what_it_found(folder: Path) -> None:
    run = runs.load(folder)
    steps = tuple(step.model_copy(update={"ended": Ended.FAILED}) for step in run.steps)
    whole = _measured(folder, run)
    assert _measured(folder, run.model_copy(update={"steps": steps})) == whole


def test_what_is_not_used_is_named_with_its_problem(tmp_path: Path) -> None:
    folder = runs.build(tmp_path / "run", "unreachable-rail")
    unread = _measured(folder, runs.load(folder)).unread
    assert {one.status for one in unread} == {Completeness.NOT_RUN}
    assert len(unread) == 4
    assert all("Network is unreachable" in one.problem for one in unread)


def _asked(check: Check, tool: Tool, text: str, **about: object) -> Parsed:
    """Output of a step of one check, read as it was asked for."""
    nodes = ("node-001", "node-002") if tool is Tool.NCCL_TESTS else ("node-001",)
    run = run_of(check, tool, nodes, together=len(nodes) > 1)
    step = run.steps[0]
    context = step.context.over(Context.model_validate(about))
    return understood(step.model_copy(update={"context": context}), text, run)


@pytest.mark.parametrize(
    ("case", "level", "missing"),
    [
        ("good-3", 2, ""),
        ("good-4", 2, ""),
        ("good-3", 3, "diagnostic, memory_bandwidth, targeted_power, targeted_stress"),
        ("good-4", 3, "memory_bandwidth, targeted_stress"),
    ],
)
def test_a_diagnosis_of_a_lesser_level_is_not_the_one_that_was_asked_for(
    case: str, level: int, missing: str
) -> None:
    text = text_of(f"dcgm-diag/{case}")
    found = _asked(Check.DCGM_DIAG, Tool.DCGM_DIAG, text, parameters={"level": level})
    assert (found.status is Completeness.COMPLETE) is not bool(missing)
    assert missing in found.problem


@pytest.mark.parametrize(("day", "status"), [("27", "complete"), ("20", "incomplete"), ("30", "incomplete")])
def test_a_result_of_another_time_is_none_of_this_run(day: str, status: str) -> None:
    """A host's clock may be in another zone: the run began on the 28th at 8 h UTC."""
    text = text_of("nccl-tests/json-3").replace("2026-11-20 10", f"2026-11-{day} 19")
    found = _asked(Check.NCCL_TESTS, Tool.NCCL_TESTS, text)
    assert found.status.value == status
    assert ("another run's" in found.problem) is (status == "incomplete")


@pytest.mark.parametrize(
    ("about", "problem"),
    [
        ({"collective": "all_reduce", "ranks": 16}, ""),
        ({"collective": "all_gather"}, "collective all_reduce where all_gather was asked for"),
        ({"ranks": 8}, "ranks 16 where 8 was asked for"),
    ],
)
def test_another_collective_or_number_of_ranks_is_not_the_one_that_was_asked_for(
    about: dict[str, object], problem: str
) -> None:
    found = _asked(Check.NCCL_TESTS, Tool.NCCL_TESTS, text_of("nccl-tests/good"), **about)
    assert (found.problem, found.status is Completeness.COMPLETE) == (problem, not problem)


def test_a_value_of_one_node_does_not_name_all_others_of_its_job() -> None:
    """Of 4,096 nodes each would name 4,096: measurements.json had 1.9 GB where its logs had 64 MB."""
    run = run_of(Check.TRANSPORT, Tool.NCCL_LOG, ("node-001", "node-002"), together=True)
    found = measure(run, lambda _: text_of("nccl-log/efa")).measurements
    own = [one for one in found if one.context.node]
    assert {one.context.node for one in own} == {"node-001", "node-002"}
    assert {one.context.nodes for one in own} == {()}
    whole = run_of(Check.NCCL_TESTS, Tool.NCCL_TESTS, ("node-001", "node-002"), together=True)
    found = measure(whole, lambda _: text_of("nccl-tests/good")).measurements
    assert {one.context.nodes for one in found if one.name == "busbw"} == {("node-001", "node-002")}


PLACES = st.builds(
    Context,
    node=st.sampled_from([None, "node-001"]),
    rail=st.sampled_from([None, 0, 1]),
    nodes=st.sampled_from([(), ("node-001", "node-002")]),
    parameters=st.sampled_from([{}, {"order": 768}]),
)


@given(one=PLACES, below=PLACES)
def test_what_one_context_says_goes_before_what_another_says(one: Context, below: Context) -> None:
    said, beneath = (place.model_dump(exclude_defaults=True) for place in (one, below))
    whole = one.over(below)
    assert whole == Context(**{**beneath, **said})
