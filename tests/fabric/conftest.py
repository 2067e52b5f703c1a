"""Planned fabrics of whole units, and whether the tools of a real one are here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.plan.build import build
from rackwright.validate.fabric.simulation import program
from tests.doubles import superpod

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec


@pytest.fixture(scope="session")
def pod(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue) -> Callable[..., Plan]:
    """The plan of a number of nodes."""

    def plan(nodes: int, **rest: int) -> Plan:
        return build(make_loaded(superpod.values(nodes, **rest)), catalogue, None)[0]

    return plan


@pytest.fixture(scope="session")
def tools() -> None:
    """Skip where opensm and ibsim are not installed."""
    for name in ("ibsim", "opensm"):
        try:
            program(name)
        except EnvironmentUnfit as unfit:
            pytest.skip(f"{unfit.message}: {unfit.hint}")
