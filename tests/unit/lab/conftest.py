"""The world of the example spec, with all its places below a fresh folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.lab.places import Places
from rackwright.lab.world import world_of
from tests.doubles import cloud

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.cli.cluster import Cluster
    from rackwright.lab.model import World

SPEC = paths.repository() / "clusters" / "lab.yaml"


@pytest.fixture(scope="session")
def example() -> Cluster:
    return open_cluster(SPEC)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places("lab", tmp_path / "state" / "lab", tmp_path / "run" / "lab")


@pytest.fixture
def cloud_world(places: Places, tmp_path: Path) -> World:
    """A hall of nodes 001 to 002 and a cloud."""
    spec = cloud.write_spec(tmp_path / "clusters", "lab", "10.77", nodes=2)
    cluster = open_cluster(spec)
    return world_of(cluster.plan, cluster.catalogue, spec, tmp_path / "image", places)


@pytest.fixture
def world(example: Cluster, places: Places, tmp_path: Path) -> World:
    return world_of(example.plan, example.catalogue, SPEC, tmp_path / "image", places)
