"""What Slurm says of nodes and jobs in, who can be measured out; and the commands that ask it.

Read from ``scontrol show nodes --json`` and ``squeue --json`` (data parser of Slurm 24.11); keys that
are not read here are left alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import BeforeValidator, ConfigDict, ValidationError

from rackwright.errors import EnvironmentUnfit
from rackwright.hostlists import unfolded
from rackwright.spec.base import Model

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rackwright.validate.ssh import Controller

Kind = TypeVar("Kind", bound=Model)
GONE = frozenset(
    {
        "DOWN",
        "FAIL",
        "FAILING",
        "ERROR",
        "UNKNOWN",
        "FUTURE",
        "NOT_RESPONDING",
        "INVALID_REG",
        "POWERED_DOWN",
        "POWERING_DOWN",
        "POWERING_UP",
        "REBOOT_ISSUED",
        "REBOOT_REQUESTED",
    }
)
"""States and flags of a node that gets no job (sinfo(1), NODE STATE CODES)."""
SUSPECT = {"DRAIN": "rackwright: ", "DOWN": "Node unexpectedly rebooted"}
"""Flag → beginning of the reason with which no person took the node away: our own check (role node_health)
drained it, or Slurm itself waits for somebody to look (slurm.conf(5), ReturnToService). To look is what a
validation is for."""
_SILENT = "NOT_RESPONDING"
_POWER = frozenset({"POWERED_DOWN", "POWERING_DOWN", "POWERING_UP"})
"""Of a node on demand: Slurm launches it for a job, if need be once it has been given back."""
RESERVED = frozenset({"MAINTENANCE", "RESERVED"})
_LIVING = frozenset({"RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "STOPPED"})
"""States of a job that has its nodes (squeue(1), JOB STATE CODES)."""


class _Part(Model):
    """A part of what Slurm prints."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class NodeState(_Part):
    """A node."""

    name: str
    state: tuple[str, ...]
    reason: str = ""


def _names(told: object) -> object:
    """The nodes of a job, which Slurm folds; a text that is none spoils the answer it stands in."""
    return unfolded(told) if isinstance(told, str) else told


class Job(_Part):
    """A job."""

    job_id: int
    job_state: tuple[str, ...]
    user_name: str = ""
    nodes: Annotated[tuple[str, ...], BeforeValidator(_names)] = ()


class _Nodes(_Part):
    nodes: tuple[NodeState, ...]


class _Jobs(_Part):
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Which nodes can be had now.

    Args:
        free: no job has them.
        suspect: those of them to which Slurm gives no job before somebody has looked → what is said of them.
        held: node → the job it runs, the reservation it is kept for, or why somebody drained it.
        lost: node → why Slurm gives it no job.
        unsure: those of the lost that could be had if they answered: Slurm asks them again, and has not given
            them up (slurm.conf(5), SlurmdTimeout).
    """

    free: tuple[str, ...]
    suspect: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)
    lost: Mapping[str, str] = field(default_factory=dict)
    unsure: tuple[str, ...] = ()


def standing(controller: Controller, names: Sequence[str], on_demand: Collection[str] = ()) -> Standing:
    """How these nodes stand.

    Args:
        controller: asks.
        names: of the nodes.
        on_demand: those of them that Slurm launches for a job.

    Raises:
        EnvironmentUnfit: Slurm does not answer, or not as it should.
    """
    return judged(nodes(controller), jobs(controller), names, on_demand)


def judged(
    states: Iterable[NodeState],
    running: Collection[Job],
    names: Sequence[str],
    on_demand: Collection[str] = (),
) -> Standing:
    """How these nodes stand, by what Slurm said."""
    known = {state.name: state for state in states}
    users = _users(running, names)
    gone = _told({name: why_gone(known.get(name), on_demand=name in on_demand) for name in names})
    kept = _told({name: _why_held(known[name], users.get(name, ())) for name in names if name not in gone})
    free = tuple(name for name in names if name not in gone and name not in kept)
    suspect = {name: known[name].reason for name in free if is_suspect(known[name])}
    silent = {name: known[name] for name in gone if name in known and _SILENT in known[name].state}
    answering = list(map(_answering, silent.values()))
    unsure = judged(answering, running, tuple(silent), on_demand).free if silent else ()
    return Standing(free, suspect, kept, gone, unsure)


def _answering(state: NodeState) -> NodeState:
    """A silent node as it would be if it answered."""
    return state.model_copy(update={"state": tuple(word for word in state.state if word != _SILENT)})


def is_suspect(state: NodeState) -> bool:
    """Whether Slurm gives a node no job, and no person has said so."""
    flags = [flag for flag in SUSPECT if flag in state.state]
    answers = _SILENT not in state.state
    return answers and bool(flags) and all(state.reason.startswith(SUSPECT[flag]) for flag in flags)


def _told(reasons: Mapping[str, str]) -> dict[str, str]:
    return {name: reason for name, reason in reasons.items() if reason}


def _users(running: Iterable[Job], names: Collection[str]) -> dict[str, list[Job]]:
    users: dict[str, list[Job]] = {}
    for job in running:
        if _LIVING.isdisjoint(job.job_state):
            continue
        for node in job.nodes:
            if node in names:
                users.setdefault(node, []).append(job)
    return users


def why_gone(state: NodeState | None, *, on_demand: bool = False) -> str:
    """Why Slurm gives a node no job; empty where it would."""
    if state is None:
        return "Slurm does not know it"
    gone = GONE - _POWER if on_demand else GONE
    found = [word for word in state.state if word in gone]
    if not found or is_suspect(state):
        return ""
    return f"{'+'.join(state.state)}: {state.reason}" if state.reason else "+".join(state.state)


def _why_held(state: NodeState, users: Iterable[Job]) -> str:
    told = [f"job {job.job_id} of {job.user_name}" for job in users if not _is_ending(job)]
    if told:
        return f"runs {', '.join(told)}"
    if "DRAIN" in state.state and not is_suspect(state):
        return f"drained: {state.reason}"
    reserved = [word for word in state.state if word in RESERVED]
    return f"{'+'.join(reserved)}: {state.reason or 'a reservation'}" if reserved else ""


def _is_ending(job: Job) -> bool:
    """A job that is completing leaves its nodes within seconds; the allocation waits for that."""
    return "COMPLETING" in job.job_state


def nodes(controller: Controller) -> tuple[NodeState, ...]:
    """All nodes that Slurm knows."""
    return _read(controller, ("scontrol", "show", "nodes", "--json"), _Nodes).nodes


def jobs(controller: Controller) -> tuple[Job, ...]:
    """All jobs that have not ended."""
    return _read(controller, ("squeue", "--json"), _Jobs).jobs


def _read(controller: Controller, words: Sequence[str], kind: type[Kind]) -> Kind:
    answer = controller.ask(words)
    if answer.status:
        raise _unfit(controller, words, answer.stderr.strip() or f"exit status {answer.status}")
    try:
        return kind.model_validate_json(answer.stdout)
    except ValidationError as error:
        raise _unfit(controller, words, str(error).splitlines()[0]) from None


def _unfit(controller: Controller, words: Sequence[str], got: str) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "Slurm does not answer",
        code="VAL006",
        where=controller.name,
        got=got,
        expected=f"an answer to `{' '.join(words)}`",
        hint="is the cluster converged? `rackwright converge SPEC` brings Slurm up",
    )
