"""The page of a plan in a real browser: racks with power, tiers, rails; one file, on every screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.render.plan_page import page
from tests.doubles.opened import Opened, Screen

if TYPE_CHECKING:
    from pathlib import Path

    from selenium.webdriver import Chrome

SCREENS = [
    Screen(width, height, scheme)
    for width, height in ((1280, 800), (390, 844))
    for scheme in ("light", "dark")
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan = open_cluster(paths.repository() / "clusters" / "onprem-dgx-h100.yaml").plan
    path = tmp_path_factory.mktemp("plan") / "plan.html"
    path.write_text(page(plan), encoding="utf-8")
    return path


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_it_is_one_quiet_legible_file(browser: Chrome, written: Path, screen: Screen) -> None:
    opened = Opened(browser, written, screen)
    assert opened.complaints == []
    assert opened.requests == [written.as_uri()]
    assert opened.overflow_px() <= 0
    assert opened.too_faint() == []
    assert opened.in_sight("#totals").startswith("152 nodes, 1,016 accelerators")


def test_racks_tiers_and_rails_are_those_of_the_plan(browser: Chrome, written: Path) -> None:
    opened = Opened(browser, written, SCREENS[0])
    racks = opened.texts(".rack")
    assert len(racks) == 32
    assert any("40.8 of 44 kW" in rack for rack in racks)
    tiers = opened.texts(".tiers td")
    assert tiers[:4] == ["leaf", "32", "spine", "16"]
    assert tiers[4:8] == ["cables node-leaf", "1,020", "cables leaf-spine", "1,024"]
    rails = opened.texts(".rails td")
    assert rails[:4] == ["1", "ibp24s0", "compute-leaf-001", "1-32"]
    assert rails[28:32] == ["8", "ibp220s0", "compute-leaf-008", "1-32"]
