"""What the program of role kernel_tuning gives back of what was there before it."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from tests.unit.roles.programs import Host

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
    for name in ("BUILT", "ENABLED", "MANAGER", "WANTED"):
        monkeypatch.setattr(module, name, tmp_path / name.lower())
    monkeypatch.setattr(module, "REASONS", tmp_path / "reboot" / "kernel_tuning")
    monkeypatch.setattr(module, "BOOT_FILES", {})
    (proc / "cmdline").write_text("quiet")
    return module


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    return Host(tmp_path / "bin")


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


def swappiness_of(program: ModuleType, now: str = "60") -> Path:
    program.BOOT_ID.write_text("one")
    path: Path = program.PROC / "sys" / "vm" / "swappiness"
    path.write_text(now)
    return path


SEVEN = {"settings": {"sysctl": {"vm.swappiness": 7}, "words": ["iommu=pt"]}}


def test_what_was_there_before_and_what_is_ours_is_known_though_the_run_was_cut_off(
    program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swappiness = swappiness_of(program)
    (tmp_path / "grub.cfg").write_text("iommu=pt")
    monkeypatch.setattr(program, "BOOT_FILES", {"false": tmp_path / "grub.cfg"})
    with pytest.raises(SystemExit):
        program.converge(SEVEN, dry=False)
    assert swappiness.read_text() == "7"
    monkeypatch.setattr(program, "BOOT_FILES", {})
    (program.PROC / "cmdline").write_text(
        "quiet iommu=pt"
    )  # it had come as far as that, and there was a boot
    program.converge({"settings": {}}, dry=False)
    assert swappiness.read_text() == "60"
    assert program.REASONS.read_text() == "cmdline iommu=pt: there, wanted not there\n"


def test_a_value_is_noted_before_it_is_written_over(
    program: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    swappiness = swappiness_of(program)

    def cut(_host: object, _path: Path, *_words: str) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(program.Host, "_write", cut)
    with pytest.raises(KeyboardInterrupt):
        program.converge(SEVEN, dry=False)
    assert program.noted_before() == {str(swappiness): "60"}


def test_the_notes_go_with_the_last_that_is_ours(program: ModuleType) -> None:
    swappiness_of(program)
    program.converge(SEVEN, dry=False)
    (program.PROC / "cmdline").write_text("quiet iommu=pt")
    program.converge({"settings": {}}, dry=False)
    assert program.BUILT.exists(), "a word of ours is there until a reboot"
    (program.PROC / "cmdline").write_text("quiet")
    assert program.converge({"settings": {}}, dry=False).changed == []
    assert not program.BUILT.exists()
    assert not program.BEFORE.exists()


def test_limits_are_read_anew_also_when_their_file_goes(program: ModuleType, host: Host) -> None:
    host.program("systemctl", 'case "$*" in *MEMLOCK*) echo 65536 ;; *) echo 8 ;; esac')
    program.MANAGER.write_text("DefaultLimitMEMLOCK=64K")
    wanted = {"settings": {"limits": {"memlock": 64}}}
    assert program.converge(wanted, dry=False).changed[1:] == ["limits: the system's manager reads them anew"]
    assert program.converge(wanted, dry=False).changed == [], "64 KiB are 65536 bytes"
    program.MANAGER.unlink()
    before = len(host.calls)
    program.converge({"settings": {}}, dry=False)
    assert host.calls[before:] == ["systemctl daemon-reexec"]
