"""YAML whose values are none is told as that, with its place: a day that no month has, a list for a key."""

from __future__ import annotations

import pytest

from rackwright import strict_yaml


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\nnode-002: 2026-02-30\n", 2, 11),
        ("a: 2026-11-28T25:00:00Z\n", 1, 4),
        ("{[a]: b}\n", 1, 2),
        ("? {a: b}\n: c\n", 1, 3),
        ("a:\n  b: 0x_\n", 2, 6),
        (f"a: {'9' * 5000}\n", 1, 4),
        ("a: !!int x\n", 1, 4),
        ("a: !!timestamp x\n", 1, 4),
        ("a: !!bool x\n", 1, 4),
        ("a: 1\nb: 2\na: 3\n", 3, 1),
        ("[" * 100_000, 1, 1001),
    ],
)
def test_what_is_no_value_is_told_with_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(strict_yaml.NotYaml) as refused:
        strict_yaml.load(text)
    assert (refused.value.line, refused.value.column) == (line, column)
    assert refused.value.problem
