"""Rules on fabrics: who may be on one, how fast, and who runs it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwright.catalogue.model import PortGroup
from rackwright.checks.pools import lost_pools
from rackwright.checks.registry import Breach, plan_rule, rule
from rackwright.findings import Level, SpecPath
from rackwright.plan.wiring import port_group
from rackwright.spec.fabrics import Efa, Ethernet, FatTree, InfiniBand, rate_gbps
from rackwright.spec.pools import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.checks.registry import PlanSubject, SpecSubject


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
            if isinstance(group, PortGroup) and group.rate_gbps != _nic_gbps(fabric):
                yield Breach(
                    at,
                    f"{fabric_name} and the NICs of {pool.platform} have different speeds",
                    got=f"{fabric.speed}, {_nic_gbps(fabric):g} Gb/s",
                    expected=f"{group.rate_gbps:g} Gb/s, the rate of {group.nic}",
                )


def _nic_gbps(fabric: InfiniBand | Ethernet) -> float:
    """What a NIC needs for its links: one to each plane."""
    planes = fabric.topology.planes if isinstance(fabric.topology, FatTree) else 1
    return rate_gbps(fabric) * planes


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


@plan_rule(
    "IB002",
    remedy="add the GUIDs of its ports as manager to `hca_guids` of its asset row, by name of the subnet",
    source="opensm(8), --guid: without one opensm takes the first port that is up, of whichever subnet",
)
def a_manager_of_several_subnets_knows_its_ports(subject: PlanSubject) -> Iterator[Breach]:
    """A delivered host that manages several subnets is told which of its ports is in which."""
    subnets: dict[str, list[tuple[str, bool]]] = {}
    for name, subnet in subject.plan.subnets.items():
        for manager in subnet.managers:
            subnets.setdefault(manager.slot, []).append((name, manager.guid is not None))
    for pool_name, pool in subject.plan.pools.items():
        for slot in pool.slots.values():
            managed = subnets.get(slot.name, [])
            untold = [name for name, told in managed if not told]
            if slot.asset is not None and len(managed) > 1 and untold:
                yield Breach(
                    SpecPath() / "pools" / pool_name,
                    f"{slot.name} cannot tell which of its ports is in {', '.join(untold)}",
                    got=f"{len(managed) - len(untold)} GUIDs of its ports as manager",
                    expected=f"{len(managed)}, one for each of {', '.join(name for name, _ in managed)}",
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


@rule(
    "FAB009",
    remedy="name a system that its switches run, or take `switches` away",
    source="the catalogue's entry of the switch, `systems`",
)
def switches_run_the_system_that_they_are_configured_for(subject: SpecSubject) -> Iterator[Breach]:
    """The switches of an Ethernet fat tree run the system that `switches.os` names."""
    for name, fabric in subject.spec.fabrics.items():
        if not isinstance(fabric, Ethernet) or fabric.switches is None:
            continue
        tree = fabric.topology if isinstance(fabric.topology, FatTree) else None
        entry = subject.catalogue.switches.get(tree.switch) if tree else None
        if entry is not None and fabric.switches.os not in (entry.systems or ()):
            yield Breach(
                SpecPath() / "fabrics" / name / "switches" / "os",
                f"nobody states that the {entry.title} runs {fabric.switches.os}",
                got=fabric.switches.os,
                expected=" or ".join(entry.systems) if entry.systems else f"nothing is known of {entry.name}",
            )
