"""A hall whose three hosts have printed their keys, and a state folder of the test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.inventory.zone import Zone
from tests.doubles.hall import Hall

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _own_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def hall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hall:
    made = Hall(tmp_path)
    monkeypatch.setattr(
        "rackwright.inventory.collect.opened", lambda name, _, cluster: Zone(name, cluster, made.ec2)
    )
    for number in range(1, made.nodes + 1):
        made.prints(f"gpu-node-{number:03d}")
    return made
