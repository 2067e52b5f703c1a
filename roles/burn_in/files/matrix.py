#!/usr/bin/python3
"""A matrix product, again and again: is it right each time, is it the same on all hosts, how fast is it?

``matrix.py --order 768 --seconds 2``

The matrices hold whole numbers so small that every sum of the product is exact in double precision. So there
is one right answer, whatever library, processor or order of summation made it, and its SHA-256 may be
compared over hosts of different make. Each product is also verified here, in integer arithmetic that does not
go through the library under test (Freivalds: A(Bx) = Cx for random x of zeros and ones; a wrong C passes one
round with a probability of at most 1/2).

One line, ``rackwright/matrix/1``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import time
from dataclasses import dataclass, field

# One thread, set before numpy loads the library: what is judged is the speed of a core, and how many are
# free at the moment must not show in it.
THREADS = 1
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(THREADS)

import numpy as np  # noqa: E402 (reads the environment set above)
from sealed import host, tell  # noqa: E402 (beside numpy)

SCHEMA = "rackwright/matrix/1"
SEED = 7
BITS = 21
"""Of each number: products have 42, sums of up to 2,048 of them 53, all that a double holds exactly."""
LARGEST = 2 ** (53 - 2 * BITS)
ROUNDS = 16
"""Of verification for each product: a wrong one passes all with probability of at most 2^-16."""
FEWEST = 3
"""Products, however slow they are: a median needs some."""

Matrix = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Whole = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass
class Burn:
    """What came of the products so far."""

    seconds: list[float] = field(default_factory=list)
    wrong: int = 0
    mismatches: int = 0
    first: Matrix | None = None


def numbers(order: int, seed: int) -> Whole:
    """A square matrix of whole numbers of 21 bits, the same in every version of numpy (splitmix64)."""
    with np.errstate(over="ignore"):
        index = np.arange(1, order * order + 1, dtype=np.uint64) + np.uint64(seed) * np.uint64(2**32)
        mixed = index * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(64 - BITS)).astype(np.int64).reshape(order, order)


def is_right(a: Whole, b: Whole, product: Matrix, random: np.random.Generator) -> bool:
    """Whether a product is A times B, without computing it: integers do not go through the library."""
    if not np.array_equal(product, np.floor(product)):
        return False
    x = random.integers(0, 2, size=(a.shape[0], ROUNDS), dtype=np.int64)
    return np.array_equal(a @ (b @ x), product.astype(np.int64) @ x)


def burn(order: int, seconds: float) -> Burn:
    """Products of the same two matrices for so long."""
    a, b = numbers(order, SEED), numbers(order, SEED + 1)
    left, right = a.astype(np.float64), b.astype(np.float64)
    random = np.random.default_rng()
    burned = Burn()
    end = time.monotonic() + seconds
    left @ right  # the first product pays for loading the library and waking the core
    while time.monotonic() < end or len(burned.seconds) < FEWEST:
        began = time.perf_counter()
        product = left @ right
        burned.seconds.append(time.perf_counter() - began)
        burned.first = product if burned.first is None else burned.first
        burned.mismatches += not np.array_equal(product, burned.first)
        burned.wrong += not is_right(a, b, product, random)
    return burned


def main() -> None:
    """Burn, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--order", type=int, required=True, choices=range(2, LARGEST + 1), metavar="N")
    parser.add_argument("--seconds", type=float, required=True)
    asked = parser.parse_args()
    burned = burn(asked.order, asked.seconds)
    work = 2 * asked.order**3 / 1e9
    result = b"" if burned.first is None else burned.first.tobytes()
    tell(
        SCHEMA,
        "result",
        host=host(),
        order=asked.order,
        iterations=len(burned.seconds),
        threads=THREADS,
        pattern=f"whole numbers of {BITS} bits, seed {SEED}",
        gflops=work / statistics.median(burned.seconds),
        gflops_min=work / max(burned.seconds),
        wrong=burned.wrong,
        mismatches=burned.mismatches,
        result_sha256=hashlib.sha256(result).hexdigest(),
    )


if __name__ == "__main__":
    main()
