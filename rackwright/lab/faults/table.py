"""All faults, by name; a new one is a class and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.lab.faults.bmc import BmcCertificate, BmcPassword
from rackwright.lab.faults.cloud import NoCapacity, Throttled
from rackwright.lab.faults.hardware import FullDisk, ReadOnlyDisk, SlowCpu
from rackwright.lab.faults.line import LinkDown, MtuBlackHole
from rackwright.lab.faults.packets import BmcSilent, LossyRail, NoSsh
from rackwright.lab.faults.power import Kill
from rackwright.lab.faults.preloads import ClockAhead, HungRank, WrongValue
from rackwright.lab.faults.rails import CutRail, SlowRail
from rackwright.lab.faults.services import ControllerKilled, DatabaseDown, MungeKey

if TYPE_CHECKING:
    from rackwright.lab.faults.fault import Fault

FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        SlowRail(),
        CutRail(),
        LossyRail(),
        SlowCpu(),
        WrongValue(),
        ClockAhead(),
        HungRank(),
        FullDisk(),
        ReadOnlyDisk(),
        MungeKey(),
        Kill(),
        NoSsh(),
        DatabaseDown(),
        ControllerKilled(),
        BmcPassword(),
        BmcCertificate(),
        BmcSilent(),
        LinkDown(),
        MtuBlackHole(),
        NoCapacity(),
        Throttled(),
    )
}
