"""How the kernel of a kind of host is set, every value with its source; weak sources are off by default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from rackwright.catalogue.model import Entry, Frozen, Group, leaves
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


class Settings(Frozen):
    """Settings of one host; one that is absent is left as the kernel has it."""

    cmdline: Mapping[str, Scalar] = {}
    """Words of the kernel's command line: IOMMU, ACS, isolation."""
    sysctl: Mapping[str, str | int] = {}
    limits: Mapping[Limit, Amount] = {}
    """Of logins and of daemons alike."""
    transparent_hugepages: HugePages | None = None
    hugepages: Mapping[PageSize, Annotated[int, Field(ge=0)]] = {}
    """Size → how many are reserved at boot."""
    governor: Governor | None = None
    cstate_latency_us: Annotated[int, Field(ge=0)] | None = None
    """Idle states that take longer to leave are not entered."""
    clocksource: ClockSource | None = None
    cgroup: CgroupVersion | None = None
    module_options: Mapping[str, Mapping[str, str | int]] = {}
    load_modules: tuple[str, ...] = ()
    block_modules: tuple[str, ...] = ()
    """Never loaded, and not in the initramfs either."""
    interrupts: Interrupts | None = None
    channels: Annotated[int, Field(ge=1)] | None = None
    """Queues of each network card on a rail (ethtool -L combined)."""
    rdma_arp: bool | None = None
    """Each interface of a rail answers for its own address alone, though all share a network."""


class Tuning(Entry):
    """Of one kind of host; platforms name it."""

    settings: Settings
    hypotheses: Mapping[Group, Settings] = {}
    """From weak sources: off, until a spec names them."""

    def figures(self) -> Iterator[tuple[str, object]]:
        """What is set; what is not is no statement."""
        plain = self.model_dump(include={"settings", "hypotheses"}, exclude_unset=True)
        return leaves(plain)


class Kernel(Entry):
    """What a release of the kernel knows."""

    sysctls: Annotated[tuple[str, ...], Field(min_length=1)]
    """``*`` stands for an interface, a device, a domain."""
