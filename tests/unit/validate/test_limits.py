"""What is asked of transports, GPUs and ports: by the plan's own fabric, of platforms that declare it."""

from __future__ import annotations

from functools import cache

import pytest

from rackwright import paths
from rackwright.catalogue.load import load as load_catalogue
from rackwright.catalogue.model import Check
from rackwright.cli.cluster import open_cluster
from rackwright.validate.expectations import Expectation, Provenance
from rackwright.validate.expected import expectations
from rackwright.validate.limits import limits, of_state, transports
from rackwright.validate.suite import GpuState, load
from rackwright.verdict.judgement import bound_text

STATE = frozenset({Check.TRANSPORT, Check.GPU_STATE, Check.COUNTERS})


@cache
def _of(cluster: str) -> tuple[Expectation, ...]:
    opened = open_cluster(paths.repository() / "clusters" / f"{cluster}.yaml")
    pools = opened.plan.pools.values()
    pool = next((one for one in pools if one.accelerators_per_node), next(iter(pools)))
    found = expectations(opened.plan, opened.catalogue, list(pool.slots)[:2]).expectations
    return tuple(one for one in found if one.key.check in STATE)


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (
            "aws-p5",
            {
                "network": "AWS Libfabric or Libfabric",
                "provider": "efa",
                "nics": "exactly 32 count",
                "gpudirect": "at least 1 yes_no",
                "nvls": "at least 1 yes_no",
            },
        ),
        (
            "onprem-dgx-h100",
            {
                "network": " or ".join(transports().fabrics["infiniband"].network),
                "nics": "exactly 8 count",
                "gpudirect": "at least 1 yes_no",
                "nvls": "at least 1 yes_no",
            },
        ),
        ("lab", {}),
    ],
)
def test_a_transport_is_expected_as_it_is_planned(cluster: str, expected: dict[str, str]) -> None:
    found = {one.key.name: bound_text(one) for one in _of(cluster) if one.key.check == Check.TRANSPORT}
    assert found == expected


def test_pools_of_one_platform_are_each_held_to_their_own_fabric() -> None:
    """Eight InfiniBand ports in one pool and two Ethernet ports in another: neither is the other's fault."""
    opened = open_cluster(paths.repository() / "clusters" / "onprem-dgx-h100.yaml")
    plan = opened.plan
    pool = plan.pools["h100"]
    (name, slot), *_ = pool.slots.items()
    ports = tuple(port.model_copy(update={"fabric": "ethernet"}) for port in slot.ports[:2])
    other = pool.model_copy(
        update={"slots": {"other": slot.model_copy(update={"name": "other", "ports": ports})}}
    )
    fabric = plan.fabrics["compute"].model_copy(update={"kind": "ethernet"})
    both = plan.model_copy(
        update={"pools": {**plan.pools, "other": other}, "fabrics": {**plan.fabrics, "ethernet": fabric}}
    )
    found = [
        one for one in of_state(both, opened.catalogue, [name, "other"]) if one.key.check == Check.TRANSPORT
    ]
    nics = {one.key.pool: one.at_least for one in found if one.key.name == "nics"}
    assert nics == {"h100": 8, "other": 2}
    words = {one.key.pool: one.one_of for one in found if one.key.name == "network"}
    assert words["h100"] == transports().fabrics["infiniband"].network
    assert words["other"] == transports().fabrics["ethernet"].network
    assert [one.key.pool for one in found if one.key.name == "nvls"] == [None], "of the platform"
    alone = [one for one in of_state(both, opened.catalogue, [name]) if one.key.check == Check.TRANSPORT]
    assert {one.key.pool for one in alone} == {None}


def test_a_platform_s_gpus_are_counted_by_its_plan() -> None:
    (gpus,) = [one for one in _of("aws-p5") if one.key.name == "gpus"]
    assert (gpus.at_least, gpus.at_most, gpus.key.platform) == (8, 8, "p5.48xlarge")
    assert gpus.provenance is Provenance.PLAN


def test_what_no_platform_declares_is_not_asked() -> None:
    assert {one.key.check for one in _of("lab")} == {Check.COUNTERS}


def test_the_suite_asks_for_every_value_that_has_a_limit() -> None:
    (gpu_state,) = [check for check in load("acceptance").checks if isinstance(check, GpuState)]
    asked = " ".join(gpu_state.columns)
    words = {"row_remap_pending": "remapped_rows.pending", "row_remap_failure": "remapped_rows.failure"}
    words |= {
        "recovery_action": "gpu_recovery_action",
        "sram_uncorrected_aggregate": "uncorrected.aggregate.sram",
    }
    for one in limits().limits:
        if one.check is Check.GPU_STATE:
            name = str(one.parameters.get("reason", one.name))
            assert words.get(name, name) in asked


def test_accelerators_with_nvls_are_of_the_catalogue() -> None:
    assert set(transports().nvls.accelerators) <= set(load_catalogue().accelerators)
