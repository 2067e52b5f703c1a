"""The program of scratch: which drives it takes; gone on with after a cut; moved, left, wiped after jobs."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.roles.programs import Host, load

if TYPE_CHECKING:
    from types import ModuleType

Values = dict[str, Any]
CHANGING = ("pvcreate", "vgcreate", "lvcreate", "mkfs.xfs", "mkfs.ext4", "systemctl")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    host = Host(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(host.folder), prepend=":")
    host.lvm()
    host.systemd(tmp_path / "units")
    return host


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: Host) -> ModuleType:
    del host
    module = load("local_nvme_cache", "local_nvme")
    for one in (module, module.on_host):
        monkeypatch.setattr(one, "BLOCK", tmp_path / "block")
    for name in ("PLAN", "NOTE", "EPILOG"):
        monkeypatch.setattr(module, name, tmp_path / name.lower())
    monkeypatch.setattr(module.mounts, "UNITS", tmp_path / "units")
    monkeypatch.setattr(module.mounts, "users", lambda _: [])
    for name in ("block", "units", "cache", "other"):
        (tmp_path / name).mkdir()
    for name in ("nvme0n1", "nvme1n1"):
        drive(module, name)
    return module


def drive(scratch: ModuleType, name: str, transport: str = "pcie") -> None:
    (scratch.BLOCK / name / "device").mkdir(parents=True)
    (scratch.BLOCK / name / "device" / "transport").write_text(f"{transport}\n")


@pytest.fixture
def plan(tmp_path: Path) -> Values:
    mount = str(tmp_path / "cache")
    return {"mount": mount, "layout": "striped", "file_system": "xfs", "devices": []}


def applied(scratch: ModuleType, plan: Values) -> list[str]:
    changes: list[str] = scratch.apply({"plan": plan, "check": False})["changes"]
    return changes


def changing(host: Host, before: int = 0) -> list[str]:
    return [call for call in host.calls[before:] if call.startswith(CHANGING) and " is-" not in call]


def test_scratch_is_striped_over_the_nodes_own_blank_drives(
    scratch: ModuleType, host: Host, plan: Values, tmp_path: Path
) -> None:
    drive(scratch, "nvme2n1", "tcp")
    assert applied(scratch, plan)
    (made,) = [call for call in host.calls if call.startswith("lvcreate")]
    assert "--type striped --stripes 2" in made
    assert "vgcreate --quiet rackwright_scratch /dev/nvme0n1 /dev/nvme1n1" in host.calls
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o1777
    assert applied(scratch, plan) == []


def test_a_drive_with_data_is_never_taken(scratch: ModuleType, host: Host, plan: Values) -> None:
    host.program("blkid", "echo TYPE=ext4")
    with pytest.raises(scratch.Refused, match="no drive for scratch is blank: /dev/nvme0n1: ext4"):
        applied(scratch, plan)
    with pytest.raises(scratch.Refused, match="/dev/null: no block device"):
        applied(scratch, {**plan, "devices": ["/dev/null"]})
    assert changing(host) == []


def test_a_drive_with_data_is_passed_over_where_none_is_named(
    scratch: ModuleType, host: Host, plan: Values
) -> None:
    (host.folder / "lvm" / "pv").write_text("/dev/nvme0n1\n")
    assert applied(scratch, plan)
    assert "vgcreate --quiet rackwright_scratch /dev/nvme1n1" in host.calls


def test_a_volume_whose_drive_is_gone_is_told(scratch: ModuleType, host: Host, plan: Values) -> None:
    host.program("pvs", "echo /dev/nvme0n1 '[unknown]'")
    with pytest.raises(scratch.Refused, match="a drive of rackwright_scratch is gone"):
        scratch.apply({"plan": plan, "check": True})


class Cut(Exception):
    """The run ends here, as a run does whose connection is lost."""


def cut_after(scratch: ModuleType, monkeypatch: pytest.MonkeyPatch, plan: Values, steps: int) -> bool:
    """Apply a plan until so many programs have changed something; whether it was cut before its end."""
    left, real = [steps], subprocess.run

    def run(words: Any, **more: Any) -> Any:  # noqa: ANN401 (as subprocess has it)
        if words[0].startswith(CHANGING) and not words[1].startswith("is-"):
            left[0] -= 1
            if left[0] < 0:
                raise Cut
        return real(words, **more)

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", run)
        try:
            applied(scratch, plan)
        except Cut:
            return True
    return False


@pytest.mark.parametrize("steps", range(6))
def test_a_run_that_was_cut_off_at_any_step_is_gone_on_with(
    scratch: ModuleType, host: Host, plan: Values, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    assert cut_after(scratch, monkeypatch, plan, steps)
    assert scratch.NOTE.exists(), "by which a node is known that has no scratch any more"
    told = scratch.apply({"plan": plan, "check": True})["changes"]
    assert told, "and is not told of as done"
    applied(scratch, plan)
    assert {name: (host.folder / "lvm" / name).read_text().split() for name in ("vg", "lv", "fs")} == {
        "vg": ["/dev/nvme0n1", "/dev/nvme1n1"],
        "lv": ["striped"],
        "fs": ["xfs"],
    }
    assert scratch.mounts.source(plan["mount"]) == scratch.DEVICE
    assert applied(scratch, plan) == []


def test_what_a_mkfs_that_was_cut_off_has_left_is_made_anew(
    scratch: ModuleType, host: Host, plan: Values
) -> None:
    host.program("mkfs.xfs", f"echo xfs > {host.folder}/lvm/fs; exit 1")
    with pytest.raises(scratch.Refused, match=r"^mkfs\.xfs"):
        applied(scratch, plan)
    host.program("mkfs.xfs", f'[ "$2" = -f ] && echo xfs > {host.folder}/lvm/fs')
    assert f"volume {scratch.GROUP}: begun -> there" in applied(scratch, plan)
    assert applied(scratch, plan) == []


def test_a_volume_of_a_host_without_a_note_is_as_it_was_made(
    scratch: ModuleType, host: Host, plan: Values
) -> None:
    """Of a release that wrote none."""
    applied(scratch, plan)
    scratch.NOTE.unlink()
    assert applied(scratch, plan) == []
    scratch.PLAN.write_text(json.dumps(plan))
    before = len(host.calls)
    applied(scratch, {**plan, "mount": plan["mount"].replace("cache", "other")})
    assert "systemctl disable --now --quiet cache.mount" in changing(host, before)


def test_a_volume_in_line_over_two_drives_has_a_segment_on_each(scratch: ModuleType, plan: Values) -> None:
    in_line = {**plan, "layout": "linear"}
    assert applied(scratch, in_line)
    assert applied(scratch, in_line) == []


@pytest.mark.parametrize("laid", [True, False], ids=["upgraded", "back again"])
def test_what_a_volume_without_a_device_holds_is_not_made_anew(
    scratch: ModuleType, host: Host, plan: Values, *, laid: bool
) -> None:
    applied(scratch, plan)
    scratch.NOTE.unlink()
    if laid:
        scratch.PLAN.write_text(json.dumps(plan))
    fs, mounted = host.folder / "lvm" / "fs", host.folder / "mounted" / "cache.mount"
    fs.rename(fs.with_name("inactive"))
    mounted.rename(mounted.with_name("failed"))
    before = len(host.calls)
    applied(scratch, plan)
    fs.with_name("inactive").rename(fs)
    mounted.unlink()
    applied(scratch, plan)
    assert not [call for call in host.calls[before:] if call.startswith("mkfs")]


def test_a_volume_that_was_taken_away_by_hand_is_made_anew(
    scratch: ModuleType, host: Host, plan: Values
) -> None:
    applied(scratch, plan)
    for name in ("vg", "lv", "fs", "../mounted/cache.mount"):
        (host.folder / "lvm" / name).unlink()
    assert f"volume {scratch.GROUP}: absent -> there" in applied(scratch, plan)
    assert applied(scratch, plan) == []


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (
            {"file_system": "ext4"},
            "the volume's file system is xfs, and ext4 is planned; nothing was changed",
        ),
        ({"layout": "linear"}, "the volume's layout is striped, and linear is planned; nothing was changed"),
        (
            {"devices": ["/dev/nvme9n1"]},
            "the volume is on .*, and /dev/nvme9n1 are named; nothing was changed",
        ),
    ],
    ids=["file_system", "layout", "devices"],
)
def test_another_shape_is_refused_with_how_scratch_is_made_anew(
    scratch: ModuleType, host: Host, plan: Values, wish: Values, said: str
) -> None:
    applied(scratch, plan)
    before = len(host.calls)
    with pytest.raises(scratch.Refused, match=f"^{said}; hint: .*vgremove rackwright_scratch"):
        applied(scratch, {**plan, **wish})
    assert changing(host, before) == []


def test_a_mount_that_is_planned_elsewhere_moves(
    scratch: ModuleType, host: Host, plan: Values, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied(scratch, plan)
    moved, before = {**plan, "mount": plan["mount"].replace("cache", "other")}, len(host.calls)
    with monkeypatch.context() as patch:
        patch.setattr(scratch.mounts, "users", lambda _: ["812 (fio)"])
        with pytest.raises(scratch.Refused, match=r"cache: in use by 812 \(fio\); nothing was changed"):
            applied(scratch, moved)
    assert changing(host, before) == []
    applied(scratch, moved)
    assert not (scratch.mounts.UNITS / "cache.mount").exists()
    assert (scratch.mounts.source(plan["mount"]), scratch.mounts.source(moved["mount"])) == (
        "",
        scratch.DEVICE,
    )
    assert applied(scratch, moved) == []


def test_a_mount_that_takes_no_users_writes_is_named_and_mended(
    scratch: ModuleType, plan: Values, tmp_path: Path
) -> None:
    applied(scratch, plan)
    (tmp_path / "cache").chmod(0o755)
    assert applied(scratch, plan) == [f"{plan['mount']}: mode 755 -> mode 1777"]


def test_a_node_that_has_no_scratch_any_more_wipes_and_mounts_nothing_and_keeps_the_volume(
    scratch: ModuleType, host: Host, plan: Values
) -> None:
    applied(scratch, plan)
    scratch.PLAN.write_text(json.dumps(plan))
    scratch.EPILOG.touch()
    told = scratch.apply({"check": True, "gone": True})["changes"]
    assert [one.split(":")[0].rpartition("/")[2] for one in told] == ["cache.mount", "epilog", "plan", "note"]
    assert scratch.EPILOG.exists()
    assert scratch.apply({"check": False, "gone": True})["changes"] == told
    assert not any(path.exists() for path in (scratch.EPILOG, scratch.PLAN, scratch.NOTE))
    assert scratch.mounts.source(plan["mount"]) == ""
    assert (host.folder / "lvm" / "vg").exists()
    assert scratch.apply({"check": False, "gone": True})["changes"] == []
    applied(scratch, plan)
    assert scratch.mounts.source(plan["mount"]) == scratch.DEVICE, "what was on it is there again"
    assert len([call for call in host.calls if call.startswith("mkfs")]) == 1


def test_files_are_wiped_at_a_jobs_end_unless_another_job_is_there(
    scratch: ModuleType, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = tmp_path / "cache"
    (mount / "folder" / "below").mkdir(parents=True)
    (mount / "file").touch()
    (mount / "lost+found").mkdir()
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    host.program("squeue", "echo 7; echo 8")
    monkeypatch.setattr(Path, "is_mount", lambda _: True)
    scratch.wipe(mount)
    assert (mount / "file").exists()
    host.program("squeue", "exit 1")
    scratch.wipe(mount)
    assert (mount / "file").exists(), "Slurm does not say: nothing is deleted"
    host.program("squeue", "echo 7")
    scratch.wipe(mount)
    assert [entry.name for entry in mount.iterdir()] == ["lost+found"]
