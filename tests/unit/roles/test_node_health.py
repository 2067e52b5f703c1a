"""The health check drains for what it sees twice, and takes back only its own drains."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
from typing import TYPE_CHECKING

import pytest

from rackwright import paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

SINFO = '#!/bin/sh\n[ -e "{folder}/down" ] && exit 1\ncat "{folder}/state"\n'
SCONTROL = '#!/bin/sh\nfor word; do echo "$word"; done >> "{folder}/calls"\n'


class Node:
    """A node with two rails and a file system, and a Slurm that notes what it is told."""

    def __init__(self, folder: Path, module: ModuleType) -> None:
        self.folder, self.module = folder, module
        for rail in ("r0", "r1"):
            (folder / "net" / rail).mkdir(parents=True)
            self.carrier(rail, "1")
        expected = {
            "node": "node-001",
            "rails": {"r0": "compute", "r1": "compute"},
            "file_systems_free_mib": {str(folder): 0},
            "strikes": 2,
        }
        self.expect(**expected)
        self.state("idle|none")

    def carrier(self, rail: str, value: str) -> None:
        (self.folder / "net" / rail / "carrier").write_text(value + "\n")

    def expect(self, **changes: object) -> None:
        path = self.folder / "expected.json"
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**before, **changes}))

    def state(self, line: str) -> None:
        (self.folder / "state").write_text(line + "\n")

    def check(self, *words: str) -> int:
        code = self.module.main(list(words))
        assert isinstance(code, int)
        return code

    @property
    def calls(self) -> list[str]:
        """What scontrol was told since the last look."""
        path = self.folder / "calls"
        calls = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return calls


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    path = paths.repository() / "roles" / "node_health" / "files" / "node_health.py"
    spec = importlib.util.spec_from_file_location("node_health", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, text in (("sinfo", SINFO), ("scontrol", SCONTROL)):
        (tmp_path / name).write_text(text.format(folder=tmp_path))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(module, "EXPECTED", tmp_path / "expected.json")
    monkeypatch.setattr(module, "MEMORY", tmp_path / "run" / "memory.json")
    monkeypatch.setattr(module, "INTERFACES", tmp_path / "net")
    return Node(tmp_path, module)


DRAIN = ["update", "nodename=node-001", "state=drain"]
UNDRAIN = ["update", "nodename=node-001", "state=undrain"]


def cut(node: Node) -> None:
    node.carrier("r1", "0")


def remove(node: Node) -> None:
    (node.folder / "net" / "r1" / "carrier").unlink()


def fill(node: Node) -> None:
    node.expect(file_systems_free_mib={str(node.folder): 1 << 40})


def lose(node: Node) -> None:
    node.expect(file_systems_free_mib={"/nowhere": 1})


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (cut, "r1 (compute): no carrier"),
        (remove, "r1 (compute): no such interface"),
        (fill, f"MiB free, expected {1 << 40}"),
        (lose, "/nowhere: No such file or directory"),
    ],
)
def test_a_fault_seen_twice_drains_with_our_prefix(
    node: Node, plant: Callable[[Node], None], said: str
) -> None:
    plant(node)
    assert node.check() == 0
    assert node.calls == [], "one bad look is no fault"
    node.check()
    *words, reason = node.calls
    assert words == DRAIN
    assert reason.startswith("reason=rackwright: ")
    assert reason.endswith(said)


def test_a_read_only_file_system_is_a_fault(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs(node.folder)
    fields = [*real[:8], real.f_flag | os.ST_RDONLY, real.f_namemax]
    monkeypatch.setattr(os, "statvfs", lambda _mount: os.statvfs_result(fields))
    assert node.module.room(str(node.folder), 0) == "read-only"


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (errno.EROFS, "takes no writes"),
        (errno.EIO, "takes no writes"),
        (errno.ESTALE, "takes no writes"),
        (errno.ENOSPC, "takes no writes"),
        (errno.EOPNOTSUPP, ""),
        (errno.EACCES, ""),
    ],
)
def test_a_file_system_that_takes_no_writes_is_a_fault_though_it_is_not_marked(
    node: Node, monkeypatch: pytest.MonkeyPatch, refusal: int, said: str
) -> None:
    def refuse(path: str, _flags: int, _mode: int) -> int:
        raise OSError(refusal, os.strerror(refusal), path)

    before = sorted(node.folder.iterdir())
    assert node.module.room(str(node.folder), 0) == ""
    assert sorted(node.folder.iterdir()) == before
    monkeypatch.setattr(node.module.os, "open", refuse)
    assert node.module.room(str(node.folder), 0) == said


def test_a_good_node_asks_the_controller_once_and_then_nothing(node: Node) -> None:
    assert node.check() == 0
    assert node.calls == []
    (node.folder / "down").touch()
    assert node.check() == 0, "it asked the controller again"


def test_it_undrains_what_it_drained(node: Node) -> None:
    cut(node)
    node.check()
    node.check()
    assert node.calls[:3] == DRAIN
    node.state("drained|rackwright: r1 (compute): no carrier")
    node.carrier("r1", "1")
    node.check()
    assert node.calls == UNDRAIN


def test_a_drain_that_a_killed_controller_brought_back_is_taken_back_again(node: Node) -> None:
    node.check()
    node.state("drained|rackwright: r1 (compute): no carrier")
    for _ in range(node.module.ASK_EVERY - 1):
        node.check()
        assert node.calls == [], "Slurm is not asked by every check"
    node.check()
    assert node.calls == UNDRAIN


def test_after_a_boot_it_takes_back_its_own_drain(node: Node) -> None:
    node.state("drained|rackwright: r1 (compute): no carrier")
    node.check()
    assert node.calls == UNDRAIN


@pytest.mark.parametrize("reason", ["operator: new cable", "Kill task failed"])
def test_another_reason_is_left_alone_whether_the_node_is_good_or_not(node: Node, reason: str) -> None:
    node.state(f"drained|{reason}")
    node.check()
    cut(node)
    node.check()
    node.check()
    assert node.calls == []


def test_the_same_fault_is_told_once_and_a_new_one_again(node: Node) -> None:
    cut(node)
    node.check()
    node.check()
    assert node.calls[:3] == DRAIN
    node.state("drained|rackwright: r1 (compute): no carrier")
    node.check()
    assert node.calls == []
    node.carrier("r0", "0")
    node.check()
    assert node.calls[-1] == "reason=rackwright: r0 (compute): no carrier; r1 (compute): no carrier"


def test_a_controller_that_does_not_answer_is_asked_again(node: Node) -> None:
    cut(node)
    (node.folder / "down").touch()
    node.check()
    assert node.check() == 1
    (node.folder / "down").unlink()
    assert node.check() == 0
    assert node.calls[:3] == DRAIN


def test_a_dry_run_tells_and_does_nothing(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    cut(node)
    for _ in range(3):
        assert node.check("--dry-run") == 0
    assert capsys.readouterr().out == "fault r1 (compute): no carrier\n" * 3
    assert node.calls == []
