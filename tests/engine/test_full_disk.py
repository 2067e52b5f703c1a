"""`up` on a disk that is full, or fills on the way: said, no state lost, and the same command goes on."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.provision.places import engine
from tests.doubles.site import Site
from tests.doubles.small_disk import small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.doubles.small_disk import SmallDisk

pytestmark = [pytest.mark.engine, pytest.mark.slow]

FULL = "no space left on device"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", kib=4096) as disk:
        yield disk


@pytest.fixture
def site(disk: SmallDisk) -> Iterator[Site]:
    try:
        engine()
    except EnvironmentUnfit as error:
        pytest.skip(f"{error.message}: {error.hint}")
    with Site(disk.root, f"t{uuid.uuid4().hex[:8]}") as site:
        yield site


@pytest.mark.parametrize("room_kib", [0, 4, 16])
def test_a_full_disk_is_told_loses_nothing_and_boots_no_host_twice(
    disk: SmallDisk, site: Site, room_kib: int
) -> None:
    site.run("stacks", "init")
    disk.fill(but=room_kib * 1024)
    done = site.run("up", "--yes", code=2)
    assert FULL in (done.stdout + done.stderr).lower()
    assert "Traceback" not in done.stdout + done.stderr
    disk.empty()
    site.run("up", "--yes")
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)
    assert site.stack("preview")["changes"] == []
