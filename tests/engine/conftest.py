"""Sites and zones of the test's own for the real engine; without one the tests say so and are skipped."""

from __future__ import annotations

import json
import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.provision.places import engine
from tests.doubles.ec2 import served
from tests.doubles.site import Site
from tests.doubles.zone import Zone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.doubles.ec2 import Cloud


@pytest.fixture
def make_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Site]]:
    """Planned sites of some hosts; all of a site goes at the end, its stack settings too."""
    try:
        engine()
    except EnvironmentUnfit as error:
        pytest.skip(f"{error.message}: {error.hint}")
    with ExitStack() as sites:

        def make(hosts: int = 3, password: str = "secret") -> Site:  # noqa: S107 (a double's)
            name = f"t{uuid.uuid4().hex[:8]}"
            return sites.enter_context(Site(tmp_path_factory.mktemp(name), name, hosts, password))

        yield make


@pytest.fixture(scope="module")
def make_zone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Zone]]:
    """Planned zones of one AWS, alone or beside a hall; all of a zone goes at the end, its settings too."""
    try:
        engine()
    except EnvironmentUnfit as error:
        pytest.skip(f"{error.message}: {error.hint}")
    with ExitStack() as opened:
        cloud: Cloud = opened.enter_context(served(tmp_path_factory.mktemp("aws")))

        def make(hall: Site | None = None) -> Zone:
            name = hall.name if hall else f"z{uuid.uuid4().hex[:8]}"
            folder = hall.folder if hall else tmp_path_factory.mktemp(name)
            spec = json.loads(hall.spec.read_text()) if hall else {}
            beside = {part: spec[part] for part in ("sites", "pools", "images") if hall}
            return opened.enter_context(Zone(folder, name, cloud, {"static": 2, "burst": 1}, beside))

        yield make
