"""A daemon is started, restarted or reloaded by its files' hash, whatever an earlier run was cut off in."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.playbooks.conftest import load

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from tests.unit.playbooks.conftest import Library

SYSTEMCTL = r"""#!/usr/bin/env python3
import json, pathlib, sys, time
state = pathlib.Path(__file__).with_name("state.json")
unit = json.loads(state.read_text())
verb = sys.argv[1]
with pathlib.Path(__file__).with_name("calls").open("a") as calls:
    if verb != "show":
        calls.write(verb + "\n")
if verb == "show":
    print("\n".join(f"{key}={value}" for key, value in unit.items() if not key.startswith("_")))
if verb == "enable":
    unit["UnitFileState"] = "enabled"
if verb == "disable":
    unit["UnitFileState"] = "disabled"
    unit["ActiveState"] = "inactive" if "--now" in sys.argv else unit["ActiveState"]
if verb == "restart":
    if unit["_fails"]:
        sys.exit("Job for test.service failed")
    unit["ConditionTimestampMonotonic"] = "5"
    if unit["ConditionResult"] == "yes":
        unit["ActiveState"] = "active"
        unit["InvocationID"] = str(time.time_ns())
        unit["ActiveEnterTimestamp"] = f"@{time.time()}"
state.write_text(json.dumps(unit))
"""


class Unit:
    """A unit behind a systemctl of our own, and the one file it reads."""

    def __init__(self, folder: Path, library: Library, module: ModuleType) -> None:
        self.folder, self.library, self.module = folder, library, module
        self.file = folder / "daemon.conf"
        self.file.write_text("Port=1\nDebug=no\n")
        self.set(
            LoadState="loaded",
            ActiveState="inactive",
            InvocationID="",
            UnitFileState="disabled",
            NeedDaemonReload="no",
            ConditionResult="yes",
            ConditionTimestampMonotonic="0",
            ActiveEnterTimestamp="",
            _fails=False,
        )

    def set(self, **properties: str | bool) -> None:
        path = self.folder / "state.json"
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**before, **properties}))

    def converge(self, *, check: bool = False, **arguments: object) -> dict[str, object]:
        return self.library.call(
            self.module, check=check, name="test.service", files=[str(self.file)], **arguments
        )

    @property
    def calls(self) -> list[str]:
        """What systemctl was asked to do since the last look."""
        path = self.folder / "calls"
        calls = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return calls


@pytest.fixture
def unit(tmp_path: Path, library: Library, monkeypatch: pytest.MonkeyPatch) -> Unit:
    for name, text in (("systemctl", SYSTEMCTL), ("journalctl", "#!/bin/sh\necho bad line 3\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    module = load("daemon")
    monkeypatch.setattr(module, "NOTES", tmp_path / "notes")
    return Unit(tmp_path, library, module)


def test_it_is_enabled_and_started_once(unit: Unit) -> None:
    first = unit.converge()
    assert (first["changed"], first["did"]) == (True, "started")
    assert unit.calls == ["enable", "reset-failed", "restart"]
    again = unit.converge()
    assert (again["changed"], again["did"]) == (False, "nothing")
    assert unit.calls == []


def test_check_mode_tells_and_does_nothing(unit: Unit) -> None:
    told = unit.converge(check=True)
    assert told["did"] == "started"
    assert told["drift"] == [
        {
            "kind": "unit",
            "subject": "test.service",
            "intended": "active, enabled, with its files as they are",
            "observed": "inactive, disabled",
        }
    ]
    assert unit.calls == []


def test_a_changed_file_restarts_it_also_when_the_play_that_changed_it_was_cut_off(unit: Unit) -> None:
    unit.converge()
    unit.file.write_text("Port=1\nDebug=yes\n")  # nobody told the module that this call changed it
    assert unit.converge()["did"] == "restarted"
    assert unit.converge()["did"] == "nothing"


def test_a_reload_is_enough_unless_one_of_its_keys_changed(unit: Unit, tmp_path: Path) -> None:
    how: dict[str, Any] = {"reload": ["touch", str(tmp_path / "reloaded")], "restart_keys": ["port"]}
    unit.converge(**how)
    unit.calls  # noqa: B018 (forget them)
    unit.file.write_text("Port=1\nDebug=yes\n")
    assert unit.converge(**how)["did"] == "reloaded"
    assert unit.calls == []
    assert (tmp_path / "reloaded").exists()
    unit.file.write_text("Port=2\nDebug=yes\n")
    assert unit.converge(**how)["did"] == "restarted"
    assert unit.calls == ["reset-failed", "restart"]


def test_after_a_boot_it_is_left_alone_if_it_is_younger_than_its_files(unit: Unit) -> None:
    unit.converge()
    unit.set(InvocationID="of this boot", ActiveEnterTimestamp=f"@{time.time() + 5}")
    assert unit.converge()["did"] == "nothing"
    assert unit.converge()["did"] == "nothing"


def test_after_a_boot_it_is_restarted_if_its_files_changed_since(unit: Unit) -> None:
    unit.set(
        ActiveState="active",
        UnitFileState="enabled",
        InvocationID="of this boot",
        ActiveEnterTimestamp=f"@{time.time() - 60}",
    )
    assert unit.converge()["did"] == "restarted"


@pytest.mark.parametrize("change", ["Port=1\nDebug=yes\n", "Port=2\nDebug=no\n"])
def test_who_has_its_files_from_it_is_told_though_the_run_that_restarted_it_was_cut_off(
    unit: Unit, tmp_path: Path, change: str
) -> None:
    """Or a boot, or somebody, restarted it between the run that laid a file and this one."""
    told = tmp_path / "told"
    how: dict[str, Any] = {"reload": ["touch", str(told)], "restart_keys": ["Port"]}
    unit.converge(**how)
    told.unlink(missing_ok=True)
    unit.file.write_text(change)
    unit.set(InvocationID="not noted", ActiveEnterTimestamp=f"@{time.time() + 5}")
    assert unit.converge(**how)["did"] == "reloaded"
    assert told.exists()
    told.unlink()
    unit.set(InvocationID="of a boot")
    assert unit.converge(**how)["did"] == "nothing"
    unit.file.write_text(f"{change}more\n")
    unit.set(ActiveState="failed")
    assert unit.converge(**how)["did"] == "started"
    assert told.exists()


def test_systemd_reads_a_changed_unit_anew_that_is_not_the_daemons_own(
    unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A timer's service: systemd says of each unit only whether its own file has changed."""
    monkeypatch.setattr(unit.module, "UNITS", unit.folder)
    unit.converge()
    unit.calls  # noqa: B018 (forget them)
    unit.file.write_text("ExecStart=another\n")
    assert unit.converge()["did"] == "restarted"
    assert unit.calls == ["daemon-reload", "reset-failed", "restart"]
    unit.converge()
    assert unit.calls == []


def test_one_whose_own_condition_forbids_it_is_no_failure_and_no_change(unit: Unit) -> None:
    unit.set(ConditionResult="no")
    assert unit.converge()["changed"] is True, "it was enabled"
    assert unit.converge()["changed"] is False


def test_a_failure_brings_the_journal(unit: Unit) -> None:
    unit.set(_fails=True)
    answer = unit.converge()
    assert answer["failed"] is True
    assert "Job for test.service failed" in str(answer["msg"])
    assert answer["journal"] == ["bad line 3"]


def test_one_that_is_not_installed_says_what_to_do(unit: Unit) -> None:
    unit.set(LoadState="not-found")
    answer = unit.converge()
    assert "test.service is not installed; hint: run converge with --tags install" in str(answer["msg"])


def test_a_unit_of_the_role_itself_may_be_missing_in_check_mode_alone(unit: Unit) -> None:
    unit.set(LoadState="not-found")
    assert unit.converge(check=True, ours=True)["did"] == "started"
    assert "is not installed" in str(unit.converge(ours=True)["msg"])
    assert "is not installed" in str(unit.converge(check=True)["msg"])


def test_a_file_that_went_since_a_boot_is_a_change_though_nobody_noted_what_was_in_it(unit: Unit) -> None:
    gone = unit.folder / "conf.d" / "ours.conf"
    gone.parent.mkdir()
    gone.write_text("Port=2\n")
    unit.set(ActiveState="active", UnitFileState="enabled", ActiveEnterTimestamp=f"@{time.time() + 5}")
    arguments: dict[str, Any] = {"name": "test.service", "files": [str(gone)]}
    assert unit.library.call(unit.module, check=True, **arguments)["did"] == "nothing"
    unit.set(ActiveEnterTimestamp=f"@{time.time() - 5}")
    gone.unlink()
    assert unit.library.call(unit.module, check=False, **arguments)["did"] == "restarted"
    assert unit.library.call(unit.module, check=False, **arguments)["did"] == "nothing"


@pytest.mark.parametrize(
    "left",
    [
        {},
        {"ActiveState": "inactive"},
        {"UnitFileState": "disabled"},
        {"ActiveState": "activating", "UnitFileState": "disabled"},
    ],
)
def test_one_that_is_to_be_gone_is_stopped_and_starts_at_no_boot_whatever_a_run_was_cut_off_in(
    unit: Unit, left: dict[str, str]
) -> None:
    unit.converge()
    unit.set(**left)
    assert unit.calls
    planned = unit.converge(check=True, gone=True)
    assert (planned["changed"], unit.calls) == (True, [])
    assert planned["drift"][0]["intended"].startswith("not there")  # type: ignore[index]  # (JSON has no types)
    assert unit.converge(gone=True)["did"] == "stopped"
    assert unit.calls == ["disable"]
    assert not list((unit.folder / "notes").iterdir())
    assert unit.converge(gone=True)["changed"] is False
    assert unit.calls == []


def test_one_that_is_to_be_gone_and_is_not_installed_is_gone(unit: Unit) -> None:
    unit.set(LoadState="not-found", UnitFileState="")
    assert unit.converge(gone=True)["changed"] is False
    assert unit.calls == []
