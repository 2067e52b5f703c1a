"""What each fault does to the files, rules and limits of the world, without a world."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from itertools import permutations
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from rackwright.canonical import dumps
from rackwright.errors import EnvironmentUnfit
from rackwright.lab import bmcs, cgroups, places, rootfs
from rackwright.lab.faults import hardware, preloads
from rackwright.lab.faults.fault import Planted, Stage
from rackwright.lab.faults.hardware import FILLER
from rackwright.lab.faults.planted import Record, broken_bmcs
from rackwright.lab.faults.table import FAULTS
from rackwright.lab.netns import Namespace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path, PurePosixPath

    from rackwright.lab.hosts import Hosts
    from rackwright.lab.model import World
    from rackwright.lab.places import Places

SLOT = "node-002"
HEAD = "head-001"


class Room:
    """Hosts that are folders, and remember what was run on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ran: list[tuple[str, ...]] = []

    @contextmanager
    def root(self, slot: str) -> Iterator[Path]:
        (self.folder / slot).mkdir(exist_ok=True)
        yield self.folder / slot

    def run(self, slot: str, *words: str) -> bool:
        self.ran.append((slot, *words))
        return True

    def supervisor_pid(self, slot: str) -> None:
        """All are off."""


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


@pytest.fixture
def stage(world: World, room: Room) -> Stage:
    return Stage(world, cast("Hosts", room))


def lay(folder: Path, path: str, text: str) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def name_of(fault: str) -> str:
    return {"database-down": "mariadb.service", "controller-killed": "slurmctld.service"}[fault]


@pytest.mark.parametrize("name", ["database-down", "controller-killed"])
def test_a_broken_service_is_killed_and_its_folder_goes_when_it_is_whole_again(
    stage: Stage, room: Room, name: str
) -> None:
    fault = FAULTS[name]
    (room.folder / HEAD / "etc/systemd/system").mkdir(parents=True)
    planted = fault.prepare(stage, HEAD)
    fault.plant(stage, planted)
    (setting,) = (room.folder / HEAD / "etc/systemd/system").rglob("*.conf")
    assert "ExecStart=/bin/false" in setting.read_text()
    assert any("kill --signal=KILL" in words[-1] for words in room.ran)
    fault.clear(stage, planted)
    assert list((room.folder / HEAD / "etc/systemd/system").iterdir()) == []
    assert f"then systemctl start {name_of(name)}" in room.ran[-1][-1]


def test_a_service_breaks_only_where_it_runs(stage: Stage) -> None:
    with pytest.raises(EnvironmentUnfit, match="does not run there"):
        FAULTS["database-down"].prepare(stage, SLOT)


def test_another_munge_key_has_the_mode_of_the_right_one_which_comes_back(stage: Stage, room: Room) -> None:
    fault = FAULTS["munge-key"]
    key = lay(room.folder / SLOT, "etc/munge/munge.key", "the right one")
    key.chmod(0o400)
    planted = fault.prepare(stage, SLOT)
    fault.plant(stage, planted)
    assert key.read_bytes() != b"the right one"
    assert key.stat().st_mode & 0o777 == 0o400
    fault.clear(stage, planted)
    assert key.read_text() == "the right one"
    assert room.ran == [(SLOT, "systemctl", "try-restart", "munge.service")] * 2


def test_a_host_without_a_munge_key_gets_no_other_one(stage: Stage) -> None:
    with pytest.raises(EnvironmentUnfit, match="without a munge key"):
        FAULTS["munge-key"].prepare(stage, SLOT)


@pytest.mark.parametrize(
    ("planting", "where", "rule"),
    [
        ("lossy-rail node-002/r1", "router", 'hook ingress device "h2.r1"'),
        ("lossy-rail node-002/r1", "router", 'hook egress device "h2.r1"'),
        ("no-ssh node-002", SLOT, "tcp dport 22 drop"),
        ("bmc-silent node-002", "router", "ip daddr 10.77.1.18 drop"),
    ],
)
def test_packets_are_dropped_by_one_table_that_goes_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, planting: str, where: str, rule: str
) -> None:
    said: list[tuple[str, str]] = []

    def nft(self: Namespace, commands: str) -> str:
        said.append((self.name, commands))
        return ""

    monkeypatch.setattr(Namespace, "nft", nft)
    name, subject = planting.split()
    fault = FAULTS[name]
    planted = fault.prepare(stage, subject)
    fault.plant(stage, planted)
    fault.clear(stage, planted)
    (here, drops), (there, clearing) = said
    assert here == there == stage.world.places.netns(where)
    assert rule in drops
    assert drops.startswith(clearing)
    assert clearing.splitlines()[-1].startswith("delete table ")


@pytest.mark.parametrize("name", ["bmc-password", "bmc-certificate"])
def test_a_bmc_gets_other_files_and_its_own_back(
    stage: Stage, places: Places, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    restarted: list[str] = []
    monkeypatch.setattr(bmcs, "restart", lambda _, host: restarted.append(host.slot))
    own = {file: f"own {file}" for file in ("passwords", "key.pem", "cert.pem")}
    fault = FAULTS[name]
    for file in fault.files(stage.world.host(SLOT)):  # type: ignore[attr-defined]
        lay(places.bmc(SLOT), file, own.setdefault(file, f"own {file}"))
    before = {path.name: path.read_bytes() for path in places.bmc(SLOT).iterdir()}
    planted = fault.prepare(stage, SLOT)
    fault.plant(stage, planted)
    assert all(path.read_bytes() != before[path.name] for path in places.bmc(SLOT).iterdir())
    fault.clear(stage, planted)
    assert {path.name: path.read_bytes() for path in places.bmc(SLOT).iterdir()} == before
    assert restarted == [SLOT, SLOT]


def test_a_bmc_that_is_broken_is_not_waited_for(places: Places) -> None:
    assert broken_bmcs(places.faults) == frozenset()
    record = Record(
        faults=(Planted(name="bmc-silent", subject="node-001"), Planted(name="kill", subject="node-003"))
    )
    lay(places.lab, "faults.json", dumps(record))
    assert broken_bmcs(places.faults) == {"node-001"}


def test_a_full_disk_has_no_room_and_all_of_it_again(
    stage: Stage, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []

    def allocate(root: Path, path: PurePosixPath, size: int) -> None:
        taken.append(size)
        lay(root, str(path), "")

    monkeypatch.setattr(rootfs, "allocate", allocate)

    fault = FAULTS["full-disk"]
    planted = fault.prepare(stage, SLOT)
    fault.plant(stage, planted)
    assert taken[0] > hardware.LEFT_BYTES
    fault.clear(stage, planted)
    assert not (room.folder / SLOT / FILLER).exists()


def test_the_disk_of_a_host_that_is_off_meets_no_error(stage: Stage) -> None:
    with pytest.raises(EnvironmentUnfit, match="meets no error"):
        FAULTS["read-only-disk"].prepare(stage, SLOT)


@pytest.mark.parametrize(
    ("file", "free", "bound"),
    [("cpu.cfs_quota_us", "-1", "25000"), ("cpu.max", "max 100000", "25000 100000")],
)
def test_a_slow_processor_is_a_quota_of_either_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, free: str, bound: str
) -> None:
    tree = tmp_path if file == "cpu.max" else tmp_path / "cpu"
    (tree / "group").mkdir(parents=True)
    (tree / ("cgroup.controllers" if file == "cpu.max" else "cgroup.procs")).write_text("")
    (tree / "group" / file).write_text(free)
    monkeypatch.setattr(places, "CGROUPS", tmp_path)
    assert cgroups.limit_cpu("group", 25)
    assert (tree / "group" / file).read_text() == bound
    assert cgroups.limit_cpu("group", None)
    assert (tree / "group" / file).read_text() == free
    (tree / "group" / file).unlink()
    assert not cgroups.limit_cpu("group", 25)


def test_a_processor_that_nothing_can_bound_is_refused_before_it_is_noted_and_is_free_again(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is noted is cleared before anything else: a note that cannot be cleared ends every `clear`."""
    machine = SimpleNamespace(cgroup="group", memory_mib=1)
    monkeypatch.setattr(type(stage.hosts), "machine", lambda *_: machine, raising=False)
    monkeypatch.setattr(places, "CGROUPS", tmp_path)
    slow = FAULTS["slow-cpu"]
    with pytest.raises(EnvironmentUnfit) as refused:
        slow.prepare(stage, SLOT)
    assert refused.value.code == "LAB028"
    slow.clear(stage, Planted(name="slow-cpu", subject=SLOT))


def test_a_list_of_libraries_is_read_by_all_and_comes_back_byte_for_byte(
    stage: Stage, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preloads, "_compiled", str.encode)
    listed = lay(room.folder / SLOT, "etc/ld.so.preload", "# mine, no end of line")
    listed.chmod(0o600)
    planted = [FAULTS[name].prepare(stage, SLOT) for name in PRELOADS[:1]]
    FAULTS[PRELOADS[0]].plant(stage, planted[0])
    planted.append(FAULTS[PRELOADS[1]].prepare(stage, SLOT))
    FAULTS[PRELOADS[1]].plant(stage, planted[1])
    assert listed.stat().st_mode & 0o777 == 0o644, "no program misses it, whoever runs it"
    for one in reversed(planted):
        FAULTS[one.name].clear(stage, one)
    assert (listed.read_text(), listed.stat().st_mode & 0o777) == ("# mine, no end of line", 0o600)


PRELOADS = ("wrong-value", "clock-ahead", "hung-rank")


@pytest.mark.parametrize("order", list(permutations(PRELOADS)))
@pytest.mark.parametrize("before", [None, "# mine\n"])
def test_libraries_in_front_of_all_programs_go_in_any_order(
    stage: Stage, room: Room, order: tuple[str, ...], before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preloads, "_compiled", str.encode)
    listed = room.folder / SLOT / "etc/ld.so.preload"
    if before is not None:
        lay(room.folder / SLOT, "etc/ld.so.preload", before)
    planted = {}
    for name in PRELOADS:
        planted[name] = FAULTS[name].prepare(stage, SLOT)
        FAULTS[name].plant(stage, planted[name])
    for done, name in enumerate(order, 1):
        FAULTS[name].clear(stage, planted[name])
        assert not (room.folder / SLOT / f"usr/local/lib/{name}.so").exists()
        left = [f"/usr/local/lib/{one}.so\n" for one in PRELOADS if one not in order[:done]]
        assert (listed.read_text() if listed.exists() else "") == (before or "") + "".join(left)
    assert listed.exists() == (before is not None)


@pytest.mark.parametrize("name", ["clock-ahead", "hung-rank"])
def test_a_library_in_front_of_all_programs_compiles(tmp_path: Path, name: str) -> None:
    library, preload = FAULTS[name].files(tmp_path).values()  # type: ignore[attr-defined]
    assert library.raw.startswith(b"\x7fELF")
    assert preload.raw == f"/usr/local/lib/{name}.so\n".encode()


def test_a_program_behind_the_clock_library_is_a_minute_ahead_and_waits_no_longer(tmp_path: Path) -> None:
    library = tmp_path / "clock.so"
    library.write_bytes(next(iter(FAULTS["clock-ahead"].files(tmp_path).values())).raw)  # type: ignore[attr-defined]
    ask = "import time; a = time.time(); m = time.monotonic(); print(a, m)"
    now = subprocess.run(["python3", "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    ahead = subprocess.run(
        ["python3", "-c", ask],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": str(library)},
    ).stdout.split()
    assert 60 <= float(ahead[0]) - float(now[0]) < 90
    assert 0 <= float(ahead[1]) - float(now[1]) < 30
