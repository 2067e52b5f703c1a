"""Control groups of hosts, in trees that are made up here: real ones are met by the tests on hosts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rackwright.lab import cgroups, places
from rackwright.lab.processes import Process


@pytest.mark.parametrize(
    ("tree", "file", "weights"),
    [("cpu", "cpu.shares", (1024, 262_144)), (".", "cpu.weight", (100, 10_000))],
    ids=["version 1", "version 2"],
)
def test_a_lab_weighs_as_much_as_its_hosts_and_all_labs_as_all_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tree: str, file: str, weights: tuple[int, int]
) -> None:
    one, most = weights
    monkeypatch.setattr(places, "CGROUPS", tmp_path)
    root = tmp_path / tree
    (root / "rackwright" / "a").mkdir(parents=True)
    (root / "rackwright" / "b").mkdir()
    (root / ("cgroup.procs" if tree == "cpu" else "cgroup.controllers")).touch()
    files = [root / "rackwright" / place / file for place in (".", "a", "b")]
    for path in (*files, root / file):
        path.write_text("untouched")
    for group in ("rackwright/a/head", "rackwright/b/head", "rackwright/b/node", "rackwright/b/node"):
        cgroups.make(group, 100)
    assert [path.read_text() for path in files] == [str(one * hosts) for hosts in (3, 1, 2)]
    for number in range(300):
        (root / "rackwright" / "b" / str(number)).mkdir()
    cgroups.make("rackwright/b/node", 100)
    assert files[0].read_text() == str(most)
    assert (root / file).read_text() == "untouched", "this machine's own are not ours"


def test_a_group_that_goes_while_its_members_are_sought_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "CGROUPS", tmp_path)
    (tmp_path / "cgroup.controllers").touch()
    for name in ("a.service", "going.service", "z.service"):
        (tmp_path / "rackwright/a/head" / name).mkdir(parents=True)
    for name in ("a.service", "z.service"):
        (tmp_path / "rackwright/a/head" / name / "cgroup.procs").write_text(f"{os.getpid()}\n")
    scanned = os.scandir

    def scandir(path: str) -> os._ScandirIterator[str]:
        if str(path).endswith("going.service"):
            Path(path).rmdir()
        return scanned(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert cgroups.members("rackwright/a") == {Process.of(os.getpid())}
    assert not (tmp_path / "rackwright/a/head/going.service").exists()
