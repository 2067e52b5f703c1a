"""Everything that can go wrong for a user.

RackwrightError
├── UsageError              exit 2   asked in a way, or in a place, that cannot work
│   ├── SpecUnreadable               not a file, not readable, not YAML
│   ├── LockCorrupt                  a lock that is cut, edited by hand or contradicts itself
│   ├── CatalogueInvalid             a data file that is not what its model says
│   ├── EvidenceSpoiled              a file of a run that is missing, or not as it was measured
│   ├── EnvironmentUnfit             no root, no engine, no space, a port that is taken
│   └── NotProvisionable             planned, but nothing here can build it
├── SpecInvalid             exit 1   carries Findings, never just a text
├── PlanStale               exit 1   a plan, lock or package that does not match the spec
├── RenderedInvalid         exit 1   a file that the program it is for would not read
├── SubjectFailed           exit 2   hosts, pools or stacks not brought to the wanted state
├── Incomplete              exit 3   something asked was not measured, reached or identified
└── Interrupted             exit 130 stopped by the user; the same command goes on from there

Each carries where, got, expected, hint and a stable code. Where several hold, the exit code is
the first of 2, 1, 3 (`worst`).
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rackwright.findings import Finding, Place

GOOD, BAD, UNUSABLE, INCOMPLETE = 0, 1, 2, 3
_EXPECTED = {
    errno.ENOSPC: "room on its file system",
    errno.EDQUOT: "room in the quota of this user",
    errno.EROFS: "a file system that can be written to",
    errno.EACCES: "permission for this user",
    errno.EPERM: "permission for this user",
    errno.EADDRINUSE: "an address and port that nobody else has",
    errno.ECONNREFUSED: "somebody who listens there",
}
"""What the machine should have had instead of an error."""


def worst(codes: Iterable[int]) -> int:
    """The exit code of several answers together: the first of 2, 1, 3 that occurs, else 0."""
    seen = set(codes)
    return next((code for code in (UNUSABLE, BAD, INCOMPLETE) if code in seen), GOOD)


class RackwrightError(Exception):
    """Root of the tree above.

    Args:
        message: one sentence, what could not be done.
        code: stable, for scripts: ``SPEC002``.
        where: file, host or option concerned.
        got: what was found there.
        expected: what would have been right.
        hint: what to do next.
    """

    exit_code: ClassVar[int] = UNUSABLE
    default_code: ClassVar[str] = "RW000"

    def __init__(  # noqa: PLR0913 (the five things each user error carries)
        self,
        message: str,
        *,
        code: str = "",
        where: Place | str = "",
        got: str = "",
        expected: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.where = str(where)
        self.got = got
        self.expected = expected
        self.hint = hint


class UsageError(RackwrightError):
    """Asked in a way, or in a place, that cannot work."""

    default_code = "USE001"


class SpecUnreadable(UsageError):
    """Not a file, not readable, or not YAML."""

    default_code = "SPEC001"


class LockCorrupt(UsageError):
    """A lock that is cut, edited by hand, merged, or contradicts itself; no part of it is used."""

    default_code = "LOCK001"


class CatalogueInvalid(UsageError):
    """A data file of the catalogue that is not what its model says."""

    default_code = "CAT001"


class EvidenceSpoiled(UsageError):
    """A file of a run folder that is missing, or not as it was when it was measured."""

    default_code = "RUN002"


class EnvironmentUnfit(UsageError):
    """The machine lacks what the command needs."""

    default_code = "ENV001"


def refused(error: OSError, hint: str) -> EnvironmentUnfit:
    """What the machine refused: no space, no permission, a file that went away.

    Args:
        error: its own word of it.
        hint: how the command goes on once that is put right.
    """
    return EnvironmentUnfit(
        "the machine refused a file or a connection",
        where=str(error.filename or ""),
        got=error.strerror or type(error).__name__,
        expected=_EXPECTED.get(error.errno or 0, ""),
        hint=hint,
    )


class NotProvisionable(UsageError):
    """Planned, but nothing here can build it."""

    default_code = "UP001"


class SpecInvalid(RackwrightError):
    """The spec breaks its schema or a rule; carries all findings at once."""

    exit_code = BAD
    default_code = "SPEC002"

    def __init__(self, findings: Sequence[Finding]) -> None:
        blocking = sum(finding.blocks for finding in findings)
        super().__init__(f"{blocking} error{'s' if blocking != 1 else ''} in the spec")
        self.findings = tuple(findings)


class PlanStale(RackwrightError):
    """A plan, lock or package that does not match the spec it is used with."""

    exit_code = BAD
    default_code = "PLAN001"


class RenderedInvalid(RackwrightError):
    """A file was rendered that the program it is for would not read; it is not written."""

    exit_code = BAD
    default_code = "REND001"


@dataclass(frozen=True, slots=True)
class Failure:
    """One subject that was not brought to the wanted state."""

    subject: str
    code: str
    cause: str
    hint: str = ""


class SubjectFailed(RackwrightError):
    """Hosts, pools or stacks that were not brought to the wanted state.

    Args:
        failures: each with its cause.
        saying: what has become of them all, where it is something else.
    """

    default_code = "UP002"

    def __init__(self, failures: Sequence[Failure], saying: str = "not brought to the wanted state") -> None:
        names = ", ".join(failure.subject for failure in failures)
        super().__init__(f"{saying}: {names}")
        self.failures = tuple(failures)


class Incomplete(RackwrightError):
    """Something asked was not measured, reached or identified."""

    exit_code = INCOMPLETE
    default_code = "RUN001"


class Interrupted(RackwrightError):
    """Stopped by the user."""

    exit_code = 130
    default_code = "INT001"
