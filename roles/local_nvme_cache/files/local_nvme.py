#!/usr/bin/python3
"""Scratch on a node's own NVMe drives: one volume over all of them, by LVM, mounted by a unit.

With ``--apply`` it reads one JSON object: ``plan`` (rackwright's LocalScratch) and ``check``. All drives are
looked at before anything is changed: one that holds anything is refused, named or not, and nothing is.
``--wipe`` is for Slurm's epilog: it deletes all files when no other job is on the node.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

GROUP, VOLUME = "rackwright_scratch", "scratch"
DEVICE = f"/dev/{GROUP}/{VOLUME}"
BLOCK = Path("/sys/class/block")
UNITS = Path("/etc/systemd/system")
PLAN = Path("/etc/rackwright/local-nvme.json")
_NOTHING = 2
"""Exit status of `blkid -p` where a device holds nothing that it knows (blkid(8))."""
_KEPT = frozenset({"lost+found"})
_UNIT = """\
# Written by rackwright.
[Unit]
Description={mount}: scratch on this node's own NVMe drives
Before=slurmd.service

[Mount]
What={device}
Where={mount}
Type={file_system}
Options=nofail,noatime,nodev,nosuid,x-systemd.device-timeout=60s

[Install]
WantedBy=local-fs.target
"""

Plan = dict[str, Any]


class Refused(Exception):
    """What keeps the node from having its scratch; nothing was changed."""


class Difference(NamedTuple):
    """One thing that is not as planned."""

    kind: str
    subject: str
    intended: str
    observed: str


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a program."""
    return subprocess.run(words, capture_output=True, text=True, check=False)


def must(*words: str) -> str:
    """What a program prints that must not fail."""
    done = run(*words)
    if done.returncode != 0:
        raise Refused(f"{' '.join(words)}: {' '.join((done.stderr or done.stdout).split())}")
    return done.stdout


def read(path: Path) -> str:
    """A file's text; empty where there is none."""
    try:
        return path.read_text()
    except OSError:
        return ""


# --- drives


def members() -> list[str]:
    """Drives of our volume group; empty where there is none.

    Raises:
        Refused: one of them is gone, and with it all that was there.
    """
    said = run("pvs", "--noheadings", "--options", "pv_name", "--select", f"vg_name={GROUP}")
    names = said.stdout.split()
    if any(name.startswith("[") for name in names):
        raise Refused(
            f"a drive of {GROUP} is gone, and what was on the volume with it; hint: vgremove it by hand, "
            "replace the drive, converge again"
        )
    return [str(Path(name).resolve()) for name in names]


def own_drives() -> list[str]:
    """NVMe namespaces behind this node's own PCI Express; those of a fabric are somebody else's."""
    return [
        f"/dev/{entry.name}"
        for entry in sorted(BLOCK.glob("nvme*n*"))
        if not (entry / "partition").exists() and read(entry / "device" / "transport").strip() == "pcie"
    ]


def held(device: str) -> str:
    """What is on a drive, or who has it; empty where nothing and nobody."""
    name = Path(device).resolve().name
    holders = BLOCK / name / "holders"
    if holders.is_dir() and any(holders.iterdir()):
        return f"held by {next(holders.iterdir()).name}"
    if any(BLOCK.glob(f"{name}p[0-9]*")):
        return "partitioned"
    done = run("blkid", "-p", "-o", "export", device)
    if done.returncode == _NOTHING:
        return ""
    if done.returncode != 0:
        return f"not readable: {' '.join(done.stderr.split())}"
    words = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    return words.get("TYPE") or words.get("PTTYPE") or "something"


def drives(plan: Plan) -> list[str]:
    """Those that the volume is to be made of.

    Raises:
        Refused: a named one does not exist, or holds something; or none is blank.
    """
    if not plan["devices"]:
        blank = [device for device in own_drives() if not held(device)]
        if not blank:
            found = ", ".join(f"{device}: {held(device)}" for device in own_drives()) or "no NVMe drive"
            raise Refused(f"no drive for scratch is blank: {found}; nothing was changed")
        return blank
    for device in plan["devices"]:
        if not (Path(device).exists() and stat.S_ISBLK(Path(device).stat().st_mode)):
            raise Refused(
                f"{device}: no block device of this host; nothing was changed; hint: correct the path"
            )
        if what := held(device):
            raise Refused(
                f"{device}: {what}; nothing was changed; hint: if that is not needed, wipefs --all {device}"
            )
    return list(plan["devices"])


def require_same(plan: Plan, there: list[str]) -> None:
    """A volume that stands has the drives that are named; another set is another volume."""
    wanted = sorted(str(Path(device).resolve()) for device in plan["devices"])
    if wanted and wanted != sorted(there):
        raise Refused(
            f"the volume is on {', '.join(sorted(there))}, and {', '.join(wanted)} are named; nothing was "
            f"changed; hint: scratch is made anew after vgremove {GROUP}"
        )


# --- volume and mount


def unit_of(mount: str) -> str:
    """Name of a mount's unit."""
    return run("systemd-escape", "--path", "--suffix=mount", mount).stdout.strip()


def unit(plan: Plan) -> str:
    """Its text."""
    return _UNIT.format(mount=plan["mount"], file_system=plan["file_system"], device=DEVICE)


def make(plan: Plan, devices: list[str]) -> None:
    """Make the volume; LVM asks about no signature, for there is none."""
    must("pvcreate", "--yes", "--quiet", *devices)
    must("vgcreate", "--quiet", GROUP, *devices)
    stripes = ["--type", "striped", "--stripes", str(len(devices))] if len(devices) > 1 else []
    shape = stripes if plan["layout"] == "striped" else []
    must("lvcreate", "--yes", "--quiet", *shape, "--extents", "100%FREE", "--name", VOLUME, GROUP)
    must(f"mkfs.{plan['file_system']}", "-q", DEVICE)


def differences(plan: Plan, there: list[str]) -> list[Difference]:
    """All that is not as planned."""
    name = unit_of(plan["mount"])
    found = [] if there else [Difference("state", f"volume {GROUP}", "there", "absent")]
    if read(UNITS / name) != unit(plan):
        found.append(Difference("file", str(UNITS / name), "as planned", "something else"))
    state = run("systemctl", "is-active", name).stdout.strip()
    if state != "active":
        found.append(Difference("unit", name, "active", state))
    return found


def bring(plan: Plan, there: list[str], devices: list[str]) -> None:
    """Bring all about."""
    if not there:
        make(plan, devices)
    name = unit_of(plan["mount"])
    (UNITS / name).write_text(unit(plan))
    must("systemctl", "daemon-reload")
    must("systemctl", "enable", "--now", "--quiet", name)
    Path(plan["mount"]).chmod(0o1777)


def apply(asked: Plan) -> Plan:
    """One converge, or one look."""
    plan, there = asked["plan"], members()
    if there:
        require_same(plan, there)
    devices = there or drives(plan)
    found = differences(plan, there)
    if found and not asked["check"]:
        bring(plan, there, devices)
    return {
        "changes": [f"{one.subject}: {one.observed} -> {one.intended}" for one in found],
        "drift": [one._asdict() for one in found],
    }


# --- at a job's end


def other_jobs() -> bool:
    """Whether another job than the one that ends is on this node; where Slurm does not say, there is."""
    node, own = os.environ.get("SLURMD_NODENAME", ""), os.environ.get("SLURM_JOB_ID", "")
    words = ("--noheader", f"--nodelist={node}", "--states=running,suspended", "--format=%A")
    said = run("squeue", *words)
    return said.returncode != 0 or bool(set(said.stdout.split()) - {own})


def wipe(mount: Path) -> None:
    """Delete all that is below a mount, and nothing where it is not mounted."""
    if not mount.is_mount() or other_jobs():
        return
    for entry in mount.iterdir():
        if entry.name in _KEPT:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def main(arguments: list[str]) -> int:
    """Apply, or wipe."""
    if arguments == ["--wipe"]:
        wipe(Path(json.loads(PLAN.read_text())["mount"]))
        return 0
    try:
        answer = apply(json.load(sys.stdin))
    except Refused as refused:
        answer = {"failed": str(refused)}
    except OSError as error:
        answer = {"failed": f"{error.filename}: {error.strerror}"}
    print(json.dumps(answer))  # noqa: T201 (its answer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
