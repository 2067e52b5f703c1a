"""A zone of the plan becomes a cloud with its own router, and what a lab cannot be is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.canonical import dumps
from rackwright.cli.cluster import open_cluster
from rackwright.errors import NotProvisionable
from rackwright.lab import occupied
from rackwright.lab.model import Rail, World
from rackwright.lab.netns import Namespace
from rackwright.lab.places import LINK_NAME_LIMIT
from rackwright.lab.world import world_of
from tests.doubles import cloud

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.lab.places import Places
    from rackwright.plan.model import Plan


def test_a_plan_without_a_zone_has_no_cloud_and_no_route_to_one(world: World) -> None:
    assert world.cloud == ()
    assert world.ranges == world.segments
    assert world.leg.routes == ("10.77.1.0/24",)


def test_the_subnet_is_the_first_range_of_the_vpc_and_this_machine_reaches_it(cloud_world: World) -> None:
    site = cloud_world.cloud_site("cloud")
    assert (site.subnet.cidr, site.subnet.addresses, site.subnet.mtu) == (
        "10.77.32.0/24",
        ("10.77.32.1/24",),
        9001,
    )
    assert cloud_world.leg.routes == ("10.77.1.0/24", "10.77.32.0/24")


def test_the_line_has_the_links_mtu_and_leads_to_hosts_only(cloud_world: World) -> None:
    line = cloud_world.cloud_site("cloud").line
    assert (line.link, line.bridge.mtu, line.routes) == ("wan", 1400, ("10.77.0.0/24",))
    assert (line.bridge.addresses, line.address) == (("169.254.100.1/30",), "169.254.100.2/30")
    assert len(line.cable) <= LINK_NAME_LIMIT


def test_rails_of_zone_and_hall_are_others_and_have_the_fabrics_speed(cloud_world: World) -> None:
    site = cloud_world.cloud_site("cloud")
    assert [rail.cidr for rail in site.rails] == ["10.77.48.0/24", "10.77.49.0/24"]
    halls = [one.cidr for one in cloud_world.segments if one.name.startswith("rail")]
    assert halls == ["10.77.16.0/24", "10.77.17.0/24"]
    assert site.pools["cnode"].rails == (
        Rail(interface="r0", segment="rail0", rate_mbit=100),
        Rail(interface="r1", segment="rail1", rate_mbit=100),
    )


def test_no_slot_of_a_zone_is_a_machine_before_it_is_launched(cloud_world: World) -> None:
    assert [host.slot for host in cloud_world.hosts] == ["node-001", "node-002"]
    assert cloud_world.cloud_site("cloud").most_instances == 2 + 2


def test_its_file_holds_it_all(cloud_world: World) -> None:
    assert World.model_validate_json(dumps(cloud_world)) == cloud_world


@pytest.mark.parametrize("taken", ["10.77.32.0/20", "10.77.49.7/32"])
def test_a_range_of_the_cloud_that_somebody_has_is_told(
    cloud_world: World, monkeypatch: pytest.MonkeyPatch, taken: str
) -> None:
    monkeypatch.setattr(Namespace, "routes", lambda _: [(taken, "eth9"), ("169.254.0.0/16", "eth9")])
    lacks = list(occupied.ranges(cloud_world))
    assert {lack.code for lack in lacks} == {"LAB108"}
    assert all(f"overlaps with {taken} on eth9" in lack.got for lack in lacks)


def _refused(plan: Plan, spec: Path, places: Places) -> NotProvisionable:
    with pytest.raises(NotProvisionable) as refused:
        world_of(plan, open_cluster(spec).catalogue, spec, spec.parent, places)
    return refused.value


def test_a_zone_that_no_link_joins_to_a_hall_is_refused(tmp_path: Path, places: Places) -> None:
    spec = cloud.write_spec(tmp_path, "lab", "10.77")
    plan = open_cluster(spec).plan
    (link,) = plan.links.values()
    for links in (
        {},
        {"one": link, "two": link},
        {"loop": link.model_copy(update={"between": ("cloud",) * 2})},
    ):
        refused = _refused(plan.model_copy(update={"links": links}), spec, places)
        assert refused.code == "LAB024"
        assert "cloud" in refused.got


def test_a_vpc_of_somebody_else_is_refused(tmp_path: Path, places: Places) -> None:
    spec = cloud.write_spec(tmp_path, "lab", "10.77")
    plan = open_cluster(spec).plan
    zone = plan.sites["cloud"].model_copy(update={"networks": {}})
    refused = _refused(plan.model_copy(update={"sites": plan.sites | {"cloud": zone}}), spec, places)
    assert (refused.code, refused.got) == ("LAB024", "site cloud in a VPC of somebody else")
