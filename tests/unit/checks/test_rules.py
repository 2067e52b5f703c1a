"""Every rule is content with the example specs and fires, alone, on its own counter-example."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from rackwright import paths
from rackwright.catalogue.load import load as load_catalogue
from rackwright.checks.registry import PlanSubject, SpecSubject
from rackwright.checks.run import check, rules
from rackwright.findings import Level
from rackwright.plan.build import build
from rackwright.spec.load import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwright.findings import Finding
    from rackwright.spec.load import LoadedSpec

TODAY = date(2026, 11, 28)
EXAMPLES = sorted(
    path for path in (paths.repository() / "clusters").glob("*.yaml") if not path.name.endswith(".lock.yaml")
)

HEALTHY: Mapping[str, Any] = {
    "rackwright": 1,
    "cluster": {"name": "atlas", "domain": "atlas.example"},
    "state": {"backend": "s3://atlas-state"},
    "images": {"base": {"os": "ubuntu-24.04"}},
    "sites": {
        "hall": {
            "kind": "onprem",
            "racks": {"rows": 1, "per_row": 4, "units": 48, "power_kw": 44},
            "power": {"feed_kw": 100, "pue": 1.25},
            "access": {"console_logs": "/var/log/conserver"},
            "networks": {"management": {"cidr": "10.2.0.0/24"}, "bmc": {"cidr": "10.1.0.0/24"}},
            "bmc": {"credentials": "env:BMC", "ca": "file:ca.pem"},
        },
        "use2": {
            "kind": "aws",
            "account": "123456789012",
            "region": "us-east-2",
            "zone_id": "use2-az2",
            "vpc": {"cidrs": ["10.64.0.0/16"]},
        },
    },
    "links": {"wan": {"between": ["hall", "use2"], "via": "vpn", "mtu": 1400}},
    "pools": {
        "mgmt": {
            "site": "hall",
            "platform": "cpu-1u",
            "nodes": {"static": 1},
            "image": "base",
            "roles": ["slurm-controller", "login", "subnet-manager"],
        },
        "gpu": {
            "site": "hall",
            "platform": "dgx-h100",
            "nodes": {"static": 4},
            "image": "base",
            "fabrics": {"compute": {}},
        },
        "cloud": {
            "site": "use2",
            "platform": "p5.48xlarge",
            "nodes": {"static": 2},
            "image": "base",
            "fabrics": {"efa": {}},
        },
    },
    "fabrics": {
        "compute": {
            "kind": "infiniband",
            "speed": "ndr",
            "manager": {"kind": "opensm"},
            "topology": {"kind": "fat-tree", "unit_nodes": 32, "switch": "qm9700"},
        },
        "efa": {"kind": "efa"},
    },
    "storage": {
        "scratch": {
            "kind": "lustre",
            "site": "hall",
            "mount": "/scratch",
            "existing": "10.2.0.9@tcp:/scratch",
        },
        "fsx": {
            "kind": "fsx-lustre",
            "site": "use2",
            "mount": "/fsx",
            "capacity_gib": 38400,
            "mbps_per_tib": 250,
            "efa": True,
        },
    },
    "schedulers": {
        "main": {
            "kind": "slurm",
            "sites": ["hall", "use2"],
            "partitions": {"gpu": {"pools": ["gpu"]}, "cloud": {"pools": ["cloud"]}},
        }
    },
}
DELIVERED = ("mgmt-001", "gpu-001", "gpu-002", "gpu-003", "gpu-004")

BLOCK = {"kind": "capacity-block", "reservation": "cr-0123456789abcdef0"}
GONE = object()
COUNTER_EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "CAP001": {"pools.gpu.capacity": {"kind": "spot"}},
    "CAP002": {"pools.cloud.capacity": BLOCK, "pools.cloud.nodes.burst": 1},
    "EFA001": {"pools.cloud.platform": "lab1.2rail"},
    "EFA002": {"pools.gpu.fabrics.efa": {}},
    "EFA003": {"pools.cloud.fabrics.efa.nics": 33},
    "FAB002": {"fabrics.spare": {"kind": "ethernet", "speed": "1g", "topology": {"kind": "rails"}}},
    "FSX001": {"storage.fsx.capacity_gib": 38401},
    "FSX002": {"storage.fsx.mbps_per_tib": GONE},
    "FSX003": {"storage.fsx.site": "hall"},
    "IB001": {"pools.mgmt.roles": ["slurm-controller", "login"]},
    "LINK001": {"links.self": {"between": ["hall", "hall"], "via": "routed"}},
    "LINK002": {"links.wan": {"between": ["hall", "use2"], "via": "routed", "mtu": 9000}},
    "LINK003": {"links.wan.mtu": 1500},
    "LUST001": {"storage.scratch.existing": GONE},
    "MNT001": {"storage.cache": {"kind": "local-nvme", "pools": ["gpu"], "mount": "/scratch/cache"}},
    "NET001": {"sites.hall.networks.bmc.cidr": "10.2.0.0/25"},
    "NET002": {"sites.use2.vpc.cidrs": ["10.2.0.0/16"]},
    "POOL001": {"pools.gpu.nodes.burst": 1},
    "POOL002": {"pools.cloud.assets": "file:cloud.csv"},
    "POWER001": {"sites.hall.power.feed_kw": 50},
    "REF002": {"pools.gpu.image": "bass"},
    "SLURM001": {"pools.mgmt.roles": ["login", "subnet-manager"]},
    "SLURM002": {"pools.mgmt.roles": ["slurm-controller", "subnet-manager"]},
    "SLURM003": {"schedulers.main.sites": ["hall"]},
    "SLURM004": {"links": {}},
    "STATE001": {"state.backend": "local"},
}
"""Rule → what makes the healthy spec break it."""
OF_ASSETS = {"ASSET006", "ASSET007"}


def _changed(changes: Mapping[str, Any]) -> dict[str, Any]:
    values = copy.deepcopy(dict(HEALTHY))
    for path, value in changes.items():
        *parents, key = path.split(".")
        at = values
        for parent in parents:
            at = at[parent]
        if value is GONE:
            del at[key]
        else:
            at[key] = value
    return values


def _found(loaded: LoadedSpec) -> tuple[Finding, ...]:
    """What all rules say; those on plans too, where there is a plan."""
    catalogue = load_catalogue()
    spec = SpecSubject(loaded, catalogue)
    if any(finding.blocks for finding in check(spec, TODAY).findings):
        return check(spec, TODAY).findings
    return check(PlanSubject(loaded, catalogue, build(loaded, catalogue, None)[0]), TODAY).findings


def test_the_healthy_spec_is_healthy(make_loaded: Callable[..., LoadedSpec]) -> None:
    assert _found(make_loaded(HEALTHY, DELIVERED)) == ()


@pytest.mark.parametrize("code", sorted(COUNTER_EXAMPLES))
def test_a_rule_fires_on_its_own_counter_example(make_loaded: Callable[..., LoadedSpec], code: str) -> None:
    found = _found(make_loaded(_changed(COUNTER_EXAMPLES[code]), DELIVERED))
    assert {finding.code for finding in found} == {code}
    assert all(finding.got and finding.expected and finding.hint and finding.source for finding in found)


def test_a_slot_without_a_machine_is_told(make_loaded: Callable[..., LoadedSpec]) -> None:
    found = _found(make_loaded(HEALTHY, DELIVERED[:-1]))
    assert [(finding.code, finding.level) for finding in found] == [("ASSET006", Level.WARNING)]
    assert "gpu-[4]" in found[0].got


def test_a_bmc_outside_its_network_is_told(make_loaded: Callable[..., LoadedSpec]) -> None:
    loaded = make_loaded(HEALTHY, DELIVERED)
    rows = {**loaded.rows, "gpu-001": replace(loaded.rows["gpu-001"], bmc_address="10.9.0.16")}
    assert [finding.code for finding in _found(replace(loaded, rows=rows))] == ["ASSET007"]


def test_every_rule_has_a_counter_example() -> None:
    assert {rule.code for rule in rules()} == set(COUNTER_EXAMPLES) | OF_ASSETS


def test_every_rule_says_its_constraint_remedy_and_source() -> None:
    assert all(rule.constraint.endswith(".") and rule.remedy and rule.source for rule in rules())


@pytest.mark.parametrize("spec", EXAMPLES, ids=lambda path: str(path.stem))
def test_the_examples_break_no_rule(spec: object) -> None:
    assert [finding for finding in _found(load(spec)) if finding.blocks] == []  # type: ignore[arg-type]  # (a Path)


SPOT = {"pools.gpu.capacity": {"kind": "spot"}}


def _suppressed(**over: object) -> dict[str, Any]:
    entry = {"rule": "CAP001", "path": "pools.gpu", "reason": "a trial", "until": "2026-11-28", **over}
    return _changed({**SPOT, "suppress": [entry]})


def test_a_suppressed_finding_stays_visible_and_blocks_nothing(
    make_loaded: Callable[..., LoadedSpec],
) -> None:
    found = _found(make_loaded(_suppressed(), DELIVERED))
    assert [finding.code for finding in found] == ["CAP001"]
    assert found[0].waiver is not None
    assert found[0].waiver.reason == "a trial"
    assert not found[0].blocks


@pytest.mark.parametrize(
    "over",
    [{"until": "2026-11-27"}, {"rule": "CAP999"}, {"path": "pools.mgmt"}],
    ids=["expired", "unknown rule", "elsewhere"],
)
def test_a_suppression_that_does_not_hold_hides_nothing_and_is_told(
    make_loaded: Callable[..., LoadedSpec], over: dict[str, str]
) -> None:
    found = _found(make_loaded(_suppressed(**over), DELIVERED))
    assert [finding.code for finding in found if finding.blocks and finding.path[0] == "pools"] == ["CAP001"]
    assert [finding for finding in found if finding.path[0] == "suppress"]
