"""What the engine says when it fails, as errors that a reader can act on: nothing else reads its text.

An error of ours passes through that text, and comes out as it went in: written and read here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit, Failure, SubjectFailed

if TYPE_CHECKING:
    from pathlib import Path

    from pulumi.automation import CommandError

    from rackwright.errors import RackwrightError

STATE_LOCKED_AWAY = "PULUMI001"
"""Encrypted with another passphrase."""
KILLED = "PULUMI002"
NO_SPACE = "PULUMI003"
OTHER = "PULUMI004"

_SAID = re.compile(r"^\s*(?:stderr: )?error: (?P<said>.+)$", re.MULTILINE)
_OURS = re.compile(r"(?P<told>\S.*?: )(?P<code>[A-Z][A-Z0-9]*\d{3}) (?P<rest>.+)")
"""An error of our own programs and plugin, in one line: `line_of`."""
_NO_NEWS = frozenset(
    {
        "update failed",
        "preview failed",
        "1 error occurred:",
        "Resource monitor has terminated, shutting down",
    }
)
_STATUS = re.compile(r"^\s*code: (?P<status>-?\d+)", re.MULTILINE)


def line_of(error: RackwrightError) -> str:
    """A user error in one line."""
    if isinstance(error, SubjectFailed):
        return "; ".join(map(line_of_failure, error.failures))
    facts = (("got", error.got), ("expected", error.expected), ("hint", error.hint))
    told = [f"{name} {fact}" for name, fact in facts if fact]
    return "; ".join([f"{error.where}: {error.code} {error.message}", *told])


def line_of_failure(failure: Failure) -> str:
    """One subject that failed, in one line."""
    return f"{failure.subject}: {failure.code} {failure.cause}; hint {failure.hint}"


def last_words(error: CommandError) -> str:
    """The most telling of the engine's own ``error:`` lines."""
    said = _said(error)
    telling = [line for line in said if line not in _NO_NEWS]
    ours = [line for line in telling if _OURS.fullmatch(line)]
    return (ours or telling or said or ["nothing"])[0]


def _said(error: CommandError) -> list[str]:
    """Each of the engine's ``error:`` lines, once."""
    said = (match["said"].strip().removeprefix("Preview failed: ") for match in _SAID.finditer(str(error)))
    return list(dict.fromkeys(said))


def signal_of(error: CommandError) -> int:
    """The signal that ended the engine, 0 where it ended by itself."""
    match = _STATUS.search(str(error))
    return max(0, -int(match["status"])) if match else 0


def failure(subject: str, error: CommandError, log: Path) -> Failure:
    """A stack that failed as a whole, before any host was noted."""
    known = unfit(subject, error)
    if known is not None:
        return Failure(subject, known.code, f"{known.message}: got {known.got}", known.hint)
    ours = list(filter(None, map(_OURS.fullmatch, _said(error))))
    if ours:
        hint = f"`rackwright doctor SPEC` says what else is missing; all that the engine said is in {log}"
        return Failure(subject, ours[0]["code"], "; ".join(one["told"] + one["rest"] for one in ours), hint)
    return Failure(subject, OTHER, last_words(error), f"all that the engine said is in {log}")


def unfit(subject: str, error: CommandError) -> RackwrightError | None:
    """What is wrong with this machine, where the text is one we know."""
    text, number = str(error), signal_of(error)
    if number:
        return EnvironmentUnfit(
            "the engine was killed",
            code=KILLED,
            where=subject,
            got=f"signal {number}",
            hint="the same command goes on from here; hosts that run are adopted",
        )
    cut = "malformed state value" in text
    if cut or "incorrect passphrase" in text:
        return EnvironmentUnfit(
            "the stack's state cannot be decrypted",
            code=STATE_LOCKED_AWAY,
            where=subject,
            got="a salt that is cut" if cut else "a passphrase that is not the one it was made with",
            expected="the file secrets/passphrase of the cluster's state, and the salt in Pulumi.STACK.yaml, "
            "as they were",
            hint="put the passphrase back from a copy; if it is Pulumi.STACK.yaml that was cut, take that "
            "away: it is written anew",
        )
    if "no space left on device" in text:
        return EnvironmentUnfit(
            "the engine could not write its state",
            code=NO_SPACE,
            where=subject,
            got="no space left on device",
            hint="make room and run the same command again; hosts that run are adopted",
        )
    return None


def refused(subject: str, error: CommandError) -> RackwrightError:
    """A stack that could not even be opened."""
    return unfit(subject, error) or EnvironmentUnfit(
        "the engine could not open the stack", code=OTHER, where=subject, got=last_words(error)
    )
