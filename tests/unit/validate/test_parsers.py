"""Parsers by cases, and by mutation: what is not fully understood is never complete, and never raises."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright.validate.model import Completeness, Parsed, Reading, Tool, Unit
from rackwright.validate.parsers.lines import seal
from rackwright.validate.parsers.table import LOGS, PARSERS, VERSIONS, parse
from tests.doubles.mutants import of_document, of_text

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).parents[2] / "cases"
OURS = (Tool.COLLECTIVES, Tool.MATRIX, Tool.LINKS, Tool.LINK, Tool.CLOCK, Tool.COUNTERS)
FOLDERS = [case for tool in PARSERS for case in sorted((CASES / tool).iterdir())]
ENDS = ("}", "}\n")
TOLERANCE = 0.045
"""Twice what a parser itself tolerates between figures that follow from one another."""


def _text(case: Path) -> str:
    return (case / "input.txt").read_text(encoding="utf-8")


def _named(case: Path) -> str:
    return f"{case.parent.name}/{case.name}"


def _shown(parsed: Parsed) -> dict[str, object]:
    readings = [reading.model_dump(mode="json", exclude_defaults=True) for reading in parsed.readings]
    return {"status": parsed.status.value, "problem": parsed.problem, "readings": readings}


COMPLETE = [case for case in FOLDERS if parse(Tool(case.parent.name), _text(case)).readings]


@pytest.mark.parametrize("case", FOLDERS, ids=_named)
def test_output_is_read_as_its_case_says(case: Path, request: pytest.FixtureRequest) -> None:
    shown, file = _shown(parse(Tool(case.parent.name), _text(case))), case / "expected.json"
    if request.config.getoption("--update-golden"):
        file.write_text(json.dumps(shown, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert shown == json.loads(file.read_text(encoding="utf-8"))
    assert (case / "origin.md").read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("tool", PARSERS)
def test_a_parser_that_reads_something_else_has_another_version(
    tool: Tool, request: pytest.FixtureRequest
) -> None:
    """What was read of a case once is read so for ever, or by a parser of a higher version."""
    file = CASES / "versions" / f"{tool}.json"
    cases = {case.name: case / "expected.json" for case in FOLDERS if case.parent.name == tool}
    read = {name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in cases.items()}
    if request.config.getoption("--update-golden"):
        file.write_text(json.dumps({"version": VERSIONS[tool], "cases": read}, indent=1) + "\n")
    known = json.loads(file.read_text(encoding="utf-8"))
    changed = [name for name, digest in known["cases"].items() if read.get(name) != digest]
    assert not changed or VERSIONS[tool] > known["version"], f"{changed}: raise VERSIONS[{tool}]"
    assert VERSIONS[tool] >= known["version"]


@pytest.mark.parametrize("tool", PARSERS)
def test_every_tool_has_a_good_case_and_a_bad_one(tool: Tool) -> None:
    statuses = {parse(tool, _text(case)).status for case in FOLDERS if case.parent.name == tool}
    assert {Completeness.COMPLETE} < statuses


def _same(one: Reading, other: Reading) -> bool:
    """Whether two readings mean the same: a figure may differ by what agreeing figures may."""
    about = [
        reading.model_dump(exclude={"value": True, "context": {"parameters"}}) for reading in (one, other)
    ]
    if isinstance(one.value, str) or isinstance(other.value, str):
        return about[0] == about[1] and one.value == other.value
    return about[0] == about[1] and math.isclose(one.value, other.value, rel_tol=TOLERANCE)


def _changed(parsed: Parsed, original: Parsed) -> bool:
    """Whether an output is taken for complete and says something else than its original."""
    if parsed.status is not Completeness.COMPLETE:
        return bool(parsed.readings)
    return len(parsed.readings) != len(original.readings) or not all(
        map(_same, parsed.readings, original.readings)
    )


@pytest.mark.parametrize("case", COMPLETE, ids=_named)
def test_cut_doubled_or_damaged_text_never_means_something_else(case: Path) -> None:
    tool, text = Tool(case.parent.name), _text(case)
    original = parse(tool, text)
    wrong = [
        name
        for name, mutant in of_text(text)
        if _changed(parse(tool, mutant), original) and not _says_less(tool, mutant, original)
    ]
    assert wrong == []


def _says_less(tool: Tool, mutant: str, original: Parsed) -> bool:
    """Whether an output is whole in itself, of fewer hosts or of a job that verified nothing.

    That a host, or a verification, is missing is seen by who knows what was asked for; an output that says
    it is not sealed passes nothing.
    """
    if tool is Tool.FIO:
        return '"verify"' not in mutant
    if tool is Tool.NCCL_TESTS:
        return _is_a_test_less(parse(tool, mutant), original)
    if Reading(name="sealed", value=False, unit=Unit.YES_NO) in parse(tool, mutant).readings:
        return True
    fewer = set(map(str, parse(tool, mutant).readings)) < set(map(str, original.readings))
    if tool is Tool.GPU_BURN:
        return _only_slower(parse(tool, mutant), original)
    return tool in (Tool.LINKS, Tool.CLOCK, Tool.MATRIX, Tool.PERFTEST) and fewer


def _only_slower(parsed: Parsed, original: Parsed) -> bool:
    """Whether nothing but speeds differ, and these are lower: that fails, and passes nothing."""
    pairs = [pair for pair in zip(parsed.readings, original.readings, strict=True) if not _same(*pair)]
    return all(one.name == "gflops" and float(one.value) < float(other.value) for one, other in pairs)


def _is_a_test_less(parsed: Parsed, original: Parsed) -> bool:
    """Whether of several tests in one file some are whole and others gone."""
    left = {one.context.collective for one in parsed.readings}
    return parsed.readings == tuple(one for one in original.readings if one.context.collective in left)


@pytest.mark.parametrize("case", [case for case in COMPLETE if case.parent.name in OURS], ids=_named)
def test_line_of_ours_with_another_form_is_refused_even_when_sealed_anew(case: Path) -> None:
    tool, lines = Tool(case.parent.name), _text(case).splitlines(keepends=True)
    wrong = [
        f"line {number + 1}: {name}"
        for number, mutant, name in _resealed(lines)
        if parse(tool, "".join([*lines[:number], mutant, *lines[number + 1 :]])).status
        is Completeness.COMPLETE
    ]
    assert wrong == []


def _resealed(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(lines):
        fields = json.loads(line)
        del fields["crc32"]
        for name, mutant in of_document(fields, values=False):
            if not name.startswith(("drop interfaces.", "rename interfaces.")) or name.count(".") > 1:
                yield number, seal(mutant) + "\n", name


DOCUMENTS = [
    case for case in COMPLETE if case.parent.name not in OURS and _text(case).partition("{")[2].endswith(ENDS)
]


@pytest.mark.parametrize("case", DOCUMENTS, ids=_named)
def test_document_with_a_key_or_value_changed_never_means_something_else(case: Path) -> None:
    tool, text = Tool(case.parent.name), _text(case)
    head, brace, rest = text.partition("{")
    original = parse(tool, text)
    wrong = [
        name
        for name, mutant in of_document(json.loads(brace + rest), values=True)
        if _changed(parse(tool, head + json.dumps(mutant)), original)
    ]
    assert [name for name in wrong if not _says_otherwise(name)] == []


def _says_otherwise(name: str) -> bool:
    """Changes after which the document is another job's, whole and true, as far as anyone can tell."""
    no_warning = name.endswith((".warnings", ".warnings to nothing")) and not name.startswith("rename")
    return no_warning or name.endswith("job options.verify") or name.startswith("set jobs.0.error")


@pytest.mark.parametrize("tool", PARSERS)
@given(text=st.text(max_size=400))
def test_any_text_at_all_is_answered(tool: Tool, text: str) -> None:
    assert parse(tool, text).status is not Completeness.COMPLETE


@pytest.mark.parametrize("tool", PARSERS)
@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"schema": 1' + "0" * 5_000 + "}\n",
        "\x00\n",
        "---\n" + "a: &a [*a]\n...\n",
        "---\nx: " + "[" * 20_000,
    ],
    ids=["brackets", "objects", "digits", "NUL", "loop", "yaml"],
)
def test_text_made_to_break_parsers_is_answered(tool: Tool, text: str) -> None:
    assert parse(tool, text).status is not Completeness.COMPLETE


@pytest.mark.parametrize("tool", PARSERS)
def test_endless_output_is_not_read(tool: Tool) -> None:
    parsed = parse(tool, "x" * (16 * 2**20 + 1))
    assert parsed.status is Completeness.CORRUPT
    assert ("a line of more than" if tool in LOGS else "longer than any output") in parsed.problem


@pytest.mark.parametrize("tool", PARSERS)
def test_no_secret_of_a_dumped_environment_comes_out_of_any_parser(tool: Tool) -> None:
    case = next(case for case in COMPLETE if case.parent.name == tool)
    for line in ("WANDB_API_KEY=0123456789abcdef\n", '{"AWS_SECRET_ACCESS_KEY": "0123456789abcdef"}\n'):
        for text in (line + _text(case), _text(case) + line, line):
            assert "0123456789abcdef" not in parse(tool, text).model_dump_json()


@pytest.mark.parametrize("tool", [Tool.FIO, Tool.STRESS_NG])
def test_what_is_quoted_of_an_output_is_short(tool: Tool) -> None:
    line = "fio: no room left\n" if tool is Tool.FIO else "stress-ng: error: [1] no room left\n"
    assert len(parse(tool, line * 10_000).problem) <= 600
