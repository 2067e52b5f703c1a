"""The report in a real browser: what is read at first sight, and on every screen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from rackwright.validate.expectations import Expectations
from rackwright.validate.model import Measurements
from rackwright.verdict.judge import judge
from rackwright.verdict.report import html
from tests.doubles import runs
from tests.doubles.opened import Opened, Screen
from tests.doubles.reported import Reported, reported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from selenium.webdriver import Chrome

SCREENS = [
    Screen(width, height, scheme)
    for width, height in ((1280, 800), (390, 844))
    for scheme in ("light", "dark")
]
MANY = 40
GAP = "\N{NO-BREAK SPACE}"
NUMBERS = {
    "slow-rail": (
        "node-002/r1",
        "19\N{NO-BREAK SPACE}Mbit/s",
        "at least 75\N{NO-BREAK SPACE}Mbit/s",
        "raw/pairs/",
    ),
    "cut-rail": ("node-002/r1", "no", "yes", "raw/links"),
    "wrong-value": ("node-002", "30", "at most 0", "raw/matrix/node-002.out"),
}
"""World → subject, measured, expected, beginning of a file that shows it."""


def write(folder: Path, subject: Reported) -> Path:
    """A report with the files it leads to."""
    subject.write_raw(folder)
    page = folder / "report.html"
    page.write_text(
        html(subject.verdict, subject.run, subject.measurements, subject.expectations), encoding="utf-8"
    )
    return page


def write_judged(folder: Path, world: str) -> Path:
    """A run folder as a validation leaves it, judged, with its report."""
    runs.build(folder, world)
    run = runs.load(folder)
    measurements = Measurements.model_validate_json((folder / "measurements.json").read_bytes())
    expectations = Expectations.model_validate_json((folder / "expectations.json").read_bytes())
    page = folder / "report.html"
    verdict = judge(run, measurements, expectations)
    page.write_text(html(verdict, run, measurements, expectations), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Reports by what happened in the hall; ``large``: more nodes than a square table takes."""
    folder = tmp_path_factory.mktemp("runs")
    large = write(folder / "large", reported(MANY, slow="node-002"))
    return {"large": large, **{world: write_judged(folder / world, world) for world in runs.WORLDS}}


@pytest.mark.parametrize("screen", SCREENS, ids=str)
@pytest.mark.parametrize("world", NUMBERS)
def test_first_screen_of_a_failure_says_who_against_what_by_which_proof_and_what_now(
    browser: Chrome, pages: Mapping[str, Path], world: str, screen: Screen
) -> None:
    page = Opened(browser, pages[world], screen)
    subject, measured, expected, evidence = NUMBERS[world]
    assert page.in_sight("#verdict").endswith("FAIL")
    assert page.in_sight(".subject") == subject
    assert page.in_sight(".measured") == measured
    assert page.in_sight(".expected") == expected
    assert page.in_sight("a.evidence").startswith(evidence)
    assert re.fullmatch(r"Next: \w.{20,}", page.in_sight(".action"))


def test_first_screen_of_a_lost_node_says_what_could_not_be_measured(
    browser: Chrome, pages: Mapping[str, Path]
) -> None:
    page = Opened(browser, pages["killed-node"], SCREENS[2])
    assert page.in_sight("#verdict").endswith("ERROR")
    assert page.in_sight(".subject") == "node-002"
    assert page.in_sight(".action")


@pytest.mark.parametrize("screen", SCREENS, ids=str)
@pytest.mark.parametrize("name", ["large", *runs.WORLDS])
def test_page_is_quiet_legible_and_no_wider_than_its_window(
    browser: Chrome, pages: Mapping[str, Path], name: str, screen: Screen
) -> None:
    page = Opened(browser, pages[name], screen)
    assert page.complaints == []
    assert page.requests == [pages[name].as_uri()]
    assert page.overflow_px() <= 0
    assert page.too_faint() == []
    assert page.overflow_px() <= 0, "with all folds open"


@pytest.mark.parametrize("world", runs.WORLDS)
def test_evidence_leads_to_files_that_are_there(
    browser: Chrome, pages: Mapping[str, Path], world: str
) -> None:
    folder = pages[world].parent
    links = [urlsplit(link) for link in Opened(browser, pages[world], SCREENS[0]).links("a.evidence")]
    files = {Path(unquote(link.path)) for link in links if not link.fragment}
    assert {link.scheme for link in links} == {"file"}
    assert [file for file in files if not file.is_file()] == []
    written = {path for path in folder.rglob("*") if path.is_file()} - {pages[world]}
    assert files == written


@pytest.mark.parametrize(
    "planted",
    [
        '<img src="http://127.0.0.1:9/x.png">',
        "<script>document.title = 'ran'</script>",
        '<p style="color: red">x</p>',
        "<style>p { color: red }</style>",
    ],
)
def test_policy_of_the_page_stops_what_is_not_its_own(
    browser: Chrome, pages: Mapping[str, Path], tmp_path: Path, planted: str
) -> None:
    copy = tmp_path / "report.html"
    copy.write_text(pages["slow-rail"].read_text().replace("<main>", f"<main>{planted}"))
    page = Opened(browser, copy, SCREENS[0])
    assert len(page.complaints) == 1
    assert "violates the following Content Security Policy directive" in page.complaints[0]
    assert browser.title != "ran"


def test_what_these_tests_look_for_they_would_see(browser: Chrome, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!DOCTYPE html><html><body style='background: #fff'><p style='color: #999; width: 2000px'>faint</p>"
        "<img src='http://127.0.0.1:9/x.png'></body></html>"
    )
    page = Opened(browser, bad, SCREENS[0])
    assert page.complaints != []
    assert page.requests == [bad.as_uri(), "http://127.0.0.1:9/x.png"]
    assert page.overflow_px() > 0
    assert page.too_faint() == ["P.null: rgb(153, 153, 153) on rgb(255, 255, 255): 2.85"]


@pytest.mark.parametrize("screen", SCREENS[2:3], ids=str)
def test_texts_of_a_hostile_host_are_shown_as_text(browser: Chrome, tmp_path: Path, screen: Screen) -> None:
    hostile = (
        "<script>document.title='ran'</script>\"'><img src=x onerror=document.title='ran'>" + "w" * 10_000
    )
    subject = reported(slow="node-002")
    first, *rest = subject.verdict.subjects
    reason = first.reasons[0].model_copy(
        update={"cause": hostile, "action": hostile, "expected": hostile, "measured": hostile}
    )
    worse = first.model_copy(update={"name": hostile, "reasons": (reason,)})
    verdict = subject.verdict.model_copy(
        update={"cluster": hostile, "held": {hostile: hostile}, "subjects": (worse, *rest)}
    )
    run = subject.run.model_copy(
        update={"lost": {hostile: hostile}, "sites": {hostile: (hostile,)}, "checks": (hostile,)}
    )
    path = write(tmp_path, Reported(verdict, run, subject.measurements, subject.expectations))
    page = Opened(browser, path, screen)
    assert page.complaints == []
    assert page.requests == [path.as_uri()]
    assert browser.title.startswith("FAIL: <script>")
    assert page.texts(".subject")[0].startswith("<script>document.title=")
    assert page.overflow_px() <= 0
