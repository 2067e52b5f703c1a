"""First fit by units, power and nodes a rack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from rackwright.plan import racks
from rackwright.plan.fabric.lengths import apart_mm
from rackwright.plan.racks import Around, Footprint, Hall
from rackwright.spec.sites import RackGrid

if TYPE_CHECKING:
    import pytest

SMALL = Footprint("small", units=1, watts=500, per_rack=None)
BIG = Footprint("big", units=8, watts=10_200, per_rack=None)


def fill(hall: Hall, footprint: Footprint, nodes: int) -> list[tuple[str, int] | None]:
    places = []
    for _ in range(nodes):
        place = hall.find(footprint)
        if place:
            hall.seat(*place, footprint)
        places.append(place)
    return places


def test_power_bounds_a_rack_before_its_units_do() -> None:
    hall = Hall(RackGrid(rows=1, per_row=3, units=48, power_kw=44))
    assert fill(hall, BIG, 5) == [("r01p01", 1), ("r01p01", 9), ("r01p01", 17), ("r01p01", 25), ("r01p02", 1)]


def test_units_bound_a_rack_before_its_power_does() -> None:
    hall = Hall(RackGrid(rows=2, per_row=1, units=20, power_kw=200))
    assert fill(hall, BIG, 5) == [("r01p01", 1), ("r01p01", 9), ("r02p01", 1), ("r02p01", 9), None]


def test_nodes_a_rack_counts_its_own_pool_only() -> None:
    hall = Hall(RackGrid(rows=1, per_row=2, units=48, power_kw=44))
    fill(hall, SMALL, 1)
    two = Footprint("two", units=1, watts=500, per_rack=2)
    assert fill(hall, two, 3) == [("r01p01", 2), ("r01p01", 3), ("r01p02", 1)]


def test_the_lowest_free_run_is_taken() -> None:
    hall = Hall(RackGrid(rows=1, per_row=1, units=12, power_kw=44))
    hall.seat("r01p01", 3, SMALL)
    assert fill(hall, Footprint("tall", units=3, watts=100, per_rack=None), 1) == [("r01p01", 4)]
    assert fill(hall, SMALL, 3) == [("r01p01", 1), ("r01p01", 2), ("r01p01", 7)]


def test_a_full_hall_says_none_again_and_again() -> None:
    hall = Hall(RackGrid(rows=1, per_row=1, units=1, power_kw=44))
    assert fill(hall, SMALL, 3) == [("r01p01", 1), None, None]


def test_a_seat_is_refused_with_its_reason() -> None:
    hall = Hall(RackGrid(rows=1, per_row=1, units=16, power_kw=20))
    assert hall.why_not("r01p01", 1, BIG) == ""
    assert "no rack r02p01" in hall.why_not("r02p01", 1, BIG)
    assert "no rack r01p02" in hall.why_not("r01p02", 1, BIG)
    assert "which has 16" in hall.why_not("r01p01", 10, BIG)
    hall.seat("r01p01", 1, BIG)
    assert "something else stands in units 8 to 15" in hall.why_not("r01p01", 8, BIG)
    assert "20.4 kW of 20 kW" in hall.why_not("r01p01", 9, BIG)


def test_racks_are_named_and_kept_by_row_and_place() -> None:
    hall = Hall(RackGrid(rows=12, per_row=101, units=1, power_kw=1))
    for name in ("r12p101", "r02p09", "r01p100"):
        hall.seat(name, 1, SMALL)
    assert [name for name, _ in hall.filled()] == ["r01p100", "r02p09", "r12p101"]


@given(st.integers(1, 9), st.integers(1, 30), st.integers(1, 12), st.integers(1, 40))
def test_racks_around_one_come_by_their_way_then_by_rows_and_places(
    rows: int, per_row: int, row: int, place: int
) -> None:
    """Also around a rack that the hall has no more."""
    around = Around(RackGrid(rows=rows, per_row=per_row, units=1, power_kw=1), (row, place))
    every = [(one, other) for one in range(1, rows + 1) for other in range(1, per_row + 1)]
    nearest = sorted(every, key=lambda rack: (apart_mm(rack, (row, place)), rack))
    assert [around[turn] for turn in range(rows * per_row)] == nearest


def test_a_big_hall_is_looked_at_no_further_than_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the switches of twice the nodes would cost four times as much."""
    looked: list[tuple[int, int]] = []

    def counted(one: tuple[int, int], other: tuple[int, int]) -> int:
        looked.append(one)
        return apart_mm(one, other)

    monkeypatch.setattr(racks, "apart_mm", counted)
    hall = Hall(RackGrid(rows=100, per_row=100, units=1, power_kw=1))
    for _ in range(9):
        place = hall.nearest((50, 50), SMALL)
        assert place is not None
        hall.seat(*place, SMALL)
    assert [name for name, _ in hall.filled()] == [f"r50p{number}" for number in range(46, 55)]
    assert len(looked) < 40
