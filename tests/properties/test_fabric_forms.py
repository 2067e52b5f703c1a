"""Each form of a cabling, read back, gives the same cables, in what the form holds."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from rackwright.errors import SpecInvalid, UsageError
from rackwright.plan.build import build
from rackwright.plan.fabric.cables import cables
from rackwright.render.fabric import cutsheet, ibnetdiscover, netbox
from rackwright.render.fabric.network import network
from rackwright.validate.fabric.compare import compare
from tests.doubles.fabric_specs import specs

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

    Values = dict[str, Any]
    Planner = Callable[[Values], Plan]

MANY = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def planned(make_loaded: Callable[[Values], LoadedSpec], catalogue: Catalogue) -> Planner:
    def plan(values: Values) -> Plan:
        try:
            return build(make_loaded(values), catalogue, None)[0]
        except SpecInvalid:
            assume(False)  # noqa: FBT003 (hypothesis takes it so)
            raise

    return plan


@MANY
@given(values=specs())
def test_a_cut_sheet_holds_everything(planned: Planner, values: Values) -> None:
    found = list(cables(planned(values), "compute"))
    assert found
    assert cutsheet.read(cutsheet.write(found), "sheet.csv") == found


@MANY
@given(values=specs())
def test_netbox_holds_the_ends(planned: Planner, values: Values) -> None:
    """And the length of each cable, for who reads the file with other tools."""
    found = list(cables(planned(values), "compute"))
    wires = [(one.a.device, one.a.port, one.z.device, one.z.port) for one in found]
    text = netbox.cables(found)
    assert netbox.read(text, "cables.csv") == wires
    lengths = [(line["length"], line["length_unit"]) for line in csv.DictReader(io.StringIO(text))]
    assert lengths == [("", "") if one.length_m is None else (str(one.length_m), "m") for one in found]


@MANY
@given(values=specs())
def test_ibnetdiscover_holds_the_network(planned: Planner, values: Values) -> None:
    plan = planned(values)
    made = network(plan, "compute")
    assert ibnetdiscover.read(ibnetdiscover.write(made), "dump.txt") == made
    assert len(made.links) == 2 * sum(some.count for some in plan.cabling["compute"].cables)


@MANY
@given(values=specs())
def test_a_network_as_planned_has_no_difference(planned: Planner, values: Values) -> None:
    """Whole, and plane by plane, as each has a subnet of its own."""
    plan = planned(values)
    tree = plan.cabling["compute"].tree
    for plane in (None, *range(1, (tree.planes if tree else 1) + 1)):
        made = network(plan, "compute", plane)
        found = compare(made, ibnetdiscover.read(ibnetdiscover.write(made), "dump.txt"))
        assert found.differences == ()
        assert found.agreed * 2 == len(made.links)


@MANY
@given(values=specs())
def test_every_end_of_a_cable_is_one_of_its_own(planned: Planner, values: Values) -> None:
    found = list(cables(planned(values), "compute"))
    ends = [(end.device, end.port) for one in found for end in (one.a, one.z)]
    assert len(set(ends)) == len(ends)
    assert all(one.length_m is None or one.length_m >= 1 for one in found)


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("plane,from", "plane,to", "sheet.csv:1"),
        ("\n1,node", "\nx,node", "sheet.csv:2"),
        (",r01p01,", ",r02p01,", "sheet.csv:2"),
        (",r01p01,", ",r01p1,", "sheet.csv:2"),
        (",r01p01,", ",x01p01,", "sheet.csv:2"),
        (",r01p01,", ",,", "sheet.csv:2"),
    ],
)
def test_a_cut_sheet_that_is_none_is_refused(planned: Planner, old: str, new: str, where: str) -> None:
    text = cutsheet.write(cables(planned(_one_node()), "compute"))
    assert old in text
    with pytest.raises(UsageError) as caught:
        cutsheet.read(text.replace(old, new, 1), "sheet.csv")
    assert caught.value.where == where


@pytest.mark.parametrize(
    ("old", "new", "got"),
    [
        ("one-001,dcim.interface", "one-001,dcim.frontport", "side_a_type dcim.frontport"),
        ("leaf-001,dcim.interface", "leaf-001,dcim.rearport", "side_b_type dcim.rearport"),
        ("leaf-001,dcim.interface", "leaf-001,", "side_b_type empty"),
        ("compute-leaf-001,dcim", ",dcim", "side_b_device empty"),
        (",1,", "\n", "side_b_name empty"),
    ],
)
def test_a_netbox_file_that_is_none_is_refused_by_the_column_that_is_wrong(
    planned: Planner, old: str, new: str, got: str
) -> None:
    text = netbox.cables(cables(planned(_one_node()), "compute"))
    assert old in text
    with pytest.raises(UsageError) as caught:
        netbox.read(text.replace(old, new, 1), "cables.csv")
    assert (caught.value.where, caught.value.got) == ("cables.csv:2", got)


@pytest.mark.parametrize(
    ("old", "new", "got"),
    [
        ("Switch\t64", "Swtich\t64", "Swtich"),
        ("[1]", "[x]", "[x]"),
        ("vendid", "vendor", "vendor"),
    ],
)
def test_a_dump_that_is_none_is_refused(planned: Planner, old: str, new: str, got: str) -> None:
    text = ibnetdiscover.write(network(planned(_one_node()), "compute"))
    assert old in text
    with pytest.raises(UsageError) as caught:
        ibnetdiscover.read(text.replace(old, new, 1), "dump.txt")
    assert got in caught.value.got


def _one_node() -> Values:
    values: Values = {
        "rackwright": 1,
        "cluster": {"name": "any", "domain": "any.example"},
        "images": {"base": {"os": "debian-13"}},
        "sites": {
            "hall": {
                "kind": "onprem",
                "racks": {"rows": 1, "per_row": 2, "units": 48, "power_kw": 45},
                "access": {"console_logs": "state:console"},
                "networks": {"management": {"cidr": "10.0.0.0/24"}, "bmc": {"cidr": "10.0.1.0/24"}},
                "bmc": {"credentials": "env:BMC", "ca": "file:ca.pem"},
            }
        },
        "pools": {
            "one": {
                "site": "hall",
                "platform": "dgx-h100",
                "image": "base",
                "nodes": {"static": 1},
                "fabrics": {"compute": {"nics": 1}},
            }
        },
        "fabrics": {
            "compute": {
                "kind": "infiniband",
                "speed": "ndr",
                "manager": {"kind": "opensm"},
                "topology": {"kind": "fat-tree", "unit_nodes": 1, "switch": "qm9700"},
            }
        },
    }
    return values
