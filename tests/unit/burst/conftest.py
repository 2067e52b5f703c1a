"""A pool with one slot on demand in an emulated zone, and a Slurm and roles that are values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from rackwright.burst.instances import Instances
from rackwright.burst.slurm import OURS, SlurmNode
from rackwright.burst.worker import Worker
from rackwright.plan.observed import HostKey, ObservedSlot
from rackwright.spec.schedulers import BurstTimes
from tests.unit.provision.aws.conftest import cloud, pool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.doubles.ec2 import Cloud
    from tests.unit.provision.aws.conftest import Pool

__all__ = ["cloud", "pool"]

SLOT = "cnode-002"
"""The one on demand; cnode-001 is always filled."""


@dataclass
class Scheduler:
    """Nodes with the states that a test gives them."""

    states: dict[str, str] = field(default_factory=lambda: {SLOT: "IDLE+CLOUD+POWERED_DOWN"})
    reasons: dict[str, tuple[str, int]] = field(default_factory=dict)
    clock: int = 1000
    given_back: list[str] = field(default_factory=list)

    def nodes(self, names: Sequence[str]) -> dict[str, SlurmNode]:
        return {
            name: SlurmNode(frozenset(states.split("+")), *self.reasons.get(name, ("", 0)))
            for name, states in self.states.items()
            if name in names
        }

    def down(self, name: str, reason: str) -> None:
        self.states[name] = "DOWN+CLOUD"
        self.reasons[name] = (OURS + reason, self.clock)

    def power_down(self, name: str) -> None:
        self.states[name] = "IDLE+CLOUD+POWERED_DOWN"
        self.given_back.append(name)


@dataclass
class Roles:
    """Runs of Ansible that end as a test says."""

    running: dict[str, str] = field(default_factory=dict)
    begun: list[dict[str, str]] = field(default_factory=list)
    over: list[tuple[dict[str, str], str]] = field(default_factory=list)

    @property
    def at_work(self) -> set[str]:
        return set(self.running.values())

    def begin(self, seen: Mapping[str, ObservedSlot]) -> None:
        self.begun.append({slot: one.instance for slot, one in seen.items()})
        self.running |= self.begun[-1]

    def end(self, said: str = "") -> None:
        self.finish(self.running, said)
        self.running = {}

    def finish(self, instances: dict[str, str], said: str) -> None:
        self.over.append((instances, said))

    def ended(self) -> list[tuple[dict[str, str], str]]:
        over, self.over = self.over, []
        return over


@dataclass
class Site:
    """All of it."""

    pool: Pool
    slurm: Scheduler
    roles: Roles
    printed: dict[str, bool] = field(default_factory=dict)
    """Instance → whether its keys are on its console; they are unless a test says otherwise."""

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """As a daemon that knows nothing of what was before."""
        wanted = self.pool.wanted
        nodes = {slot: node for slot, node in wanted.nodes.items() if node.burst}
        self.worker = Worker(
            self.slurm,
            [Instances(wanted, nodes, self.pool.means)],
            self.roles,
            self._keys,
            BurstTimes(retry_after_s=600, resume_within_s=900),
            now=lambda: self.slurm.clock,
        )

    def _keys(self, pool: Instances, due: Mapping[str, str]) -> dict[str, ObservedSlot]:
        assert pool.ground.pool == self.pool.wanted.pool
        return {
            slot: ObservedSlot(host_keys=(HostKey(type="ssh-ed25519", key="AAAA"),), instance=one)
            for slot, one in due.items()
            if self.printed.get(one, True)
        }

    def instance(self) -> str:
        return self.pool.there().get(SLOT, "")

    def reason(self) -> str:
        return self.slurm.reasons[SLOT][0]


@pytest.fixture
def site(pool: Pool, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Site:
    for name, value in cloud.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    pool.static, pool.burst = 1, 1
    pool.up()
    return Site(pool, Scheduler(), Roles())
