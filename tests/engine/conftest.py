"""Sites of the test's own for the real engine; without an engine the tests say so and are skipped."""

from __future__ import annotations

import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.provision.places import engine
from tests.doubles.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
