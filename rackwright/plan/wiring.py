"""Which port of a platform goes to which rail of which fabric, and each rail's addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.findings import Finding, SpecPath
from rackwright.plan import faults
from rackwright.plan.addresses import AddressRange, power_of_two
from rackwright.spec.fabrics import Efa, Ethernet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwright.catalogue.model import Platform, PortGroup
    from rackwright.spec.cluster import ClusterSpec
    from rackwright.spec.fabrics import Fabric
    from rackwright.spec.pools import FabricUse

SMALLEST = 27
"""Prefix length of the smallest network that holds a slot beside the 16 reserved addresses."""
_IDENTITY = "addresses of a slot are its identity (docs/decisions/0003)"


@dataclass(frozen=True, slots=True)
class Cabled:
    """The ports of a pool's nodes on one fabric; port n is on rail n."""

    fabric: str
    interfaces: tuple[str | None, ...]
    """None where the catalogue does not name the port."""


def cabled(spec: ClusterSpec, name: str, platform: Platform) -> tuple[list[Cabled], list[Finding]]:
    """The cabled fabrics of one pool, by name; what cannot be decided is a finding.

    An EFA fabric has no cables: AWS runs it, and the NIC plan is the platform's.
    """
    wired: list[Cabled] = []
    findings: list[Finding] = []
    pool = spec.pools[name]
    for fabric_name, use in sorted(pool.fabrics.items()):
        fabric = spec.fabrics[fabric_name]
        if isinstance(fabric, Efa):
            continue
        at = SpecPath() / "pools" / name / "fabrics" / fabric_name
        answer = _ports(at, fabric_name, fabric, use, platform)
        if isinstance(answer, Finding):
            findings.append(answer)
        else:
            wired.append(Cabled(fabric_name, answer))
    return wired, findings


def _ports(
    at: SpecPath, name: str, fabric: Fabric, use: FabricUse, platform: Platform
) -> tuple[str | None, ...] | Finding:
    group = port_group(at, name, use, platform)
    if isinstance(group, Finding):
        return group
    if fabric.kind not in group.kinds:
        return Finding(
            code=faults.PORTS_SPEAK_OTHERWISE,
            message=f"the ports of {platform.name} do not speak {fabric.kind}",
            path=at,
            got=fabric.kind,
            expected=" or ".join(group.kinds),
            hint="choose another platform or another kind of fabric",
        )
    nics = group.count if use.nics is None else use.nics
    if nics > group.count:
        return Finding(
            code=faults.PORTS_TOO_FEW,
            message=f"{platform.name} has fewer ports for this fabric",
            path=at / "nics",
            got=str(nics),
            expected=f"at most {group.count}",
            hint="leave `nics` out for all that there are",
        )
    return (group.interfaces or (None,) * group.count)[:nics]


def port_group(at: SpecPath, name: str, use: FabricUse, platform: Platform) -> PortGroup | Finding:
    """The ports of a platform that go to a fabric, or why that is not clear.

    Args:
        at: where the spec puts the pool on the fabric.
        name: of the fabric.
        use: what the spec says of it there.
        platform: of the pool.
    """
    wanted = use.ports or (
        name if name in platform.ports or len(platform.ports) != 1 else next(iter(platform.ports))
    )
    if wanted in platform.ports:
        return platform.ports[wanted]
    known = ", ".join(sorted(platform.ports)) or "none"
    return Finding(
        code=faults.PORTS_UNCLEAR,
        message=f"it is not clear which ports of {platform.name} go to fabric {name}",
        path=at / "ports" if use.ports else at,
        got=wanted,
        expected=f"one of the platform's groups of ports: {known}",
        hint=f"name one: `{name}: {{ports: …}}`; see `rackwright catalogue show {platform.name}`",
    )


def rails(
    spec: ClusterSpec, wiring: Mapping[str, Sequence[Cabled]], locked: Mapping[str, int]
) -> tuple[dict[str, int], list[Finding]]:
    """Into how many networks each fabric's address range is split.

    Decided once: a split that grew would give every slot on the fabric another address.
    """
    split: dict[str, int] = {}
    findings: list[Finding] = []
    for name, fabric in sorted(spec.fabrics.items()):
        if not isinstance(fabric, Ethernet) or fabric.cidr is None:
            continue
        needed = max((len(use.interfaces) for use in _uses(wiring, name)), default=0)
        if needed == 0:
            continue
        split[name] = locked.get(name, power_of_two(needed))
        if needed > split[name]:
            findings.append(_more_rails(name, needed, split[name]))
        elif AddressRange.of(fabric.cidr).prefix + split[name].bit_length() - 1 > SMALLEST:
            findings.append(_too_small(name, fabric.cidr, split[name]))
    return split, findings


def _uses(wiring: Mapping[str, Sequence[Cabled]], fabric: str) -> Iterator[Cabled]:
    return (use for uses in wiring.values() for use in uses if use.fabric == fabric)


def _more_rails(name: str, needed: int, split: int) -> Finding:
    return Finding(
        code=faults.MORE_RAILS,
        message=f"fabric {name} was laid out for {split} rails; more would move the addresses of its slots",
        path=SpecPath() / "fabrics" / name / "cidr",
        got=f"{needed} rails",
        expected=f"at most {split}",
        hint="give the further NICs a fabric of their own",
        source=_IDENTITY,
    )


def _too_small(name: str, cidr: str, split: int) -> Finding:
    return Finding(
        code=faults.FABRIC_TOO_SMALL,
        message=f"the address range of fabric {name} cannot be split into {split} networks",
        path=SpecPath() / "fabrics" / name / "cidr",
        got=cidr,
        expected=f"a range that leaves a /{SMALLEST} or larger for each rail",
    )


def networks(spec: ClusterSpec, split: Mapping[str, int]) -> dict[str, tuple[AddressRange, ...]]:
    """Fabric → the network of each rail."""
    found: dict[str, tuple[AddressRange, ...]] = {}
    for name, count in split.items():
        fabric = spec.fabrics[name]
        if isinstance(fabric, Ethernet) and fabric.cidr is not None:
            found[name] = AddressRange.of(fabric.cidr).split(count)
    return found


def crowded(spec: ClusterSpec, split: Mapping[str, int], last: Mapping[str, int]) -> Iterator[Finding]:
    """Fabrics whose rails have fewer addresses than their slots need.

    Args:
        spec: the cluster.
        split: fabric → number of rail networks.
        last: fabric → highest index of a slot on it.
    """
    for name, ranges in networks(spec, split).items():
        if last[name] >= ranges[0].capacity:
            yield Finding(
                code=faults.FABRIC_TOO_SMALL,
                message=f"the rails of fabric {name} have too few addresses",
                path=SpecPath() / "fabrics" / name / "cidr",
                got=f"{len(ranges)} networks of {ranges[0].capacity} addresses",
                expected=f"{last[name] + 1} in each: a slot's address follows its index in the site",
                hint="give the fabric a larger range",
            )


def one_site_each(spec: ClusterSpec) -> Iterator[Finding]:
    """Cables and addresses end at the walls of a site; only EFA is by name the same in two zones."""
    sites: dict[str, dict[str, str]] = {}
    for name, pool in sorted(spec.pools.items()):
        for fabric in pool.fabrics:
            if not isinstance(spec.fabrics[fabric], Efa):
                sites.setdefault(fabric, {}).setdefault(pool.site, name)
    for fabric, users in sorted(sites.items()):
        if len(users) > 1:
            yield _two_sites(fabric, users)


def _two_sites(fabric: str, users: Mapping[str, str]) -> Finding:
    (_, _), (second_site, second_pool), *_ = users.items()
    return Finding(
        code=faults.FABRIC_IN_TWO_SITES,
        message=f"fabric {fabric} is used in several sites",
        path=SpecPath() / "pools" / second_pool / "fabrics" / fabric,
        got=f"sites {', '.join(users)}",
        expected="one site",
        hint=f"give {second_site} a fabric of its own",
    )
