#!/usr/bin/python3
"""Collectives over MPI by size, every element of every result checked on every rank.

``srun --mpi=pmix python3 collectives.py --iterations 3 all_reduce:1048576,4194304 broadcast:1048576``

Which interfaces and algorithms are used is Open MPI's business (OMPI_MCA_btl_tcp_if_include,
OMPI_MCA_coll_tuned_…); this program only tells which were asked for. Sizes are rounded down so that they
divide by ranks and element; a size is what nccl-tests calls size: the buffer of one rank for all_reduce and
broadcast, the buffer over all ranks for the others. A time is that of the slowest rank.

Lines ``rackwright/collectives/1``: start, one row a collective and size, end.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI  # type: ignore[import-not-found]  # (on hosts only)
from sealed import host, tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SCHEMA = "rackwright/collectives/1"
SETTLED_S = 0.5
"""After MPI_Init: Open MPI 5.0 crashes where a message comes to a rank still in it (ompi issue 12495)."""
ELEMENT = np.dtype(np.float32)
PRIME = 251
"""Values are whole numbers below it, so that sums over 66,000 ranks are exact in single precision."""
PATTERN = f"float32, (7 index + 13 rank + 3 iteration) mod {PRIME}"

Buffer = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

INTERFACES = "OMPI_MCA_btl_tcp_if_include"
ALGORITHMS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "all_reduce": ("allreduce", {"3": "recursive-doubling", "4": "ring", "5": "segmented-ring"}),
    "all_gather": ("allgather", {"2": "bruck", "3": "recursive-doubling", "4": "ring"}),
    "reduce_scatter": ("reduce_scatter", {"2": "recursive-halving", "3": "ring"}),
    "broadcast": ("bcast", {"1": "linear", "2": "chain", "3": "pipeline", "6": "binomial"}),
    "all_to_all": ("alltoall", {"1": "linear", "2": "pairwise", "3": "bruck"}),
}
"""Collective → its name in ``coll_tuned_<name>_algorithm``, and what its values mean (ompi_info, level 9)."""


@dataclass(frozen=True)
class Collective:
    """One collective on buffers of one size.

    Args:
        run: the exchange itself, which is timed.
        sent: what this rank sends.
        received: what it gets, spoiled before each exchange.
        expected: of an iteration, each element.
        busbw_factor: of n ranks (nccl-tests, doc/PERFORMANCE.md).
    """

    run: Callable[[], None]
    sent: Buffer
    received: Buffer
    expected: Callable[[int], Buffer]
    busbw_factor: float


def values(start: int, count: int, rank: int, iteration: int) -> Buffer:
    """What a rank has at `count` indices from `start` on."""
    index = np.arange(start, start + count, dtype=np.int64)
    return ((7 * index + 13 * rank + 3 * iteration) % PRIME).astype(ELEMENT)


def total(start: int, count: int, ranks: int, iteration: int) -> Buffer:
    """Sum over all ranks."""
    parts = (values(start, count, rank, iteration) for rank in range(ranks))
    return sum(parts, start=np.zeros(count, ELEMENT))


def all_reduce(world: MPI.Comm, count: int) -> Collective:
    """Everybody gets the sum of everybody's."""
    sent, received = buffers(count, count)
    n = world.size
    return Collective(
        lambda: world.Allreduce(sent, received),
        sent,
        received,
        lambda iteration: total(0, count, n, iteration),
        2 * (n - 1) / n,
    )


def all_gather(world: MPI.Comm, count: int) -> Collective:
    """Everybody gets everybody's part."""
    n, part = world.size, count // world.size
    sent, received = buffers(part, count)
    return Collective(
        lambda: world.Allgather(sent, received),
        sent,
        received,
        lambda iteration: np.concatenate([values(0, part, rank, iteration) for rank in range(n)]),
        (n - 1) / n,
    )


def reduce_scatter(world: MPI.Comm, count: int) -> Collective:
    """Everybody gets its part of the sum."""
    n, part = world.size, count // world.size
    sent, received = buffers(count, part)
    return Collective(
        lambda: world.Reduce_scatter(sent, received, [part] * n),
        sent,
        received,
        lambda iteration: total(world.rank * part, part, n, iteration),
        (n - 1) / n,
    )


def broadcast(world: MPI.Comm, count: int) -> Collective:
    """Everybody gets what the last rank has."""
    root = world.size - 1
    sent, received = buffers(count, count)

    def run() -> None:
        world.Bcast(sent if world.rank == root else received, root)
        if world.rank == root:
            np.copyto(received, sent)

    return Collective(run, sent, received, lambda iteration: values(0, count, root, iteration), 1.0)


def all_to_all(world: MPI.Comm, count: int) -> Collective:
    """Everybody gets of everybody the part that is for it."""
    n, part = world.size, count // world.size
    sent, received = buffers(count, count)
    begin = world.rank * part
    return Collective(
        lambda: world.Alltoall(sent, received),
        sent,
        received,
        lambda iteration: np.concatenate([values(begin, part, rank, iteration) for rank in range(n)]),
        (n - 1) / n,
    )


COLLECTIVES: Mapping[str, Callable[[MPI.Comm, int], Collective]] = {
    "all_reduce": all_reduce,
    "all_gather": all_gather,
    "reduce_scatter": reduce_scatter,
    "broadcast": broadcast,
    "all_to_all": all_to_all,
}


def buffers(sent: int, received: int) -> tuple[Buffer, Buffer]:
    """Empty buffers of so many elements."""
    return np.empty(sent, ELEMENT), np.empty(received, ELEMENT)


def once(world: MPI.Comm, collective: Collective, iteration: int) -> tuple[float, int]:
    """One exchange: the slowest rank's time, and wrong elements over all ranks."""
    collective.sent[:] = values(0, collective.sent.size, world.rank, iteration)
    collective.received[:] = np.nan
    world.Barrier()
    began = time.perf_counter()
    collective.run()
    seconds = time.perf_counter() - began
    wrong = int(np.count_nonzero(collective.received != collective.expected(iteration)))
    return world.allreduce(seconds, op=MPI.MAX), world.allreduce(wrong)


def measure(world: MPI.Comm, name: str, size: int, iterations: int, hosts: list[str]) -> None:
    """One row; its first exchange makes the connections and is not timed, but checked."""
    collective = COLLECTIVES[name](world, size // ELEMENT.itemsize)
    done = [once(world, collective, iteration) for iteration in range(iterations + 1)]
    if world.rank:
        return
    seconds = [time for time, _ in done[1:]]
    median = statistics.median(seconds)
    tell(
        SCHEMA,
        "row",
        collective=name,
        algorithm=algorithm(name),
        size_bytes=size,
        ranks=world.size,
        hosts=sorted(set(hosts)),
        iterations=iterations,
        seconds=median,
        seconds_min=min(seconds),
        seconds_max=max(seconds),
        busbw_mbit_s=size * 8 / median * collective.busbw_factor / 1e6,
        wrong=sum(wrong for _, wrong in done),
    )


def algorithm(name: str) -> str:
    """The algorithm that was asked for; Open MPI chooses by itself where none was."""
    tuned, meanings = ALGORITHMS[name]
    number = os.environ.get(f"OMPI_MCA_coll_tuned_{tuned}_algorithm", "")
    return meanings.get(number, f"number {number}") if number else "default"


def divisible(size: int, ranks: int) -> int:
    """The greatest size up to this that all ranks can share in whole elements."""
    unit = ELEMENT.itemsize * ranks
    return max(size // unit, 1) * unit


def wanted(words: list[str], ranks: int) -> Iterator[tuple[str, int]]:
    """Collective and size of each row."""
    for word in words:
        name, _, sizes = word.partition(":")
        for size in sizes.split(","):
            yield name, divisible(int(size), ranks)


def main() -> None:
    """Measure every collective at every size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("rows", nargs="+", metavar="COLLECTIVE:BYTES,…")
    asked = parser.parse_args()
    world = MPI.COMM_WORLD
    time.sleep(SETTLED_S)
    rows = list(wanted(asked.rows, world.size))
    hosts: list[str] = world.allgather(host())
    if world.rank == 0:
        interfaces = os.environ.get(INTERFACES, "all").split(",")
        tell(
            SCHEMA,
            "start",
            ranks=world.size,
            hosts=hosts,
            rows=len(rows),
            interfaces=interfaces,
            pattern=PATTERN,
        )
    for name, size in rows:
        measure(world, name, size, asked.iterations, hosts)
    if world.rank == 0:
        tell(SCHEMA, "end", rows=len(rows))


if __name__ == "__main__":
    main()
