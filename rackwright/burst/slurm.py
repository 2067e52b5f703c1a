"""Slurm as its controller has it: states of nodes, and the few that are set here, by `scontrol`."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ANSWER_S = 30.0
OURS = "rackwright: "
"""Begins each reason that is set here; no other is ever taken back."""
_LONGEST_REASON = 250


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """One node."""

    states: frozenset[str]
    """As `scontrol show node --json` names them: ``IDLE``, ``CLOUD``, ``POWERING_UP`` …"""
    reason: str = ""
    reason_since: int = 0
    """Seconds since 1970; 0 where there is no reason."""

    @property
    def down_by_us(self) -> bool:
        """Whether it is kept down here, until it is tried again."""
        return "DOWN" in self.states and self.reason.startswith(OURS)


class Slurm:
    """The scheduler of this controller."""

    def nodes(self, names: Iterable[str]) -> dict[str, SlurmNode]:
        """Name → node; one that this Slurm does not know is left out.

        Raises:
            EnvironmentUnfit: slurmctld does not answer, or not with nodes.
        """
        words = ("show", "node", ",".join(sorted(names)), "--json")
        answer = _scontrol(*words)
        try:
            return {one["name"]: _node(one) for one in json.loads(answer)["nodes"]}
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise _refused(words, f"no nodes: {type(error).__name__} {error}") from None

    def down(self, name: str, reason: str) -> None:
        """Take a node out of service; its jobs are requeued."""
        text = " ".join(f"{OURS}{reason}".split())[:_LONGEST_REASON].replace('"', "'")
        _scontrol("update", f"nodename={name}", "state=DOWN", f"reason={text}")

    def power_down(self, name: str) -> None:
        """Give a node back to power saving, from which the next job calls it."""
        _scontrol("update", f"nodename={name}", "state=POWER_DOWN_FORCE")


def _node(one: dict[str, Any]) -> SlurmNode:
    since = one.get("reason_changed_at") or {}
    return SlurmNode(
        states=frozenset(one["state"]),
        reason=one.get("reason") or "",
        reason_since=int(since.get("number") or 0),
    )


def _scontrol(*words: str) -> str:
    """What it says; a reason that somebody gave in another character set is no reason to give up."""
    command = ["scontrol", *words]
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=True, timeout=ANSWER_S
        )
    except subprocess.CalledProcessError as error:
        got = (error.stderr or error.stdout).strip()
    except subprocess.TimeoutExpired:
        got = f"no answer within {ANSWER_S:g} s"
    except OSError as error:
        got = str(error)
    else:
        return done.stdout
    raise _refused(words, got)


def _refused(words: Sequence[str], got: str) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "slurmctld did not do what it was asked",
        code="BURST001",
        where=" ".join(("scontrol", *words)),
        got=got,
        hint="see journalctl -u slurmctld",
    )
