"""First fit by units, power and nodes a rack."""

from __future__ import annotations

from rackwright.plan.racks import Footprint, Hall
from rackwright.spec.sites import RackGrid

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
