"""What a target may serve: a namespace of the plan in, what its device says it is out, or why it cannot be.

It lies beside nvmet.py, which looks at all devices before it changes anything.
"""

from __future__ import annotations

import stat
from pathlib import Path

from on_host import BLOCK, Plan, Refused, holder, run, signature

_IDENTITY = ("wwid", "device/wwid", "device/serial", "serial")


def identity(device: str) -> str:
    """What a block device says it is, whatever its name; empty where it does not say."""
    folder = BLOCK / Path(device).resolve().name
    for name in _IDENTITY:
        try:
            text = (folder / name).read_text().strip()
        except OSError:
            continue
        if text:
            return text
    return ""


def users(device: str) -> str:
    """Who has a block device open on this host: a mount, swap, a volume."""
    if held := holder(device):
        return held
    mounted = run("findmnt", "--noheadings", "--output", "TARGET", "--source", device).stdout.split()
    return f"mounted at {mounted[0]}" if mounted else ""


def look(space: Plan, known: dict[str, str]) -> str:
    """Refuse a device that cannot be served, and say what it is.

    Args:
        space: a namespace of the plan.
        known: UUID of each namespace served before, to the identity its device then had.
    """
    device, uuid = space["device"], space["uuid"]
    where = f"namespace {space['nsid']} ({uuid}): {device}"
    try:
        mode = Path(device).stat().st_mode
    except OSError as error:
        raise Refused(f"{where}: {error.strerror}; nothing was changed; hint: correct the path") from None
    if not (stat.S_ISBLK(mode) or stat.S_ISREG(mode)):
        raise Refused(f"{where}: neither a block device nor a file; nothing was changed")
    mine = identity(device) if stat.S_ISBLK(mode) else ""
    if uuid in known:
        if known[uuid] and mine and known[uuid] != mine:
            raise Refused(
                f"{where}: is another device ({mine}) than was served before ({known[uuid]}); nothing was "
                "changed; hint: a device in its place is a namespace with another nsid"
            )
        return mine
    if stat.S_ISBLK(mode) and (user := users(device)):
        raise Refused(f"{where}: is {user}; nothing was changed; hint: take it out of use here first")
    if not space["holds_data"] and (found := signature(device)):
        raise Refused(
            f"{where}: holds {found}; nothing was changed; hint: if that is to be served, set holds_data; "
            f"if it is not needed, wipefs --all {device}"
        )
    return mine
