"""The programs that run on hosts, as far as they go without MPI: what they print, and what they notice."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rackwright import paths
from rackwright.validate.model import Completeness
from rackwright.validate.parsers import links, matrix
from rackwright.validate.parsers.lines import sealed

if TYPE_CHECKING:
    from types import ModuleType

BURN_IN = paths.repository() / "roles" / "burn_in" / "files"
ORDER = 64


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """matrix.py as a module."""
    monkeypatch.syspath_prepend(str(BURN_IN))
    import matrix as loaded  # type: ignore[import-not-found]  # noqa: PLC0415 (a program of a host)

    module: ModuleType = loaded
    return module


def run(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, BURN_IN / words[0], *words[1:]],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", "SLURMD_NODENAME": "node-001", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return done.stdout


def test_numbers_are_whole_and_the_same_for_ever(program: ModuleType) -> None:
    numbers = program.numbers(3, 7)
    assert numbers.dtype == np.int64
    assert numbers.min() >= 0
    assert numbers.max() < 2**program.BITS
    assert numbers.tolist()[0] == FIRST_ROW


FIRST_ROW = [1512240, 334830, 930528]
"""Of seed 7; other numbers would make other hashes, and old runs could not be compared with new ones."""


def test_every_product_up_to_the_largest_order_is_exact(program: ModuleType) -> None:
    largest = program.LARGEST * (2**program.BITS - 1) ** 2
    assert largest <= 2**53, "a double holds all whole numbers up to there"


def test_a_right_product_passes_and_one_wrong_bit_does_not(program: ModuleType) -> None:
    a, b = program.numbers(ORDER, 7), program.numbers(ORDER, 8)
    product = a.astype(np.float64) @ b.astype(np.float64)
    random = np.random.default_rng(1)
    assert program.is_right(a, b, product, random)
    spoiled = product.copy()
    spoiled[3, 5] += 1
    assert not program.is_right(a, b, spoiled, random)
    spoiled[3, 5] -= 0.5
    assert not program.is_right(a, b, spoiled, random)


def test_verification_does_not_go_through_the_library_under_test(program: ModuleType) -> None:
    a, b = program.numbers(ORDER, 7), program.numbers(ORDER, 8)
    assert a.dtype == b.dtype == np.int64, "numpy hands only floating-point products to its library"
    exact = [[sum(int(x) * int(y) for x, y in zip(row, column, strict=True)) for column in b.T] for row in a]
    assert (a @ b).tolist() == exact


def test_the_matrix_program_prints_what_its_parser_reads() -> None:
    parsed = matrix.parse(run("matrix.py", "--order", str(ORDER), "--seconds", "0"))
    assert parsed.status is Completeness.COMPLETE, parsed.problem
    assert {reading.name: reading.value for reading in parsed.readings if reading.unit == "count"} == {
        "wrong": 0,
        "mismatches": 0,
    }


def test_the_links_program_tells_of_every_interface_asked_for() -> None:
    parsed = links.parse(run("links.py", "lo", "nothing9"))
    assert parsed.status is Completeness.COMPLETE, parsed.problem
    assert [reading.context.parameters["interface"] for reading in parsed.readings] == ["lo", "nothing9"]
    assert parsed.readings[1].value is False


def test_lines_are_sealed_as_the_parsers_expect() -> None:
    text = run("links.py", "lo")
    assert sealed(text, "rackwright/links/1")
    assert json.loads(text)["host"] == "node-001"
