"""The report in a real browser: what is read at first sight, and on every screen."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from rackwright.verdict.report import html
from tests.doubles.opened import Opened, Screen
from tests.doubles.reported import Reported, reported

if TYPE_CHECKING:
    from pathlib import Path

    from selenium.webdriver import Chrome

SCREENS = [
    Screen(width, height, scheme)
    for width, height in ((1280, 800), (390, 844))
    for scheme in ("light", "dark")
]
MANY = 40
FACTS = {
    "verdict": ("#verdict", "FAIL"),
    "subject": (".subject", "node-002/r1"),
    "measured": (".measured", "12.14\N{NO-BREAK SPACE}Mbit/s"),
    "expected": (".expected", "at least 75 Mbit/s"),
    "evidence": ("a.evidence", "raw/pairs/compute-1/node-001+node-002.out"),
    "next action": (".action", "Next: Check cable and port of node-002 on rail 1"),
}


def written(folder: Path, subject: Reported) -> Path:
    """A run folder with its report."""
    subject.write_raw(folder)
    page = folder / "report.html"
    page.write_text(
        html(subject.verdict, subject.run, subject.measurements, subject.expectations), encoding="utf-8"
    )
    return page


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Report of three nodes, rail 1 of the second slow."""
    return written(tmp_path_factory.mktemp("failed"), reported(slow="node-002"))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Report of more nodes than a square table takes."""
    return written(tmp_path_factory.mktemp("large"), reported(MANY, slow="node-002"))


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_first_screen_of_a_failure_says_who_against_what_by_which_proof_and_what_now(
    browser: Chrome, failed: Path, screen: Screen
) -> None:
    page = Opened(browser, failed, screen)
    seen = {fact: page.first_seen(selector) for fact, (selector, _) in FACTS.items()}
    told = {fact: box.text if box else "beyond the first screen" for fact, box in seen.items()}
    assert {fact: text in told[fact] for fact, (_, text) in FACTS.items()} == dict.fromkeys(FACTS, True), told


@pytest.mark.parametrize("screen", SCREENS, ids=str)
@pytest.mark.parametrize("name", ["failed", "large"])
def test_page_is_quiet_legible_and_no_wider_than_its_window(
    browser: Chrome, request: pytest.FixtureRequest, name: str, screen: Screen
) -> None:
    path: Path = request.getfixturevalue(name)
    page = Opened(browser, path, screen)
    assert page.complaints == []
    assert page.requests == [path.as_uri()]
    assert page.overflow_px() <= 0
    assert page.too_faint() == []
    assert page.overflow_px() <= 0, "with all folds open"


def test_evidence_leads_to_files_that_are_there(browser: Chrome, failed: Path) -> None:
    links = Opened(browser, failed, SCREENS[0]).links("a.evidence")
    files = {unquote(urlsplit(link).path) for link in links if link.startswith("file:") and "#" not in link}
    missing = [file for file in files if not failed.parent.joinpath(file).is_file()]
    assert missing == []
    assert str(failed.parent / "raw/pairs/compute-1/node-001+node-002.out") in files
    assert str(failed.parent / "run.json") in files


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
    browser: Chrome, failed: Path, tmp_path: Path, planted: str
) -> None:
    copy = tmp_path / "report.html"
    copy.write_text(failed.read_text().replace("<main>", f"<main>{planted}"))
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
    path = written(tmp_path, Reported(verdict, run, subject.measurements, subject.expectations))
    page = Opened(browser, path, screen)
    assert page.complaints == []
    assert page.requests == [path.as_uri()]
    assert browser.title.startswith("FAIL: <script>")
    assert page.texts(".subject")[0].startswith("<script>document.title=")
    assert page.overflow_px() <= 0
