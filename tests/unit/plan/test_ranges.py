"""Spans of numbers as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright.plan.ranges import Span, fold, pair_up


@pytest.mark.parametrize(
    ("text", "numbers"), [("7", [7]), ("1-4", [1, 2, 3, 4]), ("1-25/8", [1, 9, 17, 25]), ("0-1", [0, 1])]
)
def test_a_span_is_read_and_written_back(text: str, numbers: list[int]) -> None:
    assert list(Span.parse(text)) == numbers
    assert str(Span.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "a", "1-", "-1", "01", "1-1", "4-1", "1-4/1", "1-4/2", "1-9/0", "1,2", " 1", "1-99999999999"]
)
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no span"):
        Span.parse(text)


def test_gaps_fold_into_several_spans() -> None:
    assert fold([1, 2, 3, 5, 9, 10]) == "1-3,5,9-10"
    assert fold([]) == ""


@given(st.dictionaries(st.integers(1, 60), st.integers(0, 400)))
def test_pairing_up_loses_nothing(pairs: dict[int, int]) -> None:
    rising = sorted(pairs.items())
    back = [pair for keys, values in pair_up(rising) for pair in zip(keys, values, strict=True)]
    assert back == rising


def test_pairing_up_is_short() -> None:
    seated = [(number, number + 15) for number in range(1, 3073)]
    assert [(str(keys), str(values)) for keys, values in pair_up(seated)] == [("1-3072", "16-3087")]
