"""What programs of roles share: they run others, refuse, keep a note for the next boot, and answer.

It lies beside each of them in /usr/local/lib/rackwright. A program is run by the module `program`: it reads
one JSON object, ``plan``, ``check`` and where there is one ``secret``, and prints one, ``changes`` and
``drift``, or ``failed``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BLOCK = Path("/sys/class/block")
_NOTHING = 2
"""Exit status of `blkid -p` where a device holds nothing that it knows (blkid(8))."""

Plan = dict[str, Any]


class Refused(Exception):
    """What keeps the host from being as planned."""


class Difference(NamedTuple):
    """One thing that is not as planned."""

    kind: str
    subject: str
    intended: str
    observed: str


# --- programs and files


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a program."""
    return subprocess.run(words, capture_output=True, text=True, check=False)


def must(*words: str) -> str:
    """What a program prints that must not fail."""
    done = run(*words)
    if done.returncode != 0:
        raise Refused(f"{' '.join(words)}: {' '.join((done.stderr or done.stdout).split())}")
    return done.stdout


def text_of(path: Path) -> str:
    """A file's text; empty where there is none."""
    try:
        return path.read_text()
    except OSError:
        return ""


def read(path: Path) -> str:
    """An attribute of the kernel; empty where there is none."""
    return text_of(path).strip()


def write(path: Path, value: str) -> None:
    """Set an attribute of the kernel; one that it does not take is told by its path.

    Raises:
        OSError: the kernel's own errno, which comes with the writing and then names no file.
    """
    try:
        path.write_text(value)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def unit_of(path: str, kind: str) -> str:
    """Name of the unit of a path: of its mount, or of the device."""
    return run("systemd-escape", "--path", f"--suffix={kind}", path).stdout.strip()


# --- block devices


def signature(device: str) -> str:
    """What a device holds: a file system, a partition table, a member of a volume; empty for nothing.

    Raises:
        Refused: it cannot be read.
    """
    done = run("blkid", "-p", "-o", "export", device)
    if done.returncode == _NOTHING:
        return ""
    if done.returncode != 0:
        raise Refused(f"{device}: blkid cannot read it: {' '.join(done.stderr.split())}")
    words = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    return words.get("TYPE") or words.get("PTTYPE") or "something"


def holder(device: str) -> str:
    """The kernel's own user of a device, as a volume is; empty for none."""
    holders = BLOCK / Path(device).resolve().name / "holders"
    names = sorted(entry.name for entry in holders.iterdir()) if holders.is_dir() else []
    return f"held by {names[0]}" if names else ""


# --- what was brought about last


def kept(path: Path, nothing: Plan) -> Plan:
    """A note of ours; `nothing` where there is none."""
    try:
        value: Plan = json.loads(path.read_text())
    except (OSError, ValueError):
        return nothing
    return value


def keep(path: Path, note: Plan) -> None:
    """Write a note, whole or not at all; it may hold keys, and is for root alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = _unfinished(path)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(note, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _unfinished(note: Path) -> Path:
    """A note while it is written: it lies beside its place."""
    return note.with_suffix(".new")


# --- what is on a host that has no part any more


def gone(*files: Path) -> list[Difference]:
    """Files of ours that are still there."""
    return [Difference("file", str(path), "absent", "there") for path in files if path.exists()]


def forget(unit: str, *files: Path, note: Path) -> None:
    """Stop a unit of ours and take its files away, then the note: by it we know of the rest."""
    run("systemctl", "disable", "--now", "--quiet", unit)
    for path in files:
        path.unlink(missing_ok=True)
    must("systemctl", "daemon-reload")
    for path in (_unfinished(note), note):
        path.unlink(missing_ok=True)


# --- the answer


def told(changes: Iterable[Difference], strange: Iterable[Difference] = ()) -> Plan:
    """An answer.

    Args:
        changes: what was, or in check mode would be, brought about.
        strange: what else differs, and is left to whoever made it.
    """
    found = list(changes)
    return {
        "changes": [f"{one.subject}: {one.observed} -> {one.intended}" for one in found],
        "drift": [one._asdict() for one in (*found, *strange)],
    }


def answer(apply: Callable[[Plan], Plan], hint: Callable[[OSError], str] = lambda _: "") -> int:
    """Read what is asked, do it, and print what came of it."""
    try:
        said = apply(json.load(sys.stdin))
    except Refused as refused:
        said = {"failed": str(refused)}
    except OSError as error:
        said = {"failed": f"{error.filename}: {error.strerror}{hint(error)}"}
    print(json.dumps(said))  # noqa: T201 (its answer)
    return 0
