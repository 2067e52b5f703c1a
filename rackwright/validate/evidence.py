"""The run folder: raw output byte for byte, and `run.json` after every step, under a hash of its own.

`run.json` is replaced in one step, after the files it names are written: whoever kills a validation
loses the steps that were under way, and nothing else. It holds the hashes of all of them; its own
stands in its key ``sha256``, so that no file of a run can change, or be cut, without being found.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from rackwright import canonical, documents, paths
from rackwright.errors import EvidenceSpoiled, UsageError
from rackwright.validate.model import Artefact, Run
from rackwright.validate.parsers.flow import parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.validate.expectations import Expectations
    from rackwright.validate.history import History
    from rackwright.validate.model import Step

RUN, EXPECTATIONS, HISTORY, RAW = "run.json", "expectations.json", "history.json", "raw"
_SEAL = "sha256"


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
    def begin(
        cls, folder: Path, run: Run, expectations: Expectations, history: History | None = None
    ) -> Evidence:
        """Write a new folder; the run's expectations and its history are then those that were given.

        Raises:
            UsageError: the folder holds something already.
        """
        texts = {EXPECTATIONS: canonical.dumps(expectations)}
        if history is not None:
            texts[HISTORY] = canonical.dumps(history)
        _refuse_others(folder, texts)
        for name, text in texts.items():
            canonical.write_atomic(folder / name, text)
        kept = {name.removesuffix(".json"): artefact(folder, name) for name in texts}
        evidence = cls(folder, run.model_copy(update=kept))
        evidence.write()
        return evidence

    def write(self, **changed: object) -> None:
        """Write `run.json`, with these fields changed."""
        self.run = self.run.model_copy(update=changed)
        canonical.write_atomic(self.folder / RUN, sealed(self.run))

    def add(self, *ended: Step) -> None:
        """Write steps that have ended, all of them at once: a step is never there without its twin."""
        self.write(steps=(*self.run.steps, *ended))

    def raw(self, step: str, stream: str) -> Path:
        """File for the output of a step, its folder made.

        One that is there is of a step that was cut off, and whoever made that may still write to it.
        """
        path = self.folder / RAW / f"{step}.{stream}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        return path

    def kept(self, path: Path) -> Artefact:
        """A file of the folder with its hash."""
        return artefact(self.folder, path.relative_to(self.folder).as_posix())


def _refuse_others(folder: Path, texts: Mapping[str, str]) -> None:
    """Refuse a folder that holds more than the beginning of a run which was cut off before it had `run.json`.

    Raises:
        UsageError: it does.
    """
    others = [path for path in folder.iterdir() if not _is_begun(path, texts)] if folder.exists() else []
    if not others:
        return
    there = (folder / RUN).exists()
    raise UsageError(
        "the folder is not empty",
        code="VAL007",
        where=str(folder),
        got="files of another run" if there else f"other files: {min(path.name for path in others)}",
        expected="a folder that is empty, or not there",
        hint="name another one with --out"
        + (", or go on with a run that was cut off with --resume" if there else ""),
    )


def _is_begun(path: Path, texts: Mapping[str, str]) -> bool:
    """Whether a file is as it will be written, or is one of which a writer was killed."""
    if any(canonical.is_left_of(path, path.with_name(name)) for name in (*texts, RUN)):
        return True
    return path.name in texts and path.is_file() and path.read_bytes() == texts[path.name].encode()


def artefact(folder: Path, name: str) -> Artefact:
    """A file with its hash as it is now, once it is on the disk."""
    with (folder / name).open("rb") as file:
        os.fsync(file.fileno())
        return Artefact(path=name, sha256=hashlib.file_digest(file, "sha256").hexdigest())


def sealed(run: Run) -> str:
    """The text of `run.json`."""
    plain = run.model_dump(mode="json", by_alias=True)
    return canonical.dumps({**plain, _SEAL: canonical.sha256(canonical.dumps(plain))})


def load(folder: Path) -> Run:
    """A run as it was written last.

    Raises:
        UsageError: there is no `run.json`, or it is no run of this release.
        EvidenceSpoiled: it is not as it was written.
    """
    path = folder / RUN
    text = documents.text_of(path, "RUN001", "a run folder has the file that `rackwright validate` wrote")
    try:
        plain = json.loads(text)
        seal = plain.pop(_SEAL, None) if isinstance(plain, dict) else None
        found = canonical.sha256(canonical.dumps(plain))
    except (ValueError, RecursionError):  # no JSON, or none that can be written: NaN, half a character
        plain = None
    if not isinstance(plain, dict):
        documents.parsed(Run, text, path, "RUN001")
        raise spoiled(path, "what is no canonical JSON", "the file that its last writer wrote")
    if seal is not None and seal != found:
        raise spoiled(path, f"content of SHA-256 {found}", f"SHA-256 {seal}, as its own last writer says")
    run = documents.parsed(Run, canonical.dumps(plain), path, "RUN001")
    if seal is None:
        raise spoiled(path, f"no key {_SEAL}", "the hash of all else in it")
    return run


def artefacts(run: Run) -> Iterator[Artefact]:
    """All files that a run names."""
    yield run.expectations
    if run.history is not None:
        yield run.history
    for step in run.steps:
        yield from (one for one in (step.stdout, step.stderr) if one is not None)


def verified(folder: Path, kept: Artefact) -> str:
    """Text of a file that is what it was; bytes that are no UTF-8 are replaced, which no parser takes.

    Raises:
        EvidenceSpoiled: it is missing, lies elsewhere, or is not as it was.
    """
    path = _inside(folder, kept)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise spoiled(path, error.strerror or str(error), "the file that run.json names") from None
    found = canonical.sha256(raw)
    if found != kept.sha256:
        raise _changed(path, found, kept)
    return raw.decode("utf-8", errors="replace")


def check(folder: Path, kept: Artefact) -> None:
    """Refuse a file that is not what it was, however long it is.

    Raises:
        EvidenceSpoiled: it is missing, lies elsewhere, or is not as it was.
    """
    for _ in parts_of(folder, kept):
        pass


def parts_of(folder: Path, kept: Artefact) -> Iterator[str]:
    """As `verified`, part by part; that it was changed is known only at its end.

    Raises:
        EvidenceSpoiled: it is missing, lies elsewhere, or is not as it was.
    """
    path, found = _inside(folder, kept), hashlib.sha256()
    try:
        with path.open("rb") as raw:
            yield from parts(_Hashed(raw, found))
    except OSError as error:
        raise spoiled(path, error.strerror or str(error), "the file that run.json names") from None
    if found.hexdigest() != kept.sha256:
        raise _changed(path, found.hexdigest(), kept)


@dataclass(frozen=True, slots=True)
class _Hashed:
    """A file that is hashed as it is read."""

    raw: IO[bytes]
    found: hashlib._Hash

    def read(self, size: int) -> bytes:
        """The next bytes."""
        block = self.raw.read(size)
        self.found.update(block)
        return block


def _changed(path: Path, found: str, kept: Artefact) -> EvidenceSpoiled:
    return spoiled(path, f"SHA-256 {found}", f"SHA-256 {kept.sha256}, as when it was measured")


def _inside(folder: Path, kept: Artefact) -> Path:
    """The file, which must lie in the folder."""
    parts = PurePosixPath(kept.path)
    path = folder / parts
    outside = "\0" in kept.path or parts.is_absolute() or ".." in parts.parts
    if outside or not paths.real(path).is_relative_to(paths.real(folder)):
        raise spoiled(folder / RUN, kept.path, "paths within the folder of the run")
    try:
        plain = path.is_file() or not path.exists()  # a pipe would be waited for without end
    except OSError as error:
        raise spoiled(path, error.strerror or str(error), "the file that run.json names") from None
    if not plain:
        raise spoiled(path, "no plain file", "the file that run.json names")
    return path


def spoiled(path: Path, got: str, expected: str) -> EvidenceSpoiled:
    """A file of a run that is not what it was."""
    return EvidenceSpoiled(
        "evidence of this run is missing or was changed; nothing of it is judged",
        where=str(path),
        got=got,
        expected=expected,
        hint="judge an untouched copy of the folder, or validate again",
    )
