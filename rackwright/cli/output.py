"""How answers and errors look: one answer on stdout, everything else on stderr.

In text, a finding or an error is a block whose first line an editor can jump to::

    clusters/x.yaml:12:7: error RACK001: rack r1-01 is full
      got       50 units
      expected  at most 48 units
      hint      lower nodes_per_rack

As JSON there is exactly one document on stdout, with its kind and version in ``schema``.
"""

from __future__ import annotations

import errno
import json
import os
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import click

from rackwright import signals
from rackwright.errors import EnvironmentUnfit, RackwrightError, SpecInvalid, SubjectFailed, refused
from rackwright.visible import visible, with_styles

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import BaseModel

    from rackwright.canonical import Json
    from rackwright.findings import Finding

ERROR_SCHEMA = "rackwright/error/1"
_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}


class Format(StrEnum):
    """Form of the answer."""

    TEXT = "text"
    JSON = "json"


@dataclass
class Console:
    """Where one command's answer, messages and errors go."""

    format: Format = Format.TEXT
    quiet: bool = False
    verbose: bool = False
    answered: bool = False
    """Whether stdout already holds the one answer."""

    @classmethod
    def before_parsing(cls, arguments: Sequence[str]) -> Console:
        """What can be said of the form before the arguments are known to make sense."""
        wants_json = "--format=json" in arguments or ("--format", "json") in pairwise(arguments)
        return cls(
            format=Format.JSON if wants_json else Format.TEXT,
            verbose=not {"-v", "--verbose"}.isdisjoint(arguments),
        )

    def result(self, document: BaseModel | Mapping[str, Json], text: str) -> None:
        """Print the command's one answer.

        Args:
            document: with a field ``schema``; a model has it by alias.
            text: the same for a reader, without a final newline.
        """
        self.answered = True
        if self.format is Format.TEXT:
            _answer(text)
            return
        plain = document if isinstance(document, Mapping) else document.model_dump(mode="json", by_alias=True)
        _answer(_json_text(plain))

    def message(self, text: str) -> None:
        """Tell of progress on stderr, unless ``-q``."""
        if not self.quiet:
            _echo(text, err=True)

    def detail(self, text: str) -> None:
        """Tell on stderr what only ``-v`` asks for."""
        if self.verbose:
            _echo(text, err=True)

    def error(self, error: RackwrightError) -> int:
        """Print what could not be done, and return its exit code.

        Raises:
            OSError: stderr takes it no more, or nobody reads it.
        """
        if self.format is Format.TEXT or self.answered:
            _echo(error_text(error), err=True)
            return error.exit_code
        self.answered = True
        try:
            _answer(_json_text(error_document(error)))
        except EnvironmentUnfit as unwritten:
            _echo(error_text(error), err=True)
            return self.error(unwritten)
        return error.exit_code

    def unfit(self, error: OSError) -> int:
        """Print what the machine refused: no space, no permission, a file that went away."""
        if self.verbose:
            _echo("".join(traceback.format_exception(error)), err=True)
        hint = "put that right and run the same command again; it goes on from there"
        return self.error(refused(error, hint))

    def unexpected(self, error: Exception) -> int:
        """Print a bug in one line; its traceback only with ``-v``."""
        if self.verbose:
            _echo("".join(traceback.format_exception(error)), err=True)
        again = "" if self.verbose else "run it again with -v for the traceback, and "
        return self.error(
            RackwrightError(
                f"internal error: {type(error).__name__}: {' '.join(str(error).split())}",
                code="BUG001",
                hint=f"this is a fault of rackwright: {again}report it",
            )
        )


def error_text(error: RackwrightError) -> str:
    """An error for a reader; one that carries findings or failures is the blocks of these."""
    if isinstance(error, SpecInvalid):
        blocks = [finding_text(finding) for finding in error.findings]
        return "\n".join([*blocks, visible(error.message)])
    if isinstance(error, SubjectFailed):
        blocks = [
            block(failure.subject, "error", failure.code, failure.cause, {"hint": failure.hint})
            for failure in error.failures
        ]
        return "\n".join([*blocks, visible(error.message)])
    facts = {"got": error.got, "expected": error.expected, "hint": error.hint}
    return block(error.where, "error", error.code, error.message, facts)


def finding_text(finding: Finding) -> str:
    """One finding for a reader; a suppressed one says why and until when."""
    where = str(finding.place) if finding.place else str(finding.path)
    level: str = finding.level.value
    facts = {"got": finding.got, "expected": finding.expected, "hint": finding.hint}
    if finding.waiver:
        level = f"suppressed {level}"
        facts = {"reason": f"{finding.waiver.reason} (until {finding.waiver.until})"}
    return block(where, level, finding.code, finding.message, facts)


def block(where: str, level: str, code: str, message: str, facts: Mapping[str, str]) -> str:
    """One thing to put right: where and what in the first line, then its facts."""
    shown = click.style(level, fg=_COLOURS.get(level), bold=True)
    said = f"{shown} {code}: {visible(message)}"
    first = f"{visible(where)}: {said}" if where else said
    rest = [f"  {name:<9} {_indented(visible(fact))}" for name, fact in facts.items() if fact]
    return "\n".join([first, *rest])


def _indented(fact: str) -> str:
    return fact.replace("\n", "\n" + " " * 12)


def error_document(error: RackwrightError) -> Mapping[str, Json]:
    """An error as JSON, ``rackwright/error/1``."""
    findings = error.findings if isinstance(error, SpecInvalid) else ()
    failures = error.failures if isinstance(error, SubjectFailed) else ()
    return {
        "schema": ERROR_SCHEMA,
        "code": error.code,
        "message": error.message,
        "where": error.where,
        "got": error.got,
        "expected": error.expected,
        "hint": error.hint,
        "findings": findings_json(findings),
        "failures": [
            {"subject": failure.subject, "code": failure.code, "cause": failure.cause, "hint": failure.hint}
            for failure in failures
        ],
    }


def findings_json(findings: Iterable[Finding]) -> list[Json]:
    """Findings as every document shows them; ``line`` and ``column`` are 0 where unknown."""
    return [_finding_json(finding) for finding in findings]


def _finding_json(finding: Finding) -> Json:
    place, waiver = finding.place, finding.waiver
    return {
        "code": finding.code,
        "level": finding.level.value,
        "path": str(finding.path),
        "file": str(place.file) if place else "",
        "line": place.line if place else 0,
        "column": place.column if place else 0,
        "message": finding.message,
        "got": finding.got,
        "expected": finding.expected,
        "hint": finding.hint,
        "source": finding.source,
        "suppressed": {"reason": waiver.reason, "until": waiver.until.isoformat()} if waiver else None,
    }


def _json_text(document: Mapping[str, Json]) -> str:
    """The one document; ASCII, so that no locale can make it unreadable."""
    return json.dumps(document, indent=2, allow_nan=False)


def _answer(text: str) -> None:
    try:
        _echo(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise EnvironmentUnfit(
            "the answer could not be written", code="ENV003", where="stdout", got=error.strerror or ""
        ) from None


def _echo(text: str, *, err: bool = False) -> None:
    """Print; click takes colours away where the stream is no terminal, we where NO_COLOR is set.

    All text of ours goes through here, and nothing in it moves the cursor, clears the screen or sets a title.
    """
    try:
        click.echo(with_styles(text), err=err, color=False if "NO_COLOR" in os.environ else None)
    except OSError as error:
        if error.errno != errno.EIO or not signals.is_gone(signals.STDERR if err else signals.STDOUT):
            raise
        signals.leave_terminal()  # what is under way goes on: the hang-up comes later, or is ignored
