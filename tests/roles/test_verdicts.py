"""Faults of the lab's world, found by `rackwright validate` on real hosts: who is blamed, and for what.

The product is told nothing of a fault; it sees slow, silent or wrong hosts, as it would anywhere.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.roles.conftest import NODES, WITHIN_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab


class Told(NamedTuple):
    """What a validation said."""

    code: int
    verdicts: Mapping[str, str]
    causes: Mapping[str, list[str]]
    """Subject → the causes of what is not PASS."""


def told(site: Site, folder: Path) -> Told:
    words = ("validate", str(site.lab.spec), "--out", str(folder / "run"), "--format", "json", "-q")
    done = subprocess.run(
        site.lab.command(*words),
        env=site.lab.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * WITHIN_S,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout, done.stderr
    subjects = json.loads(done.stdout)["subjects"]
    return Told(
        done.returncode,
        {one["name"]: one["verdict"] for one in subjects},
        {
            one["name"]: [reason["cause"] for reason in one["reasons"] if reason["value"] != "PASS"]
            for one in subjects
        },
    )


def failed(told: Told) -> set[str]:
    return {name for name, value in told.verdicts.items() if value == "FAIL"}


@pytest.fixture
def good(site: Site) -> Iterator[Site]:
    """No fault before, none after."""
    site.await_idle()
    yield site
    site.lab.rackwright("lab", "fault", "clear", "--lab", site.lab.name)
    site.await_idle()


def plant(site: Site, fault: str, subject: str) -> None:
    site.lab.rackwright("lab", "fault", fault, subject, "--lab", site.lab.name)


def test_a_slow_rail_is_exactly_that_rail_and_its_node(good: Site, tmp_path: Path) -> None:
    plant(good, "slow-rail", "node-002")
    said = told(good, tmp_path)
    assert said.code == 1
    assert failed(said) == {"node-002/r1", "node-002", "hall"}
    assert set(said.verdicts.values()) == {"PASS", "FAIL"}
    assert said.causes["node-002/r1"] == [
        "r1 is slow to both of its partners, and these are not slow to each other"
    ]
    assert all("node-002/r1" in cause for cause in said.causes["hall"])


def test_a_cut_rail_is_told_by_its_cause(good: Site, tmp_path: Path) -> None:
    plant(good, "cut-rail", "node-001/r0")
    said = told(good, tmp_path)
    assert said.code == 1
    assert failed(said) == {"node-001/r0", "node-001", "hall"}
    assert said.causes["node-001/r0"][0] == "its interface has no carrier"
    others = set(said.verdicts) - failed(said)
    assert {said.verdicts[name] for name in others} == {"PASS"}


def test_a_node_that_calculates_wrong_is_told_by_its_hash(good: Site, tmp_path: Path) -> None:
    plant(good, "wrong-value", "node-003")
    said = told(good, tmp_path)
    assert said.code == 1
    assert failed(said) == {"node-003", "hall"}
    assert "another result than 2 of 3 nodes from the same numbers" in said.causes["node-003"]


def test_cleared_all_pass(good: Site, tmp_path: Path) -> None:
    for fault, subject in (("slow-rail", "node-001"), ("cut-rail", "node-002/r0"), ("kill", "node-003")):
        plant(good, fault, subject)
    good.lab.rackwright("lab", "fault", "clear", "--lab", good.lab.name)
    good.await_idle()
    said = told(good, tmp_path)
    assert said.code == 0, said.causes
    assert set(said.verdicts.values()) == {"PASS"}
    assert set(NODES) < set(said.verdicts)
