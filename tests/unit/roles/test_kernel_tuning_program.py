"""What the program of role kernel_tuning gives back of what was there before it."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from rackwright import paths

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

FILES = paths.repository() / "roles" / "kernel_tuning" / "files"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """kernel_tuning.py as a module, on a host whose /proc is a folder."""
    monkeypatch.syspath_prepend(str(FILES))
    import kernel_tuning as loaded  # noqa: PLC0415 (a program of a host)

    module: ModuleType = loaded
    proc = tmp_path / "proc"
    (proc / "sys" / "vm").mkdir(parents=True)
    (proc / "irq" / "41").mkdir(parents=True)
    monkeypatch.setattr(module, "PROC", proc)
    monkeypatch.setattr(module, "BEFORE", tmp_path / "before.json")
    monkeypatch.setattr(module, "BOOT_ID", tmp_path / "boot_id")
    for name in ("BUILT", "ENABLED", "WANTED"):
        monkeypatch.setattr(module, name, tmp_path / name.lower())
    return module


def converged(program: ModuleType, wanted: dict[Path, str]) -> None:
    host = program.Host(dry=False, before=program.noted_before())
    for path, value in wanted.items():
        host.bring(path.name, path, value)
    host.give_back()
    program.remember(program.BEFORE, {"boot": program.read(program.BOOT_ID), "values": host.before})


def test_a_setting_that_is_wanted_no_more_is_as_it_was_before(program: ModuleType) -> None:
    program.BOOT_ID.write_text("one")
    swappiness = program.PROC / "sys" / "vm" / "swappiness"
    swappiness.write_text("60")
    converged(program, {swappiness: "7"})
    converged(program, {})
    assert swappiness.read_text() == "60"


def test_a_sysctl_that_a_file_has_set_again_at_a_boot_is_given_back_too(program: ModuleType) -> None:
    program.BOOT_ID.write_text("one")
    swappiness = program.PROC / "sys" / "vm" / "swappiness"
    swappiness.write_text("60")
    converged(program, {swappiness: "7"})
    program.BOOT_ID.write_text("two")  # and systemd-sysctl has set it before us
    converged(program, {swappiness: "7"})
    converged(program, {})
    assert swappiness.read_text() == "60"


def test_an_interrupt_of_an_earlier_boot_is_left_alone(program: ModuleType) -> None:
    """Its number may be another device's now."""
    program.BOOT_ID.write_text("one")
    affinity = program.PROC / "irq" / "41" / "smp_affinity_list"
    affinity.write_text("0-1")
    converged(program, {affinity: "0"})
    program.BOOT_ID.write_text("two")
    affinity.write_text("5")
    converged(program, {})
    assert affinity.read_text() == "5"


def test_what_a_hand_has_changed_and_what_waits_for_a_reboot_is_named_and_left(
    program: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program.PROC / "cmdline").write_text("quiet")
    swappiness = program.PROC / "sys" / "vm" / "swappiness"
    swappiness.write_text("55")
    plan = {"settings": {"sysctl": {"vm.swappiness": 7}, "words": ["iommu=pt"]}}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({"plan": plan, "check": True})))
    answer = program.answer()
    named = {(one["kind"], one["subject"]): (one["intended"], one["observed"]) for one in answer["drift"]}
    assert named["sysctl", "vm.swappiness"] == ("7", "55")
    assert named["cmdline", "iommu=pt"] == ("iommu=pt", "not there")
    assert swappiness.read_text() == "55"
    assert not program.BEFORE.exists()


def test_a_report_has_a_line_a_setting_and_changes_nothing(
    program: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    (program.PROC / "cmdline").write_text("quiet")
    swappiness = program.PROC / "sys" / "vm" / "swappiness"
    swappiness.write_text("7")
    program.WANTED.write_text(json.dumps({"settings": {"sysctl": {"vm.swappiness": 7}, "words": ["x=1"]}}))
    assert program.main(["report"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "live     sysctl vm.swappiness: 7, wanted 7",
        "reboot   cmdline x=1: not there, wanted x=1",
    ]
    assert swappiness.read_text() == "7"


def test_a_report_says_what_a_hand_has_changed(
    program: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    (program.PROC / "cmdline").write_text("quiet")
    (program.PROC / "sys" / "vm" / "swappiness").write_text("55")
    program.WANTED.write_text(json.dumps({"settings": {"sysctl": {"vm.swappiness": 7}}}))
    assert program.main(["report"]) == 0
    assert capsys.readouterr().out == "differs  sysctl vm.swappiness: 55, wanted 7\n"


@pytest.mark.parametrize(("there", "shown"), [(["7", "7"], "live"), (["7", "55"], "differs")])
def test_a_setting_of_many_places_is_live_where_all_are(
    program: ModuleType, tmp_path: Path, there: list[str], shown: str
) -> None:
    places = [tmp_path / str(number) for number in range(len(there))]
    for place, value in zip(places, there, strict=True):
        place.write_text(value)
    host = program.Host(dry=True, before={})
    program.each(host, "governor", [(place, "7") for place in places])
    assert [one.state for one in host.states] == [shown]
