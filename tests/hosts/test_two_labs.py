"""Labs of different names do not know of each other; labs in one range are refused."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import parts
from tests.hosts.lab import write_spec

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab


def test_two_labs_stand_side_by_side_and_one_goes_without_the_other(
    make_lab: Callable[[str, str], Lab],
) -> None:
    first, second = make_lab("lab-test-a", "10.88"), make_lab("lab-test-a-b", "10.89")
    for one in (first, second):
        one.up()
        one.rackwright("plan", str(one.spec))
        one.prepare()
        one.boot("node-001")
    kept = parts.find(second.places)
    first.down()
    assert parts.find(first.places) == []
    assert parts.find(second.places) == kept
    assert second.ssh("node-001", "hostname") == "node-001"
    assert second.up()["made"] == []


def test_a_lab_in_the_range_of_another_is_refused_and_nothing_is_made(
    lab: Lab, make_lab: Callable[[str, str], Lab]
) -> None:
    other = make_lab("lab-test-c", "10.87")
    refused = other.json("lab", "up", str(other.spec), code=2)
    assert refused["schema"] == "rackwright/error/1"
    text = str(refused)
    assert "LAB108" in text
    assert "10.87.0.0/24 overlaps with 10.87.0.0/24 on rw-lab-test" in text
    assert parts.find(other.places) == []
    assert not other.places.state.exists()
    assert lab.up()["made"] == []


def test_a_lab_is_not_taken_for_its_namesake_of_another_state_folder(
    lab: Lab, make_lab: Callable[[str, str], Lab]
) -> None:
    namesake = make_lab("lab-test-d", "10.89")
    namesake = replace(
        namesake, name=lab.name, spec=write_spec(namesake.spec.parent / "x", lab.name, "10.89")
    )
    before = parts.find(lab.places)
    for words in (("up", str(namesake.spec)), ("down", lab.name)):
        refused = str(namesake.json("lab", *words, code=2))
        assert "LAB018" in refused
        assert str(lab.places.state) in refused
    assert parts.find(lab.places) == before
    assert not namesake.state_home.exists()


def test_of_two_labs_in_one_range_that_are_made_at_once_one_is_refused(
    make_lab: Callable[[str, str], Lab],
) -> None:
    labs = [make_lab(name, "10.88") for name in ("lab-test-e", "lab-test-f")]
    null = subprocess.DEVNULL
    commands = [
        subprocess.Popen(
            lab.command("lab", "up", str(lab.spec)), env=lab.environment, stdout=null, stderr=null
        )
        for lab in labs
    ]
    assert sorted(command.wait(120) for command in commands) == [0, 2]
    assert sorted(bool(parts.find(lab.places)) for lab in labs) == [False, True]
