"""Turn after turn: what Slurm wants of each slot against what EC2 has, and the steps between them.

Nothing is remembered that a restart would miss: a slot's step follows from Slurm and EC2 alone. What is
kept between turns only saves work, or says why something did not work.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwright.burst.decide import POWERING_UP, Step, step
from rackwright.burst.instances import PASSING
from rackwright.errors import RackwrightError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Protocol

    from rackwright.burst.instances import Instances
    from rackwright.burst.slurm import SlurmNode
    from rackwright.plan.observed import ObservedSlot
    from rackwright.spec.schedulers import BurstTimes

    class Scheduler(Protocol):
        """Slurm, as `slurm.Slurm` has it."""

        def nodes(self, names: Sequence[str]) -> dict[str, SlurmNode]:
            """Name → node."""

        def down(self, name: str, reason: str) -> None:
            """Take a node out of service."""

        def power_down(self, name: str) -> None:
            """Give a node back to power saving."""

    class Roles(Protocol):
        """Ansible, as `configure.Configurer` has it."""

        @property
        def at_work(self) -> set[str]:
            """Instances that are being configured."""

        def begin(self, seen: Mapping[str, ObservedSlot]) -> None:
            """Configure slots."""

        def ended(self) -> Iterable[tuple[Mapping[str, str], str]]:
            """Instances, by slot, of what is over, and why it failed."""


log = logging.getLogger("rackwright.burst")


@dataclass
class Worker:
    """All slots on demand of one scheduler.

    Args:
        slurm: what is wanted.
        pools: what there is.
        roles: what makes an instance a node.
        keys: host keys of instances, by slot, as far as their consoles have them.
        times: of the spec.
    """

    slurm: Scheduler
    pools: Sequence[Instances]
    roles: Roles
    keys: Callable[[Instances, Mapping[str, str]], Mapping[str, ObservedSlot]]
    times: BurstTimes
    now: Callable[[], float] = time.time
    _configured: dict[str, str] = field(default_factory=dict)
    """Slot → instance that the roles have been through."""
    _trouble: dict[str, str] = field(default_factory=dict)
    """Slot → why it did not come up the last time."""
    _told: dict[str, str] = field(default_factory=dict)
    """Pool → why it cannot be worked on, as it was told last."""
    _launched: dict[str, float] = field(default_factory=dict)

    def turn(self) -> bool:
        """Do what is next for every slot; returned is whether something is under way.

        A pool whose EC2 or Slurm cannot be asked is tried again in the next turn.
        """
        self._note_ended()
        return any([self._pool(pool) for pool in self.pools])  # noqa: C419 (every pool has its turn)

    def _pool(self, pool: Instances) -> bool:
        nodes: dict[str, SlurmNode] = {}
        try:
            nodes = self.slurm.nodes(sorted(pool.nodes))
            filling = pool.filling()
            steps = self._steps(nodes, filling)
            for kind, slots in steps.items():
                self._do(kind, pool, {slot: filling.get(slot, "") for slot in slots})
        except RackwrightError as error:
            self._tell(pool.ground.pool, nodes, error)
            return True
        self._told.pop(pool.ground.pool, None)
        awaited = [slot for slot, node in nodes.items() if POWERING_UP in node.states or slot in filling]
        return bool(awaited or steps)

    def _tell(self, pool: str, nodes: Mapping[str, SlurmNode], error: RackwrightError) -> None:
        """Once, however often it is tried; and to each node that waits, as its reason if it comes to that."""
        trouble = f"{error.code} {error.message}: {error.got}"
        if self._told.get(pool) != trouble:
            log.error("%s: %s; %s", pool, trouble, error.hint)
        self._told[pool] = trouble
        awaited = [slot for slot, node in nodes.items() if POWERING_UP in node.states]
        self._trouble |= dict.fromkeys(awaited, trouble)

    def _steps(self, nodes: Mapping[str, SlurmNode], filling: Mapping[str, str]) -> dict[Step, list[str]]:
        found: dict[Step, list[str]] = defaultdict(list)
        for slot, node in sorted(nodes.items()):
            kind = step(node, filled=slot in filling, now=self.now(), retry_after_s=self.times.retry_after_s)
            found[kind].append(slot)
        found.pop(Step.NOTHING, None)
        return found

    def _do(self, kind: Step, pool: Instances, slots: Mapping[str, str]) -> None:
        """One step of some slots.

        Args:
            kind: which.
            pool: theirs.
            slots: slot → its instance; empty where it has none.
        """
        match kind:
            case Step.LAUNCH:
                self._launch(pool, slots)
            case Step.CONFIGURE:
                self._configure(pool, slots)
            case Step.TERMINATE:
                self._terminate(pool, slots)
            case Step.UNREGISTERED:
                self._terminate(pool, {slot: one for slot, one in slots.items() if one})
                for slot, instance in slots.items():
                    self._down(slot, self._unregistered(slot, instance))
            case Step.LOST:
                for slot in slots:
                    self._down(slot, "its instance is gone, and was not terminated by Slurm")
            case Step.RETRY:
                for slot in slots:
                    log.info("%s: was down for %d s, is tried again", slot, self.times.retry_after_s)
                    self.slurm.power_down(slot)

    def _launch(self, pool: Instances, slots: Mapping[str, str]) -> None:
        failed = pool.launch(list(slots))
        for slot in slots.keys() - failed.keys():
            self._launched[slot] = self.now()
            log.info("%s: launched", slot)
        for slot, note in failed.items():
            self._trouble[slot] = f"{note.code} {note.cause}"
            if note.code in PASSING:
                log.warning("%s: %s %s; tried again", slot, note.code, note.cause)
            else:
                self._down(slot, self._trouble[slot])

    def _configure(self, pool: Instances, slots: Mapping[str, str]) -> None:
        """Those that are neither done nor in work, once their keys are known."""
        due = {
            slot: instance
            for slot, instance in slots.items()
            if self._configured.get(slot) != instance and instance not in self.roles.at_work
        }
        seen = self.keys(pool, due) if due else {}
        if seen:
            log.info("%s: configured from now on", ", ".join(sorted(seen)))
            self._configured |= {slot: due[slot] for slot in seen}
            self.roles.begin(seen)

    def _note_ended(self) -> None:
        """Of an instance that was terminated meanwhile nothing is told: its slot may have another one."""
        for instances, failed in self.roles.ended():
            there = [slot for slot, one in instances.items() if self._configured.get(slot) == one]
            for slot in there:
                if failed:
                    self._configured.pop(slot)
                    self._trouble[slot] = f"its roles failed: {failed}"
                    log.warning("%s: %s; tried again", slot, self._trouble[slot])
                else:
                    since = self._launched.pop(slot, None)
                    after = "" if since is None else f", {self.now() - since:.0f} s after its launch"
                    log.info("%s: configured%s", slot, after)
                    self._trouble.pop(slot, None)

    def _terminate(self, pool: Instances, slots: Mapping[str, str]) -> None:
        if slots:
            pool.terminate(list(slots))
        for slot, instance in slots.items():
            self._configured.pop(slot, None)
            log.info("%s: terminated %s", slot, instance)

    def _unregistered(self, slot: str, instance: str) -> str:
        within = f"did not register within {self.times.resume_within_s} s"
        still = instance in self.roles.at_work
        why = "its roles were still at work" if still else "its slurmd was never heard of"
        why = self._trouble.pop(slot, why)
        return f"{instance or 'no instance'} {within}: {why}"

    def _down(self, slot: str, reason: str) -> None:
        log.error("%s: down for %d s: %s", slot, self.times.retry_after_s, reason)
        self._trouble.pop(slot, None)
        self.slurm.down(slot, reason)
