"""All faults, by name; a new one is a class and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.lab.faults.cloud import NoCapacity, Throttled
from rackwright.lab.faults.line import LinkDown, MtuBlackHole
from rackwright.lab.faults.power import Kill
from rackwright.lab.faults.rails import CutRail, SlowRail
from rackwright.lab.faults.wrong_value import WrongValue

if TYPE_CHECKING:
    from rackwright.lab.faults.fault import Fault

FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        SlowRail(),
        CutRail(),
        WrongValue(),
        Kill(),
        LinkDown(),
        MtuBlackHole(),
        NoCapacity(),
        Throttled(),
    )
}
