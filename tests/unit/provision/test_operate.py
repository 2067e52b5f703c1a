"""What stands around the engine's work: settings, locks of the dead, the plan, Ctrl-C on a full disk."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, NoReturn

import pytest

from rackwright import canonical, paths
from rackwright.errors import EnvironmentUnfit, Interrupted
from rackwright.provision import operate as operating
from rackwright.provision.operate import Operation, operate
from rackwright.provision.places import Folders
from rackwright.provision.report import Report
from rackwright.provision.stacks import open_stack, stacks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwright.plan.model import Plan
    from rackwright.provision.stacks import StackName

NO_PROCESS = 2**22 + 1
"""More than the kernel gives (``/proc/sys/kernel/pid_max``)."""


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(spec=tmp_path, state=tmp_path / "state")


@pytest.fixture
def name(
    zone_plan: Plan,
    tmp_path: Path,
    starts: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> StackName:
    """The stack of a zone's network, in a checkout of its own, for the engine that only counts."""
    del starts
    monkeypatch.setattr(paths, "repository", lambda: tmp_path)
    [name] = [one for one in stacks(zone_plan) if one.project == "aws-network"]
    name.folder.mkdir(parents=True)
    return name


def test_the_engine_is_told_which_plan_its_run_was_begun_with(
    zone_plan: Plan, name: StackName, folders: Folders, tmp_path: Path
) -> None:
    operate(Operation.UP, name, zone_plan, folders, lambda _: None)
    told = (tmp_path / "starts.plan").read_text().strip()
    assert told == canonical.sha256(canonical.dumps(zone_plan))


@pytest.mark.parametrize("operation", Operation)
def test_a_dead_engines_lock_is_taken_away_by_who_is_at_work_and_not_by_who_looks(
    zone_plan: Plan,
    name: StackName,
    folders: Folders,
    monkeypatch: pytest.MonkeyPatch,
    operation: Operation,
) -> None:
    """Whose pid reads as dead may live in another container of the same name: only who is alone may judge."""
    monkeypatch.setattr(operating, "_operate", lambda *_: Report(name))
    lock = folders.state / "engine/.pulumi/locks/organization" / name.project / name.stack / "a.json"
    lock.parent.mkdir(parents=True)
    lock.write_text(json.dumps({"pid": NO_PROCESS, "hostname": socket.gethostname()}))
    told: list[str] = []
    operate(operation, name, zone_plan, folders, told.append)
    assert lock.exists() == (operation is Operation.PREVIEW)
    assert len(told) == (operation is not Operation.PREVIEW)


def test_ctrl_c_on_a_full_disk_is_still_told_as_ctrl_c(
    zone_plan: Plan,
    name: StackName,
    folders: Folders,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(*_: object) -> NoReturn:
        (tmp_path / "starts.full").touch()
        raise Interrupted("stopped", hint="go on")

    monkeypatch.setattr(operating, "_operate", stopped)
    with pytest.raises(Interrupted) as caught:
        operate(Operation.UP, name, zone_plan, folders, lambda _: None)
    assert (caught.value.where, caught.value.hint) == (str(name), "go on")
    assert caught.value.got == "what the stack has is not known: write it: no space left on device"


def test_ctrl_c_where_not_even_a_copy_of_the_state_can_be_written(
    zone_plan: Plan, name: StackName, folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> NoReturn:
        raise Interrupted("stopped")

    def full(_: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(operating, "_operate", stopped)
    monkeypatch.setattr(operating, "_settled", full)
    with pytest.raises(Interrupted, match="stopped") as caught:
        operate(Operation.DESTROY, name, zone_plan, folders, lambda _: None)
    assert caught.value.got == "what the stack has is not known: No space left on device"


def _wanted(name: StackName, folders: Folders) -> str:
    return f"encryptionsalt: v1:abc:def\nconfig:\n  {name.project}:plan: {folders.plan}\n"


def test_settings_that_are_as_wanted_are_left(
    zone_plan: Plan, name: StackName, folders: Folders, starts: Callable[[], list[str]]
) -> None:
    name.settings.write_text(_wanted(name, folders) + "  aws:secret:\n    secure: abc\n")
    open_stack(name, zone_plan, folders)
    assert starts() == ["stack select"]


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "{}", "config:\n", "encryptionsalt: v1:abc:def\n"])
def test_settings_that_lack_ours_are_set_anew(
    zone_plan: Plan, name: StackName, folders: Folders, starts: Callable[[], list[str]], text: str
) -> None:
    name.settings.write_text(text)
    open_stack(name, zone_plan, folders)
    assert starts() == ["stack select", "config"]


@pytest.mark.parametrize(
    ("raw", "got"),
    [
        (b"config:\n  a:b: 'c", "found unexpected end of stream"),
        (b"config: {", "line 2, column 1"),
        (b"encryptionsalt", "no mapping of settings"),
        (b"[]", "no mapping of settings"),
        (b"config: abc\n", "no mapping of settings"),
        (b"a: 1\na: 2\n", "line 2, column 1: the key a stands twice"),
        (b"\xff\xfe", "can't decode byte 0xff"),
        (bytes(9), "control characters are not allowed"),
    ],
)
def test_settings_that_are_damaged_are_refused_with_the_place(
    zone_plan: Plan, name: StackName, folders: Folders, raw: bytes, got: str
) -> None:
    name.settings.write_bytes(raw)
    with pytest.raises(EnvironmentUnfit, match="settings are damaged") as caught:
        open_stack(name, zone_plan, folders)
    assert (caught.value.code, caught.value.where) == ("UP012", str(name.settings))
    assert got in caught.value.got
    assert name.settings.read_bytes() == raw
