"""A host whose power is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit
from rackwright.lab.faults.fault import Fault
from rackwright.lab.faults.subjects import SubjectKind
from rackwright.lab.hosts import State

if TYPE_CHECKING:
    from rackwright.lab.faults.fault import Planted, Stage


class Kill(Fault):
    """Power lost in the middle of the work, and not by its BMC; the BMC itself goes on."""

    name = "kill"
    kind = SubjectKind.HOST
    does = "power lost; the host stays off until it is switched on, and `clear` does so"
    shows = "ERROR of that node and its rails: it could not be measured"

    def prepare(self, stage: Stage, subject: str) -> Planted:
        """Only what is on can lose its power, and is switched on again when that is cleared."""
        if stage.hosts.state(subject) is State.OFF:
            raise EnvironmentUnfit(
                "a host that is off has no power to lose",
                code="LAB020",
                where=subject,
                got=State.OFF,
                expected=f"{State.ON} or {State.BOOTING}",
            )
        return super().prepare(stage, subject)

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Pull the plug."""
        stage.hosts.off(planted.subject)

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Switch it on."""
        stage.hosts.on(planted.subject)

    def repair(self, stage: Stage, planted: Planted) -> None:
        """Nothing: a host that somebody has switched on since is not killed again."""

    def is_over(self, stage: Stage, subject: str) -> bool:
        """Whether it was switched on since."""
        return stage.hosts.state(subject) is not State.OFF
