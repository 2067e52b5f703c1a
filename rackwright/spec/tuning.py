"""What a pool sets of its hosts' kernels, on top of what the catalogue says of their platform."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rackwright.kernel import (
    Amount,
    CgroupVersion,
    ClockSource,
    Governor,
    HugePages,
    Interrupts,
    Limit,
    PageSize,
    Scalar,
)
from rackwright.spec.base import Model, Name, rolling

_LIVE = "written to the hosts and set at once"
_BOOT = "kernel command line, after a drained reboot"
_MODULE = "read when the module is loaded: live after a drained reboot"


class Tuning(Model):
    """Settings on top of the platform's own; a key of a map goes before the platform's key of that name."""

    sysctl: Annotated[dict[str, str | int], rolling(_LIVE)] = {}
    cmdline: Annotated[dict[str, Scalar], rolling(_BOOT)] = {}
    """Words of the kernel's command line; true is the bare word."""
    limits: Annotated[dict[Limit, Amount], rolling("of processes that start from then on")] = {}
    """Of logins and of daemons alike, in the units of limits.conf(5): core, memlock and stack are KiB."""
    transparent_hugepages: Annotated[HugePages | None, rolling(_LIVE)] = None
    hugepages: Annotated[dict[PageSize, Annotated[int, Field(ge=0)]], rolling(_BOOT)] = {}
    """Size → how many are reserved at boot."""
    governor: Annotated[Governor | None, rolling(_LIVE)] = None
    cstate_latency_us: Annotated[int | None, Field(ge=0), rolling(_LIVE)] = None
    """Idle states that take longer to leave are not entered, microseconds."""
    clocksource: Annotated[ClockSource | None, rolling(_LIVE)] = None
    cgroup: Annotated[CgroupVersion | None, rolling(_BOOT)] = None
    module_options: Annotated[dict[str, dict[str, str | int]], rolling(_MODULE)] = {}
    load_modules: Annotated[list[str], rolling(_LIVE)] = []
    """Beside the platform's."""
    block_modules: Annotated[list[str], rolling(_MODULE)] = []
    """Beside the platform's: never loaded."""
    interrupts: Annotated[Interrupts | None, rolling(_LIVE)] = None
    """Of network cards."""
    channels: Annotated[int | None, Field(ge=1), rolling(_LIVE)] = None
    """Queues of each network card on a rail."""
    rdma_arp: Annotated[bool | None, rolling(_LIVE)] = None
    """Each interface of a rail answers for its own address alone."""
    hypotheses: Annotated[list[Name], rolling(_BOOT)] = []
    """Settings of the platform that only weak sources have, and that are to be used nevertheless."""
    without: Annotated[list[str], rolling(_BOOT)] = []
    """The platform's settings that are not wanted: ``governor``, ``sysctl.vm.swappiness``."""
