"""Ask the Slurm of a plan which hosts run jobs, by ssh to its controller, before anything is powered."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from rackwright.hostlists import unfolded
from rackwright.provision import busy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rackwright.plan.model import Plan

CONNECT_S = 5
_ANSWER_S = 10.0
"""For the whole question; slurmctld answers `squeue` in a fraction of a second."""
_STATES = "CONFIGURING,RUNNING,SUSPENDED,COMPLETING,SIGNALING,STAGE_OUT,STOPPED"
"""States in which a job has nodes (squeue(1), JOB STATE CODES)."""
_QUESTION = f"squeue --noheader --states={_STATES} --format='%A|%u|%N'"


class _NoAnswer(Exception):
    """Why a controller did not tell."""


def note(plan: Plan, state: Path, tell: Callable[[str], None]) -> dict[str, str]:
    """Ask, and leave the answer where the provider reads it.

    A Slurm that does not answer holds nobody: its last note counts as long as it is fresh.

    Args:
        plan: whose schedulers.
        state: the cluster's folder.
        tell: takes a sentence where Slurm could not be asked.

    Returns:
        Slot → why it is held.
    """
    told: dict[str, str] = {}
    asked = bool(plan.slurm)
    for name, slurm in plan.slurm.items():
        known = [one for one in slurm.controllers if _has_known_key(state, one)]
        try:
            told |= _ask(known, state) if known else {}
        except _NoAnswer as reason:
            tell(f"Slurm {name} was not asked for jobs: {reason}")
            asked = False
    if told or asked:
        busy.write(state, told)
    return busy.read(state)


def _has_known_key(state: Path, host: str) -> bool:
    """Whether the inventory has the host; without a key it is never connected to."""
    try:
        known = (state / "inventory" / "known_hosts").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return False
    return any(line.startswith(f"{host},") for line in known.splitlines())


def _ask(controllers: Sequence[str], state: Path) -> dict[str, str]:
    """What the first controller that answers says.

    Raises:
        _NoAnswer: none does.
    """
    reason = ""
    for controller in controllers:
        try:
            return _reasons(_squeue(controller, state / "inventory" / "ssh_config"))
        except _NoAnswer as error:
            reason = str(error)
        except ValueError as error:
            reason = f"{controller}: an answer that is not understood: {error}"
    raise _NoAnswer(reason)


def _squeue(controller: str, ssh_config: Path) -> str:
    # A connection of its own: one that is kept alive may be to a host that has rebooted since.
    options = ["-o", f"ConnectTimeout={CONNECT_S}", "-o", "ControlMaster=no", "-o", "ControlPath=none"]
    try:
        done = subprocess.run(
            ["ssh", "-F", str(ssh_config), *options, controller, _QUESTION],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_ANSWER_S,
        )
    except subprocess.TimeoutExpired:
        raise _NoAnswer(f"{controller}: no answer within {_ANSWER_S:g} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise _NoAnswer(f"{controller}: {said[-1]}")
    return done.stdout


def _reasons(told: str) -> dict[str, str]:
    """`squeue`'s lines ``JOB|USER|HOSTLIST``: node → its first job, and how many more there are."""
    jobs: dict[str, list[str]] = {}
    for job, user, nodes in _rows(told):
        for node in unfolded(nodes):
            jobs.setdefault(node, []).append(f"{job} of {user}")
    return {node: _reason(listed) for node, listed in sorted(jobs.items())}


def _rows(told: str) -> Iterator[tuple[str, str, str]]:
    for line in told.splitlines():
        job, user, nodes = line.split("|", 2)
        if nodes.strip():
            yield job, user, nodes.strip()


def _reason(jobs: Sequence[str]) -> str:
    more = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
    return f"runs Slurm job {jobs[0]}{more}"
