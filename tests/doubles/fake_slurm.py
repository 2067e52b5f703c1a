"""A Slurm that answers as the real one does, as far as `validate` asks: nodes, jobs, allocations, steps."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from threading import Event
from typing import IO, TYPE_CHECKING

from ClusterShell.NodeSet import NodeSet  # type: ignore[import-untyped]  # (it has no types)

from rackwright.validate.ssh import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Outcome = tuple[int, str, str]
"""Exit status, stdout and stderr of a step."""


def _fine(name: str, nodes: Sequence[str]) -> Outcome:
    del name, nodes
    return 0, "", ""


@dataclass
class FakeSlurm:
    """Nodes with states and reasons, and other people's jobs.

    Args:
        nodes: name → states.
        reasons: name → reason of its state.
        others: node → (job, user) that has it.
        starts: whether a job that is asked for starts.
        before_start: called when one is asked for.
        before_cancel: called when one is cancelled; what it raises is what comes of it.
        cancels: whether slurmctld is there to cancel one.
        step: outcome of a step, by its name and nodes.
    """

    nodes: dict[str, tuple[str, ...]]
    reasons: dict[str, str] = field(default_factory=dict)
    others: dict[str, tuple[int, str]] = field(default_factory=dict)
    starts: bool = True
    before_start: Callable[[], None] = lambda: None
    before_cancel: Callable[[], None] = lambda: None
    cancels: bool = True
    step: Callable[[str, Sequence[str]], Outcome] = _fine
    asked: list[tuple[str, ...]] = field(default_factory=list)
    ran: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    """Name and nodes of each step, the questions whether a node answers left out."""
    job: str = ""
    """Name of our job, as long as it is there."""
    over: bool = False
    """Whether our job was cancelled: nothing runs in it any more."""
    given_up: Event = field(default_factory=Event)
    """Whether steps are waited for no more; one that hangs may wait for it."""

    name = "head-001"

    def ask(self, words: Sequence[str], within_s: float = 60.0) -> Answer:
        del within_s
        self.asked.append(tuple(words))
        program, *rest = _bare(words)
        status, stdout, stderr = {
            "scontrol": self._scontrol,
            "squeue": self._squeue,
            "salloc": self._salloc,
            "scancel": self._scancel,
            "srun": self._srun,
        }[program](rest)
        return Answer(status, stdout, stderr)

    def run(self, words: Sequence[str], stdout: IO[bytes], stderr: IO[bytes]) -> int:
        status, out, err = self._srun(_bare(words)[1:])
        stdout.write(out.encode())
        stderr.write(err.encode())
        return status

    def give_up(self) -> None:
        self.given_up.set()

    def commands(self, program: str) -> list[tuple[str, ...]]:
        """All that was asked of a program."""
        return [words for words in self.asked if _bare(words)[0] == program]

    def _scontrol(self, words: list[str]) -> Outcome:
        if words[0] == "update":
            for name in NodeSet(_option(words, "nodename")):
                self.nodes[name] = ("IDLE",)
            return 0, "", ""
        shown = [
            {"name": name, "state": list(state), "reason": self.reasons.get(name, ""), "cpus": 2}
            for name, state in self.nodes.items()
        ]
        return 0, json.dumps({"nodes": shown, "last_update": {}}), ""

    def _squeue(self, words: list[str]) -> Outcome:
        del words
        shown = [
            {"job_id": job, "job_state": ["RUNNING"], "user_name": user, "nodes": node}
            for node, (job, user) in self.others.items()
        ]
        return 0, json.dumps({"jobs": shown}), ""

    def _salloc(self, words: list[str]) -> Outcome:
        self.before_start()
        wanted = set(NodeSet(_option(words, "--nodelist")))
        launched = ("IDLE", "CLOUD", "POWERED_DOWN")  # for the job
        idle = {name for name, state in self.nodes.items() if state in (("IDLE",), launched)}
        usable = idle - self.others.keys()
        if not self.starts or wanted - usable:
            queued = "salloc: Required node not available (down, drained or reserved)\n"
            return (
                124,
                "",
                f"{queued}salloc: job 7 queued and waiting for resources\n",
            )
        self.job, self.over = _option(words, "--job-name"), False
        return 0, "", "salloc: Granted job allocation 7\nsalloc: Nodes are ready for job\n"

    def _scancel(self, words: list[str]) -> Outcome:
        self.before_cancel()
        if not self.cancels:
            return 1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"
        if _option(words, "--name") == self.job:
            self.job, self.over = "", True
        return 0, "", ""

    def _srun(self, words: list[str]) -> Outcome:
        nodes = tuple(NodeSet(_option(words, "--nodelist")))
        name = _option(words, "--job-name")
        if self.over:
            return 1, "", "srun: error: Unable to confirm allocation for job 7: Invalid job id specified\n"
        if name == "answer":
            gone = "DOWN" in self.nodes[nodes[0]]
            return (1, "", "srun: error: Unable to create step\n") if gone else (0, "", "")
        self.ran.append((name, nodes))
        return self.step(name, nodes)


def _bare(words: Sequence[str]) -> list[str]:
    """A command without what is before its program: sudo, env, timeout."""
    left = list(words)
    while left[0] in {"sudo", "env", "timeout"}:
        left = left[1:]
        while left[0].startswith("--") or "=" in left[0] or re.fullmatch(r"[0-9.]+", left[0]):
            left = left[1:]
    return left


def _option(words: Sequence[str], name: str) -> str:
    return next(word.partition("=")[2] for word in words if word.startswith(f"{name}="))
