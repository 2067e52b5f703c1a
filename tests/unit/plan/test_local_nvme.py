"""Scratch on own drives planned: one a pool, and Slurm's epilog where it is wiped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import canonical, paths
from rackwright.cli.cluster import open_cluster
from rackwright.plan.build import build
from rackwright.plan.local_nvme import EPILOG

if TYPE_CHECKING:
    from rackwright.plan.model import Plan

CLUSTERS = paths.repository() / "clusters"


def _with_scratch(*, wipe: bool) -> Plan:
    cluster = open_cluster(CLUSTERS / "hybrid.yaml")
    spec = cluster.loaded.spec
    cache = spec.storage["cache"].model_copy(update={"wipe_after_job": wipe})
    changed = spec.model_copy(update={"storage": {**spec.storage, "cache": cache}})
    loaded = type(cluster.loaded)(
        **{**{name: getattr(cluster.loaded, name) for name in cluster.loaded.__slots__}, "spec": changed}
    )
    return build(loaded, cluster.catalogue, cluster.lock)[0]


def test_a_pool_has_the_scratch_of_its_storage() -> None:
    plan = _with_scratch(wipe=False)
    (pool,) = plan.local_nvme
    assert (pool, plan.local_nvme[pool].mount, plan.local_nvme[pool].layout) == ("h100", "/cache", "striped")
    assert "Epilog" not in plan.slurm["main"].settings


def test_slurm_has_an_epilog_where_scratch_is_wiped() -> None:
    assert _with_scratch(wipe=True).slurm["main"].settings["Epilog"] == EPILOG


def test_a_plan_without_scratch_does_not_mention_it() -> None:
    plan = open_cluster(CLUSTERS / "lab.yaml").plan
    assert '"local_nvme"' not in canonical.dumps(plan)
