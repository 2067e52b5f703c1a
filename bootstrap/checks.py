"""What `make check` runs over the whole tree, and `make fix`, which puts right what a tool can."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from bootstrap import places
from bootstrap.stages import Stage

if TYPE_CHECKING:
    from pathlib import Path

_TYPED = (
    "rackwright",
    "playbooks/library",
    "playbooks/action_plugins",
    "roles/kernel_tuning",
    "roles/node_health",
    "tests",
    "bootstrap",
    "benchmarks",
)
_ANSIBLE = ("roles", "playbooks")
_SHELL = re.compile(rb"#!.*\b(ba|da)?sh\b")


def check() -> list[Stage]:
    """All checks; one without a subject or a tool says so."""
    return [
        Stage("ruff check", (_tool("ruff"), "check", ".")),
        Stage("ruff format", (_tool("ruff"), "format", "--check", ".")),
        Stage("mypy", (_tool("mypy"), *_holding(_TYPED, "*.py"))),
        *_programs(),
        _shellcheck(),
        _ansible_lint(),
    ]


def fix() -> list[Stage]:
    """What changes files."""
    return [
        Stage("ruff check", (_tool("ruff"), "check", "--fix", ".")),
        Stage("ruff format", (_tool("ruff"), "format", ".")),
    ]


def _tool(name: str) -> str:
    return str(places.tool(name))


def _programs() -> list[Stage]:
    """One run a stack: each program is a module called `__main__`, and mypy knows one of a name."""
    folders = sorted(path.parent for path in (places.REPOSITORY / "stacks").glob("*/__main__.py"))
    return [
        Stage(f"mypy {folder.name}", (_tool("mypy"), str(folder.relative_to(places.REPOSITORY))))
        for folder in folders
    ]


def _holding(folders: tuple[str, ...], pattern: str) -> list[str]:
    """Those folders of the checkout that hold a file of that form."""
    return [name for name in folders if any((places.REPOSITORY / name).rglob(pattern))]


def _shellcheck() -> Stage:
    absent = "" if shutil.which("shellcheck") else "shellcheck is not installed; `make setup` brings it"
    try:
        files = shell_files(places.REPOSITORY)
    except (OSError, subprocess.CalledProcessError):
        files, absent = [], "git does not list the files here: no checkout, or one of another user"
    command = ("shellcheck", *(str(path.relative_to(places.REPOSITORY)) for path in files))
    return Stage("shellcheck", command, absent)


def shell_files(root: Path) -> list[Path]:
    """Shell scripts of a checkout, by name or by first line."""
    return [path for path in _files(root) if path.suffix == ".sh" or _SHELL.match(_first_line(path))]


def _first_line(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline(100)


def _files(root: Path) -> list[Path]:
    """Files that git has or would take.

    Raises:
        CalledProcessError: it is no checkout, or not this user's.
        FileNotFoundError: there is no git.
    """
    listing = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split("\0")
    files = [root / name for name in sorted(set(names)) if name]
    return [path for path in files if path.is_file() and not path.is_symlink()]


def _ansible_lint() -> Stage:
    subjects = _holding(_ANSIBLE, "*.yml")
    command = (_tool("ansible-lint"), "--offline", "--strict", "--profile", "production", *subjects)
    return Stage("ansible-lint", command, "" if subjects else "roles/ and playbooks/ hold nothing yet")
