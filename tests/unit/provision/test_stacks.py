"""Which stacks a plan has, and how a user names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.errors import UsageError
from rackwright.plan.build import build
from rackwright.provision.stacks import chosen, stacks

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec


@pytest.fixture
def plan(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue) -> Plan:
    """Two halls of one host each."""

    def site(number: int) -> object:
        return {
            "kind": "onprem",
            "racks": {"rows": 1, "per_row": 1, "units": 12, "power_kw": 4},
            "access": {"console_logs": "state:console"},
            "networks": {
                "management": {"cidr": f"10.{number}.0.0/24"},
                "bmc": {"cidr": f"10.{number}.1.0/24"},
            },
            "bmc": {"credentials": "env:BMC", "ca": "file:ca.pem"},
        }

    def pool(hall: str) -> object:
        return {"site": hall, "platform": "lab-node", "nodes": {"static": 1}, "image": "base"}

    values = {
        "rackwright": 1,
        "cluster": {"name": "two", "domain": "two.example"},
        "images": {"base": {"os": "debian-13"}},
        "sites": {"west": site(1), "east": site(2)},
        "pools": {"w": pool("west"), "e": pool("east")},
    }
    return build(make_loaded(values, ["w-001", "e-001"]), catalogue, None)[0]


def test_there_is_a_stack_a_site_named_after_both(plan: Plan) -> None:
    assert list(map(str, stacks(plan))) == ["onprem/two-east", "onprem/two-west"]
    assert stacks(plan)[0].settings.name == "Pulumi.two-east.yaml"
    assert (stacks(plan)[0].folder / "Pulumi.yaml").is_file()


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("", ["onprem/two-east", "onprem/two-west"]),
        ("onprem", ["onprem/two-east", "onprem/two-west"]),
        ("two-west", ["onprem/two-west"]),
        ("onprem/two-west", ["onprem/two-west"]),
    ],
)
def test_a_stack_is_named_by_project_by_name_or_by_both(plan: Plan, wanted: str, found: list[str]) -> None:
    assert list(map(str, chosen(plan, wanted))) == found


def test_a_name_that_is_none_is_refused_with_those_that_are(plan: Plan) -> None:
    with pytest.raises(UsageError) as raised:
        chosen(plan, "aws-network")
    assert raised.value.expected == "onprem/two-east, onprem/two-west"


def test_stack_programs_are_short(plan: Plan) -> None:
    for name in stacks(plan):
        assert len((name.folder / "__main__.py").read_text().splitlines()) <= 40
