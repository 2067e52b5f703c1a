"""What holds for every plan, whatever the spec: nothing overlaps, nothing moves, nothing is chance."""

from __future__ import annotations

import copy
from collections import Counter
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rackwright import canonical
from rackwright.errors import SpecInvalid
from rackwright.plan.build import build
from rackwright.plan.lock import parse, render
from rackwright.plan.model import OnpremSitePlan

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan, Slot
    from rackwright.spec.load import LoadedSpec

    Values = dict[str, Any]
    Planner = Callable[[Values, Lock | None], tuple[Plan, Lock]]

HALLS, ZONES = ("hall-a", "hall-b"), ("use2",)
POOLS = ("big", "head", "login", "node", "spare", "zeta")
PLATFORMS = {"onprem": ("cpu-1u", "dgx-h100", "lab-node"), "aws": ("m7i.4xlarge", "trn2.48xlarge")}
ROOM = {"rows": 3, "per_row": 4, "units": 24, "power_kw": 25}
MANY = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def planner(make_loaded: Callable[[Values], LoadedSpec], catalogue: Catalogue) -> Planner:
    def plan(values: Values, lock: Lock | None) -> tuple[Plan, Lock]:
        return build(make_loaded(values), catalogue, lock)

    return plan


def hall(number: int) -> Values:
    return {
        "kind": "onprem",
        "racks": dict(ROOM),
        "access": {"console_logs": "state:console"},
        "networks": {
            "management": {"cidr": f"10.{number}.0.0/25"},
            "bmc": {"cidr": f"10.{number}.1.0/24"},
            "storage": {"cidr": f"10.{number}.2.0/24"},
        },
        "bmc": {"credentials": "env:BMC", "ca": "file:ca.pem"},
    }


def zone() -> Values:
    return {
        "kind": "aws",
        "account": "123456789012",
        "region": "us-east-2",
        "zone_id": "use2-az2",
        "vpc": {"cidrs": ["10.64.0.0/24"]},
    }


def kind_of(site: str) -> str:
    return "aws" if site in ZONES else "onprem"


@st.composite
def nodes(draw: st.DrawFn) -> Values:
    static = draw(st.integers(0, 9))
    burst = draw(st.integers(0 if static else 1, 3))
    retired = draw(st.sets(st.integers(1, static + burst), max_size=min(2, static + burst - 1)))
    return {"static": static, "burst": burst, "retired": sorted(retired)}


@st.composite
def pools(draw: st.DrawFn, sites: tuple[str, ...]) -> Values:
    site = draw(st.sampled_from(sites))
    platform = draw(st.sampled_from(PLATFORMS[kind_of(site)]))
    pool: Values = {"site": site, "platform": platform, "image": "base", "nodes": draw(nodes())}
    if platform != "dgx-h100" and kind_of(site) == "onprem":
        pool["nodes_per_rack"] = draw(st.sampled_from([None, 1, 2, 5]))
    if platform == "lab-node":
        rails = draw(st.sampled_from([None, 1, 2]))
        pool["fabrics"] = {f"rails-{site}": {"nics": rails}} if rails else {}
    return {key: value for key, value in pool.items() if value is not None}


@st.composite
def specs(draw: st.DrawFn) -> Values:
    sites = tuple(sorted(draw(st.sets(st.sampled_from(HALLS + ZONES), min_size=1))))
    names = sorted(draw(st.sets(st.sampled_from(POOLS), min_size=1, max_size=4)))
    return {
        "rackwright": 1,
        "cluster": {"name": "any", "domain": "any.example"},
        "images": {"base": {"os": "debian-13"}},
        "sites": {site: zone() if site in ZONES else hall(HALLS.index(site)) for site in sites},
        "pools": {name: draw(pools(sites)) for name in names},
        "fabrics": {
            f"rails-{site}": {
                "kind": "ethernet",
                "speed": "100m",
                "topology": {"kind": "rails"},
                "cidr": f"10.{128 + number}.0.0/23",
            }
            for number, site in enumerate(HALLS)
        },
    }


def remove_pool(draw: st.DrawFn, values: Values) -> None:
    assume(len(values["pools"]) > 1)
    del values["pools"][draw(st.sampled_from(sorted(values["pools"])))]


def add_pool(draw: st.DrawFn, values: Values) -> None:
    free = sorted(set(POOLS) - set(values["pools"]))
    assume(free)
    values["pools"][draw(st.sampled_from(free))] = draw(pools(tuple(sorted(values["sites"]))))


def some_nodes(draw: st.DrawFn, values: Values) -> Values:
    found: Values = values["pools"][draw(st.sampled_from(sorted(values["pools"])))]["nodes"]
    return found


def retire_node(draw: st.DrawFn, values: Values) -> None:
    found = some_nodes(draw, values)
    left = sorted(set(range(1, found["static"] + found["burst"] + 1)) - set(found["retired"]))
    assume(len(left) > 1)
    found["retired"] = sorted({*found["retired"], draw(st.sampled_from(left))})


def grow_static(draw: st.DrawFn, values: Values) -> None:
    some_nodes(draw, values)["static"] += draw(st.integers(1, 6))


def grow_burst(draw: st.DrawFn, values: Values) -> None:
    some_nodes(draw, values)["burst"] += draw(st.integers(1, 3))


def shrink(draw: st.DrawFn, values: Values) -> None:
    found = some_nodes(draw, values)
    least = max(found["retired"], default=0) + 1
    assume(found["static"] + found["burst"] > least)
    key = draw(st.sampled_from([key for key in ("static", "burst") if found[key]]))
    found[key] -= 1


def add_racks(draw: st.DrawFn, values: Values) -> None:
    halls = [site for site in values["sites"].values() if site["kind"] == "onprem"]
    assume(halls)
    draw(st.sampled_from(halls))["racks"][draw(st.sampled_from(["rows", "per_row"]))] += 1


CHANGES = (remove_pool, add_pool, retire_node, grow_static, grow_burst, shrink, add_racks)


@st.composite
def histories(draw: st.DrawFn) -> list[Values]:
    """A spec as it is committed again and again."""
    history = [draw(specs())]
    for _ in range(draw(st.integers(1, 4))):
        values = copy.deepcopy(history[-1])
        draw(st.sampled_from(CHANGES))(draw, values)
        history.append(values)
    return history


def planned(planner: Planner, history: list[Values]) -> Iterator[tuple[Plan, Lock]]:
    """Plan and lock of each commit; a history that outgrows its racks or rails is passed over."""
    lock: Lock | None = None
    for values in history:
        try:
            plan, lock = planner(values, lock)
        except SpecInvalid as error:
            assume({finding.code for finding in error.findings} - {"RACK001", "ADDR004"})
            raise
        yield plan, lock


def slots(plan: Plan) -> dict[str, Slot]:
    return {name: slot for pool in plan.pools.values() for name, slot in pool.slots.items()}


def refuse_overlaps(values: Values, plan: Plan) -> None:
    names = Counter(name for pool in plan.pools.values() for name in pool.slots)
    assert max(names.values()) == 1
    for site_name, site in plan.sites.items():
        here = [
            (pool, slot)
            for pool in plan.pools.values()
            if pool.site == site_name
            for slot in pool.slots.values()
        ]
        indexes = Counter(slot.index for _, slot in here)
        assert not here or max(indexes.values()) == 1
        addresses = Counter(
            address
            for _, slot in here
            for address in (*slot.addresses.values(), *(port.address for port in slot.ports if port.address))
        )
        assert not addresses or max(addresses.values()) == 1
        if isinstance(site, OnpremSitePlan):
            refuse_full_racks(site, here)
            refuse_crowded_racks(values, here)


def refuse_full_racks(site: OnpremSitePlan, here: list[Any]) -> None:
    units: Counter[tuple[str, int]] = Counter()
    watts: Counter[str] = Counter()
    for pool, slot in here:
        rack, first = slot.position.rack, slot.position.unit
        units.update((rack, unit) for unit in range(first, first + pool.units_per_node))
        watts[rack] += round(pool.power_kw_per_node * 1000)
        for name, address in slot.addresses.items():
            refuse_outside(address, site.networks[name].cidr)
    assert not units or max(units.values()) == 1
    for rack, unit in units:
        assert 1 <= unit <= site.racks[rack].units
    assert all(load <= round(site.racks[rack].limit_kw * 1000) for rack, load in watts.items())
    assert {name: round(rack.power_kw * 1000) for name, rack in site.racks.items()} == dict(watts)
    used = Counter(rack for rack, _ in units)
    assert {name: rack.units_used for name, rack in site.racks.items()} == dict(used)


def refuse_crowded_racks(values: Values, here: list[Any]) -> None:
    nodes = Counter((slot.name.rpartition("-")[0], slot.position.rack) for _, slot in here)
    for (pool, _), count in nodes.items():
        assert count <= values["pools"][pool].get("nodes_per_rack", count)


def refuse_outside(address: str, cidr: str) -> None:
    interface, network = IPv4Interface(address), IPv4Network(cidr)
    assert interface.network == network
    assert network.network_address + 16 <= interface.ip < network.broadcast_address


@MANY
@given(history=histories())
def test_nothing_overlaps(planner: Planner, history: list[Values]) -> None:
    for values, (plan, _) in zip(history, planned(planner, history), strict=True):
        refuse_overlaps(values, plan)


@MANY
@given(history=histories())
def test_nothing_moves(planner: Planner, history: list[Values]) -> None:
    before: dict[str, Slot] = {}
    for plan, _ in planned(planner, history):
        now = slots(plan)
        for name in before.keys() & now.keys():
            assert now[name].model_copy(update={"burst": before[name].burst}) == before[name]
        before = now


@MANY
@given(values=specs(), data=st.data())
def test_removing_a_pool_changes_nothing_else_of_the_plan(
    planner: Planner, values: Values, data: st.DataObject
) -> None:
    (before, lock), *_ = planned(planner, [values])
    assume(len(values["pools"]) > 1)
    gone = data.draw(st.sampled_from(sorted(values["pools"])))
    values["pools"] = {name: pool for name, pool in values["pools"].items() if name != gone}
    after, _ = planner(values, lock)
    assert after.pools == {name: pool for name, pool in before.pools.items() if name != gone}


@MANY
@given(values=specs(), data=st.data())
def test_retiring_a_node_takes_it_out_and_nothing_else(
    planner: Planner, values: Values, data: st.DataObject
) -> None:
    (before, lock), *_ = planned(planner, [values])
    name = data.draw(st.sampled_from(sorted(before.pools)))
    number = data.draw(st.sampled_from([slot.number for slot in before.pools[name].slots.values()]))
    assume(len(before.pools[name].slots) > 1)
    found = values["pools"][name]["nodes"]
    found["retired"] = sorted({*found["retired"], number})
    after, _ = planner(values, lock)
    assert slots(after) == {
        slot: one for slot, one in slots(before).items() if slot != f"{name}-{number:03d}"
    }


@MANY
@given(history=histories())
def test_planning_again_changes_no_byte(planner: Planner, history: list[Values]) -> None:
    for values, (plan, lock) in zip(history, planned(planner, history), strict=True):
        again, same = planner(values, lock)
        assert canonical.dumps(again) == canonical.dumps(plan)
        assert render(same) == render(lock)


def shuffled(values: Values, chance: random.Random) -> Values:
    """The same maps, all their keys in another order."""
    keys = list(values)
    chance.shuffle(keys)
    return {
        key: shuffled(values[key], chance) if isinstance(values[key], dict) else values[key] for key in keys
    }


@MANY
@given(values=specs(), chance=st.randoms(use_true_random=False))
def test_the_order_of_keys_means_nothing(planner: Planner, values: Values, chance: random.Random) -> None:
    (plan, lock), *_ = planned(planner, [values])
    other, other_lock = planner(shuffled(values, chance), None)
    assert canonical.dumps(other) == canonical.dumps(plan)
    assert render(other_lock) == render(lock)


@MANY
@given(history=histories())
def test_a_lock_survives_its_text(planner: Planner, history: list[Values]) -> None:
    for _, lock in planned(planner, history):
        assert parse(render(lock), Path("any.lock.yaml")) == lock
