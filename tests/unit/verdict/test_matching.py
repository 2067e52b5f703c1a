"""Which figure a value has, and how far it lies beyond it: the most specific, of equals the strictest."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from rackwright.catalogue.model import Check
from rackwright.validate.expectations import Expectation, Key, Provenance
from rackwright.validate.model import Artefact, Context, Measurement, Rail, Tool, Unit
from rackwright.verdict.matching import Bounds, beyond, within
from tests.doubles.one_check import run_of

NODE = "node-001"
RUN = run_of(Check.CLOCK, Tool.CLOCK, (NODE,))
BOUND = {"at_least": None, "at_most": None, "one_of": ()}


def _value(value: float | str, unit: Unit = Unit.SECONDS) -> Measurement:
    artefact = Artefact(path="raw/x", sha256="0" * 64)
    about = Context(node=NODE, pattern="p", algorithm="a", parameters={"order": 1})
    return Measurement(
        name="offset",
        value=value,
        unit=unit,
        context=about,
        step=RUN.steps[0].name,
        artefact=artefact,
        platform="dgx-h100",
    )


def _figure(unit: Unit = Unit.SECONDS, key: dict[str, object] | None = None, **bound: object) -> Expectation:
    return Expectation.model_validate(
        {
            "key": Key.model_validate({"name": "offset", "check": Check.CLOCK, **(key or {})}),
            "unit": unit,
            "nominal": 0,
            "provenance": Provenance.OPERATOR,
            "source": "a test",
            **BOUND,
            **bound,
        }
    )


KEYS: tuple[dict[str, object], ...] = ({"pattern": "p"}, {"algorithm": "a"}, {"parameters": {"order": 1}})


@pytest.mark.parametrize(
    ("unit", "bounds", "strictest"),
    [
        (Unit.SECONDS, [{"at_least": 1.0}, {"at_least": 3.0}, {"at_least": 2.0}], 1),
        (Unit.SECONDS, [{"at_most": 1.0}, {"at_most": 0.0}, {"at_most": 2.0}], 1),
        (Unit.SECONDS, [{"at_most": 0.5}, {"at_most": 0.1}, {"at_most": 0.3}], 1),
        (Unit.WORD, [{"one_of": ("a", "b")}, {"one_of": ("a",)}, {"one_of": ("a", "b", "c")}], 1),
    ],
)
def test_of_figures_that_say_as_much_the_strictest_counts_whatever_their_order(
    unit: Unit, bounds: list[dict[str, Any]], strictest: int
) -> None:
    figures = [_figure(unit, key, **bound) for key, bound in zip(KEYS, bounds, strict=True)]
    value = _value("a" if unit is Unit.WORD else 5.0, unit)
    for order in permutations(figures):
        assert Bounds(RUN, order).of(value) is figures[strictest]


def test_the_most_specific_counts_however_lenient() -> None:
    strict, special = _figure(at_most=0.1), _figure(key={"pattern": "p"}, at_most=9.0)
    assert Bounds(RUN, (strict, special)).of(_value(5.0)) is special


@pytest.mark.parametrize(
    ("value", "bound", "far"),
    [
        (3.0, {"at_most": 2.0}, 1.0),
        (-3.0, {"at_most": 2.0}, 1.0),
        (1.0, {"at_most": 2.0}, -1.0),
        (3.0, {"at_least": 2.0}, -1.0),
        (1.5, {"at_least": 2.0}, 0.5),
        (9.0, {"at_least": 4.0, "at_most": 8.0}, 1.0),
        (1.0, {"at_least": 4.0, "at_most": 8.0}, 3.0),
        ("b", {"one_of": ("a",)}, float("inf")),
        ("a", {"one_of": ("a",)}, 0.0),
        ("a", {"at_most": 1.0}, float("inf")),
    ],
)
def test_how_far_a_value_is_beyond_its_bound(value: float | str, bound: dict[str, Any], far: float) -> None:
    figure = _figure(**bound)
    assert beyond(_value(value), figure) == far
    assert within(_value(value), figure) is (far <= 0)


OF: dict[str, object] = {
    "platform": "dgx-h100",
    "pool": "h100",
    "collective": "all_reduce",
    "algorithm": "a",
    "size_bytes": 8,
    "fabric": "compute",
    "rails": 1,
    "ranks": 16,
    "link": "wan",
    "pattern": "p",
    "parameters": {"order": 1},
    "versions": {"nccl": "2.26"},
}
"""What the value below is of."""
OTHERS: dict[str, object] = {
    **{name: "another" for name, said in OF.items() if isinstance(said, str)},
    **{name: 7 for name, said in OF.items() if isinstance(said, int)},
    "parameters": {"order": 2},
    "versions": {"nccl": "2.27"},
}


@pytest.mark.parametrize("name", OF)
def test_a_figure_for_something_else_is_not_taken(name: str) -> None:
    assert OF.keys() == Key.model_fields.keys() - {"name", "check"}
    rail = Rail(node=NODE, fabric="compute", rail=0, interface="r0")
    run = RUN.model_copy(
        update={"rails": (rail,), "pools": {"h100": (NODE,)}, "images": {"x": {"nccl": "2.26"}}}
    )
    said = {part: value for part, value in OF.items() if part in Context.model_fields}
    value = _value(5.0).model_copy(
        update={"context": Context.model_validate({"node": NODE, "rail": 0, **said})}
    )
    right, wrong = _figure(key={name: OF[name]}, at_most=1), _figure(key={name: OTHERS[name]}, at_most=1)
    assert Bounds(run, (wrong,)).of(value) is None
    assert Bounds(run, (wrong, right)).of(value) is right


def test_a_figure_in_another_unit_is_not_taken_and_no_value_is_within_it() -> None:
    micro = _figure(Unit.MICROSECONDS, at_most=1e9)
    assert Bounds(RUN, (micro,)).of(_value(1.0)) is None
    assert not within(_value(1.0), micro)
