"""What the report says, and that it says it to everybody."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from rackwright.paths import repository
from rackwright.validate.expectations import Expectation, Expectations, Key
from rackwright.validate.model import Artefact, Completeness, Ended, Unit, Unread
from rackwright.verdict.model import Kind, Reason, Subject, Value
from tests.doubles.reported import Reported, reported

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.verdict.report.conftest import Element

    Page = Callable[[Reported], Element]
    Text = Callable[[Reported], str]

SLOW = reported(slow="node-002")
HOSTILE = "<script>alert(1)</script>\"'&<b onmouseover=x>\N{RIGHT-TO-LEFT OVERRIDE}"


def section(page: Element, name: str) -> Element:
    return next(one for one in page.all("section") if one.attributes["aria-labelledby"] == name)


def changed(subject: Reported, **verdict: object) -> Reported:
    return replace(subject, verdict=subject.verdict.model_copy(update=verdict))


def rerun(subject: Reported, **run: object) -> Reported:
    return replace(subject, run=subject.run.model_copy(update=run))


def test_only_what_is_at_fault_has_a_card_and_names_who_suffers(page: Page) -> None:
    findings = section(page(SLOW), "findings")
    (card,) = findings.all("article")
    assert card.of("subject")[0].text == "node-002/r1"
    assert card.of("cause")[0].text == "r1 is slow to both of its partners"
    assert "Because of it, without a fault of its own: node-002, hall." in card.text
    summaries = [one.text for one in findings.all("summary")]
    assert "Explained by the above, no fault of their own: node-002, hall" in summaries


def test_an_error_and_a_fault_of_its_own_are_cards_too_worst_first(page: Page) -> None:
    lost = Subject(
        name="node-003",
        kind=Kind.NODE,
        verdict=Value.ERROR,
        reasons=(Reason(criterion="lost", value=Value.ERROR, cause="DOWN since 07:40"),),
    )
    idle = Subject(name="node-001", kind=Kind.NODE, verdict=Value.NOT_RUN, reasons=())
    first, *rest = SLOW.verdict.subjects
    cards = page(changed(SLOW, subjects=(first, lost, idle, *rest))).all("article")
    assert [card.of("subject")[0].text for card in cards] == ["node-002/r1", "node-003", "node-001"]
    assert cards[1].of("measured")[0].text == "no value"
    assert "then validate again" in cards[1].of("action")[0].text
    assert cards[2].of("cause")[0].text == "No criterion was applied to it."


def test_faults_that_only_explain_each_other_are_not_lost(page: Page) -> None:
    looped = tuple(
        Subject(
            name=name,
            kind=Kind.NODE,
            verdict=Value.FAIL,
            reasons=(Reason(criterion="x", value=Value.FAIL, cause="x", explained_by=other),),
        )
        for name, other in (("node-001", "node-002"), ("node-002", "node-001"))
    )
    assert len(page(changed(SLOW, subjects=looped)).all("article")) == 2


def test_who_passed_is_folded_away_with_what_was_measured(page: Page) -> None:
    read = page(reported())
    (fold,) = section(read, "findings").all("details")
    assert "open" not in fold.attributes
    assert len(fold.all("tbody")[0].all("tr")) == 10
    assert "pair-bandwidth: 94.58 Mbit/s, at least 75 Mbit/s" in fold.text
    assert read.of("lead")[0].text == "1 site, 3 nodes and 6 rails passed."
    assert read.all("article") == []


def test_every_expectation_tells_its_bound_and_where_it_comes_from(page: Page) -> None:
    told = section(page(SLOW), "expectations").all("tbody")[0].text
    for expectation in SLOW.expectations.expectations:
        assert expectation.source in told
        assert expectation.provenance.value in told
    assert "at most 0.001 s" in told


def _rows(page: Page, *expectations: Expectation) -> list[list[str]]:
    subject = replace(SLOW, expectations=Expectations(expectations=expectations))
    body = section(page(subject), "expectations").all("tbody")[0]
    return [[cell.text for cell in row.all("th") + row.all("td")] for row in body.all("tr")]


def _expected(unit: Unit = Unit.COUNT, key: dict[str, object] | None = None, **bound: object) -> Expectation:
    about = {"name": "growth", "check": "counters", **(key or {})}
    values = {"key": about, "unit": unit, "nominal": 3, "provenance": "plan", "source": "a test", **bound}
    return Expectation.model_validate(values)


def test_words_that_are_right_are_told_as_words_and_derived_from_no_figure(page: Page) -> None:
    words = _expected(Unit.WORD, one_of=("AWS Libfabric", "Libfabric"))
    no, yes = _expected(Unit.YES_NO, at_most=0), _expected(Unit.YES_NO, at_least=1)
    count = _expected(at_least=3, at_most=3)
    assert [row[1:3] for row in _rows(page, words, no, yes, count)] == [
        ["AWS Libfabric or Libfabric", ""],
        ["no", ""],
        ["yes", ""],
        ["exactly 3", "3"],
    ]


def test_what_is_left_out_for_one_reason_stands_in_one_entry(page: Page) -> None:
    why = "nobody published a figure"
    held = {"node-008": "runs job 1", "node-009": "runs job 1"}
    said = changed(SLOW, not_judged={"a: x": why, "b: y": why, "c: z": "another"}, held=held)
    entries = [
        (entry.all("dt")[0].text, entry.all("dd")[0].text)
        for entry in section(page(said), "left-out").all("div")
        if entry.all("dt") and len(entry.all("dt")) == 1
    ]
    assert ("a: x, b: y", why) in entries
    assert ("c: z", "another") in entries
    assert {("node-008", "runs job 1"), ("node-009", "runs job 1")} <= set(entries)


def test_a_fault_without_a_bound_does_not_ask_for_a_measurement_that_there_is(page: Page) -> None:
    reason = Reason(criterion="x", value=Value.FAIL, cause="x", measured=3, unit=Unit.COUNT)
    bad = Subject(name="node-001", kind=Kind.NODE, verdict=Value.FAIL, reasons=(reason,))
    card = page(changed(SLOW, subjects=(bad,))).all("article")[0]
    assert (card.of("measured")[0].text, card.of("expected")[0].text) == ("3", "not known")


KEY = {
    "platform": "dgx-h100",
    "pool": "h100",
    "collective": "all_reduce",
    "algorithm": "ring",
    "size_bytes": 8,
    "fabric": "compute",
    "rails": 8,
    "ranks": 16,
    "link": "wan",
    "pattern": "float",
    "parameters": {"counter": "link_downed"},
    "versions": {"nccl": "2.26"},
}


def test_no_two_expectations_look_alike(page: Page) -> None:
    """Each part of a key makes it another one, and is told."""
    assert KEY.keys() == Key.model_fields.keys() - {"name", "check"}
    plain = _expected(at_most=0)
    shown = _rows(page, plain, *(_expected(at_most=0, key={name: value}) for name, value in KEY.items()))
    assert len({row[0] for row in shown}) == len(KEY) + 1
    assert shown[0][0] == "counters, growth"
    assert shown[-2][0] == "counters, growth, counter link_downed"


def test_each_file_beside_the_raw_output_is_named_with_its_hash(page: Page) -> None:
    def files(run: Reported) -> list[str]:
        table = section(page(run), "evidence").all("tbody")[0]
        return [f"{row.all('a')[0].text} {row.of('hash')[0].text}".strip() for row in table.all("tr")]

    expected = SLOW.run.expectations
    plain = ["run.json", f"{expected.path} {expected.sha256}", "measurements.json"]
    assert files(SLOW) == plain
    kept = Artefact(path="history.json", sha256="7" * 64)
    assert sorted(files(rerun(SLOW, history=kept))) == sorted([*plain, f"history.json {'7' * 64}"])


def test_everything_left_out_is_listed_with_its_reason(page: Page) -> None:
    unread = Unread(step="disk/node-001", status=Completeness.INCOMPLETE, problem="cut off in line 7")
    measurements = SLOW.measurements.model_copy(update={"unread": (unread,)})
    subject = replace(rerun(SLOW, lost={"node-003": "DOWN since 07:40"}), measurements=measurements)
    told = section(page(subject), "left-out").text
    for words in (
        "node-009 runs job 4711",
        "node-003 DOWN since 07:40",
        "disk/node-001 incomplete: cut off in line 7",
        "fleet-relative needs at least 8 nodes, these are 3",
        "matrix rate nobody published a figure for this platform",
    ):
        assert words in told


def test_every_step_leads_to_its_output_with_command_end_seconds_and_hash(page: Page) -> None:
    rows = {row.all("th")[0].text: row for row in section(page(SLOW), "evidence").all("tr") if row.all("th")}
    for step in SLOW.run.steps:
        row = rows[step.name]
        assert step.stdout
        assert step.stderr
        assert [link.text for link in row.all("a")] == [step.stdout.path, step.stderr.path]
        assert [code.text for code in row.of("hash")] == [step.stdout.sha256, step.stderr.sha256]
        assert "done, exit status 0" in row.text
        assert "2.13" in row.text
        assert row.all("code")[0].text == " ".join(step.command)


def test_steps_that_ended_badly_come_first_and_are_not_folded(page: Page) -> None:
    *good, last = [step for step in SLOW.run.steps if step.check == "disk"]
    bad = last.model_copy(update={"ended": Ended.TIMED_OUT, "exit_status": None, "reason": "after 60 s"})
    folds = section(page(rerun(SLOW, steps=(*good, bad))), "evidence").all("details")
    assert [("open" in fold.attributes, fold.all("tbody")[0].all("th")[0].text) for fold in folds] == [
        (True, bad.name)
    ]
    assert "timed out after 60 s" in folds[0].text
    assert "3 steps, 1 did not end well" in folds[0].text


def test_a_run_that_was_cut_off_says_so_first(page: Page) -> None:
    header = page(rerun(SLOW, finished=None)).all("header")[0]
    assert "did not come to its end" in header.text
    assert "did not come to its end" not in page(SLOW).text


def test_facts_of_the_run_are_there(page: Page) -> None:
    told = section(page(SLOW), "run").text
    for words in (
        f"Plan (SHA-256) {SLOW.run.plan_sha256}",
        "Finished 2026-11-28T07:40:51Z",
        "Slurm jobs 17",
        "Site hall node-001, node-002, node-003",
    ):
        assert words in told


def test_texts_of_hosts_and_people_are_text(text: Text, page: Page) -> None:
    first, *rest = SLOW.verdict.subjects
    reason = first.reasons[0].model_copy(
        update=dict.fromkeys(("criterion", "cause", "action", "expected", "provenance", "measured"), HOSTILE)
    )
    worst = first.model_copy(update={"name": HOSTILE, "reasons": (reason,)})
    step = SLOW.run.steps[0].model_copy(
        update={"name": HOSTILE, "check": HOSTILE, "command": (HOSTILE,), "reason": HOSTILE}
    )
    everywhere = {HOSTILE: HOSTILE}
    subject = rerun(
        changed(
            SLOW,
            cluster=HOSTILE,
            suite=HOSTILE,
            held=everywhere,
            not_judged=everywhere,
            subjects=(worst, *rest),
        ),
        cluster=HOSTILE,
        lost=everywhere,
        sites={HOSTILE: (HOSTILE,)},
        steps=(step, *SLOW.run.steps[1:]),
    )
    assert "<script" not in text(subject)
    assert "<b " not in text(subject)
    read = page(subject)
    assert read.all("script") == []
    assert read.of("subject")[0].text == " ".join(HOSTILE.split())
    assert read.of("cause")[0].text == " ".join(HOSTILE.split())


@pytest.mark.parametrize(
    ("path", "href"),
    [
        ("raw/a b.out", "./raw/a%20b.out"),
        ("javascript:alert(1)", "./javascript%3Aalert%281%29"),
        ("//host/x", ".///host/x"),
        ('raw/"><x>.out', "./raw/%22%3E%3Cx%3E.out"),
        ("raw/50%.out", "./raw/50%25.out"),
        ("raw/a?b#c.out", "./raw/a%3Fb%23c.out"),
    ],
)
def test_a_link_is_relative_whatever_the_path_holds(page: Page, path: str, href: str) -> None:
    step = SLOW.run.steps[0]
    assert step.stdout
    moved = step.model_copy(update={"stdout": step.stdout.model_copy(update={"path": path})})
    links = section(page(rerun(SLOW, steps=(moved,))), "evidence").all("a")
    assert href in [link.attributes["href"] for link in links]


def test_a_long_text_is_cut_before_it_buries_the_rest(text: Text) -> None:
    first, *rest = SLOW.verdict.subjects
    reason = first.reasons[0].model_copy(update={"cause": "x" * 10_000})
    long = changed(SLOW, subjects=(first.model_copy(update={"reasons": (reason,)}), *rest))
    assert len(text(long)) < len(text(SLOW)) + 2 * 2_000


def test_page_asks_nobody_for_anything(text: Text, page: Page) -> None:
    read = page(SLOW)
    style = re.search(r"<style>(.*)</style>", text(SLOW), re.DOTALL)
    assert style
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    policy = next(one for one in read.all("meta") if "http-equiv" in one.attributes).attributes["content"]
    assert policy == (f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
    assert not re.search(r"url\(|@import", style[1])
    named = [one for one in read.walk() if {"src", "style", "srcset"} & one.attributes.keys()]
    assert named == []
    assert not any(link.attributes["href"].startswith(("http", "//")) for link in read.all("a"))


@pytest.mark.parametrize(
    "subject", [SLOW, reported(), reported(40, slow="node-007")], ids=["slow", "pass", "40"]
)
def test_who_cannot_see_is_told_the_same(page: Page, subject: Reported) -> None:
    read = page(subject)
    assert read.all("html")[0].attributes["lang"] == "en"
    for table in read.all("table"):
        assert table.all("caption")
        assert all(head.attributes["scope"] in {"col", "row"} for head in table.all("th"))
    for drawing in read.all("svg"):
        assert drawing.attributes.get("aria-hidden") == "true" or drawing.attributes["aria-label"]
    levels = [int(one.tag[1]) for one in read.walk() if re.fullmatch("h[1-6]", one.tag)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    names = [one.attributes["id"] for one in read.walk() if "id" in one.attributes]
    assert len(names) == len(set(names))
    anchors = {link.attributes["href"] for link in read.all("a") if link.attributes["href"].startswith("#")}
    assert anchors <= {f"#{name}" for name in names}


AGAIN = """
from tests.doubles.reported import reported
from rackwright.verdict.report import html
subject = reported(12, slow="node-002")
print(html(subject.verdict, subject.run, subject.measurements, subject.expectations), end="")
"""


@pytest.mark.parametrize("seed", ["1", "2"])
def test_same_input_is_the_same_bytes(text: Text, seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": "."}
    again = subprocess.run(
        [sys.executable, "-c", AGAIN], cwd=repository(), env=environment, capture_output=True, check=True
    )
    assert again.stdout.decode() == text(reported(12, slow="node-002"))


def test_a_big_hall_stays_readable(page: Page) -> None:
    read = page(reported(1000, slow="node-002"))
    assert len(read.all("article")) == 1
    outside = [row for row in _unfolded(read) if row.tag == "tr"]
    assert len(outside) < 400
    pairs = section(read, "pairs")
    assert pairs.of("matrix") == []
    assert [len(table.all("tbody")[0].all("tr")) for table in pairs.all("table")] == [32, 32]
    assert pairs.all("tbody")[0].all("th")[0].text in {"node-001", "node-002", "node-003"}
    assert "And 968 more" in section(read, "rails").text


def _unfolded(element: Element) -> list[Element]:
    if element.tag == "details":
        return []
    below = [one for child in element.children if not isinstance(child, str) for one in _unfolded(child)]
    return [element, *below]


def test_size_grows_with_the_hall_and_no_faster(text: Text) -> None:
    small, middle, large = (len(text(reported(count, slow="node-002"))) for count in (100, 200, 400))
    assert (large - middle) < 2.2 * (middle - small)
