"""docs/faults.yaml as values: which faults are planted together, what is run, and what that must say."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ruamel.yaml import YAML

from rackwright import paths

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterable, Iterator, Mapping

DATA = paths.repository() / "docs" / "faults.yaml"
PAGE = DATA.with_suffix(".md")
WORST = ("FAIL", "ERROR", "NOT_RUN", "PASS")


@dataclass(frozen=True)
class Row:
    """One fault and what it must lead to.

    Args:
        plant: words of `rackwright lab fault`.
        subject: that is named.
        verdict: of it, by this fault.
        cause: holds this, or one of these.
        also: verdicts of others that follow from it.
    """

    plant: str
    subject: str
    verdict: str
    cause: str | list[str]
    also: Mapping[str, str] = field(default_factory=dict)

    @property
    def causes(self) -> tuple[str, ...]:
        """All that it may be."""
        return (self.cause,) if isinstance(self.cause, str) else tuple(self.cause)

    def in_any(self, told: Iterable[str]) -> bool:
        """Whether one of these holds the cause."""
        return any(cause in one for one in told for cause in self.causes)


@dataclass(frozen=True)
class Group:
    """Faults that are planted together.

    Args:
        name: of the group.
        lab: ``lab`` or ``lab-12``.
        run: command, without the spec.
        exit: its exit code.
        rows: the faults.
        also: verdicts that follow from all of them.
        slow: whether it is run with the slow tests alone.
        asks: static nodes that the spec asks for meanwhile, by pool.
    """

    name: str
    lab: str
    run: str
    exit: int
    rows: tuple[Row, ...]
    also: Mapping[str, str]
    slow: bool = False
    asks: Mapping[str, int] = field(default_factory=dict)

    @property
    def gives_verdicts(self) -> bool:
        """Whether it ends in a verdict on each subject."""
        return self.run.startswith("validate") and self.exit != 2

    def words(self, spec: str) -> list[str]:
        """Its command line."""
        command, *options = self.run.split()
        return [command, spec, *options, *(["--format", "json"] if self.gives_verdicts else [])]

    def expected(self) -> dict[str, str]:
        """Subject → verdict; all others pass."""
        told = [*self.also.items(), *((row.subject, row.verdict) for row in self.rows)]
        told += [item for row in self.rows for item in row.also.items()]
        found: dict[str, str] = {}
        for subject, verdict in told:
            found[subject] = min(found.get(subject, verdict), verdict, key=WORST.index)
        return found

    def check(self, done: subprocess.CompletedProcess[str]) -> None:
        """Hold what a command said against all rows."""
        assert done.returncode == self.exit, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        if self.gives_verdicts:
            self._check_verdicts(json.loads(done.stdout)["subjects"])
            return
        said = done.stdout + done.stderr
        for row in self.rows:
            assert row.in_any(_told_of(row, said)), f"{row}\n{said}"

    def _check_verdicts(self, subjects: list[dict[str, object]]) -> None:
        others = {name_of(one): one["verdict"] for one in subjects if one["verdict"] != "PASS"}
        reasons = {name_of(one): one["reasons"] for one in subjects}
        assert others == self.expected(), json.dumps(reasons, indent=1)
        for row in self.rows:
            told = reasons[row.subject]
            assert isinstance(told, list)
            causes = [reason["cause"] for reason in told if reason["value"] == row.verdict]
            assert row.in_any(causes), f"{row}\n{told}"


def _told_of(row: Row, said: str) -> Iterator[str]:
    """What is said of a subject with that verdict: from its line on, with the indented ones that follow."""
    paragraph = re.compile(rf"^( *){re.escape(f'{row.subject}: {row.verdict}')}.*(?:\n\1 +.*)*", re.MULTILINE)
    return (found[0] for found in paragraph.finditer(said))


def name_of(subject: Mapping[str, object]) -> str:
    """A partition may be called as its site is."""
    return f"{'partition ' if subject['kind'] == 'partition' else ''}{subject['name']}"


def groups(lab: str = "") -> tuple[Group, ...]:
    """All of them, or those of a lab."""
    plain = YAML(typ="safe").load(DATA)["groups"]
    made = (
        Group(
            name=one["name"],
            lab=one["lab"],
            run=one["run"],
            exit=one["exit"],
            rows=tuple(Row(**row) for row in one["faults"]),
            also=one.get("also", {}),
            slow=one.get("slow", False),
            asks=one.get("asks", {}),
        )
        for one in plain
    )
    return tuple(group for group in made if lab in ("", group.lab))


def table() -> Iterator[str]:
    """What docs/faults.md shows, line by line."""
    yield "| planted | on | run | with | exit | subject | verdict | cause holds |"
    yield "|---|---|---|---|---|---|---|---|"
    for group in groups():
        for row in group.rows:
            fault, _, place = row.plant.partition(" ")
            with_ = "make test-slow" if group.slow else "make test"
            asked = (f"`{group.run}` on {group.lab}", with_, str(group.exit))
            cause = " or ".join(row.causes)
            yield f"| {' | '.join((f'`{fault}`', place, *asked, row.subject, row.verdict, cause))} |"
