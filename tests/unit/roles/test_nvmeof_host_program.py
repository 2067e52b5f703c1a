"""What the program of NVMe-oF hosts lets go of, in which order; its daemon does not bring it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.roles.programs import Host, load

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

Values = dict[str, Any]
EMPTY: Values = {"identity": {"nqn": "nqn.me", "id": "me"}, "subsystems": {}}
MOUNT = {"mount": "/fast", "uuid": "1-2", "file_system": "ext4"}


def plan(*names: str) -> Values:
    """Connected to these subsystems by one path each, with one mount."""
    route = {"transport": "tcp", "address": "10.0.0.1", "service": 4420, "source": None}
    one = {
        "target": "head-001",
        "routes": [route],
        "authenticated": False,
        "reconnect_s": 10,
        "loss_timeout_s": -1,
        "policy": "numa",
        "mounts": [MOUNT],
    }
    return {**EMPTY, "subsystems": dict.fromkeys(names, one)}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    host = Host(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(host.folder), prepend=":")
    for name, text in {"systemctl": "echo active", "nvme": "", "modprobe": "", "udevadm": ""}.items():
        host.program(name, text)
    host.program("blkid", "echo TYPE=ext4")
    host.program("systemd-escape", 'echo "$(basename "$3").${2#--suffix=}"')
    return host


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: Host) -> ModuleType:
    del host
    module = load("nvmeof_host", "nvmeof_host")
    for name in ("CONTROLLERS", "SUBSYSTEMS", "BY_ID", "UNITS"):
        monkeypatch.setattr(module, name, tmp_path / name.lower())
        (tmp_path / name.lower()).mkdir()
    (tmp_path / "by_id" / "nvme-uuid.1-2").touch()
    monkeypatch.setattr(module, "KEPT", tmp_path / "kept" / "host.json")

    def connect(text: str) -> str:
        words = dict(word.split("=", 1) for word in text.split(","))
        controller = tmp_path / "controllers" / f"nvme{len(list(module.CONTROLLERS.iterdir()))}"
        controller.mkdir()
        address = f"traddr={words['traddr']},trsvcid={words['trsvcid']}"
        values = {"subsysnqn": words["nqn"], "transport": "tcp", "address": address, "state": "live"}
        for name, value in values.items():
            (controller / name).write_text(f"{value}\n")
        return ""

    monkeypatch.setattr(module, "connect", connect)
    return module


def applied(program: ModuleType, plan: Values, **wishes: bool) -> Values:
    answer: Values = program.apply({"plan": plan, "check": False, **wishes})
    return answer


def test_what_is_planned_no_more_is_unmounted_then_disconnected_before_its_target_goes(
    program: ModuleType, host: Host
) -> None:
    applied(program, plan("a"))
    assert applied(program, plan("a"))["changes"] == []
    before = len(host.calls)
    told = applied(program, EMPTY, leave=True)["changes"]
    assert told == ["fast.mount: there -> absent", "a by 10.0.0.1: live -> no path"]
    did = [call for call in host.calls[before:] if call.startswith(("systemctl d", "nvme"))]
    assert did == ["systemctl disable --now --quiet fast.mount", "nvme disconnect --device nvme0"]
    assert not (program.UNITS / "fast.mount").exists()
    assert program.kept()["plan"] == EMPTY, "its daemon brings nothing back"


def test_the_note_that_its_daemon_goes_by_is_part_of_what_is_planned(program: ModuleType) -> None:
    applied(program, plan("a"))
    program.KEPT.unlink()
    told = f"{program.KEPT}: something else -> what is planned"
    assert program.apply({"plan": plan("a"), "check": True})["changes"] == [told]
    assert not program.KEPT.exists()
    assert applied(program, plan("a"))["changes"] == [told]
    assert program.kept()["plan"] == plan("a")


def test_a_path_that_somebody_else_made_is_left(program: ModuleType, host: Host) -> None:
    applied(program, plan("a"))
    program.connect("nqn=by-hand,traddr=10.0.0.9,trsvcid=4420")
    assert len(applied(program, EMPTY, leave=True)["changes"]) == 2
    assert "nvme disconnect --device nvme1" not in host.calls


def test_nothing_is_touched_or_noted_before_targets_where_nothing_goes(
    program: ModuleType, host: Host
) -> None:
    applied(program, plan("a"))
    note, before = program.kept(), len(host.calls)
    assert applied(program, plan("a", "b"), leave=True)["changes"] == []
    assert program.kept() == note
    assert not [call for call in host.calls[before:] if call.startswith(("nvme", "modprobe"))]


def test_check_mode_tells_what_would_go_and_lets_go_of_nothing(program: ModuleType, host: Host) -> None:
    applied(program, plan("a"))
    note = program.kept()
    told = {one["subject"] for one in program.apply({"plan": EMPTY, "check": True})["drift"]}
    assert {"fast.mount", "a by 10.0.0.1"} <= told
    assert program.kept() == note
    assert not [call for call in host.calls if call.startswith(("nvme", "systemctl disable"))]


def test_what_a_run_that_failed_left_is_still_known_as_ours(
    program: ModuleType, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied(program, plan("a"))
    host.program("nvme", "echo 'No such device' >&2; exit 1")
    with pytest.raises(program.Refused, match="nvme disconnect --device nvme0: No such device"):
        applied(program, plan("b"))
    assert program.kept()["plan"] == plan("b"), "its daemon brings nothing back meanwhile"
    host.program("nvme", "")
    assert "a by 10.0.0.1: live -> no path" in applied(program, EMPTY)["changes"]
    monkeypatch.setattr(program, "connected", dict)
    assert program.kept()["ours"] == []
    assert applied(program, EMPTY)["changes"] == []


def test_the_daemon_connects_nothing_by_a_plan_that_is_no_more(
    program: ModuleType, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Done(Exception):
        """The daemon has made one round."""

    def rest(_: float) -> None:
        raise Done

    applied(program, plan("a"))
    for controller in program.CONTROLLERS.iterdir():
        (controller / "address").write_text("")
    notes = [program.kept(), {**program.NOTHING, "ours": ["a"]}]
    asked: list[str] = []

    def connect(text: str) -> str:
        asked.append(text)
        return ""

    monkeypatch.setattr(program, "kept", lambda: notes.pop(0) if len(notes) > 1 else notes[0])
    monkeypatch.setattr(program, "connect", connect)
    monkeypatch.setattr(program.time, "sleep", rest)
    with pytest.raises(Done):
        program.stay()
    assert asked == []
    notes[:] = [{"plan": plan("a"), "secret": {}, "ours": ["a"]}]
    (host.folder / "calls").unlink()
    with pytest.raises(Done):
        program.stay()
    assert len(asked) == 1
    assert host.calls == ["modprobe --all nvme-fabrics nvme-tcp"], "after a boot nothing is loaded"
