"""What is planted is on disk before it breaks anything, and until it is undone."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, cast

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.lab.faults import planted
from rackwright.lab.faults.fault import Fault, Planted, Stage
from rackwright.lab.faults.files import FilesFault
from rackwright.lab.faults.planted import Faults
from rackwright.lab.faults.subjects import SubjectKind
from rackwright.lab.rootfs import Content

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from rackwright.lab.hosts import Hosts
    from rackwright.lab.model import World
    from rackwright.lab.places import Places

    Make = Callable[[], Faults]


class _Leak(Fault):
    """Leaks on a host, until a plumber comes; at times it cannot be planted, cleared or mended."""

    name, kind, does, shows = "leak", SubjectKind.HOST, "water", "FAIL of it"

    def __init__(self, record: Path) -> None:
        self.calls: list[str] = []
        self.fails = ""
        self.over: set[str] = set()
        self._record = record

    def prepare(self, stage: Stage, subject: str) -> Planted:
        self._do("prepare", subject)
        return super().prepare(stage, subject)

    def plant(self, stage: Stage, planted: Planted) -> None:
        del stage
        assert planted.subject in self._record.read_text()
        self._do("plant", planted.subject)

    def clear(self, stage: Stage, planted: Planted) -> None:
        del stage
        assert planted.subject in self._record.read_text()
        self._do("clear", planted.subject)

    def is_over(self, stage: Stage, subject: str) -> bool:
        del stage
        return subject in self.over

    def _do(self, what: str, subject: str) -> None:
        self.calls.append(f"{what} {subject}")
        if self.fails == what:
            raise EnvironmentUnfit("no", where=subject)


class _Overwritten(FilesFault):
    name, kind, does, shows = "overwritten", SubjectKind.HOST, "files", "FAIL of it"

    def files(self, root: Path) -> Mapping[PurePosixPath, Content]:
        del root
        return {PurePosixPath("etc/old"): Content(b"broken"), PurePosixPath("srv/new"): Content(b"broken")}


class _Roots:
    """Hosts of which only the files are asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def root(self, slot: str) -> Iterator[Path]:
        yield self._root / slot


@pytest.fixture
def leak(places: Places, monkeypatch: pytest.MonkeyPatch) -> _Leak:
    fault = _Leak(places.faults)
    monkeypatch.setattr(planted, "FAULTS", {fault.name: fault, _Overwritten.name: _Overwritten()})
    return fault


@pytest.fixture
def make(world: World, leak: _Leak, tmp_path: Path) -> Make:
    """Faults of a labd: each call is another labd's."""
    assert leak.calls == []
    return lambda: Faults(world, cast("Hosts", _Roots(tmp_path)))


def names(faults: Faults) -> list[str]:
    return [f"{one.name} {one.subject}" for one in faults.now()]


def test_planted_twice_is_one_and_is_brought_about_again(make: Make, leak: _Leak) -> None:
    faults = make()
    faults.plant("leak", "node-001")
    faults.plant("leak", "node-002")
    faults.plant("leak", "node-001")
    assert names(faults) == ["leak node-001", "leak node-002"]
    assert leak.calls.count("prepare node-001") == 1
    assert leak.calls.count("plant node-001") == 2


def test_the_next_labd_knows_it_brings_it_back_and_clears_it(make: Make, leak: _Leak) -> None:
    make().plant("leak", "node-001")
    faults = make()
    assert names(faults) == ["leak node-001"]
    faults.repair()
    assert leak.calls[-1] == "plant node-001"
    assert [one.subject for one in faults.clear()] == ["node-001"]
    assert names(make()) == []


def test_what_cannot_be_planted_is_not_there_and_what_broke_halfway_can_be_cleared(
    make: Make, leak: _Leak
) -> None:
    faults = make()
    leak.fails = "prepare"
    with pytest.raises(EnvironmentUnfit):
        faults.plant("leak", "node-001")
    assert names(faults) == []
    leak.fails = "plant"
    with pytest.raises(EnvironmentUnfit):
        faults.plant("leak", "node-001")
    assert names(make()) == ["leak node-001"]
    assert len(list(make().clear())) == 1


def test_what_cannot_be_cleared_stays_and_what_was_cleared_before_is_gone(make: Make, leak: _Leak) -> None:
    faults = make()
    for slot in ("node-001", "node-002"):
        faults.plant("leak", slot)
    clearing = faults.clear()
    assert next(clearing).subject == "node-002"
    leak.fails = "clear"
    with pytest.raises(EnvironmentUnfit):
        next(clearing)
    assert names(make()) == ["leak node-001"]


def test_what_somebody_has_mended_is_forgotten_for_good(make: Make, leak: _Leak) -> None:
    faults = make()
    faults.plant("leak", "node-001")
    leak.over.add("node-001")
    assert names(faults) == []
    faults.repair()
    leak.over.clear()
    assert names(make()) == []


def test_clear_takes_a_name(make: Make, tmp_path: Path) -> None:
    (tmp_path / "node-001").mkdir()
    faults = make()
    faults.plant("leak", "node-001")
    faults.plant("overwritten", "node-001")
    assert [one.name for one in faults.clear("leak")] == ["leak"]
    assert names(faults) == ["overwritten node-001"]


@pytest.mark.parametrize(("name", "subject"), [("flood", "node-001"), ("leak", "node-009"), ("", "")])
def test_a_fault_or_subject_that_is_not_there_is_refused(make: Make, name: str, subject: str) -> None:
    with pytest.raises(ValueError, match=r"^no "):
        make().plant(name, subject)


def test_files_come_back_byte_for_byte_even_when_planted_twice(make: Make, tmp_path: Path) -> None:
    old, new = (tmp_path / "node-001" / path for path in ("etc/old", "srv/new"))
    old.parent.mkdir(parents=True)
    old.write_bytes(b"\0no newline \xff")
    old.chmod(0o640)
    make().plant("overwritten", "node-001")
    make().plant("overwritten", "node-001")
    assert [path.read_bytes() for path in (old, new)] == [b"broken"] * 2
    assert len(list(make().clear())) == 1
    assert (old.read_bytes(), new.exists()) == (b"\0no newline \xff", False)
    assert old.stat().st_mode & 0o777 == 0o640


def test_the_file_laid_last_goes_first(make: Make, tmp_path: Path) -> None:
    """It may name the others: a list of libraries never names one that is not there."""
    (tmp_path / "node-001").mkdir()
    faults = make()
    faults.plant("overwritten", "node-001")
    (tmp_path / "node-001/srv").rename(tmp_path / "away")
    (tmp_path / "node-001/srv").symlink_to(tmp_path / "away")
    with pytest.raises(EnvironmentUnfit):
        list(faults.clear())
    assert (tmp_path / "node-001/etc/old").exists()
    assert names(faults) == ["overwritten node-001"]


def test_a_link_in_the_way_is_told_as_what_it_is(make: Make, tmp_path: Path) -> None:
    (tmp_path / "node-001").mkdir()
    (tmp_path / "node-001/etc").symlink_to(tmp_path)
    faults = make()
    with pytest.raises(EnvironmentUnfit) as refused:
        faults.plant("overwritten", "node-001")
    assert (refused.value.code, names(faults)) == ("LAB021", [])
