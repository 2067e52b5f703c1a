"""Labs of different names do not know of each other; labs in one range are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.lab import parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab


def test_two_labs_stand_side_by_side_and_one_goes_without_the_other(
    make_lab: Callable[[str, str], Lab],
) -> None:
    first, second = make_lab("lab-test-a", "10.88"), make_lab("lab-test-a-b", "10.89")
    for one in (first, second):
        one.up()
        one.rackwright("plan", str(one.spec))
        one.prepare()
        one.boot("node-001")
    kept = parts.find(second.places)
    first.down()
    assert parts.find(first.places) == []
    assert parts.find(second.places) == kept
    assert second.ssh("node-001", "hostname") == "node-001"
    assert second.up()["made"] == []


def test_a_lab_in_the_range_of_another_is_refused_and_nothing_is_made(
    lab: Lab, make_lab: Callable[[str, str], Lab]
) -> None:
    other = make_lab("lab-test-c", "10.87")
    refused = other.json("lab", "up", str(other.spec), code=2)
    assert refused["schema"] == "rackwright/error/1"
    text = str(refused)
    assert "LAB108" in text
    assert "10.87.0.0/24 overlaps with 10.87.0.0/24 on rw-lab-test" in text
    assert parts.find(other.places) == []
    assert not other.places.state.exists()
    assert lab.up()["made"] == []
