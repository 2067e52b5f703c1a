"""Rules on fabrics: who may be on one, how fast, and who runs it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwright.catalogue.model import PortGroup
from rackwright.checks.pools import lost_pools, pools_in
from rackwright.checks.registry import Breach, rule
from rackwright.findings import Level, SpecPath
from rackwright.plan.wiring import port_group
from rackwright.spec.fabrics import Efa, InfiniBand, rate_gbps
from rackwright.spec.pools import Role
from rackwright.spec.sites import AwsSite, OnpremSite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.checks.registry import SpecSubject
    from rackwright.spec.pools import FabricUse, Pool

_EFA = "EC2 User Guide, EFA: supported instance types; facts/aws.md §3.1"


def _efa_uses(subject: SpecSubject, pool_name: str, pool: Pool) -> Iterator[tuple[SpecPath, FabricUse]]:
    for name, use in pool.fabrics.items():
        if isinstance(subject.spec.fabrics.get(name), Efa):
            yield SpecPath() / "pools" / pool_name / "fabrics" / name, use


def _efa_interfaces(subject: SpecSubject, pool: Pool) -> int | None:
    """EFA interfaces of a pool's platform; None where the platform is not known."""
    platform = subject.catalogue.platforms.get(pool.platform)
    if platform is None:
        return None
    return platform.network_cards.efa_interfaces if platform.network_cards else 0


@rule("EFA001", remedy="choose a platform with EFA, or take the pool off the fabric", source=_EFA)
def efa_needs_a_platform_with_efa(subject: SpecSubject) -> Iterator[Breach]:
    """A pool on an EFA fabric has a platform with EFA interfaces."""
    for name, pool in pools_in(subject, AwsSite):
        for at, _ in _efa_uses(subject, name, pool):
            if _efa_interfaces(subject, pool) == 0:
                platforms = subject.catalogue.platforms.values()
                able = [
                    one.name for one in platforms if one.network_cards and one.network_cards.efa_interfaces
                ]
                yield Breach(
                    at,
                    f"{pool.platform} has no EFA interface",
                    got=pool.platform,
                    expected=f"a platform with EFA: {', '.join(able)}",
                )


@rule("EFA002", remedy="use an InfiniBand or Ethernet fabric in a hall", source=_EFA)
def efa_is_in_the_cloud(subject: SpecSubject) -> Iterator[Breach]:
    """An EFA fabric is in AWS: no on-prem pool is on one."""
    for name, pool in pools_in(subject, OnpremSite):
        for at, _ in _efa_uses(subject, name, pool):
            yield Breach(
                at,
                f"pool {name} stands in {pool.site}, and EFA is only in AWS",
                got="an EFA fabric on-prem",
                expected="a fabric of kind infiniband or ethernet",
            )


@rule("EFA003", remedy="leave `nics` out for all that there are", source=_EFA)
def efa_interfaces_are_there(subject: SpecSubject) -> Iterator[Breach]:
    """A pool asks for no more EFA interfaces than its platform has."""
    for name, pool in pools_in(subject, AwsSite):
        most = _efa_interfaces(subject, pool)
        for at, use in _efa_uses(subject, name, pool):
            if most and use.nics is not None and use.nics > most:
                yield Breach(
                    at / "nics",
                    f"{pool.platform} has fewer EFA interfaces",
                    got=str(use.nics),
                    expected=f"at most {most}",
                )


@rule(
    "FAB003",
    level=Level.WARNING,
    remedy="state the speed that both ends have; the link takes the lower one",
    source="link training: both ends of a link settle on the highest rate they share",
)
def fabrics_run_at_the_speed_of_their_nics(subject: SpecSubject) -> Iterator[Breach]:
    """The NICs of every pool on a fabric have the speed of the fabric."""
    for name, pool in subject.spec.pools.items():
        platform = subject.catalogue.platforms.get(pool.platform)
        for fabric_name, use in pool.fabrics.items():
            fabric = subject.spec.fabrics.get(fabric_name)
            if platform is None or fabric is None or isinstance(fabric, Efa):
                continue
            at = SpecPath() / "pools" / name / "fabrics" / fabric_name
            group = port_group(at, fabric_name, use, platform)
            if isinstance(group, PortGroup) and group.rate_gbps != rate_gbps(fabric):
                yield Breach(
                    at,
                    f"{fabric_name} and the NICs of {pool.platform} have different speeds",
                    got=f"{fabric.speed}, {rate_gbps(fabric):g} Gb/s",
                    expected=f"{group.rate_gbps:g} Gb/s, the rate of {group.nic}",
                )


@rule(
    "IB001",
    remedy="give the role to a pool of the fabric's site, two nodes for a standby, or use ufm",
    source="InfiniBand Architecture Specification, volume 1, chapter 14: each subnet has a master manager",
)
def opensm_has_a_host(subject: SpecSubject) -> Iterator[Breach]:
    """An InfiniBand fabric that opensm manages has a pool with the role subnet-manager in its site."""
    for name, fabric in subject.spec.fabrics.items():
        if not isinstance(fabric, InfiniBand) or fabric.manager.kind != "opensm":
            continue
        sites = {pool.site for pool in subject.spec.pools.values() if name in pool.fabrics}
        hosts = (pool for pool in subject.spec.pools.values() if Role.SUBNET_MANAGER in pool.roles)
        if sites and not any(pool.site in sites for pool in hosts) and not any(lost_pools(subject)):
            yield Breach(
                SpecPath() / "fabrics" / name / "manager",
                f"nobody runs the subnet manager of {name}",
                got=f"no pool of {', '.join(sorted(sites))} has the role subnet-manager",
                expected="one at least",
            )


@rule(
    "FAB002",
    level=Level.WARNING,
    remedy="put a pool on it, or take it away",
    source="a fabric without nodes is planned as nothing",
)
def fabrics_are_used(subject: SpecSubject) -> Iterator[Breach]:
    """A fabric has a pool on it."""
    used = {name for pool in subject.spec.pools.values() for name in pool.fabrics}
    if used - subject.spec.fabrics.keys():
        return  # one of the names that lead nowhere may mean this one
    for name in subject.spec.fabrics:
        if name not in used:
            yield Breach(
                SpecPath() / "fabrics" / name,
                f"no pool is on fabric {name}",
                got="no pool",
                expected="one at least",
            )


_DEVICES = re.compile(r"(?:p[1-8]-)?(?:leaf|spine|core|rail)|manager")
"""What a switch or manager is called after its fabric: ``compute-p2-leaf``."""


@rule(
    "FAB008",
    remedy="give the pool another name",
    source="plan.fabric.cables: switches are named as slots are, by what they belong to and a number",
)
def pools_are_not_called_as_switches_are(subject: SpecSubject) -> Iterator[Breach]:
    """No pool's name is one that the switches of a fabric have."""
    for name in subject.spec.pools:
        for fabric in subject.spec.fabrics:
            if name.startswith(f"{fabric}-") and _DEVICES.fullmatch(name.removeprefix(f"{fabric}-")):
                yield Breach(
                    SpecPath() / "pools" / name,
                    f"the nodes of pool {name} would be called as switches of fabric {fabric} are",
                    got=name,
                    expected="a name that does not begin with a fabric's and end with a tier's",
                )
