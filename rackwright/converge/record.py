"""What a converge leaves: every task's outcome as JSON lines, and the report."""

from __future__ import annotations

import json
import os
import threading
from typing import IO, TYPE_CHECKING, Self

from pydantic import ValidationError

from rackwright import canonical
from rackwright.converge.model import ConvergeReport

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.converge.events import TaskEvent

EVENTS, REPORT = "events.jsonl", "report.json"
_PARTIAL = ".partial"


class EventLog:
    """``events.jsonl.partial`` while the run goes on, one flushed line a task; ``events.jsonl`` after it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / EVENTS
        self._partial = folder / (EVENTS + _PARTIAL)
        self._lock = threading.Lock()
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        self._file = self._partial.open("w", encoding="utf-8")
        self._partial.chmod(0o600)
        return self

    def add(self, event: TaskEvent) -> None:
        """Write one line; from any thread."""
        with self._lock:
            if self._file is not None:
                self._file.write(json.dumps(event.model_dump(mode="json", by_alias=True)) + "\n")
                self._file.flush()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._file is None:
            return
        with self._file:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
        if kind is None:
            self._partial.replace(self.path)


def save(folder: Path, report: ConvergeReport) -> None:
    """Keep the report beside its events.

    Raises:
        OSError: it could not be written whole; the old one stays.
    """
    canonical.write_atomic(folder / REPORT, canonical.dumps(report), mode=0o600)


def last(folder: Path) -> ConvergeReport | None:
    """The report of the run before; None where there was none, one of another version, or none to be read.

    It only tells how long a run may take: whatever it is, it keeps nobody from another one.
    """
    try:
        return ConvergeReport.model_validate_json((folder / REPORT).read_bytes())
    except (OSError, ValidationError):
        return None
