"""Bus bandwidth: its factor for each collective, and the bound that no algorithm beats."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FACTORS: Mapping[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "all_to_all": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda _: 1.0,
}
COLLECTIVES = tuple(_FACTORS)
_LEAST_TRAFFIC: Mapping[str, Callable[[float], float]] = {
    "all_reduce": lambda _: 1.0,  # its own buffer leaves a rank once, even where switches reduce
    "all_gather": lambda ranks: (ranks - 1) / ranks,  # all parts but its own come in
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,  # all parts but its own go out
    "all_to_all": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda _: 1.0,  # all of it comes in
}
"""Share of the size that must cross each rank's link in one direction, whatever the algorithm."""


def factor(collective: str, ranks: int) -> float:
    """Bus bandwidth / (size / time).

    Raises:
        KeyError: no collective of this name.

    Source: nccl-tests, doc/PERFORMANCE.md.
    """
    return _FACTORS[collective](ranks)


def least_traffic(collective: str, parts: float) -> float:
    """Share of the size that must leave, or enter, a part of the machine that is one of so many, if equal."""
    return _LEAST_TRAFFIC[collective](parts)


def bound(collective: str, ranks: int, injection: float) -> float:
    """Most bus bandwidth that any algorithm reaches, in the unit of the injection bandwidth.

    A rank must send or receive a certain share of the size, however clever the algorithm; at the
    rate of its links that takes its time. For all_reduce this is k times the injection bandwidth
    with k = 2(n-1)/n: two ranks stay below their line rate, more may be above it with a tree or
    with switches that reduce (nccl-tests#22), none beyond twice. For the others it is the rate.

    Args:
        collective: as `factor` knows it.
        ranks: taking part, at least 2.
        injection: rate at which one rank can send, and at the same time receive.

    Source: Chan et al., Collective communication: theory, practice, and experience (2007), §3:
    lower bounds of the bandwidth term.
    """
    return injection * factor(collective, ranks) / least_traffic(collective, ranks)
