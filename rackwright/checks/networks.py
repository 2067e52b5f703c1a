"""Rules on address ranges and links."""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

from rackwright.checks.registry import Breach, rule
from rackwright.findings import Level, SpecPath
from rackwright.spec.fabrics import Ethernet
from rackwright.spec.sites import VPC_MTU, AwsSite, LinkKind, NewVpc, OnpremSite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.checks.registry import SpecSubject
    from rackwright.spec.cluster import ClusterSpec

VPN_MTU = 1446
"""Largest packet of an AWS Site-to-Site VPN tunnel, AES-GCM-16 without NAT-T; others carry less."""
_ROUTES = "an address has one route: RFC 4632 §5.1, longest match"


class _Range(NamedTuple):
    """An address range of a site, and what it is."""

    what: str
    path: SpecPath
    network: IPv4Network


@rule("NET001", remedy="give one of them a range of its own", source=_ROUTES)
def ranges_of_a_site_do_not_overlap(subject: SpecSubject) -> Iterator[Breach]:
    """No two address ranges of a site overlap, those of its fabrics included."""
    for name in subject.spec.sites:
        for first, second in combinations(_ranges(subject.spec, name), 2):
            yield from _overlap(first, second)


@rule("NET002", remedy="give one of them a range of its own, or take the link away", source=_ROUTES)
def ranges_of_linked_sites_do_not_overlap(subject: SpecSubject) -> Iterator[Breach]:
    """No address range of a site overlaps one of a site it is linked to."""
    for link in subject.spec.links.values():
        here, there = (list(_ranges(subject.spec, site)) for site in link.between)
        if link.between[0] != link.between[1]:
            for first, second in product(here, there):
                if first.path != second.path:
                    yield from _overlap(first, second)


def _overlap(first: _Range, second: _Range) -> Iterator[Breach]:
    if first.network.overlaps(second.network):
        yield Breach(
            second.path,
            f"{second.what} overlaps {first.what}",
            got=f"{second.network}, where {first.what} is {first.network}",
            expected="ranges that have no address in common",
        )


def _ranges(spec: ClusterSpec, site_name: str) -> Iterator[_Range]:
    site = spec.sites.get(site_name)
    at = SpecPath() / "sites" / site_name
    if isinstance(site, OnpremSite):
        for name, network in site.networks.items():
            what = f"network {name} of {site_name}"
            yield _Range(what, at / "networks" / name / "cidr", IPv4Network(network.cidr))
    if isinstance(site, AwsSite) and isinstance(site.vpc, NewVpc):
        for index, cidr in enumerate(site.vpc.cidrs):
            what = f"range {index + 1} of the VPC of {site_name}"
            yield _Range(what, at / "vpc" / "cidrs" / index, IPv4Network(cidr))
    for name, fabric in spec.fabrics.items():
        users = (pool for pool in spec.pools.values() if name in pool.fabrics)
        if isinstance(fabric, Ethernet) and fabric.cidr and any(pool.site == site_name for pool in users):
            yield _Range(f"fabric {name}", SpecPath() / "fabrics" / name / "cidr", IPv4Network(fabric.cidr))


@rule("LINK001", remedy="name two sites", source="a link is a routed path between two sites")
def links_join_two_sites(subject: SpecSubject) -> Iterator[Breach]:
    """A link joins two different sites."""
    for name, link in subject.spec.links.items():
        if link.between[0] == link.between[1]:
            yield Breach(
                SpecPath() / "links" / name / "between",
                f"link {name} begins and ends in {link.between[0]}",
                got=" and ".join(link.between),
                expected="two sites",
            )


@rule(
    "LINK002",
    level=Level.WARNING,
    remedy="lower the link's mtu; hosts behind it would send packets that their own network drops",
    source="EC2 User Guide, network MTU",
)
def links_carry_no_more_than_their_ends(subject: SpecSubject) -> Iterator[Breach]:
    """A link's MTU is no larger than the largest of the networks at each end."""
    for name, link in subject.spec.links.items():
        for end in link.between:
            most = _largest_mtu(subject.spec, end)
            if most is not None and link.mtu > most:
                yield Breach(
                    SpecPath() / "links" / name / "mtu",
                    f"link {name} takes larger packets than any network of {end}",
                    got=f"{link.mtu} bytes",
                    expected=f"at most {most} bytes",
                )


def _largest_mtu(spec: ClusterSpec, name: str) -> int | None:
    """Bytes; None for a site that is not there."""
    site = spec.sites.get(name)
    if isinstance(site, OnpremSite):
        return max((network.mtu for network in site.networks.values()), default=None)
    return VPC_MTU if isinstance(site, AwsSite) else None


@rule(
    "LINK003",
    level=Level.WARNING,
    remedy=f"lower the link's mtu to {VPN_MTU}, or to 1400 where the tunnel's algorithms are not known",
    source="AWS Site-to-Site VPN User Guide, best practices: MTU and MSS",
)
def vpn_links_fit_their_tunnel(subject: SpecSubject) -> Iterator[Breach]:
    """A VPN to AWS carries packets of at most 1446 bytes."""
    for name, link in subject.spec.links.items():
        cloud = any(isinstance(subject.spec.sites.get(end), AwsSite) for end in link.between)
        if link.via is LinkKind.VPN and cloud and link.mtu > VPN_MTU:
            yield Breach(
                SpecPath() / "links" / name / "mtu",
                f"link {name} promises larger packets than its tunnel carries",
                got=f"{link.mtu} bytes",
                expected=f"at most {VPN_MTU} bytes",
            )
