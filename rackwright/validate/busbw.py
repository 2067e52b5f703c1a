"""Bus bandwidth: its factor for each collective, and the bound that no algorithm beats."""

from __future__ import annotations

from collections.abc import Callable, Mapping

_FACTORS: Mapping[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "all_to_all": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1.0,  # noqa: ARG005 (does not depend on the ranks)
}
COLLECTIVES = tuple(_FACTORS)


def factor(collective: str, ranks: int) -> float:
    """Bus bandwidth / (size / time).

    Raises:
        KeyError: no collective of this name.

    Source: nccl-tests, doc/PERFORMANCE.md.
    """
    return _FACTORS[collective](ranks)
