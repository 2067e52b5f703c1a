"""Files of a lab that a disk has damaged, or another version wrote: told as that, and `lab down` goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import authority, files, naming, processes, teardown, up
from rackwright.lab.aws import run as emulated
from rackwright.lab.cloud import records
from rackwright.lab.faults import planted
from rackwright.lab.status import read_world, status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwright.lab.model import World
    from rackwright.lab.places import Places

INSTANCE = "i-0123456789abcdef0"
SPOILED = {
    "no UTF-8": b'{"faults": "\xff"}',
    "cut": b'{"faults": [',
    "deep": b"[" * 100_000,
    "something else": b"[1]",
    "empty": b"",
}


def _environment(places: Places) -> object:
    places.run.mkdir(parents=True)
    processes.claim_pid_file(places.emulator_pid)
    return emulated.environment(places)


def _authority(places: Places) -> object:
    return authority.authority(places.authority, "lab")


READERS: dict[str, tuple[Callable[[Places], Path], Callable[[Places], object]]] = {
    "world": (lambda places: places.world, read_world),
    "world, by status": (lambda places: places.world, status),
    "faults": (lambda places: places.faults, lambda places: planted.read(places.faults)),
    "instance": (lambda places: places.cloud / INSTANCE / "instance.json", records.read_all),
    "emulator": (lambda places: places.emulator_config, _environment),
    "key": (lambda places: places.authority / authority.KEY, _authority),
}


@pytest.mark.parametrize("damage", SPOILED)
@pytest.mark.parametrize("kind", READERS)
def test_a_spoiled_file_is_told_with_what_takes_the_lab_away(kind: str, damage: str, places: Places) -> None:
    where, read = READERS[kind]
    path = where(places)
    path.parent.mkdir(parents=True)
    path.write_bytes(SPOILED[damage])
    with pytest.raises(EnvironmentUnfit) as refused:
        read(places)
    assert (refused.value.code, refused.value.where) == ("LAB016", str(path))
    assert "rackwright lab down" in refused.value.hint


def test_a_spoiled_certificate_is_told(places: Places) -> None:
    _authority(places)
    path = places.authority / authority.CERTIFICATE
    path.write_bytes(b"\xff")
    with pytest.raises(EnvironmentUnfit) as refused:
        _authority(places)
    assert (refused.value.code, refused.value.where) == ("LAB016", str(path))


def test_an_up_over_a_spoiled_world_says_so(world: World) -> None:
    world.places.lab.mkdir(parents=True)
    world.places.world.write_bytes(SPOILED["no UTF-8"])
    with pytest.raises(EnvironmentUnfit) as refused:
        up._claim(world)  # noqa: SLF001 (`up` itself wants root)
    assert refused.value.code == "LAB016"


@pytest.mark.parametrize("damage", SPOILED)
def test_a_lab_with_a_spoiled_world_hides_no_other(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("RACKWRIGHT_RUN", str(tmp_path / "run"))
    for name, world in (("good", b'{"spec": "/x.yaml"}'), ("spoiled", SPOILED[damage])):
        (tmp_path / "rackwright" / name / "lab").mkdir(parents=True)
        (tmp_path / "rackwright" / name / "lab" / "world.json").write_bytes(world)
    assert naming.here() == ["good (/x.yaml)", "spoiled (of no known spec)"]


def test_a_file_of_somebody_else_that_is_no_text_is_not_overwritten(places: Places, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"\xff")
    with pytest.raises(EnvironmentUnfit) as refused:
        files.publish(places, tmp_path / "ca.pem", "ours")
    assert refused.value.code == "LAB013"


def test_notes_that_were_spoiled_keep_no_lab_from_going(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").touch()
    places.lab.mkdir(parents=True)
    ours = tmp_path / "b\udcff"  # a folder from a time before UTF-8
    files.note(places, ours)
    ours.touch()
    places.outside.write_bytes(places.outside.read_bytes() + b"mine\n\n/a\0b\n\xff\n")
    teardown._remove_outside(places)  # noqa: SLF001 (the other half of `note`)
    assert not ours.exists()
    assert (tmp_path / "mine").exists()
