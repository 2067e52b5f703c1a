"""Labs of different names do not know of each other; labs in one range are refused."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import parts
from tests.hosts.lab import WITHIN_S, standing, write_spec

if TYPE_CHECKING:
    from tests.hosts.fixtures import MakeLab
    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab


def test_two_labs_stand_side_by_side_and_one_goes_without_the_other(
    make_lab: MakeLab,
) -> None:
    first = make_lab()
    second = make_lab(name=f"{first.name}-b")
    for one in (first, second):
        one.up()
        one.rackwright("plan", str(one.spec))
        one.prepare()
        one.boot("node-001")
    kept = standing(second.places)
    first.down()
    assert parts.find(first.places) == []
    assert standing(second.places) == kept
    assert second.ssh("node-001", "hostname") == "node-001"
    assert second.up()["made"] == []


def test_a_lab_in_the_range_of_another_is_refused_and_nothing_is_made(lab: Lab, make_lab: MakeLab) -> None:
    other = make_lab(like=lab, name=f"{lab.name}-c")
    refused = other.json("lab", "up", str(other.spec), code=2)
    assert refused["schema"] == "rackwright/error/1"
    text = str(refused)
    assert "LAB108" in text
    management = f"{lab.prefix}.0.0/24"
    assert f"{management} overlaps with {management} on {lab.places.leg}" in text
    assert parts.find(other.places) == []
    assert not other.places.state.exists()
    assert lab.up()["made"] == []


def test_a_lab_is_not_taken_for_its_namesake_of_another_state_folder(lab: Lab, make_lab: MakeLab) -> None:
    other = make_lab()
    namesake = replace(other, name=lab.name, spec=write_spec(other.spec.parent / "x", lab.name, other.prefix))
    before = standing(lab.places)
    for words in (("up", str(namesake.spec)), ("down", lab.name)):
        refused = str(namesake.json("lab", *words, code=2))
        assert "LAB018" in refused
        assert str(lab.places.state) in refused
    assert standing(lab.places) == before
    assert not namesake.state_home.exists()


def test_of_two_labs_in_one_range_that_are_made_at_once_one_is_refused(
    make_lab: MakeLab,
) -> None:
    first = make_lab()
    labs = [first, make_lab(like=first, name=f"{first.name}-e")]
    null = subprocess.DEVNULL
    commands = [
        subprocess.Popen(
            lab.command("lab", "up", str(lab.spec)), env=lab.environment, stdout=null, stderr=null
        )
        for lab in labs
    ]
    assert sorted(command.wait(WITHIN_S) for command in commands) == [0, 2]
    assert sorted(bool(parts.find(lab.places)) for lab in labs) == [False, True]
