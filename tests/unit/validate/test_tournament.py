"""Who meets whom: every pair once, nobody twice at a time."""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st

from rackwright.validate.tournament import rounds

FIELDS = st.integers(0, 40).map(lambda count: [f"node-{number:03}" for number in range(count)])


@given(FIELDS)
def test_every_pair_meets_once(names: list[str]) -> None:
    assert sorted(chain.from_iterable(rounds(names))) == sorted(combinations(names, 2))


@given(FIELDS)
def test_nobody_is_in_two_pairs_at_once(names: list[str]) -> None:
    for round_ in rounds(names):
        assert max(Counter(chain.from_iterable(round_)).values()) == 1


@given(FIELDS)
def test_there_are_as_few_rounds_as_there_can_be(names: list[str]) -> None:
    expected = len(names) - 1 + len(names) % 2 if len(names) > 1 else 0
    assert len(rounds(names)) == expected


@given(FIELDS, st.integers(1, 12))
def test_with_few_partners_each_meets_so_many_and_no_pair_twice(names: list[str], most: int) -> None:
    pairs = list(chain.from_iterable(rounds(names, most)))
    met = Counter(chain.from_iterable(pairs))
    assert len(set(pairs)) == len(pairs)
    for name in names:
        assert min(most, len(names) - 1) <= met[name] <= most + len(names) % 2
