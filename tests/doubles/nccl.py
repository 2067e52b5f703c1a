"""Tables as nccl-tests prints them, of figures that a test gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_GB = 1e3
_HEAD = "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1"


def table(figures: Mapping[int, float], *, nodes: int, accelerators: int, wrong: int = 0) -> str:
    """An all-reduce over so many nodes, from the least size to the greatest.

    Args:
        figures: size in bytes → bus bandwidth, GB/s; sizes between have that of the next greater.
        nodes: taking part, node-001 and on.
        accelerators: of each node.
        wrong: elements of the last row.
    """
    least, most = min(figures), max(figures)
    ranks = nodes * accelerators
    rows, values, size = [], [], least
    while size <= most:
        busbw = figures[min(known for known in figures if known >= size)]
        values.append(busbw)
        rows.append(_row(size, busbw, ranks, wrong if size == most else 0))
        size *= 2
    out = wrong * 2
    return "\n".join(
        [
            "# Collective test starting: all_reduce_perf",
            _HEAD.format(least, most) + " validation: 1 graph: 0",
            "#",
            "# Using devices",
            *(_device(rank, accelerators) for rank in range(ranks)),
            "#",
            "#          out-of-place                       in-place          ",
            "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
            "# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)",
            *rows,
            f"# Out of bounds values : {out} {'FAILED' if out else 'OK'}",
            f"# Avg bus bandwidth    : {sum(values) / len(values):g} ",
            "#",
            "# Collective test concluded: all_reduce_perf",
            "",
        ]
    )


def _device(rank: int, accelerators: int) -> str:
    host, device = f"node-{rank // accelerators + 1:03d}", rank % accelerators
    process = f"Group  0 Pid {4000 + rank:6d} on {host:>10} device {device:2d}"
    return f"#  Rank {rank:2d} {process} [0000:1b:00] NVIDIA GPU"


def _row(size: int, busbw: float, ranks: int, wrong: int) -> str:
    algbw = busbw * ranks / (2 * (ranks - 1))
    half = f"{size / algbw / _GB:9.1f} {algbw:7.2f} {busbw:7.2f} {wrong:6d}"
    return f"{size:12d} {size // 4:12d}    float     sum      -1 {half} {half}"
