"""Who is to blame, by pairs: properties over any fleet and any faulty ends."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from rackwright.verdict.localise import locate, pair

if TYPE_CHECKING:
    from rackwright.verdict.localise import Pair

ENDS = [f"n{number}" for number in range(9)]


def _measured(ends: list[str], slow: set[str]) -> tuple[set[Pair], set[Pair]]:
    pairs = {pair(a, b) for a, b in combinations(ends, 2)}
    bad = {one for one in pairs if one.ends & slow}
    return pairs - bad, bad


@given(count=st.integers(3, 9), data=st.data())
def test_all_slow_ends_are_found_where_two_good_ones_are_left(count: int, data: st.DataObject) -> None:
    ends = ENDS[:count]
    slow = data.draw(st.sets(st.sampled_from(ends), max_size=count - 2))
    found = locate(*_measured(ends, slow))
    assert set(found.blamed) == slow
    assert found.suspects == ()


@given(count=st.integers(2, 9), data=st.data())
def test_nobody_is_blamed_where_only_one_good_end_is_left(count: int, data: st.DataObject) -> None:
    ends = ENDS[:count]
    slow = set(data.draw(st.permutations(ends))[1:])
    good, bad = _measured(ends, slow)
    found = locate(good, bad)
    assert found.blamed == frozenset()
    assert set(found.suspects) == bad


@given(
    pairs=st.sets(
        st.tuples(st.sampled_from(ENDS), st.sampled_from(ENDS)).filter(lambda ends: ends[0] < ends[1])
    ),
    data=st.data(),
)
def test_no_end_of_a_good_pair_is_ever_blamed(pairs: set[tuple[str, str]], data: st.DataObject) -> None:
    every = {pair(*ends) for ends in pairs}
    bad = data.draw(st.sets(st.sampled_from(sorted(every, key=str)))) if every else set()
    good = every - bad
    found = locate(good, bad)
    assert not found.blamed & {end for one in good for end in one.ends}
    explained = {one for one in bad if one.ends & found.blamed}
    assert explained | set(found.suspects) == bad
    assert not explained & set(found.suspects)
