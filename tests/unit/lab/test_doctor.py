"""Each thing a machine may lack is named with cause and remedy when it is planted."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections import namedtuple
from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import disks, doctor, occupied, watches
from rackwright.lab.commands import run
from rackwright.lab.doctor import Ground
from rackwright.lab.netns import Link, Namespace

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.lab.model import World

Usage = namedtuple("Usage", "total used free")  # noqa: PYI024 (as shutil has it)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    root = tmp_path / "image"
    (root / "usr/lib/systemd").mkdir(parents=True)
    (root / "usr/lib/systemd/systemd").touch()
    (root / "etc/ssh").mkdir(parents=True)
    return root


def test_who_is_not_root_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert [lack.code for lack in doctor.root()] == ["LAB101"]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert list(doctor.root()) == []


def test_who_is_not_root_and_has_no_sbin_on_path_is_told_that_first(
    monkeypatch: pytest.MonkeyPatch, image: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert [lack.code for lack in doctor.examine(Ground(None, image))] == ["LAB101"]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert [lack.code for lack in doctor.examine(Ground(None, image))] == ["LAB102"]


def test_missing_programs_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name in ("tc", "ip", "e2fsck") else f"/{name}")
    (lack,) = doctor.tools()
    assert (lack.code, lack.got) == ("LAB102", "no ip, tc, e2fsck")
    assert lack.hint.endswith("apt-get install e2fsprogs iproute2; some are in /usr/sbin")


def test_an_image_that_is_missing_or_has_an_identity_is_refused(image: Path, tmp_path: Path) -> None:
    assert list(doctor.image(image)) == []
    assert [lack.code for lack in doctor.image(tmp_path / "absent")] == ["LAB103"]
    (image / "etc/ssh/ssh_host_ed25519_key").touch()
    (lack,) = doctor.image(image)
    assert lack.got == "ssh_host_ed25519_key"


def test_what_the_kernel_refuses_is_told_in_its_words(monkeypatch: pytest.MonkeyPatch, image: Path) -> None:
    def refuse(*words: str | Path) -> str:
        raise EnvironmentUnfit("x", got=f"{words[0]}: Operation not permitted")

    monkeypatch.setattr(doctor, "run", refuse)
    lacks = list(doctor.kernel(image))
    assert {lack.code for lack in lacks} == {"LAB104", "LAB105", "LAB106", "LAB107"}
    assert {lack.got for lack in lacks} == {
        "unshare: Operation not permitted",
        "losetup: Operation not permitted",
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may try")
def test_this_machine_can_what_the_trials_ask(image: Path) -> None:
    before = run("ip", "-o", "link")
    assert list(doctor.kernel(image)) == []
    assert run("ip", "-o", "link") == before


@pytest.mark.parametrize(
    ("route", "overlaps"),
    [
        ("10.77.0.0/24", True),
        ("10.77.1.19", True),
        ("10.0.0.0/8", True),
        ("10.77.17.128/25", True),
        ("10.77.2.0/24", False),
        ("0.0.0.0/1", False),
        ("192.168.0.0/16", False),
    ],
)
def test_a_range_in_use_is_named(
    monkeypatch: pytest.MonkeyPatch, world: World, route: str, *, overlaps: bool
) -> None:
    monkeypatch.setattr(Namespace, "routes", lambda _: [(route, "tun0")])
    lacks = list(occupied.ranges(world))
    assert bool(lacks) == overlaps
    assert all(lack.code == "LAB108" and lack.got.endswith("on tun0") for lack in lacks)


def test_our_own_routes_are_in_nobodys_way(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    ours = [("10.77.0.0/24", world.places.leg), ("10.77.0.2", world.places.leg)]
    monkeypatch.setattr(Namespace, "routes", lambda _: ours)
    assert list(occupied.ranges(world)) == []


def test_the_same_range_behind_two_links_is_still_in_the_way(
    monkeypatch: pytest.MonkeyPatch, world: World
) -> None:
    both = [("10.77.0.0/24", "eth7"), ("10.77.0.0/24", world.places.leg)]
    monkeypatch.setattr(Namespace, "routes", lambda _: both)
    assert len(list(occupied.ranges(world))) == 1


@pytest.mark.parametrize(("alias", "ours"), [("rackwright lab lab", True), ("", False), ("other", False)])
def test_a_link_of_that_name_is_ours_by_its_mark_only(
    monkeypatch: pytest.MonkeyPatch, world: World, alias: str, *, ours: bool
) -> None:
    link = Link(world.places.leg, "", 1500, "", alias, up=True, rate_mbit=0, addresses=())
    monkeypatch.setattr(Namespace, "links", lambda _: {link.name: link})
    assert [lack.code for lack in occupied.link(world)] == ([] if ours else ["LAB110"])


def test_disks_that_do_not_fit_are_told_in_gib(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    gib = 1 << 30
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(9 * gib, 0, int(8.4 * gib)))
    with pytest.raises(EnvironmentUnfit) as full:
        disks.require_space(world, disks.missing(world))
    assert (full.value.code, full.value.got, full.value.expected) == ("LAB003", "8.4 GiB free", "8.5 GiB")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(9 * gib, 0, int(8.6 * gib)))
    disks.require_space(world, disks.missing(world))


def test_disks_that_are_there_need_no_more_space(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, 0))
    for host in world.hosts:
        world.places.disk(host.slot).parent.mkdir(parents=True, exist_ok=True)
        world.places.disk(host.slot).touch()
    disks.require_space(world, disks.missing(world))


def test_little_memory_is_told_and_blocks_nothing(world: World, tmp_path: Path) -> None:
    del tmp_path
    many = world.model_copy(update={"hosts": world.hosts * 10_000})
    lacks = [lack for lack in doctor.wanted(many) if lack.code == "LAB114"]
    assert [lack.blocks for lack in lacks] == [False]
    assert "for 40000 hosts" in lacks[0].expected


def test_too_few_inotify_instances_are_told_and_block_nothing(
    monkeypatch: pytest.MonkeyPatch, world: World
) -> None:
    monkeypatch.setattr(watches, "used", lambda: 100)
    monkeypatch.setattr(watches, "limit", lambda: 128)
    assert [lack.code for lack in doctor.wanted(world) if lack.code == "LAB115"] == []
    monkeypatch.setattr(watches, "limit", lambda: 127)
    (lack,) = [lack for lack in doctor.wanted(world) if lack.code == "LAB115"]
    assert (lack.blocks, lack.expected) == (False, "28 more for 4 hosts")
    assert lack.hint.startswith("sysctl fs.inotify.max_user_instances=128")


def test_inotify_instances_of_root_are_counted() -> None:
    before = watches.used()
    handles = [ctypes.CDLL(None).inotify_init() for _ in range(50)]
    try:
        assert watches.used() - before > 25, "other processes of root come and go meanwhile"
    finally:
        for handle in handles:
            os.close(handle)


def test_all_that_is_wrong_is_one_error_and_notes_are_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(EnvironmentUnfit) as refused:
        doctor.require(Ground(None, tmp_path / "absent"))
    assert "2 things" in refused.value.message
    assert "only root can make a lab" in refused.value.got
    assert "the hosts' image is missing" in refused.value.got
