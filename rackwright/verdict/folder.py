"""A run folder in, its verdict and all that is made of it out: what `validate` and `judge` both end with.

Every file that `run.json` names is read once, and only if it is what it was when the run was made.
Raw output is parsed anew, so an old run is judged by today's parsers and criteria.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from rackwright import canonical
from rackwright.errors import EvidenceSpoiled, UsageError
from rackwright.spec.base import Model
from rackwright.validate.expectations import Expectations, Provenance
from rackwright.validate.expected import refuse_absurd
from rackwright.validate.measure import measure
from rackwright.validate.model import Artefact, Measurements, Run
from rackwright.verdict import junit, report
from rackwright.verdict.judge import judge
from rackwright.verdict.matching import Bounds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwright.validate.expectations import Expectation
    from rackwright.verdict.model import Verdict

Read = TypeVar("Read", bound=Model)
RUN = "run.json"
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
    run = _model(Run, folder / RUN, "RUN001", "a run folder has the file that `rackwright validate` wrote")
    texts = {artefact.path: _verified(folder, artefact) for artefact in _artefacts(run)}
    where = folder / run.expectations.path
    expectations = _parsed(Expectations, texts[run.expectations.path], where, "RUN001")
    measurements = measure(run, lambda artefact: texts[artefact.path])
    if expect is not None:
        expectations = _with(expectations, expect, measurements, Bounds(run, ()))
    return Judged(folder, run, measurements, expectations, judge(run, measurements, expectations))


def _artefacts(run: Run) -> Iterable[Artefact]:
    yield run.expectations
    for step in run.steps:
        yield from (artefact for artefact in (step.stdout, step.stderr) if artefact is not None)


def _verified(folder: Path, artefact: Artefact) -> str:
    """Text of a file that is what it was; bytes that are no UTF-8 are replaced, which no parser takes."""
    path = _inside(folder, artefact)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise _spoiled(path, error.strerror or str(error), "the file that run.json names") from None
    found = canonical.sha256(raw)
    if found != artefact.sha256:
        raise _spoiled(path, f"SHA-256 {found}", f"SHA-256 {artefact.sha256}, as when it was measured")
    return raw.decode("utf-8", errors="replace")


def _inside(folder: Path, artefact: Artefact) -> Path:
    """The file, which must lie in the folder."""
    parts = PurePosixPath(artefact.path)
    path = folder / parts
    if parts.is_absolute() or ".." in parts.parts or not path.resolve().is_relative_to(folder.resolve()):
        raise _spoiled(folder / RUN, artefact.path, "paths within the folder of the run")
    return path


def _spoiled(path: Path, got: str, expected: str) -> EvidenceSpoiled:
    return EvidenceSpoiled(
        "evidence of this run is missing or was changed; nothing of it is judged",
        where=str(path),
        got=got,
        expected=expected,
        hint="judge an untouched copy of the folder, or validate again",
    )


def _model(model: type[Read], path: Path, code: str, expected: str) -> Read:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "the file cannot be read", code=code, where=str(path), got=_cause(error), expected=expected
        ) from None
    return _parsed(model, text, path, code)


def _cause(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _parsed(model: type[Read], text: str, path: Path, code: str) -> Read:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "document"
        raise UsageError(
            f"{path.name} is not what its schema says",
            code=code,
            where=str(path),
            got=f"{key}: {first['msg']}",
            expected=f"a document of schema {model.model_fields['schema_'].default}",
        ) from None


def _with(planned: Expectations, expect: Path, measurements: Measurements, bounds: Bounds) -> Expectations:
    """The plan's expectations with an operator's, which win where both are about the same."""
    form = "a file of expectations: docs/verdict.md"
    given = _model(Expectations, expect, "EXP002", form).expectations
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
