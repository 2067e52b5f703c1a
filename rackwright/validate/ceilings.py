"""What no algorithm beats on planned machines: bus bandwidth by what leaves an accelerator, or a domain."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from rackwright.catalogue.model import Check
from rackwright.validate.busbw import COLLECTIVES, factor, least_traffic
from rackwright.validate.expectations import Ceiling
from rackwright.validate.model import Unit
from rackwright.validate.published import published

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rackwright.catalogue.model import Platform
    from rackwright.validate.expectations import Expectation

MBIT_S: Mapping[Unit, float] = {
    Unit.MBIT_S: 1,
    Unit.GBIT_S: 1000,
    Unit.GB_S: 8000,
    Unit.MIB_S: 8 * 2**20 / 1e6,
}
"""Units of a rate, in Mbit/s; what is possible at all has no unit. No measurement is converted."""
_ALL_TO_ALL = "all_to_all"
FEWEST = 2
"""Ranks without which there is nothing to exchange."""


def of_accelerators(platform: Platform, nodes: int, node_gb_s: float | None) -> Iterator[Ceiling]:
    """Ceilings of collectives between all accelerators of so many nodes.

    Within a domain of NVLink what leaves an accelerator bounds them. Over several also what leaves a domain,
    which is all that its nodes can send: the nodes are taken to lie as is best for them, evenly over the
    fewest domains.

    Args:
        platform: of the nodes.
        nodes: taking part.
        node_gb_s: that a node can send, and at the same time receive, over its fabric; None if unknown.
    """
    accelerators = platform.accelerators or 0
    ranks, domains = nodes * accelerators, ceil(nodes / (platform.scale_up.nodes if platform.scale_up else 1))
    if ranks < FEWEST or (domains > 1 and node_gb_s is None):
        return
    beyond_gb_s = (node_gb_s or 0.0) / accelerators if domains > 1 else 0.0
    rate = published().links.get(platform.accelerator or "")
    for collective in COLLECTIVES:
        bounds = []
        if rate is not None:
            bounds.append((_most(collective, ranks, ranks, rate.gb_s + beyond_gb_s), rate.source))
        if domains > 1:
            bounds.append(_out_of_a_domain(collective, ranks, nodes, nodes // domains, beyond_gb_s))
        for most, source in sorted(bounds)[:1]:
            yield Ceiling(
                check=Check.NCCL_TESTS,
                platform=platform.name,
                collective=collective,
                ranks=ranks,
                gb_s=round(most, 3),
                source=source,
            )


def _out_of_a_domain(
    collective: str, ranks: int, nodes: int, least: int, accelerator_gb_s: float
) -> tuple[float, str]:
    """What leaves the least domain of a group, by the fabric's share of each of its accelerators."""
    own = least * ranks // nodes
    shared = own if collective == _ALL_TO_ALL else 1
    source = f"{own * accelerator_gb_s:g} GB/s of planned links leave {_told(least)}"
    return _most(collective, ranks, nodes / least, own * accelerator_gb_s) / shared, source


def _told(nodes: int) -> str:
    return "a node" if nodes == 1 else f"the {nodes} nodes of a domain"


def _most(collective: str, ranks: int, parts: float, gb_s: float) -> float:
    """Bus bandwidth by the lower bound on what must leave each part, which is one of so many equal ones."""
    return gb_s * factor(collective, ranks) / least_traffic(collective, parts)


def above(expectation: Expectation, ceilings: Iterable[Ceiling]) -> Ceiling | None:
    """The ceiling that a gate is above; None where it is above none."""
    key, gate, scale = expectation.key, expectation.at_least, MBIT_S.get(expectation.unit)
    if key.name != "busbw" or gate is None or scale is None:
        return None
    return next(
        (
            one
            for one in ceilings
            if (one.check, one.collective) == (key.check, key.collective)
            and key.ranks in (None, one.ranks)
            and (one.platform is None or key.platform in (None, one.platform))
            and gate * scale > one.gb_s * MBIT_S[Unit.GB_S]
        ),
        None,
    )
