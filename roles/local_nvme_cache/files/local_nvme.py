#!/usr/bin/python3
"""Scratch on a node's own NVMe drives: one volume over all of them, by LVM, mounted by a unit.

With ``--apply`` it reads one JSON object: ``plan`` (rackwright's LocalScratch) and ``check``, or ``gone``
where the node has no scratch any more. All drives are looked at before anything is changed: a named one that
holds anything is refused, of others those that hold anything are passed over, and where none is left nothing
is made. What it has begun is noted in /var/lib/rackwright/local-nvme.json: a run that was cut off is gone on
with.
``--wipe`` is for Slurm's epilog: it deletes all files when no other job is on the node.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from pathlib import Path

import mounts
import on_host
from on_host import BLOCK, Difference, Plan, Refused, holder, must, read, run, signature, told, unit_of

GROUP, VOLUME = "rackwright_scratch", "scratch"
DEVICE = f"/dev/{GROUP}/{VOLUME}"
PLAN = Path("/etc/rackwright/local-nvme.json")
EPILOG = Path("/etc/slurm/epilog.d/50-local-nvme.sh")
NOTE = Path("/var/lib/rackwright/local-nvme.json")
MODE = 0o1777
"""As /tmp has it: every user of a job, each its own files."""
_FORCE = {"ext4": "-F", "xfs": "-f"}
"""Over what a mkfs that was cut off has left; nothing else is ever there."""
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


def begun(device: str, note: Plan) -> bool:
    """Whether a drive is a member of no group, by a run of ours that was cut off."""
    ours = {str(Path(name).resolve()) for name in note["devices"]}
    if note["made"] or str(Path(device).resolve()) not in ours:
        return False
    said = run("pvs", "--noheadings", "--options", "vg_name", device)
    return said.returncode == 0 and not said.stdout.strip()


def held(device: str, note: Plan) -> str:
    """What is on a drive, or who has it; empty where nothing and nobody, and where we have begun."""
    if what := holder(device):
        return what
    if any(BLOCK.glob(f"{Path(device).resolve().name}p[0-9]*")):
        return "partitioned"
    if begun(device, note):
        return ""
    try:
        return signature(device)
    except Refused as refused:
        return f"not readable: {refused}"


def drives(plan: Plan, note: Plan) -> list[str]:
    """Those that the volume is to be made of.

    Raises:
        Refused: a named one does not exist, or holds something; or none is blank.
    """
    if not plan["devices"]:
        blank = [device for device in own_drives() if not held(device, note)]
        if not blank:
            found = ", ".join(f"{device}: {held(device, note)}" for device in own_drives()) or "no NVMe drive"
            raise Refused(f"no drive for scratch is blank: {found}; nothing was changed")
        return blank
    for device in plan["devices"]:
        if not (Path(device).exists() and stat.S_ISBLK(Path(device).stat().st_mode)):
            raise Refused(
                f"{device}: no block device of this host; nothing was changed; hint: correct the path"
            )
        if what := held(device, note):
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


def layout() -> str:
    """How the volume lies on its drives, as LVM says it: ``striped`` or ``linear``; empty for no volume.

    LVM has a line for each segment: a linear volume has one on each drive.
    """
    said = run("lvs", "--noheadings", "--options", "segtype", f"{GROUP}/{VOLUME}")
    return " and ".join(sorted(set(said.stdout.split()))) if said.returncode == 0 else ""


def active() -> bool:
    """Whether the volume has a device; without one nobody can tell what is on it."""
    said = run("lvs", "--noheadings", "--options", "lv_active", f"{GROUP}/{VOLUME}")
    return "active" in said.stdout.split()


def require_shape(plan: Plan, there: list[str], note: Plan) -> None:
    """A volume that stands is as planned: another shape is another volume."""
    found = layout()
    planned = {"layout": plan["layout"] if len(there) > 1 else found, "file system": plan["file_system"]}
    stands = {"layout": found, "file system": signature(DEVICE) if found and note["made"] else ""}
    for what, is_ in stands.items():
        if is_ and is_ != planned[what]:
            raise Refused(
                f"the volume's {what} is {is_}, and {planned[what]} is planned; nothing was changed; hint: "
                f"scratch is made anew after vgremove {GROUP}"
            )


def mount(plan: Plan) -> dict[str, mounts.Mount]:
    """The one that is planned, by its unit."""
    text = _UNIT.format(mount=plan["mount"], file_system=plan["file_system"], device=DEVICE)
    return mounts.named([mounts.Mount(plan["mount"], DEVICE, text)])


def make(plan: Plan, there: list[str], devices: list[str], note: Plan) -> None:
    """Make of the volume what is not there yet; LVM asks about no signature, for there is none."""
    if not there:
        must("pvcreate", "--yes", "--quiet", *devices)
        must("vgcreate", "--quiet", GROUP, *devices)
    if not layout():
        stripes = ["--type", "striped", "--stripes", str(len(devices))] if len(devices) > 1 else []
        shape = stripes if plan["layout"] == "striped" else []
        must("lvcreate", "--yes", "--quiet", *shape, "--extents", "100%FREE", "--name", VOLUME, GROUP)
    if not note["made"]:
        must(f"mkfs.{plan['file_system']}", "-q", _FORCE[plan["file_system"]], DEVICE)


def kept(there: list[str]) -> Plan:
    """The note: drives, whether all is made of them, and mounts that are ours; without one, what is there."""
    note = on_host.kept(NOTE, {}) or first_note(there)
    return {**note, "made": bool(note["made"] and there)}


def first_note(there: list[str]) -> Plan:
    """The note of a host that has none: an earlier release made its volume, or nobody did.

    A run lays the plan once the volume is made; and what a volume without a device holds is never made anew.
    """
    old = read(PLAN)
    made = bool(there and layout() and (old or not active() or signature(DEVICE)))
    return {"devices": there, "made": made, "mounts": [json.loads(old)["mount"]] if old else []}


def left_over(plan: Plan, note: Plan) -> list[str]:
    """Units of earlier mounts that are still there."""
    return mounts.left_over(mount(plan), [unit_of(one, "mount") for one in note["mounts"]])


def differences(plan: Plan, there: list[str], note: Plan) -> list[Difference]:
    """All that is not as planned."""
    found = []
    if not (there and note["made"]):
        found.append(Difference("state", f"volume {GROUP}", "there", "begun" if there else "absent"))
    found += mounts.differences(mount(plan))
    found += [Difference("unit", name, "absent", "there") for name in left_over(plan, note)]
    if mounts.source(plan["mount"]) and (mode := stat.S_IMODE(Path(plan["mount"]).stat().st_mode)) != MODE:
        found.append(Difference("file", plan["mount"], f"mode {MODE:o}", f"mode {mode:o}"))
    return found


def bring(plan: Plan, there: list[str], devices: list[str], note: Plan) -> None:
    """Bring all about, noted before each part that another run could not tell from somebody else's."""
    going = left_over(plan, note)
    mounts.refuse_strange(mount(plan))
    mounts.refuse_in_use(going)
    ours = {"devices": devices, "mounts": sorted({*note["mounts"], plan["mount"]})}
    on_host.keep(NOTE, {**ours, "made": note["made"]})
    make(plan, there, devices, note)
    on_host.keep(NOTE, {**ours, "made": True})
    mounts.remove(going)
    mounts.bring(mount(plan))
    Path(plan["mount"]).chmod(MODE)
    on_host.keep(NOTE, {**ours, "made": True, "mounts": [plan["mount"]]})


def apply(asked: Plan) -> Plan:
    """One converge, or one look."""
    if asked.get("gone"):
        return be_gone(check=asked["check"])
    plan, there = asked["plan"], members()
    note = kept(there)
    if there:
        require_same(plan, there)
        require_shape(plan, there, note)
    devices = there or drives(plan, note)
    found = differences(plan, there, note)
    if found and not asked["check"]:
        bring(plan, there, devices, note)
    return told(found)


def be_gone(*, check: bool) -> Plan:
    """A node without scratch: nothing is mounted or wiped any more; the volume stays, with what is on it."""
    names = mounts.left_over({}, [unit_of(one, "mount") for one in kept([])["mounts"]])
    found = [Difference("unit", name, "absent", "there") for name in names]
    found += on_host.gone(EPILOG, PLAN, NOTE)
    if found and not check:
        mounts.refuse_in_use(names)
        EPILOG.unlink(missing_ok=True)
        mounts.remove(names)
        must("systemctl", "daemon-reload")
        for path in (PLAN, NOTE):
            path.unlink(missing_ok=True)
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
