"""A run folder in, its verdict and all that is made of it out: what `validate` and `judge` both end with.

Every file that `run.json` names is read once, and only if it is what it was when the run was made.
Raw output is parsed anew, so an old run is judged by today's parsers and criteria.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright import canonical
from rackwright.errors import UsageError
from rackwright.validate import documents, evidence
from rackwright.validate.expectations import Expectations, Provenance
from rackwright.validate.expected import refuse_absurd
from rackwright.validate.measure import measure
from rackwright.verdict import junit, report
from rackwright.verdict.judge import judge
from rackwright.verdict.matching import Bounds

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rackwright.validate.expectations import Expectation
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
    texts = {artefact.path: evidence.verified(folder, artefact) for artefact in evidence.artefacts(run)}
    where = folder / run.expectations.path
    expectations = documents.parsed(Expectations, texts[run.expectations.path], where, "RUN001")
    measurements = measure(run, lambda artefact: texts[artefact.path])
    if expect is not None:
        expectations = _with(expectations, expect, measurements, Bounds(run, ()))
    return Judged(folder, run, measurements, expectations, judge(run, measurements, expectations))


def _with(planned: Expectations, expect: Path, measurements: Measurements, bounds: Bounds) -> Expectations:
    """The plan's expectations with an operator's, which win where both are about the same."""
    form = "a file of expectations: docs/verdict.md"
    given = documents.read(Expectations, expect, "EXP002", form).expectations
    ranks = max((one.context.ranks or 0 for one in measurements.measurements), default=0)
    for expectation in given:
        healthy = _published(planned.expectations, expectation)
        refuse_absurd(expectation, ranks, planned.expectations, healthy)
        _refuse_idle(expectation, measurements, bounds, expect)
    own = {expectation.key.model_dump_json(): expectation for expectation in given}
    kept = [one for one in planned.expectations if one.key.model_dump_json() not in own]
    return Expectations(expectations=(*kept, *map(_as_operators, own.values())))


def _refuse_idle(expectation: Expectation, measurements: Measurements, bounds: Bounds, where: Path) -> None:
    """Refuse an expectation that selects none of the values that its check brought."""
    key = expectation.key
    brought = [
        one
        for one in measurements.measurements
        if (one.name, bounds.check(one)) == (key.name, key.check) and one.unit is expectation.unit
    ]
    if brought and not any(bounds.fits(key, one) for one in brought):
        said = key.model_dump(mode="json", exclude_none=True, exclude={"name", "check"})
        raise UsageError(
            f"an expectation for {key.name} of {key.check} selects no value",
            code="EXP003",
            where=str(where),
            got=", ".join(f"{name}={value}" for name, value in said.items()),
            expected=f"a key that fits one of the {len(brought)} values of this run",
            hint="sizes, ranks and rails are those that were measured: `rackwright judge` lists them",
        )


def _published(planned: Iterable[Expectation], expectation: Expectation) -> dict[tuple[str, str], float]:
    """Published figures that an expectation is about, by fabric and collective."""
    key = expectation.key
    return {
        (one.key.fabric or "", one.key.collective or ""): one.nominal
        for one in planned
        if (one.key.name, one.key.check, one.unit) == ("busbw", key.check, expectation.unit)
        and one.provenance is Provenance.PUBLISHED
        and key.size_bytes in (None, one.key.size_bytes)
    }


def _as_operators(expectation: Expectation) -> Expectation:
    """What comes in a file was not computed from the plan, nor is it a definition."""
    if expectation.provenance in (Provenance.PLAN, Provenance.DEFINED):
        return expectation.model_copy(update={"provenance": Provenance.OPERATOR})
    return expectation
