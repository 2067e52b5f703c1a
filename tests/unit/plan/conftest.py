"""A small hall to plan, and how to change one thing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rackwright.plan.build import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

    Values = dict[str, Any]


@pytest.fixture
def plan_of(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue) -> Callable[..., tuple[Plan, Lock]]:
    """Plan and lock of a spec's values, with the lock of the plan before and the slots delivered."""

    def plan(values: Values, lock: Lock | None = None, delivered: Iterable[str] = ()) -> tuple[Plan, Lock]:
        return build(make_loaded(values, delivered), catalogue, lock)

    return plan


@pytest.fixture
def hall() -> Values:
    """One hall with heads and nodes, two rails, room for more."""
    return {
        "rackwright": 1,
        "cluster": {"name": "small", "domain": "small.example"},
        "images": {"base": {"os": "debian-13"}},
        "sites": {
            "hall": {
                "kind": "onprem",
                "racks": {"rows": 1, "per_row": 3, "units": 12, "power_kw": 4},
                "access": {"console_logs": "state:console"},
                "networks": {"management": {"cidr": "10.0.0.0/24"}, "bmc": {"cidr": "10.0.1.0/24"}},
                "bmc": {"credentials": "env:BMC", "ca": "file:ca.pem"},
            }
        },
        "pools": {
            "head": {"site": "hall", "platform": "lab-node", "nodes": {"static": 1}, "image": "base"},
            "node": {
                "site": "hall",
                "platform": "lab-node",
                "nodes": {"static": 4},
                "nodes_per_rack": 2,
                "image": "base",
                "fabrics": {"compute": {"nics": 2}},
            },
        },
        "fabrics": {
            "compute": {
                "kind": "ethernet",
                "speed": "100m",
                "topology": {"kind": "rails"},
                "cidr": "10.1.0.0/23",
            }
        },
    }


@pytest.fixture
def zone() -> Values:
    """One AWS zone with a pool that bursts."""
    return {
        "rackwright": 1,
        "cluster": {"name": "cloud", "domain": "cloud.example"},
        "images": {"neuron": {"os": "ubuntu-24.04", "ami": "ami-0123456789abcdef0"}},
        "sites": {
            "use2": {
                "kind": "aws",
                "account": "123456789012",
                "region": "us-east-2",
                "zone_id": "use2-az2",
                "vpc": {"cidrs": ["10.64.0.0/24"]},
            }
        },
        "pools": {
            "trn2": {
                "site": "use2",
                "platform": "trn2.48xlarge",
                "nodes": {"static": 2, "burst": 3},
                "image": "neuron",
                "fabrics": {"efa": {}},
                "capacity": {"kind": "on-demand"},
            }
        },
        "fabrics": {"efa": {"kind": "efa"}},
    }
