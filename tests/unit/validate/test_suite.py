"""Suites: what is shipped loads, what is not a suite is refused where it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.catalogue.model import Check
from rackwright.errors import UsageError
from rackwright.validate import suite as suites

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", suites.known())
def test_a_shipped_suite_loads(name: str) -> None:
    assert suites.load(name).name == name


def test_acceptance_has_whatever_a_platform_can_declare() -> None:
    assert {check.check for check in suites.load("acceptance").checks} == {check.value for check in Check}


def test_cheap_checks_that_explain_others_come_first() -> None:
    order = [check.check for check in suites.load("acceptance").checks]
    assert order.index("links") < order.index("pairs") < order.index("collectives")


def test_where_speed_is_judged_one_node_runs_at_a_time() -> None:
    matrix = next(check for check in suites.load("acceptance").checks if isinstance(check, suites.Matrix))
    assert matrix.at_once == 1


def test_an_unknown_suite_is_told_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        suites.load("aceptance")
    assert (caught.value.code, caught.value.expected) == ("VAL001", "acceptance")
    assert "acceptance" in caught.value.hint


def _spoil(folder: Path, old: str, new: str) -> None:
    text = (suites.SHIPPED / "acceptance.yaml").read_text()
    assert old in text
    (folder / "acceptance.yaml").write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("order: 768", "order: 4096", "2048"),
        ("questions: 50", "questions: 50, loud: true", "loud"),
        ("all_gather: [", "all_scatter: [", "all_scatter"),
        ("check: clock", "check: links", "links"),
        ("name: acceptance", "name: other", "other"),
        ("limit_s: 30", "limit_s: 0", "limit_s"),
        ("name: acceptance", "name: [", "line"),
    ],
)
def test_a_file_that_is_no_suite_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    _spoil(tmp_path, old, new)
    with pytest.raises(UsageError) as caught:
        suites.load("acceptance", tmp_path)
    assert caught.value.code == "VAL002"
    assert told in caught.value.got


def test_a_file_of_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "acceptance.yaml").write_bytes("title: Abnahme für".encode("latin-1"))
    with pytest.raises(UsageError) as caught:
        suites.load("acceptance", tmp_path)
    assert (caught.value.code, caught.value.where) == ("VAL002", str(tmp_path / "acceptance.yaml"))
