"""The steps of a suite in a job, one batch after the other: each is run, looked into, and kept.

A step that ends badly is followed by a question to each of its nodes: to run ``true``. One that does
not is lost; the others go on, and what is for all together is made again without it where the suite
says so.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from threading import BoundedSemaphore, Event
from typing import TYPE_CHECKING

from rackwright.validate import commands, slurm
from rackwright.validate.commands import Task
from rackwright.validate.interruption import held_back
from rackwright.validate.measure import understood
from rackwright.validate.model import Ended, Step, Tool
from rackwright.validate.steps import Ground, also_read, batches, in_order
from rackwright.validate.suite import Links, OfAll

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from rackwright.validate.asked import Asked, Node
    from rackwright.validate.evidence import Evidence
    from rackwright.validate.ssh import Controller
    from rackwright.validate.steps import Batch, Planned
    from rackwright.validate.suite import AnyCheck, Suite

STEPS_AT_ONCE = 64
QUESTIONS_AT_ONCE = 32
"""Of all steps together: each takes a place on a connection to the controller."""
_LAUNCH_FAILED = "Task launch for StepId="
"""How srun (24.11) begins to say which node could not start a task, and why."""
_AGAIN = "/again-"
"""Before the number of a further try in a step's name."""
_BY_SIGNAL = 128
"""A shell, and srun, add it to the signal that ended a program."""
_TAIL = 400
"""Characters of a message that are enough to know it by."""


@dataclass(frozen=True, slots=True)
class Job:
    """The job that all steps are of.

    Args:
        number: of the job.
        nodes: it has.
        cancel: end it, and with it whatever waits for a step; whether that could be done.
    """

    number: int
    nodes: tuple[str, ...]
    cancel: Callable[[], bool]


@dataclass
class Course:
    """A suite under way.

    Args:
        asked: of whom.
        checks: of the suite that apply.
        suite: what they belong to.
        controller: where steps are started.
        job: they are steps of.
        evidence: where they are kept.
        tell: gets a sentence a step.
        lost: node → why it was lost on the way.
        dark: (node, fabric, rail) of ports without a carrier.
        questions: who may ask a node now whether it answers.
        stopped: set before the job is cancelled; its nodes run nothing in it from then on, and are not lost.
    """

    asked: Asked
    checks: Sequence[AnyCheck]
    suite: Suite
    controller: Controller
    job: Job
    evidence: Evidence
    tell: Callable[[str], None]
    lost: dict[str, str] = field(default_factory=dict)
    dark: frozenset[tuple[str, str, int]] = frozenset()
    questions: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(QUESTIONS_AT_ONCE))
    stopped: Event = field(default_factory=Event)

    def ground(self) -> Ground:
        """What is left of the nodes of the job."""
        nodes = [self.asked.nodes[name] for name in self.job.nodes if name not in self.lost]
        run = self.evidence.run.started
        return Ground(nodes, self.dark, self.suite.mpi, self.asked.ways, self._beyond(), run)

    def _beyond(self) -> list[Node]:
        """Nodes of other jobs, the lost ones last: a kernel answers probes where Slurm does not."""
        gone = {*self.asked.held, *self.asked.missing, *self.job.nodes}
        return sorted(self.asked.without(gone), key=lambda node: node.name in self.evidence.run.lost)

    def run(self) -> None:
        """Make every check.

        Raises:
            ControllerLost: the controller went away; what was made until then is kept.
        """
        for check in in_order(self.checks):
            done = made_before(check, self.evidence.run.steps, self.job.nodes)
            if check.settle_s and not done:
                self.tell(f"{check.check}: {check.settle_s:g} s of rest before it")
                time.sleep(check.settle_s)
            while not self._make(check, done):
                pass
            if isinstance(check, Links):
                self.dark = _dark_ports(self.evidence)

    def is_made(self) -> bool:
        """Whether the run has all steps already."""
        self.dark = _dark_ports(self.evidence)
        return all(
            made_before(check, self.evidence.run.steps, self.job.nodes)[step.name] >= _tries(check)
            for check in in_order(self.checks)
            for batch in batches(check, self.ground())
            for step in batch
        )

    def _make(self, check: AnyCheck, done: Counter[str]) -> bool:
        """Whether a check came to its end; else a step is to be made again, and the rest with what is left.

        Args:
            check: of the suite.
            done: tries of each step, all of them of one that needs no other.
        """
        for batch in batches(check, self.ground()):
            left = tuple(step for step in batch if done[step.name] < _tries(check))
            made = self._make_batch(check, left)
            for planned, step in zip(left, made, strict=True):
                done[planned.name] += _counts(check, step)
            if any(done[step.name] < _tries(check) for step in left):
                return False
        return True

    def _make_batch(self, check: AnyCheck, batch: Batch) -> list[Step]:
        """Make steps at the same time, and keep each as soon as it has ended."""
        named = self._named(batch)
        with ThreadPoolExecutor(STEPS_AT_ONCE) as pool:
            futures: dict[Future[Step], int] = {}
            try:
                with held_back():
                    for number, planned in enumerate(named):
                        futures[pool.submit(self._step, check, planned)] = number
                made = {futures[future]: self._kept(future.result()) for future in as_completed(futures)}
            except BaseException:
                # What is waiting for a step ends with the job, and only then can this block be left.
                pool.shutdown(wait=False, cancel_futures=True)
                self.stopped.set()
                if not self.job.cancel():
                    self.controller.give_up()
                raise
        return [made[number] for number in range(len(named))]

    def _named(self, batch: Batch) -> list[Planned]:
        """The steps, with names that no step of the run has."""
        taken = {step.name for step in self.evidence.run.steps}
        named = []
        for planned in batch:
            tries = (f"{planned.name}{_AGAIN}{number}" for number in range(1, len(taken) + 2))
            name = planned.name if planned.name not in taken else next(t for t in tries if t not in taken)
            named.append(replace(planned, name=name))
        return named

    def _kept(self, step: Step) -> Step:
        twin = also_read(step, self.checks)
        self.evidence.add(step, *([] if twin is None else [twin]))
        told = f": {step.reason}" if step.reason else ""
        self.tell(f"{step.name}  {step.seconds:.1f} s  {step.ended.value}{told}")
        return step

    def _step(self, check: AnyCheck, planned: Planned) -> Step:
        gone = [f"{name} was lost before" for name in planned.nodes if name in self.lost]
        if planned.task is None or gone:
            return _step(planned, (), Ended.NOT_RUN, reason=planned.reason or ", ".join(gone))
        words = commands.srun(planned.task, planned.name, planned.nodes, self.job.number, check.limit_s)
        paths = [self.evidence.raw(planned.name, stream) for stream in ("stdout", "stderr")]
        began = time.monotonic()
        with paths[0].open("wb") as stdout, paths[1].open("wb") as stderr:
            status = self.controller.run(words, stdout, stderr)
        seconds = time.monotonic() - began
        lost = self._lost(planned.nodes) if status else {}
        ended, reason = _ending(status, lost, check.limit_s, paths[1])
        kept = [self.evidence.kept(path) for path in paths]
        return _step(planned, words, ended, reason=reason).model_copy(
            update={
                "exit_status": status,
                "lost": tuple(sorted(lost)),
                "seconds": round(seconds, 3),
                "stdout": kept[0],
                "stderr": kept[1],
            }
        )

    def _lost(self, names: Sequence[str]) -> dict[str, str]:
        """Nodes that do not run the simplest of steps, each with what Slurm says of it."""
        with ThreadPoolExecutor(QUESTIONS_AT_ONCE) as pool:
            answers = dict(zip(names, pool.map(self._answers, names), strict=True))
        silent = [name for name in names if answers[name]]
        if not silent or self.stopped.is_set():
            return {}
        states = {state.name: state for state in slurm.nodes(self.controller)}
        lost = {name: slurm.why_gone(states.get(name)) or answers[name] for name in silent}
        self.lost.update(lost)
        return lost

    def _answers(self, name: str) -> str:
        """Why a node does not run ``true``; empty if it does."""
        within = self.suite.answer_within_s
        words = commands.srun(Task(("true",)), "answer", (name,), self.job.number, within)
        with self.questions:
            answer = self.controller.ask(words, within + commands.KILL_AFTER_S + 30)
        if commands.was_stopped(answer.status, answer.stderr.splitlines()):
            return f"did not run `true` within {within} s"
        told = _telling(answer.stderr.splitlines())
        return f"did not run `true`: {told or answer.status}" if answer.status else ""


def made_before(check: AnyCheck, steps: Iterable[Step], nodes: Collection[str]) -> Counter[str]:
    """Tries of each step of a check that a run has already.

    A step that is about a node which is no longer among those of the job was about another whole.
    """
    made: Counter[str] = Counter()
    for step in steps:
        if step.check == check.check and step.nodes and set(step.nodes) <= set(nodes):
            made[step.name.partition(_AGAIN)[0]] += _counts(check, step)
    return made


def _tries(check: AnyCheck) -> int:
    return check.tries if isinstance(check, OfAll) else 1


def _counts(check: AnyCheck, step: Step) -> int:
    """For how many tries a step stands: none where it is made again without a node, all where it is done."""
    if step.lost and isinstance(check, OfAll) and check.repeat_on_survivors:
        return 0
    return 1 if step.ended is Ended.FAILED and not step.lost else _tries(check)


def _step(planned: Planned, words: Sequence[str], ended: Ended, reason: str) -> Step:
    return Step(
        name=planned.name,
        check=planned.check,
        tool=planned.tool,
        context=planned.context,
        nodes=planned.nodes,
        command=tuple(words),
        ended=ended,
        reason=reason,
    )


def _ending(status: int, lost: dict[str, str], limit_s: float, stderr: Path) -> tuple[Ended, str]:
    """How a step ended, and why if not well."""
    if status == 0:
        return Ended.DONE, ""
    if lost:
        return Ended.NODE_LOST, "; ".join(f"{name} {why}" for name, why in sorted(lost.items()))
    with stderr.open(encoding="utf-8", errors="replace") as lines:
        if commands.was_stopped(status, lines):
            return Ended.TIMED_OUT, f"took longer than {limit_s:g} s and was stopped"
        lines.seek(0)
        told = _telling(lines)
    return Ended.FAILED, f"exit status {status}{_signal(status)}{': ' if told else ''}{told}"


def _signal(status: int) -> str:
    """The signal that a status stands for: one by SIGKILL may be short of memory, or somebody's doing."""
    try:
        return f" ({signal.Signals(status - _BY_SIGNAL).name})" if status > _BY_SIGNAL else ""
    except ValueError:
        return ""


def _telling(stderr: Iterable[str]) -> str:
    """The line that says most: srun's last ones only tell that it ended."""
    last = ""
    for line in stderr:
        last = line.strip() or last
        if _LAUNCH_FAILED in line:
            break
    return last[:_TAIL]


def _dark_ports(evidence: Evidence) -> frozenset[tuple[str, str, int]]:
    """Ports that the links check found without a carrier."""
    dark = set()
    for step in evidence.run.steps:
        if step.tool is not Tool.LINKS or step.stdout is None:
            continue
        text = (evidence.folder / step.stdout.path).read_text(encoding="utf-8", errors="replace")
        for reading in understood(step, text, evidence.run).readings:
            place = reading.context
            if reading.value is False and place.node and place.fabric and place.rail is not None:
                dark.add((place.node, place.fabric, place.rail))
    return frozenset(dark)
