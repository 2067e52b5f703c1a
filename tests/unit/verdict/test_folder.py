"""A run folder: judged whole or not at all, and what is written into it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright import canonical
from rackwright.errors import EvidenceSpoiled, UsageError
from rackwright.validate import evidence
from rackwright.validate.model import Artefact
from rackwright.verdict import folder, junit
from rackwright.verdict.model import Kind, Reason, Subject, Value, Verdict
from tests.doubles import runs

if TYPE_CHECKING:
    from pathlib import Path

OUTPUTS = ("measurements.json", "verdict.json", "junit.xml", "report.html")


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    return runs.build(tmp_path / "run", "slow-rail")


def test_all_outputs_are_written_and_say_the_same(run_folder: Path) -> None:
    judged = folder.judge_folder(run_folder)
    assert all((run_folder / name).stat().st_size for name in OUTPUTS)
    written = Verdict.model_validate_json((run_folder / "verdict.json").read_bytes())
    assert written == judged.verdict
    assert written.verdict is Value.FAIL


def test_judged_again_gives_the_same_bytes(run_folder: Path) -> None:
    folder.judge_folder(run_folder)
    first = [(run_folder / name).read_bytes() for name in OUTPUTS]
    folder.judge_folder(run_folder)
    assert [(run_folder / name).read_bytes() for name in OUTPUTS] == first


def test_measurements_are_made_anew_from_raw_output(run_folder: Path) -> None:
    kept = (run_folder / "measurements.json").read_text(encoding="utf-8")
    (run_folder / "measurements.json").write_text("spoiled", encoding="utf-8")
    folder.judge_folder(run_folder)
    assert (run_folder / "measurements.json").read_text(encoding="utf-8") == kept


def _evidence(run_folder: Path) -> list[Path]:
    return [run_folder / "expectations.json", *sorted(path for path in run_folder.rglob("raw/**/*.*"))]


def test_any_file_that_is_missing_or_changed_stops_the_judge(run_folder: Path) -> None:
    for path in _evidence(run_folder):
        kept = path.read_bytes()
        for spoiled in (None, kept + b" ", kept[:-1] if kept else b"x"):
            path.unlink()
            if spoiled is not None:
                path.write_bytes(spoiled)
            with pytest.raises(EvidenceSpoiled) as caught:
                folder.judge_folder(run_folder)
            assert caught.value.where == str(path)
            path.write_bytes(kept)
    assert not (run_folder / "verdict.json").exists()


@pytest.mark.parametrize("path", ["../secret", "/etc/hostname", "raw/../../secret", "link"])
def test_nothing_outside_the_folder_is_read(run_folder: Path, path: str) -> None:
    secret = run_folder.parent / "secret"
    secret.write_text("secret", encoding="utf-8")
    (run_folder / "link").symlink_to(secret)
    run = runs.load(run_folder)
    artefact = Artefact(path=path, sha256=canonical.sha256("secret"))
    steps = (run.steps[0].model_copy(update={"stdout": artefact}), *run.steps[1:])
    changed = run.model_copy(update={"steps": steps})
    (run_folder / "run.json").write_text(evidence.sealed(changed), encoding="utf-8")
    with pytest.raises(EvidenceSpoiled, match="missing or was changed"):
        folder.judge_folder(run_folder)


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("run.json", None, "RUN001"),
        ("run.json", "{", "RUN001"),
        ("run.json", '{"schema": "rackwright/run/2"}', "RUN001"),
    ],
)
def test_what_is_no_run_folder_is_said_so(run_folder: Path, name: str, text: str | None, code: str) -> None:
    (run_folder / name).unlink()
    if text is not None:
        (run_folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        folder.judge_folder(run_folder)
    assert caught.value.code == code


def _expect(run_folder: Path, **changed: object) -> Path:
    known = runs.expectations(runs.WORLDS["pass"]).expectations
    gate = next(one for one in known if one.key.collective == "all_reduce" and one.key.rails == 1)
    document = {
        "schema": "rackwright/expectations/1",
        "expectations": [{**gate.model_dump(mode="json"), "provenance": "operator", **changed}],
    }
    path = run_folder.parent / "expect.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_operators_figure_replaces_the_plans(tmp_path: Path) -> None:
    good = runs.build(tmp_path / "run", "pass")
    assert folder.load(good).verdict.verdict is Value.PASS
    judged = folder.load(good, _expect(good, at_least=95.0, source="ours"))
    reason = judged.verdict.subjects[0].reasons[0]
    assert (judged.verdict.verdict, reason.provenance) == (Value.FAIL, "operator: ours")
    assert len(judged.expectations.expectations) == len(folder.load(good).expectations.expectations)


def test_file_of_an_operator_cannot_call_itself_the_plan(tmp_path: Path) -> None:
    good = runs.build(tmp_path / "run", "pass")
    judged = folder.load(good, _expect(good, provenance="plan", source="ours"))
    mine = [one for one in judged.expectations.expectations if one.source == "ours"]
    assert [one.provenance for one in mine] == ["operator"]


def test_gate_that_no_algorithm_reaches_is_refused(tmp_path: Path) -> None:
    good = runs.build(tmp_path / "run", "pass")
    folder.load(good, _expect(good, at_least=133.0))
    with pytest.raises(UsageError, match="means nothing") as caught:
        folder.load(good, _expect(good, at_least=134.0))
    assert "no algorithm beats" in caught.value.expected


def _refused(good: Path, **changed: object) -> UsageError:
    known = runs.expectations(runs.WORLDS["pass"]).expectations
    gate = next(one for one in known if one.key.collective == "all_reduce")
    key = {**gate.key.model_dump(mode="json"), **changed.pop("key", {})}  # type: ignore[dict-item] # (a map)
    with pytest.raises(UsageError) as caught:
        folder.load(good, _expect(good, **{"key": key, **changed}))
    return caught.value


@pytest.mark.parametrize(
    ("changed", "code", "got"),
    [
        ({"key": {"size_bytes": 2_000_000}}, "EXP003", "size_bytes=2000000"),
        ({"key": {"collective": "all_reduce", "ranks": 64}}, "EXP003", "ranks=64"),
        ({"key": {"algorithm": "tree"}}, "EXP003", "algorithm=tree"),
        ({"key": {"platform": "dgx-h100"}}, "EXP003", "platform=dgx-h100"),
        ({"key": {"parameters": {"iterations": 7}}}, "EXP003", "iterations"),
        ({"key": {"name": "busbandwidth"}}, "EXP003", "busbandwidth of collectives"),
        ({"key": {"check": "colectives"}}, "EXP003", "busbw of colectives"),
        ({"unit": "gb_s", "at_least": 0.006, "nominal": 0.0125}, "EXP003", "unit gb_s"),
        ({"key": {"size_bytes": 999}}, "EXP004", "size_bytes=999"),
        ({"key": {"size_bytes": 2**40}}, "EXP004", f"size_bytes={2**40}"),
        ({"unit": None}, "EXP002", "expectations.0.unit"),
        ({"at_least": None, "at_most": None}, "EXP002", "an expectation has a bound"),
        ({"one_of": ["fast"]}, "EXP002", "an expectation has a bound"),
    ],
)
def test_an_expectation_that_means_nothing_for_the_run_is_refused(
    tmp_path: Path, changed: dict[str, object], code: str, got: str
) -> None:
    refused = _refused(runs.build(tmp_path / "run", "pass"), **changed)
    assert refused.code == code
    assert got in refused.got


def _clock(unit: str = "s", **bound: object) -> dict[str, object]:
    key = {"name": "offset", "check": "clock"}
    return {"key": key, "unit": unit, "nominal": 0, "provenance": "operator", "source": "x", **bound}


@pytest.mark.parametrize(
    ("given_", "got"),
    [
        ([], "no expectation"),
        ([_clock(at_most=-0.1)], "at most -0.1"),
        ([_clock(at_least=5, at_most=1)], "at least 5 and at most 1"),
        ([_clock(one_of=["well"])], "words for a value in s"),
        ([_clock("word", at_most=1)], "a number for a value that is a word"),
        ([_clock(at_most=1), _clock(at_most=2)], "2 figures for offset of clock"),
    ],
)
def test_a_file_that_no_value_could_meet_is_refused(
    tmp_path: Path, given_: list[dict[str, object]], got: str
) -> None:
    path = tmp_path / "expect.json"
    path.write_text(json.dumps({"schema": "rackwright/expectations/1", "expectations": given_}))
    with pytest.raises(UsageError) as caught:
        folder.load(runs.build(tmp_path / "run", "pass"), path)
    assert (caught.value.code, got in caught.value.got) == ("EXP002", True)


@pytest.mark.parametrize("name", ["unit", "key", "nominal", "provenance", "source"])
def test_an_expectation_without_one_of_its_parts_is_refused(tmp_path: Path, name: str) -> None:
    one = _clock(at_most=1)
    del one[name]
    path = tmp_path / "expect.json"
    path.write_text(json.dumps({"schema": "rackwright/expectations/1", "expectations": [one]}))
    with pytest.raises(UsageError) as caught:
        folder.load(runs.build(tmp_path / "run", "pass"), path)
    assert (caught.value.code, caught.value.got) == ("EXP002", f"expectations.0.{name}: Field required")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", '"x"', "null"])
def test_a_bound_that_is_no_number_is_refused(tmp_path: Path, number: str) -> None:
    path = tmp_path / "expect.json"
    text = json.dumps({"schema": "rackwright/expectations/1", "expectations": [_clock(at_most=7)]})
    path.write_text(text.replace("7", number))
    with pytest.raises(UsageError) as caught:
        folder.load(runs.build(tmp_path / "run", "pass"), path)
    assert caught.value.code == "EXP002"


def test_a_figure_of_a_check_that_brought_nothing_is_no_mistake_of_its_file(tmp_path: Path) -> None:
    run_folder = runs.build(tmp_path / "run", runs.World(lost="node-002", lost_at="collectives"))
    folder.load(run_folder, _expect(run_folder))


TEXT = st.text(max_size=40)


@given(names=st.lists(TEXT, max_size=6), cause=TEXT, value=st.sampled_from(Value), kind=st.sampled_from(Kind))
def test_junit_has_the_form_its_readers_know(names: list[str], cause: str, value: Value, kind: Kind) -> None:
    reasons = (Reason(criterion="a", value=value, cause=cause, measured=1.5, expected=cause),)
    subjects = tuple(Subject(name=name, kind=kind, verdict=value, reasons=reasons) for name in names)
    verdict = Verdict(
        cluster="lab",
        suite="acceptance",
        started="2026-11-28T08:00:00Z",
        verdict=value,
        subjects=subjects,
        not_applicable={},
        not_judged={},
        held={},
    )
    run = runs._run(runs.World(), (), Artefact(path="x", sha256="0" * 64))  # noqa: SLF001 (no steps)
    _check_junit(ET.fromstring(junit.document(verdict, run)), len(names))  # noqa: S314 (our own)


ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "timestamp", "time"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message", "type"},
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped"},
}


def _check_junit(root: ET.Element, cases: int) -> None:
    """As junit-10.xsd: elements, their children and attributes, and counts that add up."""
    assert root.tag == "testsuites"
    assert len(root.findall("./testsuite/testcase")) == cases
    for element in root.iter():
        assert set(element.attrib) == ATTRIBUTES[element.tag]
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        if element.tag in ("testsuites", "testsuite"):
            for count, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
                assert int(element.attrib[count]) == len(list(element.iter(tag)))
            assert int(element.attrib["skipped"]) == len(list(element.iter("skipped")))
        if element.tag == "testcase":
            assert len(element) <= 1


def test_junit_of_a_run_names_every_subject_once(run_folder: Path) -> None:
    judged = folder.judge_folder(run_folder)
    root = ET.parse(run_folder / "junit.xml").getroot()  # noqa: S314 (our own)
    cases = [(suite.get("name"), case.get("name")) for suite in root for case in suite]
    assert sorted(cases) == sorted((one.kind.value, one.name) for one in judged.verdict.subjects)
    _check_junit(root, len(cases))
