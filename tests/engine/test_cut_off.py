"""`refresh`, `destroy` and `preview` of a hall cut off: its state stays whole, the same command goes on."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.provision.onprem.reconcile import WORKERS
from tests.doubles.cutting import (
    BOTH_KILLED,
    CTRL_C,
    CUTS,
    ENGINE_KILLED,
    PLUGINS,
    end_language_hosts,
    ended,
    strike,
    wait,
)
from tests.doubles.processes import ENGINE, working_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.doubles.cutting import Cut
    from tests.doubles.site import Site

pytestmark = pytest.mark.engine

FEW = 6
MORE_THAN_AT_ONCE = WORKERS + 16
"""Hosts in three sets, of which some have not been asked when the first have answered."""


def _brought_up(make_site: Callable[..., Site], hosts: int) -> Site:
    site = make_site(hosts)
    site.run("up", "--yes")
    for bmc in site.hall.bmcs.values():
        bmc.asked.clear()
    return site


def _asked(site: Site) -> int:
    return sum(site.hall.asked("GET").values())


def _resources(site: Site) -> dict[str, Any]:
    """URN → state, of all that the engine knows."""
    return {one["urn"]: one.get("outputs") for one in site.checkpoint().get("resources") or ()}


def _untouched(site: Site) -> bool:
    """Whether no host was powered on or off since all were up."""
    asked = {kind for bmc in site.hall.bmcs.values() for kind in bmc.asked}
    return asked <= {"GET"} and all(bmc.power == "On" for bmc in site.hall.bmcs.values())


def _locks(site: Site) -> list[str]:
    return [str(file) for file in (site.state / "engine" / ".pulumi" / "locks").rglob("*.json")]


READING: dict[str, Callable[[Site], object]] = {
    "the engine begins": lambda site: working_on(site.state, of=ENGINE),
    "a controller is asked": _asked,
    "half of the hosts are known": lambda site: _asked(site) >= FEW * 2,
}
"""Of a look at each host, which is four questions."""


def _cut_off(site: Site, words: tuple[str, ...], point: Callable[[Site], object], cut: Cut) -> str:
    """Begin a command of slow controllers, and cut it off at a point."""
    site.slow_down(0.3)
    begun = site.start(*words)
    wait(lambda: point(site), "it never came so far")
    strike(begun, site.state, cut)
    said = ended(begun, site.state, cut)
    site.slow_down(0)
    return said


def _refresh_goes_on(site: Site, point: Callable[[Site], object], cut: Cut) -> None:
    before = _resources(site)
    _cut_off(site, ("refresh",), point, cut)
    assert _resources(site) == before
    assert site.stack("refresh")["changes"] == []
    up = site.stack("up", "--yes")
    assert up["changes"] == []
    assert _untouched(site)
    assert _resources(site) == before
    assert not site.checkpoint().get("pending_operations")
    end_language_hosts(site.state)


@pytest.mark.parametrize(
    "cut", [pytest.param(CTRL_C, marks=pytest.mark.slow), BOTH_KILLED], ids=["Ctrl-C", "killed"]
)
def test_a_refresh_that_was_cut_off_forgets_no_host_and_goes_on(
    make_site: Callable[..., Site], cut: Cut
) -> None:
    _refresh_goes_on(_brought_up(make_site, MORE_THAN_AT_ONCE), _asked, cut)


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("point", READING)
def test_a_refresh_goes_on_wherever_it_was_cut_off(
    make_site: Callable[..., Site], point: str, cut: Cut
) -> None:
    _refresh_goes_on(_brought_up(make_site, FEW), READING[point], cut)


@pytest.mark.parametrize(
    "cut", [CTRL_C, pytest.param(BOTH_KILLED, marks=pytest.mark.slow)], ids=["Ctrl-C", "killed"]
)
def test_a_preview_that_was_cut_off_holds_nothing(make_site: Callable[..., Site], cut: Cut) -> None:
    site = make_site(FEW)
    _cut_off(site, ("preview",), _asked, cut)
    if cut is CTRL_C:
        assert _locks(site) == []
    assert len({one["slot"] for one in site.stack("preview")["changes"]}) == FEW
    assert _locks(site) == []
    assert site.stack("up", "--yes")["failures"] == []
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)
    end_language_hosts(site.state)


@contextmanager
def _stopped_plugin(site: Site) -> Iterator[None]:
    """Stop the plugin once it is there: what the engine asks of it is under way until the block ends."""
    wait(lambda: working_on(site.state, of=PLUGINS), "the plugin never began")
    plugins = working_on(site.state, of=PLUGINS)
    for one in plugins:
        os.kill(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in plugins:
            os.kill(one, signal.SIGCONT)


def _destroy_cut_off(site: Site, cut: Cut) -> None:
    begun = site.start("destroy", "--yes")
    with _stopped_plugin(site):
        strike(begun, site.state, cut)
    ended(begun, site.state, cut)
    assert _untouched(site)


def _all_gone(site: Site) -> None:
    """Destroying it again goes on to the end: all are forgotten, and all run on."""
    site.run("destroy", "--yes")
    assert _resources(site) == {}
    assert not site.checkpoint().get("pending_operations")
    assert _untouched(site)
    end_language_hosts(site.state)


@pytest.mark.parametrize(
    "cut", [CTRL_C, pytest.param(ENGINE_KILLED, marks=pytest.mark.slow)], ids=["Ctrl-C", "engine killed"]
)
def test_a_destroy_that_was_cut_off_goes_on_and_no_host_is_powered(
    make_site: Callable[..., Site], cut: Cut
) -> None:
    site = _brought_up(make_site, MORE_THAN_AT_ONCE)
    _destroy_cut_off(site, cut)
    _all_gone(site)


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_a_destroy_goes_on_however_it_was_cut_off(make_site: Callable[..., Site], cut: Cut) -> None:
    site = _brought_up(make_site, FEW)
    _cut_off(site, ("destroy", "--yes"), READING["the engine begins"], cut)
    _destroy_cut_off(site, cut)
    _all_gone(site)


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_up_after_a_destroy_that_was_cut_off_adopts_every_host(
    make_site: Callable[..., Site], cut: Cut
) -> None:
    site = _brought_up(make_site, FEW)
    _destroy_cut_off(site, cut)
    up = site.stack("up", "--yes")
    assert up["failures"] == []
    assert _untouched(site)
    assert site.stack("preview")["changes"] == []
    end_language_hosts(site.state)
