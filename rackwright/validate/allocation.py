"""Nodes that are wanted in, one exclusive Slurm job on those that can be had out.

A job that does not start in time is cancelled; nodes that have gone away, were taken meanwhile, or were
drained again after they had been resumed for it, are named, and the rest is tried again. Nodes that
Slurm has lost sight of, and not given up, are waited for as long as a job is. Whatever happens, the job
is cancelled at the end: by its name, so that one whose number was never learnt is found too, and by its
time limit, should Slurm or the connection be gone, which is then told.
"""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from shlex import quote
from typing import TYPE_CHECKING

from rackwright.hostlists import folded
from rackwright.validate import slurm
from rackwright.validate.interruption import held_back
from rackwright.validate.ssh import ControllerLost

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from concurrent.futures import Future

    from rackwright.validate.ssh import Answer, Controller

_GRANTED = re.compile(r"Granted job allocation (\d+)")
_SUBMITTED = re.compile(r"job (\d+) queued")
_ANSWER_MARGIN_S = 60.0
_CANCEL_WITHIN_S = 20.0
_AGAIN_AFTER_S = 0.5
_LOOK_AGAIN_AFTER_S = 1.0
_MINUTES_AN_HOUR = 60


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of Slurm.

    Args:
        name: of the job; unique, since the job is cancelled by it.
        partition: that has all the nodes.
        start_within_s: a job that has not started by then is cancelled.
        most_minutes: it may last: the net below a validation that was cut off.
        on_demand: nodes that Slurm launches for it, and then waits for.
    """

    name: str
    partition: str
    start_within_s: int
    most_minutes: int
    on_demand: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Allocation:
    """What Slurm gave.

    Args:
        job: its number; None if no job could be had.
        nodes: of the job.
        held: node → why it is left alone.
        lost: node → why it cannot be had.
    """

    job: int | None
    nodes: tuple[str, ...]
    held: dict[str, str]
    lost: dict[str, str]


def minutes(longest_s: float, most_hours: float | None) -> int:
    """Time limit of a job whose steps last so long at most, within what its partition allows."""
    wanted = ceil(longest_s / 60) + 1
    return wanted if most_hours is None else max(1, min(wanted, int(most_hours * _MINUTES_AN_HOUR)))


class NotCancelled(KeyboardInterrupt):
    """Stopped, and the job could not be cancelled: it may still run, or come.

    Args:
        controller: that was asked to cancel it.
        name: of the job.
        number: of the job, where it is known.
    """

    def __init__(self, controller: str, name: str, number: int | None) -> None:
        self.job = f"the job {name}" if number is None else f"job {number}"
        self.remedy = f"`scancel --me --name={quote(name)}` on {controller} cancels it"
        super().__init__(f"{self.job} could not be cancelled, and may still run: {self.remedy}")


@contextmanager
def allocated(
    controller: Controller, wish: Wish, names: Sequence[str], tell: Callable[[str], None]
) -> Iterator[Allocation]:
    """A job on as many of these nodes as can be had; it is cancelled at the end, come what may.

    Raises:
        EnvironmentUnfit: Slurm does not answer.
        NotCancelled: a stop came, and the job could not be cancelled; without a stop that is only told.
    """
    number: int | None = None
    cancelled = False
    try:
        try:
            allocation = _allocate(controller, wish, names, tell)
            number = allocation.job
            yield allocation
        finally:
            with held_back():
                cancelled = release(controller, wish.name)
    except KeyboardInterrupt:
        if cancelled:
            raise
        raise NotCancelled(controller.name, wish.name, number) from None
    if not cancelled:
        tell(str(NotCancelled(controller.name, wish.name, number)))


def release(controller: Controller, name: str) -> bool:
    """Cancel all jobs of that name; whether none is left. A controller that is gone cannot be asked.

    scancel ends well where there is no such job, and badly where slurmctld does not answer (24.11).
    """
    try:
        return controller.ask(("scancel", "--me", f"--name={name}"), _CANCEL_WITHIN_S).status == 0
    except ControllerLost:
        return False


def _allocate(
    controller: Controller, wish: Wish, names: Sequence[str], tell: Callable[[str], None]
) -> Allocation:
    wanted, resumed, ends = tuple(names), set[str](), time.monotonic() + wish.start_within_s
    held: dict[str, str] = {}
    lost: dict[str, str] = {}
    while wanted:
        now = _settled(controller, wish, wanted, ends, tell)
        held, lost = held | dict(now.held), lost | dict(now.lost)
        if not now.free:
            break
        _resume(controller, now.suspect)
        resumed.update(now.suspect)
        job, why = _salloc(controller, wish, now.free)
        if job is not None:
            return Allocation(job, now.free, held, lost)
        release(controller, wish.name)
        after = slurm.standing(controller, now.free, wish.on_demand)
        if after.free == now.free and not after.suspect:
            lost |= dict.fromkeys(now.free, why)
            break
        lost |= (again := _drained_again(after, resumed))
        # asked again, so that those that went away are named by Slurm's reason
        wanted = tuple(name for name in now.free if name not in again)
    return Allocation(None, (), held, lost)


def _settled(
    controller: Controller, wish: Wish, names: Sequence[str], ends: float, tell: Callable[[str], None]
) -> slurm.Standing:
    """How nodes stand once Slurm is sure of each of them, or when it is time."""
    now = slurm.standing(controller, names, wish.on_demand)
    if now.unsure and time.monotonic() < ends:
        tell(f"Slurm has lost sight of {folded(now.unsure)}: waiting until it is sure")
    while now.unsure and time.monotonic() < ends:
        time.sleep(_LOOK_AGAIN_AFTER_S)
        now = slurm.standing(controller, names, wish.on_demand)
    return now


def _drained_again(after: slurm.Standing, resumed: Collection[str]) -> dict[str, str]:
    """Node → why it is no use to resume it once more; nobody would get a job beside it."""
    return {
        name: f"resumed, and drained again before its job began: {reason}"
        for name, reason in after.suspect.items()
        if name in resumed
    }


def _resume(controller: Controller, names: Collection[str]) -> None:
    """Let Slurm use nodes that no person took away; our own health check drains them again, if need be."""
    if names:
        words = ("sudo", "--non-interactive", "scontrol", "update", f"nodename={folded(names)}")
        controller.ask((*words, "state=resume"))


def _salloc(controller: Controller, wish: Wish, free: Sequence[str]) -> tuple[int | None, str]:
    """Number of the job, or why there is none."""
    words = (
        "timeout",
        "--kill-after=5",
        str(wish.start_within_s),
        "salloc",
        "--no-shell",
        "--no-kill",
        "--exclusive",
        f"--partition={wish.partition}",
        f"--nodes={len(free)}",
        f"--nodelist={folded(free)}",
        f"--job-name={wish.name}",
        f"--time={wish.most_minutes}",
        *(["--wait-all-nodes=1"] if wish.on_demand.intersection(free) else []),
    )
    answer = _asked_for(controller, wish, words)
    granted = _GRANTED.search(answer.stderr)
    if answer.status == 0 and granted:
        return int(granted[1]), ""
    return None, _why(answer.stderr, wish.start_within_s)


def _asked_for(controller: Controller, wish: Wish, words: Sequence[str]) -> Answer:
    """What salloc said; who is stopped meanwhile waits for its end, as a job that comes later is nobody's."""
    with ThreadPoolExecutor(1) as one:
        asked: list[Future[Answer]] = []
        try:
            with held_back():
                asked.append(one.submit(controller.ask, words, wish.start_within_s + _ANSWER_MARGIN_S))
            return asked[0].result()
        except BaseException:
            _call_off(controller, wish.name, asked)
            raise


def _call_off(controller: Controller, name: str, asked: Sequence[Future[Answer]]) -> None:
    """Cancel the job that is being asked for, which Slurm may not know yet, until nobody asks any more."""
    while wait_for(asked, 0).not_done:
        release(controller, name)
        wait_for(asked, _AGAIN_AFTER_S)


def _why(stderr: str, seconds: int) -> str:
    lines = [line.partition("salloc: ")[2] or line for line in stderr.splitlines()]
    told = [line for line in lines if line and not line.startswith(("Pending job", "Job aborted"))]
    if _SUBMITTED.search(stderr):
        return f"its job did not start within {seconds} s: {told[0]}"
    return f"no job could be had: {'; '.join(told) or 'salloc says nothing'}"
