"""What the program of NVMe-oF hosts lets go of, in which order; its daemon does not bring it back."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.roles.nvmeof_hosts import ELSEWHERE, EMPTY, MOUNT, Values, applied, did, paths_of, plan
from tests.unit.roles.programs import Host, load

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    host = Host(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(host.folder), prepend=":")
    for name in ("modprobe", "udevadm"):
        host.program(name, "")
    host.systemd(tmp_path / "units")
    host.program("nvme", f'rm -r "{tmp_path}/controllers/$3"')
    host.program("blkid", "echo TYPE=ext4")
    return host


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: Host) -> ModuleType:
    del host
    module = load("nvmeof_host", "nvmeof_host")
    places = {"CONTROLLERS": paths_of(module), "SUBSYSTEMS": paths_of(module)}
    places |= {"BY_ID": module, "UNITS": module.mounts}
    for name, one in places.items():
        monkeypatch.setattr(one, name, tmp_path / name.lower())
        (tmp_path / name.lower()).mkdir()
    for uuid in ("1-2", "3-4"):
        (tmp_path / "by_id" / f"nvme-uuid.{uuid}").touch()
    monkeypatch.setattr(module, "KEPT", tmp_path / "kept" / "host.json")

    def connect(text: str) -> str:
        words = dict(word.split("=", 1) for word in text.split(","))
        numbers = (int(one.name.removeprefix("nvme")) for one in (tmp_path / "controllers").iterdir())
        controller = tmp_path / "controllers" / f"nvme{max(numbers, default=-1) + 1}"
        controller.mkdir()
        told = [f"{name}={words[name]}" for name in ("traddr", "trsvcid", "host_traddr") if name in words]
        values = {"subsysnqn": words["nqn"], "transport": "tcp", "address": ",".join(told), "state": "live"}
        values |= {name: words.get(name, "none") for name in ("dhchap_secret", "dhchap_ctrl_secret")}
        values |= {"reconnect_delay": words["reconnect_delay"], "ctrl_loss_tmo": "off"}
        for name, value in values.items():
            (controller / name).write_text(f"{value}\n")
        return ""

    monkeypatch.setattr(paths_of(module), "connect", connect)
    return module


def test_what_is_planned_no_more_is_unmounted_then_disconnected_before_its_target_goes(
    program: ModuleType, host: Host
) -> None:
    applied(program, plan("a"))
    assert applied(program, plan("a"))["changes"] == []
    before = len(host.calls)
    told = applied(program, EMPTY, leave=True)["changes"]
    assert told == ["fast.mount: there -> absent", "a by 10.0.0.1: live -> no path"]
    assert did(host, before) == [
        "systemctl disable --now --quiet fast.mount",
        "nvme disconnect --device nvme0",
    ]
    assert not (program.mounts.UNITS / "fast.mount").exists()
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
    paths_of(program).connect("nqn=by-hand,traddr=10.0.0.9,trsvcid=4420,reconnect_delay=10")
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


def test_what_a_run_that_failed_left_is_still_known_as_ours(program: ModuleType, host: Host) -> None:
    applied(program, plan("a"))
    host.program("nvme", "echo 'No such device' >&2; exit 1")
    with pytest.raises(program.Refused, match="nvme disconnect --device nvme0: No such device"):
        applied(program, plan("b"))
    assert program.kept()["plan"] == plan("b"), "its daemon brings nothing back meanwhile"
    host.program("nvme", f'rm -r "{paths_of(program).CONTROLLERS}/$3"')
    assert "a by 10.0.0.1: live -> no path" in applied(program, EMPTY)["changes"]
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
    for controller in paths_of(program).CONTROLLERS.iterdir():
        (controller / "address").write_text("")
    notes = [program.kept(), {**program.NOTHING, "ours": ["a"]}]
    asked: list[str] = []

    def connect(text: str) -> str:
        asked.append(text)
        return ""

    monkeypatch.setattr(program, "kept", lambda: notes.pop(0) if len(notes) > 1 else notes[0])
    monkeypatch.setattr(paths_of(program), "connect", connect)
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


def test_a_mount_of_another_namespace_is_moved_to_it(program: ModuleType, host: Host) -> None:
    applied(program, plan("a"))
    before = len(host.calls)
    assert applied(program, ELSEWHERE, leave=True)["changes"] == ["fast.mount: mounted -> mounted anew"]
    assert applied(program, ELSEWHERE)["changes"]
    assert did(host, before) == [
        "systemctl disable --now --quiet fast.mount",
        "systemctl enable --now --quiet fast.mount",
    ]
    assert program.mounts.source("/fast") == str(program.device("3-4"))
    assert applied(program, ELSEWHERE)["changes"] == []


def test_a_run_that_was_cut_before_the_mount_was_moved_goes_on(program: ModuleType) -> None:
    applied(program, plan("a"))
    (program.mounts.UNITS / "fast.mount").write_text(program.units(ELSEWHERE)["fast.mount"].text)
    program.on_host.keep(program.KEPT, {"plan": ELSEWHERE, "secret": {}, "ours": ["a", "fast.mount"]})
    told = program.apply({"plan": ELSEWHERE, "check": True})["changes"]
    old, new = (str(program.device(uuid)) for uuid in ("1-2", "3-4"))
    assert f"fast.mount: on {old}, not {new} -> active, as planned" in told
    applied(program, ELSEWHERE)
    assert program.mounts.source("/fast") == new
    assert applied(program, ELSEWHERE)["changes"] == []


@pytest.mark.parametrize("wanted", [ELSEWHERE, EMPTY], ids=["moved", "removed"])
@pytest.mark.parametrize("leave", [True, False])
def test_a_mount_in_use_is_refused_with_who_uses_it_before_anything_is_changed(
    program: ModuleType, host: Host, monkeypatch: pytest.MonkeyPatch, wanted: Values, *, leave: bool
) -> None:
    applied(program, plan("a"))
    note, before = program.kept(), len(host.calls)
    monkeypatch.setattr(program.mounts, "users", lambda _: ["812 (fio)"])
    with pytest.raises(program.Refused, match=r"^/fast: in use by 812 \(fio\); nothing was changed; hint: "):
        applied(program, wanted, leave=leave)
    assert did(host, before) == []
    assert program.kept() == note


@pytest.mark.parametrize("leave", [True, False])
def test_what_could_never_be_written_back_is_refused_instead_of_waited_for(
    program: ModuleType, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, leave: bool
) -> None:
    applied(program, plan("a"))
    monkeypatch.setattr(program, "BLOCK", tmp_path / "block")
    paths = tmp_path / "block" / program.device("1-2").name / "device"
    for number in range(2):
        (paths / f"nvme{number}").mkdir(parents=True)
        (paths / f"nvme{number}" / "state").write_text("connecting\n")
    before = len(host.calls)
    with pytest.raises(program.Refused, match=r"^/fast: none of its 2 paths is live, and unmounting"):
        applied(program, EMPTY, leave=leave)
    assert did(host, before) == []
    (paths / "nvme1" / "state").write_text("live\n")
    applied(program, EMPTY, leave=leave)
    assert program.mounts.source("/fast") == ""


def test_a_mount_that_systemd_cannot_take_away_is_told(program: ModuleType, tmp_path: Path) -> None:
    applied(program, plan("a"))
    (tmp_path / "bin" / "mounted" / "fast.mount.busy").touch()
    with pytest.raises(program.Refused, match=r"^/fast: not unmounted, Job failed; it stays as it was"):
        applied(program, EMPTY)


def test_a_mount_that_is_not_enabled_is_named(program: ModuleType, tmp_path: Path) -> None:
    applied(program, plan("a"))
    (tmp_path / "bin" / "mounted" / "fast.mount.enabled").unlink()
    assert applied(program, plan("a"))["changes"] == ["fast.mount: disabled -> active, as planned"]
    assert applied(program, plan("a"))["changes"] == []


def test_what_somebody_else_has_mounted_in_its_place_is_refused(
    program: ModuleType, host: Host, tmp_path: Path
) -> None:
    (tmp_path / "bin" / "mounted" / "fast.mount").write_text("/dev/sda1\n")
    with pytest.raises(
        program.Refused, match=r"^/fast: /dev/sda1 is mounted there, not by rackwright; nothing"
    ):
        applied(program, plan("a"))
    assert did(host, 0) == []
    assert not program.KEPT.exists()


def test_a_path_from_another_source_is_there_before_the_old_one_goes(program: ModuleType, host: Host) -> None:
    old, new = (plan("a", of_route={"source": f"10.0.0.{number}"}) for number in (2, 3))
    applied(program, old)
    before = len(host.calls)
    assert applied(program, new, leave=True)["changes"] == [], "its target serves it on"
    assert applied(program, new)["changes"]
    assert did(host, before) == [
        "nvme disconnect --device nvme0",
        "systemctl enable --now --quiet fast.mount",
    ], "its mount stays"
    assert [path.source for path in program.connected()] == ["10.0.0.3"]
    assert applied(program, new)["changes"] == []


def test_a_mount_goes_before_the_last_of_its_paths_and_comes_back_by_the_new_ones(
    program: ModuleType, host: Host
) -> None:
    applied(program, plan("a"))
    new, before = plan("a", of_route={"service": 4421}), len(host.calls)
    applied(program, new, leave=True)
    assert did(host, before) == [
        "systemctl disable --now --quiet fast.mount",
        "nvme disconnect --device nvme0",
    ]
    applied(program, new)
    assert [path.service for path in program.connected()] == ["4421"]
    assert program.mounts.source("/fast") == str(program.device("1-2"))
    assert applied(program, new)["changes"] == []


def test_another_key_is_set_where_there_was_one_and_else_the_path_is_made_anew(
    program: ModuleType, host: Host
) -> None:
    def keyed(key: str) -> dict[str, Values]:
        return {"secret": {"nqn.me": {"host": key, "controller": ""}}}

    asked = plan("a", authenticated=True, mounts=[])
    applied(program, plan("a", mounts=[]))
    before = len(host.calls)
    applied(program, asked, **keyed("one"))
    assert did(host, before) == ["nvme disconnect --device nvme0"], "the kernel adds no key to a path"
    assert applied(program, asked, **keyed("one"))["changes"] == []
    told = applied(program, asked, **keyed("two"))
    assert "head-001 by 10.0.0.1 dhchap_secret: (another) -> (secret)" in told["changes"]
    assert "two" not in str(told)
    assert [program.read(one / "dhchap_secret") for one in program.connected().values()] == ["two"]
    assert applied(program, asked, **keyed("two"))["changes"] == []
    before = len(host.calls)
    applied(program, plan("a", mounts=[]))
    assert did(host, before) == ["nvme disconnect --device nvme0"]


def test_who_uses_a_mount_is_told_by_number_and_name(
    program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program.mounts, "PROCESSES", tmp_path / "proc")
    other = tmp_path / "fast"  # nobody asks for the file itself: its server may be gone
    for number, (open_, name) in enumerate(((other / "gone", "fio"), (tmp_path / "faster", "sh"))):
        folder = tmp_path / "proc" / str(number + 811)
        (folder / "fd").mkdir(parents=True)
        (folder / "fd" / "3").symlink_to(open_)
        (folder / "comm").write_text(f"{name}\n")
    assert program.mounts.users(str(other)) == ["811 (fio)"]
    assert program.mounts.users(str(tmp_path / "none")) == []
    monkeypatch.setattr(program.mounts, "users", lambda _: [f"{number} (sh)" for number in range(1, 8)])
    assert program.mounts.in_use("/fast") == "1 (sh), 2 (sh), 3 (sh), 4 (sh), 5 (sh) and 2 more"


def test_a_host_that_has_no_part_any_more_keeps_nothing_of_it(
    program: ModuleType, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "RULES", tmp_path / "rules")
    applied(program, plan("a"))
    files = [program.RULES, program.mounts.UNITS / program.UNIT]
    for file in files:
        file.touch()
    told = program.apply({"gone": True, "check": True})["changes"]
    assert told[:2] == ["fast.mount: there -> absent", "a by 10.0.0.1: live -> no path"]
    assert program.KEPT.exists()
    before = len(host.calls)
    assert program.apply({"gone": True, "check": False})["changes"] == told
    assert did(host, before) == [
        "systemctl disable --now --quiet fast.mount",
        "nvme disconnect --device nvme0",
        "systemctl disable --now --quiet rackwright-nvmeof-host.service",
    ]
    assert not [file for file in (*files, program.KEPT) if file.exists()]
    assert program.apply({"gone": True, "check": False})["changes"] == []


class Cut(Exception):
    """The run ends here, as a run does whose connection is lost."""


def cut_after(program: ModuleType, monkeypatch: pytest.MonkeyPatch, plan: Values, steps: int) -> bool:
    """Apply a plan, its first half first, until so much has been changed; whether it was cut off."""
    left, real, real_connect = [steps], subprocess.run, paths_of(program).connect

    def count() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Cut

    def run(words: Any, **more: Any) -> Any:  # noqa: ANN401 (as subprocess has it)
        if words[0] in ("nvme", "mkfs.ext4") or words[:2] in (
            ("systemctl", "enable"),
            ("systemctl", "disable"),
        ):
            count()
        return real(words, **more)

    def connect(text: str) -> str:
        count()
        return str(real_connect(text))

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", run)
        patch.setattr(paths_of(program), "connect", connect)
        try:
            applied(program, plan, leave=True)
            applied(program, plan)
        except Cut:
            return True
    return False


@pytest.mark.parametrize("steps", range(5))
def test_a_run_that_was_cut_off_at_any_step_is_gone_on_with_and_leaves_nothing_unknown(
    program: ModuleType, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    wanted = plan("b", mounts=[{**MOUNT, "uuid": "3-4"}])
    applied(program, plan("a"))
    assert cut_after(program, monkeypatch, wanted, steps) == (steps < 4), "down, off, on, up"
    if steps % 2 == 0:
        applied(program, wanted)
        assert applied(program, wanted)["changes"] == []
        assert [path.nqn for path in program.connected()] == ["b"]
        assert program.mounts.source("/fast") == str(program.device("3-4"))
    applied(program, EMPTY)
    assert program.connected() == {}
    assert program.mounts.source("/fast") == ""
    assert list(program.mounts.UNITS.iterdir()) == []


@pytest.mark.parametrize("steps", range(3))
def test_a_first_run_that_is_cut_off_at_any_step_is_known_by_its_note_and_all_of_it_goes(
    program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    monkeypatch.setattr(program, "RULES", tmp_path / "rules")
    assert cut_after(program, monkeypatch, plan("a"), steps) == (steps < 2), "connected, mounted"
    assert program.KEPT.exists()
    program.apply({"gone": True, "check": False})
    assert program.connected() == {}
    assert list(program.mounts.UNITS.iterdir()) == []
    assert not program.KEPT.exists()
