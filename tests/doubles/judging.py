"""Runs to judge in memory, made of a world once, changed in one thing each time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rackwright.validate.measure import measure
from rackwright.validate.model import Measurements
from rackwright.verdict.judge import judge
from tests.doubles import runs

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.validate.expectations import Expectations
    from rackwright.validate.model import Run, Step
    from rackwright.verdict.model import Reason, Subject, Verdict


_READ: dict[tuple[str, str, str], Measurements] = {}


@dataclass(frozen=True)
class Case:
    """A run in memory."""

    run: Run
    texts: dict[str, str]
    expectations: Expectations

    def measurements(self) -> Measurements:
        """What its raw output gives; a step that has not changed is read once."""
        parts = [self._of(step) for step in self.run.steps]
        return Measurements(
            measurements=tuple(one for part in parts for one in part.measurements),
            unread=tuple(one for part in parts for one in part.unread),
        )

    def _of(self, step: Step) -> Measurements:
        text = self.texts[step.stdout.path] if step.stdout else ""
        about = f"{self.run.rails} {self.run.platforms} {self.run.images}"
        key = (step.model_dump_json(), about, text)
        if key not in _READ:
            _READ[key] = measure(self.run.model_copy(update={"steps": (step,)}), lambda _: text)
        return _READ[key]

    def verdict(self, measurements: Measurements | None = None) -> Verdict:
        """The verdict on it."""
        return judge(self.run, measurements or self.measurements(), self.expectations)

    def having(self, **changed: Any) -> Case:  # noqa: ANN401 (fields of Run)
        """The same with some fields of the run changed."""
        return replace(self, run=self.run.model_copy(update=changed))

    def with_text(self, step: str, text: str) -> Case:
        """The same with another output of a step."""
        output = next(one.stdout for one in self.run.steps if one.name == step)
        assert output is not None
        return replace(self, texts={**self.texts, output.path: text})


def case(folder: Path, world: runs.World | str) -> Case:
    """The run of a world, written to an empty folder once."""
    runs.build(folder, world)
    outputs = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.out")}
    texts = {name: path.read_text(encoding="utf-8") for name, path in outputs.items()}
    known = runs.WORLDS[world] if isinstance(world, str) else world
    return Case(runs.load(folder), texts, runs.expectations(known))


def named(verdict: Verdict, name: str) -> Subject:
    """A subject of a verdict."""
    return next(subject for subject in verdict.subjects if subject.name == name)


def reason(subject: Subject, criterion: str) -> Reason:
    """What a criterion says of a subject."""
    return next(one for one in subject.reasons if one.criterion == criterion)
