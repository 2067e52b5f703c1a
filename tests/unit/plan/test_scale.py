"""Big is normal: cost grows with the slots and no faster, and the stack stays small."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright.plan.build import build
from rackwright.plan.fabric.cables import cables
from rackwright.plan.lock import parse, render
from rackwright.render.fabric import cutsheet, ibnetdiscover
from rackwright.render.fabric.network import network
from rackwright.spec.load import load
from rackwright.validate.fabric.compare import compare
from tests.doubles import big_spec, superpod

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.catalogue.load import Catalogue
    from rackwright.spec.load import LoadedSpec


@pytest.fixture
def big(tmp_path: Path) -> Callable[[int], LoadedSpec]:
    return lambda hosts: load(big_spec.write(tmp_path / str(hosts), hosts))


def cpu_seconds(work: Callable[[], object]) -> float:
    """Best of three, without pauses of the garbage collector."""
    best = float("inf")
    gc.disable()
    try:
        for _ in range(3):
            start = time.process_time()
            work()
            best = min(best, time.process_time() - start)
    finally:
        gc.enable()
    return best


def plan_twice(loaded: LoadedSpec, catalogue: Catalogue) -> None:
    """First without a lock, so that every slot looks for a place, then with the text of it."""
    _, lock = build(loaded, catalogue, None)
    build(loaded, catalogue, parse(render(lock), Path("big.lock.yaml")))


def test_four_times_the_hosts_cost_no_more_than_eight_times_the_time(
    big: Callable[[int], LoadedSpec], catalogue: Catalogue
) -> None:
    small, large = big(1024), big(4096)
    ratio = cpu_seconds(lambda: plan_twice(large, catalogue)) / cpu_seconds(
        lambda: plan_twice(small, catalogue)
    )
    assert ratio < 8, f"4096 hosts cost {ratio:.1f} times what 1024 cost"


def test_3072_hosts_make_96_host_sets_and_few_other_resources(
    big: Callable[[int], LoadedSpec], catalogue: Catalogue
) -> None:
    plan, lock = build(big(3072), catalogue, None)
    assert len(plan.stacks.onprem["hall"].host_sets) == 96
    assert plan.totals.resources is not None
    assert plan.totals.resources <= 96 + 20
    assert plan.totals.accelerators == 24_576
    assert plan.undelivered == {}
    assert len(render(lock).splitlines()) < 800


def test_131072_accelerators_are_one_plan(big: Callable[[int], LoadedSpec], catalogue: Catalogue) -> None:
    plan, _ = build(big(16_384), catalogue, None)
    assert plan.totals.accelerators == 131_072
    last = plan.pools["node"].slots["node-16384"]
    assert last.addresses["management"] == "10.0.64.15/16"
    assert last.ports[7].address == "10.135.64.15/16"


def cabled(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue, nodes: int) -> None:
    """Plan a fat tree, write every cable of it, and compare it with its own dump."""
    plan, _ = build(make_loaded(superpod.values(nodes)), catalogue, None)
    cutsheet.write(cables(plan, "compute"))
    made = network(plan, "compute")
    compare(made, ibnetdiscover.read(ibnetdiscover.write(made), "dump.txt"))


def test_four_times_the_nodes_cost_no_more_than_eight_times_the_time_to_cable(
    make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue
) -> None:
    """Of 512 nodes a tree has three tiers; so has one of 2,048."""
    large = cpu_seconds(lambda: cabled(make_loaded, catalogue, 2048))
    ratio = large / cpu_seconds(lambda: cabled(make_loaded, catalogue, 512))
    assert ratio < 8, f"2048 nodes cost {ratio:.1f} times what 512 cost"


def test_the_lock_of_a_big_fabric_stays_readable(
    make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue
) -> None:
    """Places are one span; switches a line for each rack they stand in."""
    _, lock = build(make_loaded(superpod.values(2048)), catalogue, None)
    text = render(lock)
    assert "gpu: {1-2048: 0-2047}" in text
    fabric = text[text.index("fabrics:") : text.index("pools:")]
    assert len(fabric.splitlines()) < 200
