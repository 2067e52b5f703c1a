"""A report of 4,096 nodes in a real browser: no task of its main thread takes a second of processor time."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

from rackwright.verdict.report import html
from tests.browser.conftest import ARGUMENTS
from tests.doubles.reported import reported

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow
NODES = 4096
MOST_S = 1.0
TRACED = "toplevel"


@pytest.fixture
def tracing(tmp_path: Path) -> Iterator[Chrome]:
    """Chromium that writes down each task of its threads, with the processor time that it took."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("chromium and chromium-driver are not installed")
    options = ChromeOptions()
    options.binary_location = chromium
    for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    options.add_experimental_option("perfLoggingPrefs", {"traceCategories": TRACED})
    chrome = Chrome(options=options, service=ChromeService(driver))
    chrome.set_page_load_timeout(300)
    yield chrome
    chrome.quit()


def _tasks(chrome: Chrome) -> list[float]:
    """Processor seconds of each task so far."""
    events = [
        json.loads(entry["message"])["message"]
        for entry in chrome.execute("getLog", {"type": "performance"})["value"]
    ]
    traced = [one["params"] for one in events if one["method"] == "Tracing.dataCollected"]
    return [one["tdur"] / 1e6 for one in traced if str(one.get("name")).endswith("RunTask") and "tdur" in one]


def test_no_task_of_a_report_on_4096_nodes_takes_a_second(tracing: Chrome, tmp_path: Path) -> None:
    subject = reported(NODES, slow="node-002")
    page = tmp_path / "report.html"
    page.write_text(
        html(subject.verdict, subject.run, subject.measurements, subject.expectations), encoding="utf-8"
    )
    tracing.get(page.as_uri())
    tracing.execute_script("return document.body.getBoundingClientRect().height")
    tasks = _tasks(tracing)
    assert len(tasks) > 100, "tasks are seen at all"
    assert max(tasks) < MOST_S
