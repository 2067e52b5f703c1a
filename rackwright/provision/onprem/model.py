"""What passes between the stack, the engine's state and the reconciler: wanted and found hosts.

Both are flat and hold no secret: they lie in the engine's state as they are here.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from rackwright.plan.model import BmcPlan, HostPlan, OnpremStack
from rackwright.provision.notes import FailureNote  # noqa: TC001 (pydantic reads annotations at run time)
from rackwright.spec.base import Model

HOST_SET = "rackwright:onprem:HostSet"
"""Type of the resource."""

Power: TypeAlias = Literal["on", "off", "held", "unknown"]
"""Wanted: ``on``, or ``held`` where it is not touched. Found: also ``off``, or ``unknown``
where the machine could not be read or is not the one the plan means."""


class WantedHost(HostPlan):
    """One host as the plan wants it, and its power."""

    power: Power


class FoundHost(WantedHost):
    """One host as it was last found."""

    found_serial: str = ""
    """As read from the machine; empty where it was not."""
    failure: FailureNote | None = None


class WantedSet(Model):
    """Inputs of a HostSet."""

    site: str
    pool: str
    bmc: BmcPlan
    hosts: dict[str, WantedHost]


class FoundSet(Model):
    """State of a HostSet: per slot, so that what was done is kept when another host fails."""

    site: str
    pool: str
    bmc: BmcPlan
    hosts: dict[str, FoundHost]


def wanted_host(host: HostPlan) -> WantedHost:
    """A host of the plan with the power it wants."""
    return WantedHost(**host.model_dump(), power="held" if host.held else "on")


def wanted_set(stack: OnpremStack, name: str) -> WantedSet:
    """One host set of a stack's slice."""
    host_set = stack.host_sets[name]
    hosts = {slot: wanted_host(host) for slot, host in host_set.hosts.items()}
    return WantedSet(site=stack.site, pool=host_set.pool, bmc=stack.bmc, hosts=hosts)
