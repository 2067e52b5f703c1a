"""What no algorithm beats on planned machines: bus bandwidth by what leaves a node, or an accelerator."""

from __future__ import annotations

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


def of_accelerators(platform: Platform, nodes: int, node_gb_s: float | None) -> Iterator[Ceiling]:
    """Ceilings of collectives between all accelerators of so many nodes.

    Within a domain of NVLink what leaves an accelerator bounds them, else what leaves a node.

    Args:
        platform: of the nodes.
        nodes: taking part.
        node_gb_s: that a node can send, and at the same time receive, over its fabric; None if unknown.
    """
    accelerators = platform.accelerators or 0
    ranks, domain = nodes * accelerators, platform.scale_up.nodes if platform.scale_up else 1
    rate = published().links.get(platform.accelerator or "") if nodes <= domain else None
    for collective in COLLECTIVES if ranks > 1 else ():
        if nodes <= domain and rate is not None:
            most, source = _most(collective, ranks, ranks, rate.gb_s), rate.source
        elif nodes > domain and node_gb_s is not None:
            shared = accelerators if collective == _ALL_TO_ALL else 1
            most = _most(collective, ranks, nodes, node_gb_s) / shared
            source = f"{node_gb_s:g} GB/s of planned links leave a node"
        else:
            continue
        yield Ceiling(
            check=Check.NCCL_TESTS, collective=collective, ranks=ranks, gb_s=round(most, 3), source=source
        )


def _most(collective: str, ranks: int, parts: int, gb_s: float) -> float:
    """Bus bandwidth by the lower bound on what must leave each of so many parts."""
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
            and gate * scale > one.gb_s * MBIT_S[Unit.GB_S]
        ),
        None,
    )
