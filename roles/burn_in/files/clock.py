#!/usr/bin/python3
"""Offsets of the clocks of all hosts of a job, by questions over MPI: one rank a host.

Every rank asks rank 0 for its time, many times, and trusts the answer with the shortest round trip (as NTP
does): the offset is then uncertain by at most half of that. Offsets are told against the median of all hosts,
so that a reference whose own clock is wrong is found as any other.

One line a host, ``rackwright/clock/1``.
"""

from __future__ import annotations

import argparse
import statistics
import time

from mpi4py import MPI  # type: ignore[import-not-found]  # (on hosts only)
from sealed import host, tell

SCHEMA = "rackwright/clock/1"
SETTLED_S = 0.5
"""After MPI_Init: Open MPI 5.0 crashes where a message comes to a rank still in it (ompi issue 12495)."""


def ask(world: MPI.Comm, questions: int) -> tuple[float, float]:
    """Offset of this rank's clock from rank 0's and its uncertainty, seconds."""
    best = (0.0, float("inf"))
    for _ in range(questions):
        began = time.time()
        there: float = world.sendrecv(None, dest=0, source=0)
        ended = time.time()
        half = (ended - began) / 2
        if 0 <= half < best[1]:
            best = (began + half - there, half)
    return best


def answer(world: MPI.Comm, rank: int, questions: int) -> None:
    """Tell another rank our time as often as it asks."""
    for _ in range(questions):
        world.recv(source=rank)
        world.send(time.time(), dest=rank)


def main() -> None:
    """Ask, one rank after the other, and print all offsets from rank 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", type=int, default=50)
    questions = parser.parse_args().questions
    world = MPI.COMM_WORLD
    time.sleep(SETTLED_S)
    mine = (0.0, 0.0)
    for rank in range(1, world.size):
        if world.rank == 0:
            answer(world, rank, questions)
        elif world.rank == rank:
            mine = ask(world, questions)
    everyone = world.gather((host(), *mine))
    for name, offset, uncertainty in everyone or ():
        middle = statistics.median(offset for _, offset, _ in everyone)
        tell(
            SCHEMA,
            "result",
            host=name,
            reference=f"median of {world.size} hosts",
            offset_s=offset - middle,
            uncertainty_s=uncertainty,
        )


if __name__ == "__main__":
    main()
