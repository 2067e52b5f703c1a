"""The run folder while a run goes on: raw output byte for byte, and `run.json` after every step.

`run.json` is replaced in one step, after the files it names are written: whoever kills a validation
loses the steps that were under way, and nothing else.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright import canonical
from rackwright.errors import UsageError
from rackwright.validate.model import Artefact, Run

if TYPE_CHECKING:
    from rackwright.validate.expectations import Expectations
    from rackwright.validate.model import Step

RUN, EXPECTATIONS, RAW = "run.json", "expectations.json", "raw"


@dataclass
class Evidence:
    """One run folder.

    Args:
        folder: of the run.
        run: as it was written last.
    """

    folder: Path
    run: Run

    @classmethod
    def begin(cls, folder: Path, run: Run, expectations: Expectations) -> Evidence:
        """Write a new folder; the run's expectations are then those that were given.

        Raises:
            UsageError: the folder holds something already.
        """
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(
                "the folder is not empty",
                code="VAL007",
                where=str(folder),
                got="files of another run",
                expected="a folder that is empty, or not there",
                hint="name another one with --out",
            )
        canonical.write_atomic(folder / EXPECTATIONS, canonical.dumps(expectations))
        evidence = cls(folder, run.model_copy(update={"expectations": artefact(folder, EXPECTATIONS)}))
        evidence.write()
        return evidence

    def write(self, **changed: object) -> None:
        """Write `run.json`, with these fields changed."""
        self.run = self.run.model_copy(update=changed)
        canonical.write_atomic(self.folder / RUN, canonical.dumps(self.run))

    def add(self, step: Step) -> None:
        """Write a step that has ended."""
        self.write(steps=(*self.run.steps, step))

    def raw(self, step: str, stream: str) -> Path:
        """File for the output of a step, its folder made."""
        path = self.folder / RAW / f"{step}.{stream}"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def kept(self, path: Path) -> Artefact:
        """A file of the folder with its hash."""
        return artefact(self.folder, path.relative_to(self.folder).as_posix())


def artefact(folder: Path, name: str) -> Artefact:
    """A file with its hash as it is now."""
    with (folder / name).open("rb") as file:
        return Artefact(path=name, sha256=hashlib.file_digest(file, "sha256").hexdigest())


def load(folder: Path) -> Run:
    """A run as it was written last.

    Raises:
        OSError: there is no `run.json`.
        ValueError: it is no run of this release.
    """
    return Run.model_validate_json((folder / RUN).read_text(encoding="utf-8"))
