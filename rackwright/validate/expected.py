"""Plan and catalogue in, `Expectations` out: what one may ask of these nodes, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.catalogue.model import Check
from rackwright.errors import UsageError
from rackwright.spec.fabrics import Ethernet, InfiniBand, InfiniBandSpeed
from rackwright.validate import ceilings
from rackwright.validate.busbw import COLLECTIVES, bound
from rackwright.validate.expectations import Expectation, Expectations, Key, Provenance
from rackwright.validate.limits import of_state, way_of
from rackwright.validate.model import Unit
from rackwright.validate.published import of_accelerators

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rackwright.catalogue.load import Catalogue
    from rackwright.catalogue.model import NetworkCards, Platform
    from rackwright.plan.model import Plan
    from rackwright.spec.fabrics import Fabric
    from rackwright.validate.expectations import Ceiling

_INFINIBAND_MBIT = {InfiniBandSpeed.HDR: 2e5, InfiniBandSpeed.NDR: 4e5, InfiniBandSpeed.XDR: 8e5}
_ETHERNET = re.compile(r"([0-9]+)([mg])")
_ETHERNET_MBIT = {"m": 1, "g": 1000}
_MBIT_A_GBIT = 1000
LEAST_OF_PUBLISHED = 0.7
"""A gate below this share of what healthy machines reached lets half-broken ones pass (docs/verdict.md)."""
_ALL_RAILS = "all_rails"
"""In ``line_rate_share``: factor for measurements over several rails at once."""
_TWO_RANKS = "two_ranks"
"""There too: factor for collectives of two, which send and receive over one and the same connection."""


@dataclass(frozen=True, slots=True)
class Links:
    """The links of some equal nodes to one fabric."""

    fabric: str
    rails: int
    """Of each node."""
    mbit_s: float
    """Planned rate of one."""
    platform: Platform


_DEFINED = (
    (Check.LINKS, "carrier", Unit.YES_NO, 1, None, "a cabled port has a carrier"),
    (
        Check.LINK,
        "black_hole",
        Unit.YES_NO,
        None,
        0,
        "who sends a packet that is too big is told so (RFC 1191)",
    ),
    (Check.MATRIX, "wrong", Unit.COUNT, None, 0, "every product passes its own verification"),
    (Check.MATRIX, "mismatches", Unit.COUNT, None, 0, "equal inputs give equal bytes"),
    (Check.MEMORY, "failures", Unit.COUNT, None, 0, "memory holds what was written to it"),
    (Check.DISK, "verify_errors", Unit.COUNT, None, 0, "a disk gives back what was written to it"),
    (Check.COLLECTIVES, "wrong", Unit.COUNT, None, 0, "every element of every result is as computed"),
    (Check.NCCL_TESTS, "wrong", Unit.COUNT, None, 0, "every element of every result is as computed"),
)
_CLOCK = Expectation(
    key=Key(name="offset", check=Check.CLOCK),
    unit=Unit.SECONDS,
    at_most=0.128,
    nominal=0,
    provenance=Provenance.PUBLISHED,
    source="RFC 5905, appendix A.1.1, STEPT: NTP takes a greater offset for a fault and steps",
)


def expectations(
    plan: Plan, catalogue: Catalogue, nodes: Iterable[str], jobs: Iterable[Iterable[str]] = ()
) -> Expectations:
    """All that may be asked of these slots; where no source gives a figure there is none.

    Args:
        plan: of the cluster.
        catalogue: with its platforms.
        nodes: the slots.
        jobs: those of them that exchange data with each other; all of them where nothing is said.

    Raises:
        UsageError: a figure of the catalogue makes a gate that nothing reaches, or that lets
            half-broken machines pass.
    """
    wanted = sorted(set(nodes))
    links = list(_links(plan, catalogue, wanted))
    found = [*_defined(), _CLOCK, *_link_mtus(plan, wanted)]
    for fabric in sorted({link.fabric for link in links}):
        found += _of_fabric([link for link in links if link.fabric == fabric])
    found += of_state(plan, catalogue, wanted)
    highest: list[Ceiling] = []
    for platform, job in _by_platform(plan, catalogue, [sorted(set(job)) for job in jobs] or [wanted]):
        found += of_accelerators(platform.name, len(job), platform.accelerators or 0)
        node_gb_s = _efa_gb_s(plan, platform, job) or _node_gb_s(list(_links(plan, catalogue, job)))
        highest += ceilings.of_accelerators(platform, len(job), node_gb_s)
    for expectation in found:
        refuse_absurd(expectation, len(wanted), found, _healthy(links), highest)
    return Expectations(expectations=tuple(found), ceilings=tuple(highest))


def _by_platform(
    plan: Plan, catalogue: Catalogue, jobs: list[list[str]]
) -> Iterator[tuple[Platform, list[str]]]:
    """Jobs of one platform that is proven by nccl-tests; of several with as many nodes the first."""
    seen: set[tuple[str, int]] = set()
    for job in jobs:
        names = {pool.platform for pool in plan.pools.values() if pool.slots.keys() & set(job)}
        platform = catalogue.platforms[names.pop()] if len(names) == 1 else None
        if platform is None or Check.NCCL_TESTS not in platform.checks:
            continue
        if (platform.name, len(job)) not in seen:
            seen.add((platform.name, len(job)))
            yield platform, job


def _node_gb_s(links: list[Links]) -> float | None:
    """What a node can send over all of its links to the fabric that carries most; GB/s."""
    rates = [link.rails * link.mbit_s for link in links]
    return max(rates) / ceilings.MBIT_S[Unit.GB_S] if rates else None


def _link_mtus(plan: Plan, nodes: list[str]) -> Iterator[Expectation]:
    """What each link between sites of these slots is planned to carry."""
    sites = {pool.site for pool in plan.pools.values() if pool.slots.keys() & set(nodes)}
    for name, link in plan.links.items():
        if set(link.between) <= sites:
            yield Expectation(
                key=Key(name="path_mtu", check=Check.LINK, link=name),
                unit=Unit.BYTES,
                at_least=link.mtu,
                nominal=link.mtu,
                provenance=Provenance.PLAN,
                source=f"the planned MTU of link {name}",
            )


def _efa_gb_s(plan: Plan, platform: Platform, nodes: list[str]) -> float | None:
    """What a node with most of them can send over the EFA interfaces that it is launched with; GB/s."""
    pools = (one for one in plan.pools.values() if one.slots.keys() & set(nodes))
    nics = max(count if kind == "efa" else 0 for kind, count in (way_of(plan, pool) for pool in pools))
    rate = _efa_mbit_s(platform.network_cards) if nics and platform.network_cards else None
    return nics * rate / ceilings.MBIT_S[Unit.GB_S] if rate else None


def refuse_absurd(
    expectation: Expectation,
    ranks: int,
    planned: Iterable[Expectation],
    healthy: Mapping[tuple[str, str], float],
    highest: Iterable[Ceiling] = (),
) -> None:
    """Refuse a gate that no algorithm can pass, or that half-broken machines do.

    Args:
        expectation: to be looked at; one that is no gate on bus bandwidth is let through.
        ranks: taking part, where the key does not say for how many it is.
        planned: expectations of the plan, whose nominal figures are the rates of the links.
        healthy: (fabric, collective) → published bus bandwidth over all rails, in its unit.
        highest: what no algorithm beats, whatever the unit.

    Raises:
        UsageError: it is one of these.
    """
    key, gate = expectation.key, expectation.at_least
    if key.name != "busbw" or gate is None or key.collective not in COLLECTIVES:
        return
    rates = [other.nominal for other in _of_links(key, planned) if other.unit is expectation.unit]
    most = bound(key.collective, max(key.ranks or ranks, 2), max(rates)) if rates else gate
    ceiling = ceilings.above(expectation, highest)
    if ceiling is not None:
        raise _absurd(
            expectation, f"at most {ceiling.gb_s:g} gb_s, which no algorithm beats: {ceiling.source}"
        )
    if gate > most:
        raise _absurd(expectation, f"at most {most:g}, which no algorithm beats on these links")
    published = healthy.get((key.fabric or "", key.collective), 0.0) if key.rails != 1 else 0.0
    least = published * LEAST_OF_PUBLISHED
    if gate < least:
        share = f"{LEAST_OF_PUBLISHED:.0%} of what healthy nodes reached"
        raise _absurd(expectation, f"at least {least:g}, {share}")


def _of_links(key: Key, planned: Iterable[Expectation]) -> Iterator[Expectation]:
    """Expectations of the plan, whose nominal figures are injection bandwidths, that a key may be about."""
    for other in planned:
        same_fabric = key.fabric in (None, other.key.fabric)
        same_rails = key.rails in (None, other.key.rails)
        if other.provenance is Provenance.PLAN and other.key.name == "busbw" and same_fabric and same_rails:
            yield other


def rate_mbit_s(fabric: Fabric, platform: Platform) -> float | None:
    """Planned rate of one link of a platform to a fabric; None where no source tells."""
    if isinstance(fabric, InfiniBand):
        return _capped(_INFINIBAND_MBIT[fabric.speed], fabric, platform)
    if isinstance(fabric, Ethernet):
        speed = _ETHERNET.fullmatch(fabric.speed)
        return _capped(int(speed[1]) * _ETHERNET_MBIT[speed[2]], fabric, platform) if speed else None
    return _efa_mbit_s(platform.network_cards) if platform.network_cards else None


def _efa_mbit_s(cards: NetworkCards) -> float | None:
    """Rate of one EFA interface where all are used: cards may share what the node has in all."""
    if cards.efa_total_gbps is None or not cards.efa_interfaces:
        return None
    return cards.efa_total_gbps / cards.efa_interfaces * _MBIT_A_GBIT


def _capped(mbit_s: float, fabric: Fabric, platform: Platform) -> float:
    """A port that is slower than its fabric sets the rate."""
    ports = [
        group.rate_gbps * _MBIT_A_GBIT for group in platform.ports.values() if fabric.kind in group.kinds
    ]
    return min(mbit_s, max(ports, default=mbit_s))


def _links(plan: Plan, catalogue: Catalogue, nodes: list[str]) -> Iterator[Links]:
    """Each distinct kind of link of these slots."""
    seen: set[tuple[str, str, int]] = set()
    for pool in plan.pools.values():
        platform = catalogue.platforms[pool.platform]
        for slot in (pool.slots[name] for name in nodes if name in pool.slots):
            for fabric in sorted({port.fabric for port in slot.ports}):
                rails = len({port.rail for port in slot.ports if port.fabric == fabric})
                rate = rate_mbit_s(plan.fabrics[fabric], platform)
                if rate is not None and (fabric, platform.name, rails) not in seen:
                    seen.add((fabric, platform.name, rails))
                    yield Links(fabric, rails, rate, platform)


def _defined() -> Iterator[Expectation]:
    for check, name, unit, at_least, at_most, source in _DEFINED:
        yield Expectation(
            key=Key(name=name, check=check),
            unit=unit,
            at_least=at_least,
            at_most=at_most,
            nominal=at_least or 0,
            provenance=Provenance.DEFINED,
            source=source,
        )


def _of_fabric(links: list[Links]) -> Iterator[Expectation]:
    """Gates of one fabric: where its nodes differ, what the least of them must reach."""
    least = min(links, key=lambda link: link.mbit_s)
    rails = min(link.rails for link in links)
    pairs = _share(links, "pairs")
    if pairs is not None:
        yield _planned(
            Key(name="bandwidth", check=Check.PAIRS, fabric=least.fabric, rails=1), least, pairs, 1
        )
    for collective in COLLECTIVES:
        share = _share(links, collective)
        if share is None:
            continue
        for count in sorted({1, rails}):
            of_all = _share(links, _ALL_RAILS) if count > 1 else None
            key = Key(
                name="busbw",
                check=Check.COLLECTIVES,
                collective=collective,
                fabric=least.fabric,
                rails=count,
            )
            gate = share * (of_all or 1)
            yield _planned(key, least, gate, count)
            of_two = _share(links, _TWO_RANKS)
            if of_two is not None:
                yield _planned(key.model_copy(update={"ranks": 2}), least, gate * of_two, count)


def _share(links: list[Links], name: str) -> float | None:
    """The least share that is asked of any of the platforms; None where one of them has none."""
    shares = [link.platform.line_rate_share.get(name) for link in links]
    known = [share for share in shares if share is not None]
    return min(known) if len(known) == len(shares) and known else None


def _planned(key: Key, link: Links, share: float, rails: int) -> Expectation:
    rate = link.mbit_s * rails
    times = f"{rails} x " if rails > 1 else ""
    return Expectation(
        key=key,
        unit=Unit.MBIT_S,
        at_least=round(share * rate, 3),
        nominal=rate,
        provenance=Provenance.PLAN,
        source=f"{share:g} of the planned {times}{link.mbit_s:g} Mbit/s",
    )


def _healthy(links: list[Links]) -> dict[tuple[str, str], float]:
    return {
        (link.fabric, collective): gbit_s * _MBIT_A_GBIT
        for link in links
        for collective, gbit_s in link.platform.healthy_busbw_gbps.items()
    }


def _absurd(expectation: Expectation, expected: str) -> UsageError:
    key = expectation.key
    rails = "all rails" if key.rails != 1 else "one rail"
    return UsageError(
        f"a gate on {key.collective} over {rails} of {key.fabric or 'any fabric'} means nothing",
        code="EXP001",
        where=expectation.source,
        got=f"at least {expectation.at_least:g} {expectation.unit}",
        expected=expected,
        hint="a gate stands between what broken and what healthy machines reach",
    )
