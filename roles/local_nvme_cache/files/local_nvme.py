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
import sys
from pathlib import Path

import on_host
from on_host import (
    BLOCK,
    Difference,
    Plan,
    Refused,
    holder,
    must,
    read,
    run,
    signature,
    text_of,
    told,
    unit_of,
)

GROUP, VOLUME = "rackwright_scratch", "scratch"
DEVICE = f"/dev/{GROUP}/{VOLUME}"
UNITS = Path("/etc/systemd/system")
PLAN = Path("/etc/rackwright/local-nvme.json")
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
Options=nofail,noatime,nodev,nosuid

[Install]
WantedBy=local-fs.target
"""

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
        if not (entry / "partition").exists() and read(entry / "device" / "transport") == "pcie"
    ]


def held(device: str) -> str:
    """What is on a drive, or who has it; empty where nothing and nobody."""
    if what := holder(device):
        return what
    if any(BLOCK.glob(f"{Path(device).resolve().name}p[0-9]*")):
        return "partitioned"
    try:
        return signature(device)
    except Refused as refused:
        return f"not readable: {refused}"


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
    name = unit_of(plan["mount"], "mount")
    found = [] if there else [Difference("state", f"volume {GROUP}", "there", "absent")]
    if text_of(UNITS / name) != unit(plan):
        found.append(Difference("file", str(UNITS / name), "as planned", "something else"))
    state = run("systemctl", "is-active", name).stdout.strip()
    if state != "active":
        found.append(Difference("unit", name, "active", state))
    return found


def bring(plan: Plan, there: list[str], devices: list[str]) -> None:
    """Bring all about."""
    if not there:
        make(plan, devices)
    name = unit_of(plan["mount"], "mount")
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
    return told(found)


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
    return on_host.answer(apply)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
