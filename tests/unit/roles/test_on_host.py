"""What the programs of the storage roles share: how they run others, refuse, note and answer."""

from __future__ import annotations

import errno
import io
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.roles.programs import Host, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """on_host.py, on a host whose /sys/class/block is a folder."""
    module = load("nvmeof_target", "on_host")
    monkeypatch.setattr(module, "BLOCK", tmp_path / "block")
    return module


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    host = Host(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(host.folder), prepend=":")
    return host


def test_a_program_that_must_not_fail_is_told_with_its_words_and_all_it_said(
    shared: ModuleType, host: Host
) -> None:
    host.program("lvcreate", 'echo made "$@"')
    assert shared.must("lvcreate", "--yes", "two words") == "made --yes two words\n"
    host.program("lvcreate", "echo on stdout; echo 'no\n  space' >&2; exit 5")
    with pytest.raises(shared.Refused, match=r"^lvcreate --yes: no space$"):
        shared.must("lvcreate", "--yes")
    host.program("lvcreate", "echo on stdout; exit 5")
    with pytest.raises(shared.Refused, match=r"^lvcreate: on stdout$"):
        shared.must("lvcreate")


def test_a_file_is_read_as_it_is_an_attribute_without_its_end_of_line_and_none_is_empty(
    shared: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text(" one\n")
    assert shared.text_of(tmp_path / "file") == " one\n"
    assert shared.read(tmp_path / "file") == "one"
    assert shared.text_of(tmp_path / "none") == shared.read(tmp_path / "none") == ""


def test_an_attribute_that_the_kernel_does_not_take_is_told_by_its_path(
    shared: ModuleType, tmp_path: Path
) -> None:
    shared.write(tmp_path / "enable", "1")
    assert (tmp_path / "enable").read_text() == "1"
    with pytest.raises(OSError, match="/dev/full") as caught:
        shared.write(Path("/dev/full"), "1")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "/dev/full")


def test_a_unit_has_the_name_that_systemd_gives_it(shared: ModuleType, host: Host) -> None:
    host.program("systemd-escape", 'echo "$@"')
    assert shared.unit_of("/a b", "mount") == "--path --suffix=mount /a b"


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        ("exit 2", ""),
        ("echo DEVNAME=/dev/x; echo PTTYPE=dos; echo TYPE=xfs", "xfs"),
        ("echo DEVNAME=/dev/x; echo PTTYPE=gpt", "gpt"),
        ("echo LABEL=a=b; echo; echo USAGE=other", "something"),
    ],
)
def test_what_a_device_holds_is_what_blkid_says(
    shared: ModuleType, host: Host, said: str, holds: str
) -> None:
    host.program("blkid", f'[ "$*" = "-p -o export /dev/x" ] || exit 9; {said}')
    assert shared.signature("/dev/x") == holds


def test_a_device_that_cannot_be_read_is_not_taken_for_a_blank_one(shared: ModuleType, host: Host) -> None:
    host.program("blkid", "echo 'input/output\n error' >&2; exit 4")
    with pytest.raises(shared.Refused, match=r"^/dev/x: blkid cannot read it: input/output error$"):
        shared.signature("/dev/x")


def test_a_device_in_a_volume_is_held_by_whatever_name_it_is_called(
    shared: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "vdc").touch()
    (tmp_path / "by-id").symlink_to(tmp_path / "vdc")
    assert shared.holder(str(tmp_path / "by-id")) == ""
    for name in ("dm-1", "dm-0"):
        (shared.BLOCK / "vdc" / "holders" / name).mkdir(parents=True)
    assert shared.holder(str(tmp_path / "by-id")) == "held by dm-0"


def test_a_note_is_read_as_it_was_kept_and_is_for_root_alone(shared: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "lib" / "note.json"
    nothing: dict[str, object] = {"plan": {}}
    assert shared.kept(path, nothing) is nothing
    old = os.umask(0)
    try:
        shared.keep(path, {"secret": "s"})
    finally:
        os.umask(old)
    assert shared.kept(path, nothing) == {"secret": "s"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["note.json"]
    path.write_text("{")
    assert shared.kept(path, nothing) is nothing


def test_a_note_is_on_the_disk_before_it_takes_the_place_of_the_one_before(
    shared: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(shared.os, "fsync", lambda _: synced.append((tmp_path / "note.new").read_text()))
    (tmp_path / "note.new").write_text("what a run that was killed has left of a longer note")
    shared.keep(tmp_path / "note.json", {"a": 1})
    assert synced == ['{"a": 1}']


def test_a_note_that_cannot_be_written_whole_leaves_the_one_before(
    shared: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "note.json"
    shared.keep(path, {"a": "long note"})

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shared.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        shared.keep(path, {})
    assert shared.kept(path, {}) == {"a": "long note"}


def test_what_changes_is_drift_and_what_is_strange_is_drift_alone(shared: ModuleType) -> None:
    changed = shared.Difference("unit", "a.mount", "active", "failed")
    strange = shared.Difference("namespace", "nqn", "absent", "there")
    told = shared.told(iter([changed]), iter([strange]))
    assert told["changes"] == ["a.mount: failed -> active"]
    assert told["drift"] == [
        {"kind": "unit", "subject": "a.mount", "intended": "active", "observed": "failed"},
        {"kind": "namespace", "subject": "nqn", "intended": "absent", "observed": "there"},
    ]
    assert shared.told([]) == {"changes": [], "drift": []}


@pytest.fixture
def answer(
    shared: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., object]:
    """What a program prints that is asked for plan 7."""

    def answered(*words: Callable[..., object]) -> object:
        monkeypatch.setattr("sys.stdin", io.StringIO('{"plan": 7}'))
        assert shared.answer(*words) == 0
        return json.loads(capsys.readouterr().out)

    return answered


def test_an_answer_is_what_came_of_what_was_asked(answer: Callable[..., object]) -> None:
    assert answer(lambda asked: {"changes": [str(asked["plan"])]}) == {"changes": ["7"]}


def test_a_refusal_and_what_the_kernel_refuses_are_answers_too(
    shared: ModuleType, answer: Callable[..., object]
) -> None:
    def refused(_: object) -> None:
        raise shared.Refused("the device holds xfs")

    def denied(_: object) -> None:
        raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address", "/ports/7")

    assert answer(refused) == {"failed": "the device holds xfs"}
    said = "/ports/7: Cannot assign requested address"
    assert answer(denied) == {"failed": said}
    hinted = answer(denied, lambda error: f"; hint: {error.errno}")
    assert hinted == {"failed": f"{said}; hint: {errno.EADDRNOTAVAIL}"}


def test_a_note_goes_when_all_is_done_and_what_was_left_of_writing_it_with_it(
    shared: ModuleType, host: Host, tmp_path: Path
) -> None:
    unit, note = tmp_path / "one.service", tmp_path / "one.json"
    for path in (unit, note, note.with_suffix(".new")):
        path.touch()
    host.program("systemctl", "exit 1")
    with pytest.raises(shared.Refused, match=r"^systemctl daemon-reload"):
        shared.forget("one.service", unit, note=note)
    assert note.exists()
    host.program("systemctl", "")
    shared.forget("one.service", unit, note=note)
    assert [path for path in (unit, note, note.with_suffix(".new")) if path.exists()] == []
