"""A run folder in, its verdict and all that is made of it out: what `validate` and `judge` both end with.

Every file that `run.json` names is what it was when the run was made, or nothing is judged; each is read part
by part, so that no log is too long.
Raw output is parsed anew, so an old run is judged by today's parsers and criteria.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright import canonical, documents
from rackwright.validate import evidence
from rackwright.validate.expectations import Expectations
from rackwright.validate.history import History
from rackwright.validate.measure import measure
from rackwright.verdict import given, junit, report
from rackwright.verdict.judge import judge

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.validate.model import Measurements, Run
    from rackwright.verdict.model import Verdict

REPORT = "report.html"


@dataclass(frozen=True, slots=True)
class Judged:
    """A run with its verdict."""

    folder: Path
    run: Run
    measurements: Measurements
    expectations: Expectations
    verdict: Verdict

    @property
    def report(self) -> Path:
        """The page for a reader."""
        return self.folder / REPORT


def judge_folder(folder: Path, expect: Path | None = None) -> Judged:
    """Judge a run and write measurements.json, verdict.json, junit.xml and report.html into its folder.

    Args:
        folder: of the run.
        expect: further expectations; they replace those of the plan that have the same key.

    Raises:
        UsageError: this is no run folder, or no file of expectations.
        EvidenceSpoiled: a file is missing, or is not as it was.
    """
    judged = load(folder, expect)
    texts = {
        "measurements.json": canonical.dumps(judged.measurements),
        "verdict.json": canonical.dumps(judged.verdict),
        "junit.xml": junit.document(judged.verdict, judged.run),
        REPORT: report.html(judged.verdict, judged.run, judged.measurements, judged.expectations),
    }
    for name, text in texts.items():
        canonical.write_atomic(folder / name, text)
    return judged


def load(folder: Path, expect: Path | None = None) -> Judged:
    """As `judge_folder`, with nothing written."""
    run = evidence.load(folder)
    for artefact in evidence.artefacts(run):
        evidence.check(folder, artefact)
    text, where = evidence.verified(folder, run.expectations), folder / run.expectations.path
    expectations = documents.parsed(Expectations, text, where, "RUN001")
    measurements = measure(run, lambda artefact: evidence.parts_of(folder, artefact))
    history = None
    if run.history is not None:
        text, where = evidence.verified(folder, run.history), folder / run.history.path
        history = documents.parsed(History, text, where, "RUN001")
    if expect is not None:
        expectations = given.over(expectations, expect, run, measurements)
    return Judged(folder, run, measurements, expectations, judge(run, measurements, expectations, history))
