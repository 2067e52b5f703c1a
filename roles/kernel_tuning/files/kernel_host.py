"""What is known of this host: settings as wished and as they are, and what was there before us."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LIVE, DIFFERS, REBOOT, MISSING, REFUSED = "live", "differs", "reboot", "missing", "refused"


@dataclass(frozen=True)
class State:
    """One setting, as wished and as it is."""

    setting: str
    wanted: str
    now: str
    state: str


@dataclass
class Host:
    """This host: what was written, what is to be kept, what was found."""

    dry: bool
    before: dict[str, str]
    keep: Callable[[dict[str, str]], None] = lambda _before: None
    """Puts `before` where a run that is cut off has left it."""
    wanted: dict[str, str] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    def note(self, setting: str, wanted: object, now: object, state: str) -> None:
        """What is known of one setting."""
        self.states.append(State(setting, str(wanted), str(now), state))

    @property
    def brought(self) -> str:
        """State of a setting that was not as wished, once it is set, where it is set at all."""
        return DIFFERS if self.dry else LIVE

    def bring(self, setting: str, path: Path, wanted: object) -> None:
        """Write a value where another is."""
        text = str(wanted)
        if not path.exists():
            self.note(setting, text, "not there", MISSING)
            return
        now = read(path)
        self.wanted[str(path)] = text
        self.keep_before([(path, text)])
        if now != text and not self._write(path, text, now, setting):
            self.note(setting, text, now, REFUSED)
            return
        self.note(setting, text, now if self.dry else read(path), LIVE if now == text else self.brought)

    def keep_before(self, wanted: Iterable[tuple[Path, object]]) -> None:
        """Note what is there, before anything of it is written to for the first time."""
        new = {
            str(path): now
            for path, value in wanted
            if str(path) not in self.before and (now := read(path)) != str(value)
        }
        if new and not self.dry:
            self.before |= new
            self.keep(self.before)

    def _write(self, path: Path, text: str, now: str, setting: str) -> bool:
        self.changed.append(f"{setting}: {now or 'nothing'} becomes {text}")
        if self.dry:
            return True
        try:
            path.write_text(text)
        except OSError:
            self.changed.pop()
            return False
        if read(path) != text:
            self.changed.pop()
            return False
        return True

    def give_back(self) -> None:
        """What we once wrote and nobody wants any more is as it was."""
        for name in sorted(self.before.keys() - self.wanted.keys()):
            path, value = Path(name), self.before[name]
            if path.exists() and read(path) != value:
                self.changed.append(f"{name}: {read(path)} becomes {value} again")
                if not self.dry:
                    path.write_text(value)
            if not self.dry:
                del self.before[name]


def read(path: Path) -> str:
    """A value of the kernel: blanks made one, and of several words the one in brackets."""
    try:
        text = " ".join(path.read_text().split())
    except OSError:
        return ""
    chosen = text.partition("[")[2].partition("]")[0]
    return chosen or text


def remembered(path: Path) -> dict[str, Any]:
    """A note of ours; empty where there is none."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def remember(path: Path, note: object) -> None:
    """Write a note, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    with new.open("w") as file:
        json.dump(note, file, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def run(*command: str) -> bool:
    """Whether a program ends well; one that is not there does not."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def said(*command: str) -> str:
    """What a program prints; nothing where it is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""
