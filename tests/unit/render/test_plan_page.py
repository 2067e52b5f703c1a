"""The page of a plan says what the plan says, and nothing where there is nothing."""

from __future__ import annotations

import pytest

from rackwright import paths
from rackwright.catalogue.load import load as load_catalogue
from rackwright.plan.build import build
from rackwright.render.plan_page import page
from rackwright.spec.load import load

CLUSTERS = paths.repository() / "clusters"


def page_of(example: str) -> str:
    return page(build(load(CLUSTERS / f"{example}.yaml"), load_catalogue(), None)[0])


def test_a_zone_has_no_racks_and_no_cables() -> None:
    text = page_of("aws-p5")
    assert 'class="rack"' not in text
    assert 'class="fabric"' not in text


@pytest.mark.parametrize(
    ("example", "shown"),
    [
        ("lab", "rail</td>"),
        ("fabrics/dragonfly-1056", "cables router-router"),
        ("fabrics/twin-planes-2048", "compute-p1-leaf-008"),
        ("fabrics/gb200-9216", "gb200-[001-018]"),
    ],
)
def test_what_a_fabric_is_made_of(example: str, shown: str) -> None:
    assert shown in page_of(example)
