"""Each fault of facts/fabric.md §4.3 and §4.4, planted in an exported dump, is found and mended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rackwright.catalogue.load import load as load_catalogue
from rackwright.plan.build import build
from rackwright.render.fabric.network import Device, Plug
from rackwright.validate.fabric.compare import Kind
from rackwright.validate.fabric.work import Words
from tests.doubles import superpod
from tests.doubles.dumped import Dump, mended

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec


@pytest.fixture(scope="module")
def plan(make_loaded: Callable[..., LoadedSpec]) -> Plan:
    """Two units with the fabric manager's hole: 63 nodes on 16 leaves and 8 spines."""
    return build(make_loaded(superpod.values(63, manager_uplinks=4)), load_catalogue(), None)[0]


@pytest.fixture
def dump(plan: Plan) -> Dump:
    return Dump(plan)


def test_a_healthy_dump_gives_none(dump: Dump) -> None:
    """The fabric manager's hole is no fault."""
    found = dump.compared()
    assert found.differences == ()
    assert found.agreed == 63 * 8 + 4 + 16 * 32


def test_crossed_rails_of_one_node(dump: Dump) -> None:
    """opensm takes them; the plugs to move are both at the node."""
    dump.exchange(dump.plug("gpu-005 HCA-2"), dump.plug("gpu-005 HCA-7"))
    assert dump.only().kind is Kind.CROSSED_RAILS
    (step,) = dump.steps()
    assert step.plugs == 2
    assert all("from gpu-005 HCA" in sentence for sentence in step.do)
    assert "hangs until" in step.do[0]
    assert "hangs until" not in step.do[1]
    assert mended(dump).links == dump.intended.links


def test_rails_that_went_round(dump: Dump) -> None:
    dump.exchange(*(dump.plug(f"gpu-005 HCA-{rail}") for rail in (1, 2, 3, 4)))
    assert (dump.only().kind, dump.only().plugs) == (Kind.CROSSED_RAILS, 4)
    assert mended(dump).links == dump.intended.links


def test_cables_of_two_nodes_swapped(dump: Dump) -> None:
    dump.exchange(dump.plug("gpu-001 HCA-1"), dump.plug("gpu-040 HCA-1"))
    assert (dump.only().kind, dump.only().plugs) == (Kind.SWAPPED, 2)
    assert mended(dump).links == dump.intended.links


def test_two_uplinks_swapped_between_spines(dump: Dump) -> None:
    dump.exchange(dump.plug("compute-leaf-001", 33), dump.plug("compute-leaf-002", 64))
    assert (dump.only().kind, dump.only().plugs) == (Kind.SWAPPED, 2)
    assert mended(dump).links == dump.intended.links


def test_two_uplinks_swapped_at_one_spine_are_mended_there(dump: Dump) -> None:
    """Both plugs are at one switch, and nobody has to walk to two leaves."""
    dump.exchange(dump.plug("compute-leaf-001", 33), dump.plug("compute-leaf-002", 33))
    assert {move.source.device for move in dump.only().moves} == {dump.id("compute-spine-001")}
    assert mended(dump).links == dump.intended.links


def test_ports_in_another_order_on_a_spine(dump: Dump) -> None:
    dump.exchange(dump.plug("compute-leaf-001", 33), dump.plug("compute-leaf-001", 34))
    assert dump.only().kind is Kind.SHIFTED_PORTS
    assert mended(dump).links == dump.intended.links


def test_a_row_of_ports_shifted_by_one(dump: Dump) -> None:
    """The last port of the second unit's leaf 13 is free: its node gave its place to the manager."""
    plugs = [dump.plug("compute-leaf-013", port) for port in range(20, 33)]
    peers = [dump.unplug(plug) for plug in plugs[:-1]]
    for plug, peer in zip(plugs[1:], peers, strict=True):
        dump.net.join(plug, peer, "4xNDR")
    assert (dump.only().kind, dump.only().plugs) == (Kind.SHIFTED_PORTS, 12)
    (step,) = dump.steps()
    assert not any("hangs" in sentence for sentence in step.do)
    assert "port 21 to compute-leaf-013" not in step.do[-1]
    assert mended(dump).links == dump.intended.links


def test_a_missing_uplink(dump: Dump) -> None:
    """ftree with a list of roots takes it."""
    dump.unplug(dump.plug("compute-leaf-001", 40))
    assert (dump.only().kind, dump.only().plugs) == (Kind.MISSING, 2)
    (step,) = dump.steps()
    assert step.do[0].startswith("connect compute-leaf-001 (r01p")
    assert mended(dump).links == dump.intended.links


def test_an_adapter_that_hangs_on_nothing_is_a_missing_cable(dump: Dump) -> None:
    dump.unplug(dump.plug("gpu-003 HCA-4"))
    dump.vanish("gpu-003 HCA-4")
    assert dump.only().kind is Kind.MISSING
    assert mended(dump).links == dump.intended.links


def test_a_cable_between_two_leaves(dump: Dump) -> None:
    one, other = dump.plug("compute-leaf-001", 64), dump.plug("compute-leaf-009", 64)
    dump.unplug(one)
    dump.unplug(other)
    dump.net.join(one, other, "4xNDR")
    assert (dump.only().kind, dump.only().plugs) == (Kind.MISPLACED, 3)
    assert mended(dump).links == dump.intended.links


def test_an_adapter_on_a_spine(dump: Dump) -> None:
    adapter = dump.plug("gpu-001 HCA-1")
    spine = dump.unplug(dump.plug("compute-leaf-001", 33))
    dump.unplug(adapter)
    dump.net.join(adapter, spine, "4xNDR")
    assert dump.only().kind is Kind.MISPLACED
    assert mended(dump).links == dump.intended.links


def test_a_cable_that_nobody_planned(dump: Dump) -> None:
    dump.net.join(dump.plug("compute-leaf-013", 32), dump.plug("compute-leaf-014", 32), "4xNDR")
    assert (dump.only().kind, dump.only().plugs) == (Kind.EXTRA, 2)
    assert mended(dump).links == dump.intended.links


@pytest.mark.parametrize(
    ("speed", "kind"), [("4xHDR", Kind.WRONG_SPEED), ("1xNDR", Kind.WRONG_WIDTH), ("2xNDR", Kind.WRONG_WIDTH)]
)
def test_a_link_that_came_up_slow(dump: Dump, speed: str, kind: Kind) -> None:
    plug = dump.plug("gpu-009 HCA-8")
    dump.net.join(plug, dump.unplug(plug), speed)
    assert (dump.only().kind, dump.only().note) == (kind, f"{speed}, planned 4xNDR")
    (step,) = dump.steps()
    assert "reseat or replace the cable gpu-009 HCA-8" in step.do[0]


def test_an_unnamed_adapter_is_told_and_compared_all_the_same(dump: Dump) -> None:
    dump.rename("gpu-007 HCA-3", "MT4129 ConnectX7   Mellanox Technologies")
    difference = dump.only()
    assert (difference.kind, difference.note, difference.plugs) == (Kind.UNNAMED, "gpu-007 HCA-3", 0)
    assert difference.device.startswith("MT4129 ConnectX7")
    (step,) = dump.steps()
    assert step.do[0].endswith("its description: gpu-007 HCA-3")


def test_an_unnamed_adapter_in_somebody_elses_port_is_never_dropped(dump: Dump) -> None:
    """Its own port is empty and so is the other's: who it is cannot be told, only where it hangs."""
    dump.rename("gpu-007 HCA-3", "localhost HCA-1")
    dump.exchange(dump.plug("localhost HCA-1"), dump.plug("gpu-008 HCA-3"))
    kinds = sorted(one.kind for one in dump.compared().differences)
    assert Kind.UNNAMED in kinds
    assert len(kinds) == 2
    assert any(
        "localhost HCA-1" in one.observed
        for one in Words(dump.plan, "compute", dump.intended, dump.compared()).rows()
    )


def test_a_fabric_whose_adapters_nobody_has_named_is_compared_all_the_same(dump: Dump) -> None:
    """Each is who should hang where it hangs; crossed rails among them cannot be seen, so all are told."""
    names = [device.name for device in dump.net.devices.values() if not device.is_switch]
    dump.exchange(dump.plug("gpu-005 HCA-2"), dump.plug("gpu-005 HCA-7"))
    for name in names:
        dump.rename(name, f"MT4129 ConnectX7 of {name[:3]}")
    found = dump.compared()
    assert {one.kind for one in found.differences} == {Kind.UNNAMED}
    assert sorted(one.note for one in found.differences) == sorted(names)
    assert found.agreed == 63 * 8 + 4 + 16 * 32


def test_an_unnamed_leaf_whose_own_lines_are_not_in_the_dump(dump: Dump) -> None:
    """Any of its ports tells who it is, not the first alone."""
    dump.unplug(dump.plug("compute-leaf-003", 1))
    dump.vanish("gpu-001 HCA-3")
    dump.rename("compute-leaf-003", "MF0;switch-a1b2c3:MQM9700/U1")
    blocks = [block for block in dump.text().split("\n\n") if 'U1" enhanced' not in block]
    found = dump.compared("\n\n".join(blocks))
    assert [(one.kind, one.note or one.device) for one in found.differences] == [
        (Kind.UNNAMED, "compute-leaf-003"),
        (Kind.ABSENT, "only its neighbours tell of it"),
        (Kind.MISSING, ""),
    ]
    assert found.agreed == 63 * 8 + 4 + 16 * 32 - 1


@pytest.mark.parametrize(("who", "called"), [(7, 8), (8, 7)])
def test_a_name_that_comes_twice(dump: Dump, who: int, called: int) -> None:
    """Whichever of the two comes first in the dump."""
    dump.rename(f"gpu-{who:03d} HCA-3", f"gpu-{called:03d} HCA-3")
    found = dump.compared()
    assert [(one.kind, one.note) for one in found.differences] == [(Kind.UNNAMED, f"gpu-{who:03d} HCA-3")]


def test_a_switch_without_its_name(dump: Dump) -> None:
    dump.rename("compute-leaf-004", "MF0;switch-a1b2c3:MQM9700/U1")
    assert (dump.only().kind, dump.only().note) == (Kind.UNNAMED, "compute-leaf-004")


def test_two_leaves_with_each_others_names_are_named_and_not_cabled_anew(dump: Dump) -> None:
    dump.rename("compute-leaf-001", "x")
    dump.rename("compute-leaf-002", "compute-leaf-001")
    dump.rename("x", "compute-leaf-002")
    found = dump.compared()
    assert [(one.kind, one.note) for one in found.differences] == [
        (Kind.UNNAMED, "compute-leaf-002"),
        (Kind.UNNAMED, "compute-leaf-001"),
    ]
    assert found.agreed == 63 * 8 + 4 + 16 * 32


def test_half_of_a_leafs_cables_elsewhere_are_cables_and_no_name(dump: Dump) -> None:
    """All rails 1 and 2 of a unit are crossed, but the uplinks are right: so are the names."""
    for node in range(1, 33):
        dump.exchange(dump.plug(f"gpu-{node:03d} HCA-1"), dump.plug(f"gpu-{node:03d} HCA-2"))
    assert {one.kind for one in dump.compared().differences} == {Kind.CROSSED_RAILS}


def test_aggregation_nodes_are_recognised(dump: Dump) -> None:
    """By their description, or by the port beyond a switch's own."""
    for number, name in ((1, "Mellanox Technologies Aggregation Node"), (2, "anything")):
        leaf = dump.id(f"compute-leaf-{number:03d}")
        id_ = f"H-00000000000000{number:02x}"
        dump.net.devices[id_] = Device(id_, name, 1)
        dump.net.devices[leaf] = dump.net.devices[leaf]._replace(ports=65)
        dump.net.join(Plug(leaf, 65), Plug(id_, 1), "4xNDR")
    found = dump.compared()
    assert found.differences == ()
    assert found.aggregation == ("compute-leaf-001", "compute-leaf-002")


def test_a_strange_switch_in_the_port_beyond_is_no_aggregation_node(dump: Dump) -> None:
    leaf, id_ = dump.id("compute-leaf-001"), "S-00000000000000fe"
    dump.net.devices[id_] = Device(id_, "a switch from elsewhere", 64)
    dump.net.devices[leaf] = dump.net.devices[leaf]._replace(ports=65)
    dump.net.join(Plug(leaf, 65), Plug(id_, 1), "4xNDR")
    found = dump.compared()
    assert found.aggregation == ()
    assert sorted(one.kind for one in found.differences) == [Kind.EXTRA, Kind.UNNAMED]
    assert mended(dump).links == dump.intended.links


def test_an_aggregation_node_is_known_by_its_description_alone(dump: Dump) -> None:
    """Wherever it hangs: here on a port that the plan leaves free."""
    id_ = "H-00000000000000ff"
    dump.net.devices[id_] = Device(id_, "Mellanox Technologies Aggregation Node", 1)
    dump.net.join(dump.plug("compute-leaf-013", 32), Plug(id_, 1), "4xNDR")
    found = dump.compared()
    assert (found.differences, found.aggregation) == ((), ("compute-leaf-013",))


def test_a_leaf_whose_own_lines_are_not_in_the_dump(dump: Dump) -> None:
    """Its neighbours tell of it, so its cables are compared all the same."""
    blocks = dump.text().split("\n\n")
    kept = [block for block in blocks if '\t# "compute-leaf-003" enhanced' not in block]
    assert len(kept) == len(blocks) - 1
    found = dump.compared("\n\n".join(kept))
    assert [(one.kind, one.device) for one in found.differences] == [(Kind.ABSENT, "compute-leaf-003")]
    assert found.agreed == 63 * 8 + 4 + 16 * 32


def test_a_leaf_that_is_not_there_is_one_fault(dump: Dump) -> None:
    for port in range(1, 65):
        if dump.plug("compute-leaf-003", port) in dump.net.links:
            dump.unplug(dump.plug("compute-leaf-003", port))
    dump.vanish("compute-leaf-003")
    assert (dump.only().kind, dump.only().device) == (Kind.ABSENT, "compute-leaf-003")


def test_a_node_that_is_off_is_one_fault(dump: Dump) -> None:
    for rail in range(1, 9):
        dump.unplug(dump.plug(f"gpu-020 HCA-{rail}"))
        dump.vanish(f"gpu-020 HCA-{rail}")
    assert (dump.only().kind, dump.only().device) == (Kind.ABSENT, "gpu-020")


def test_a_cable_is_not_taken_out_where_it_can_be_used(dump: Dump) -> None:
    """One uplink in the other's port, that one's cable in nobody's: two moves and no new cable."""
    one, other = dump.plug("compute-leaf-001", 33), dump.plug("compute-leaf-002", 64)
    at_one, at_other = dump.unplug(one), dump.unplug(other)
    dump.net.join(one, at_other, "4xNDR")
    dump.net.join(dump.plug("compute-leaf-013", 32), at_one, "4xNDR")
    difference = dump.only()
    assert (len(difference.moves), difference.connect, difference.remove) == (2, (), ())
    assert mended(dump).links == dump.intended.links


def test_fewest_plugs_come_first(dump: Dump) -> None:
    dump.exchange(*(dump.plug(f"gpu-005 HCA-{rail}") for rail in (1, 2, 3)))
    dump.rename("gpu-007 HCA-3", "somebody")
    dump.exchange(dump.plug("compute-leaf-001", 33), dump.plug("compute-leaf-002", 64))
    assert [step.plugs for step in dump.steps()] == [0, 2, 3]
    assert mended(dump).links == dump.intended.links


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_whatever_is_mixed_up_the_work_order_mends(plan: Plan, data: st.DataObject) -> None:
    """Cables exchanged, pulled and plugged elsewhere at random; then every sentence carried out."""
    dump = mixed_up(plan, data)
    assert mended(dump).links == dump.intended.links


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_no_plug_is_moved_that_need_not_be(plan: Plan, data: st.DataObject) -> None:
    """Of a knot as many cables are used again as can be; one plug hangs in a ring, and else none."""
    dump = mixed_up(plan, data)
    for difference in dump.compared().differences:
        assert len(difference.moves) == min(len(difference.intended), len(difference.observed))
    for step in dump.steps():
        hanging = sum("hangs" in sentence for sentence in step.do)
        assert hanging <= (step.kind in {Kind.CROSSED_RAILS, Kind.SWAPPED, Kind.SHIFTED_PORTS})


def mixed_up(plan: Plan, data: st.DataObject) -> Dump:
    dump = Dump(plan)
    plugs = [one for one in sorted(dump.net.links) if dump.intended.devices[one.device].is_switch]
    for _ in range(data.draw(st.integers(1, 8))):
        some = [one for one in plugs if one in dump.net.links]
        chosen = data.draw(st.lists(st.sampled_from(some), min_size=2, max_size=4, unique=True))
        if len({dump.net.links[one].peer for one in chosen} | set(chosen)) < 2 * len(chosen):
            continue
        what = data.draw(st.sampled_from(["exchange", "pull", "elsewhere"]))
        if what == "exchange":
            dump.exchange(*chosen)
        else:
            freed = dump.unplug(chosen[0])
            if what == "elsewhere":
                peer = dump.unplug(chosen[1])
                dump.net.join(peer, chosen[0] if data.draw(st.booleans()) else freed, "4xNDR")
    return dump


def test_a_ring_of_a_whole_rail_is_one_fault(plan: Plan) -> None:
    """All node cables of a rail of both units went round by one: one knot of 63 cables, for each rail."""
    dump = Dump(plan)
    for rail in range(1, 9):
        dump.exchange(*(dump.plug(f"gpu-{node:03d} HCA-{rail}") for node in range(1, 64)))
    found = dump.compared()
    assert [len(one.moves) for one in found.differences] == [63] * 8
    assert mended(dump).links == dump.intended.links
