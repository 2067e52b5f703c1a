"""Tests in streams: while those on a lab wait for its hosts, another worker has the processors.

pytest-xdist gives a worker one unit after the other. All tests on the worker's lab are two units, those of
the lab itself and those of the roles: a lab is no two workers', and two units may be two workers'. Of all
others each file is one, so that what a file's tests share is made once. Units go out in the order they are
collected in, the long ones first: what is left for the end is short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # (it has no types)

if TYPE_CHECKING:
    from xdist.remote import Producer  # type: ignore[import-untyped]  # (it has no types)

ON_THE_LAB = ("tests/roles/", "tests/hosts/")
"""The longer one first."""
LABS_OF_THEIR_OWN = (
    "tests/hosts/test_cloud_world.py",
    "tests/hosts/test_cut_off.py",
    "tests/hosts/test_machines.py",
    "tests/hosts/test_make_lab.py",
    "tests/hosts/test_refusals.py",
    "tests/hosts/test_slurmctld.py",
)
"""None of their tests uses the worker's lab."""
LONG = ("tests/engine/", *LABS_OF_THEIR_OWN, "tests/browser/", "tests/golden/", "tests/fabric/")


def unit(node_id: str) -> str:
    """What a test belongs to: its file, or one of the folders whose tests are on a lab."""
    file = node_id.partition("::")[0]
    if file in LABS_OF_THEIR_OWN:
        return file
    return next((folder for folder in ON_THE_LAB if file.startswith(folder)), file)


def _rank(item: pytest.Item) -> int:
    """Long ones first."""
    of = unit(item.nodeid)
    if of in ON_THE_LAB:
        return ON_THE_LAB.index(of)
    places = (place for place, start in enumerate(LONG, len(ON_THE_LAB)) if of.startswith(start))
    return next(places, len(ON_THE_LAB) + len(LONG))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_rank)


class Streams(LoadScopeScheduling):  # type: ignore[misc]  # (it has no types)
    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Streams:
    return Streams(config, log)
