"""A locked fabric that nobody is on any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.catalogue.load import load as load_catalogue
from rackwright.plan.build import build
from tests.doubles import superpod

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.spec.load import LoadedSpec


def test_the_last_pool_may_leave_a_fabric_with_a_subnet_manager(
    make_loaded: Callable[..., LoadedSpec],
) -> None:
    values, catalogue = superpod.managed(), load_catalogue()
    before, lock = build(make_loaded(values), catalogue, None)[:2]
    assert before.cabling["compute"].places
    for pool in values["pools"].values():
        pool.get("fabrics", {}).pop("compute", None)
    after = build(make_loaded(values), catalogue, lock)[0]
    assert not after.cabling["compute"].places
