#!/usr/bin/python3
"""A host of NVMe-oF storage as the plan has it: paths connected, policy set, file systems mounted.

With ``--apply`` it reads one JSON object: ``plan`` (rackwright's NvmeHost), ``secret`` (NQN of a host to its
DH-CHAP keys), ``check``, and ``leave`` where it is only to let go of what is planned no more, or ``gone`` and
no plan where this host has no part in such storage any more. What is to be is kept in
/var/lib/rackwright/nvmeof-host.json, mode 0600, with the names of all that is ours on this host.
With ``--proof`` it asks the targets' discovery, and prints ``good`` or what is wrong.
With ``--keep`` it is a daemon that goes on trying every path that is missing, for udev's own connecting
has no second try: a target may boot after its hosts, and may be away for longer than the loss time-out.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

import mounts
import on_host
from nvme_paths import (
    MODULES,
    Path_,
    asks_otherwise,
    connect_missing,
    connected,
    load,
    missing,
    planned,
    unset,
)
from on_host import BLOCK, Difference, Plan, Refused, must, read, run, signature, told, unit_of

BY_ID = Path("/dev/disk/by-id")
KEPT = Path("/var/lib/rackwright/nvmeof-host.json")
UNIT = "rackwright-nvmeof-host.service"
RULES = Path("/etc/udev/rules.d/72-rackwright-nvmeof.rules")
TRY_EVERY_S = 5.0
CONNECT_WITHIN_S = 60.0
"""A converge waits so long for its paths, and for the devices behind them."""
_POLL_S = 0.5
_MOUNT = """\
# Written by rackwright.
[Unit]
Description={mount}: {file_system} on an NVMe namespace of {target}
After=rackwright-nvmeof-host.service
Wants=rackwright-nvmeof-host.service

[Mount]
What={device}
Where={mount}
Type={file_system}
Options=_netdev,nofail,noatime

[Install]
WantedBy=remote-fs.target {device_unit}
"""
"""A target may be back long after a boot has given the device up: whenever it appears, it is mounted."""

NOTHING: Plan = {"plan": {"identity": {"nqn": "", "id": ""}, "subsystems": {}}, "secret": {}, "ours": []}


# --- file systems


def device(uuid: str) -> Path:
    """As udev names a namespace with a UUID."""
    return BY_ID / f"nvme-uuid.{uuid}"


def units(plan: Plan) -> dict[str, mounts.Mount]:
    """Unit of each planned mount."""
    found = []
    for one in plan["subsystems"].values():
        for mount in one["mounts"]:
            path = device(mount["uuid"])
            text = _MOUNT.format(
                **mount, target=one["target"], device=path, device_unit=unit_of(str(path), "device")
            )
            found.append(mounts.Mount(mount["mount"], str(path), text))
    return mounts.named(found)


def make_file_systems(plan: Plan) -> list[str]:
    """Where a namespace is blank; one that holds something else is refused."""
    made = []
    for one in plan["subsystems"].values():
        for mount in one["mounts"]:
            path = device(mount["uuid"])
            await_path(path)
            found = signature(str(path))
            if not found:
                must(f"mkfs.{mount['file_system']}", "-q", str(path))
                must("udevadm", "settle")
                made.append(f"{mount['mount']}: {mount['file_system']} made on a blank namespace")
            elif found != mount["file_system"]:
                raise Refused(
                    f"{mount['mount']}: the namespace holds {found}, expected {mount['file_system']} or "
                    "nothing; it was left as it is"
                )
    return made


def await_path(path: Path) -> None:
    """Wait for udev."""
    ends = time.monotonic() + CONNECT_WITHIN_S
    while not path.exists():
        if time.monotonic() > ends:
            raise Refused(f"{path} does not appear; hint: see `nvme list-subsys` and dmesg on the host")
        time.sleep(_POLL_S)


# --- the whole


def kept() -> Plan:
    """What is to be, and what is ours."""
    return on_host.kept(KEPT, NOTHING)


def named(plan: Plan) -> set[str]:
    """All that this host has of a plan: NQNs, and units of mounts."""
    return {*plan["subsystems"], *units(plan)}


class Left(NamedTuple):
    """What is ours and not as it is to be."""

    removed: list[str]
    """Units that are planned no more."""
    stopped: list[str]
    """Units that are to be mounted anew: from another device, or over none of the paths that there are."""
    going: dict[Path_, Path]
    """Paths that are planned no more, and those that are made anew, with their controllers."""
    replaced: dict[Path_, Path]
    """Paths that are to come from another address of this host: they go when that one is there."""


def left_over(plan: Plan, secret: Plan, ours: set[str]) -> Left:
    """What is to be let go of."""
    there = {path: controller for path, controller in connected().items() if path.nqn in ours}
    paths = planned(plan)
    places = {path.place for path in paths}
    replaced = {path: one for path, one in there.items() if path not in paths and path.place in places}
    going = {
        path: one
        for path, one in there.items()
        if path.place not in places or (path in paths and asks_otherwise(one, paths[path], plan, secret))
    }
    return Left(mounts.left_over(units(plan), ours), to_stop(plan, there, going), going, replaced)


def to_stop(plan: Plan, there: dict[Path_, Path], going: dict[Path_, Path]) -> list[str]:
    """Planned units that are mounted, and from what is let go of."""
    kept = {path.nqn for path in there if path not in going}
    lost = {path.nqn for path in going} - kept
    nothing = {**plan, "subsystems": {nqn: one for nqn, one in plan["subsystems"].items() if nqn in lost}}
    without = [name for name, mount in units(nothing).items() if mounts.source(mount.where)]
    return sorted({*without, *mounts.moved(units(plan))})


def to_leave(left: Left) -> list[Difference]:
    """The same, as it is told."""
    found = [Difference("unit", name, "absent", "there") for name in left.removed]
    found += [Difference("unit", name, "mounted anew", "mounted") for name in left.stopped]
    for paths, wanted in ((left.going, "no path"), (left.replaced, "another source")):
        for path, controller in paths.items():
            where = f"{path.nqn} by {path.address}"
            found.append(Difference("namespace", where, wanted, read(controller / "state")))
    return found


def differences(plan: Plan, secret: Plan, left: Left) -> list[Difference]:
    """All that is not as planned."""
    paths = planned(plan)
    found = [
        Difference("namespace", f"{paths[path]['target']} by {path.address}", "connected", "no path")
        for path in missing(plan)
    ]
    for path, controller in connected().items():
        state = read(controller / "state")
        if path in paths and state != "live":
            target = paths[path]["target"]
            found.append(Difference("namespace", f"{target} by {path.address}", "live", state))
    for one in unset(plan, secret):
        shown = ("(secret)", "(another)") if one.secret else (one.wanted, read(one.file))
        found.append(Difference("namespace", one.name, *shown))
    return [*found, *mounts.differences(units(plan)), *to_leave(left)]


def disconnect(paths: dict[Path_, Path]) -> None:
    """Cut these; the kernel forgets them."""
    for controller in paths.values():
        must("nvme", "disconnect", "--device", controller.name)


def leave(left: Left) -> None:
    """Unmount and disconnect."""
    mounts.remove(left.removed)
    for name in left.stopped:
        mounts.stop(name)
    disconnect(left.going)


def bring(plan: Plan, secret: Plan, left: Left) -> list[str]:
    """Bring all about; what was made on the way."""
    load(plan)
    leave(left)
    ends = time.monotonic() + CONNECT_WITHIN_S
    while lacking := connect_missing(plan, secret):
        if time.monotonic() > ends:
            said = "; ".join(
                f"{planned(plan)[path]['target']} by {path.address}: {words}"
                for path, words in lacking.items()
            )
            raise Refused(
                f"not connected: {said}; hint: see dmesg on host and target; a target in another rack may be "
                "converged later than this host: converge again"
            )
        time.sleep(_POLL_S)
    disconnect(left.replaced)
    for one in unset(plan, secret):
        on_host.write(one.file, "-1" if one.wanted == "off" else one.wanted)
    made = make_file_systems(plan)
    mounts.bring(units(plan))
    return made


def keys_of(plan: Plan, secret: Plan) -> Plan:
    """This host's keys by its NQN; empty where nothing asks who it is."""
    own = plan["identity"]["nqn"]
    if not any(one["authenticated"] for one in plan["subsystems"].values()):
        return {}
    if not secret.get(own, {}).get("host"):
        raise Refused("no DH-CHAP key of this host; nothing was changed; hint: see dhchap of the spec")
    return {own: secret[own]}


def apply(asked: Plan) -> Plan:
    """One converge, or one look."""
    if asked.get("gone"):
        return be_gone(check=asked["check"])
    plan, note, check = asked["plan"], kept(), asked["check"]
    secret, ours = keys_of(plan, asked.get("secret") or {}), set(note["ours"])
    wanted = {"plan": plan, "secret": secret, "ours": sorted(named(plan))}
    # Noted first: the daemon goes by it, and would connect again what is let go of.
    meanwhile = {**wanted, "ours": sorted(ours | named(plan))}
    left = left_over(plan, secret, ours)
    if asked.get("leave"):
        return let_go(left, meanwhile, check=check)
    found, made = differences(plan, secret, left), []
    if note != wanted:
        found.append(Difference("namespace", str(KEPT), "what is planned", "something else"))
    if found and not check:
        refuse(plan, left)
        on_host.keep(KEPT, meanwhile)
        made = bring(plan, secret, left)
        on_host.keep(KEPT, wanted)
    answer = told(found)
    return {**answer, "changes": [*answer["changes"], *made]}


def refuse(plan: Plan, left: Left) -> None:
    """Before anything is changed, the note included."""
    mounts.refuse_strange(units(plan))
    refuse_to_stop(left)


def refuse_to_stop(left: Left) -> None:
    """What is to be unmounted is in use by nobody, and can be written back: else unmounting never ends."""
    names = [*left.removed, *left.stopped]
    mounts.refuse_in_use(names)
    for point in map(mounts.where, names):
        states = path_states(mounts.source(point))
        if states and "live" not in states:
            raise Refused(
                f"{point}: none of its {len(states)} paths is live, and unmounting it would wait for one; "
                "nothing was changed; hint: bring its target back, or reset this host"
            )


def path_states(device: str) -> list[str]:
    """States of all paths behind a device; none for one that is gone, or that is nobody's namespace."""
    return [read(one) for one in (BLOCK / Path(device).name / "device").glob("nvme[0-9]*/state")]


def let_go(left: Left, note: Plan, *, check: bool) -> Plan:
    """The first half of a converge, before targets stop serving: nothing is in use that they take away."""
    found = to_leave(left._replace(replaced={}))
    if found and not check:
        refuse_to_stop(left)
        on_host.keep(KEPT, note)
        leave(left)
    return told(found)


def be_gone(*, check: bool) -> Plan:
    """A host that has no part in such storage any more: all that is ours goes, the note last."""
    note, files = kept(), (RULES, mounts.UNITS / UNIT)
    left, found = left_over(NOTHING["plan"], {}, set(note["ours"])), on_host.gone(*files, KEPT)
    answer = let_go(left, {**NOTHING, "ours": note["ours"]}, check=check)
    if found and not check:
        on_host.forget(UNIT, *files, note=KEPT)
    return {name: answer[name] + told(found)[name] for name in answer}


def stay() -> None:
    """The daemon: what is missing is tried again, for ever."""
    told: dict[Path_, str] = {}
    while True:
        note = kept()
        if note["plan"]["subsystems"]:
            wanted = sorted({MODULES[path.transport] for path in planned(note["plan"])})
            run("modprobe", "--all", "nvme-fabrics", *wanted)
            left = connect_missing(note["plan"], note["secret"], lambda note=note: kept() == note)
            for path, words in left.items():
                if told.get(path) != words:
                    print(f"{path.address}: {words}", flush=True)  # noqa: T201 (its journal)
            told = left
        time.sleep(TRY_EVERY_S)


def faults(plan: Plan, secret: Plan) -> list[str]:
    """What each target says of itself, and what the kernel has of it."""
    left = left_over(plan, secret, named(plan))
    found = [f"{one.subject}: {one.observed}, not {one.intended}" for one in differences(plan, secret, left)]
    for path, one in planned(plan).items():
        where = ("--transport", path.transport, "--traddr", path.address, "--trsvcid", path.service)
        said = run("nvme", "discover", *where)
        if f"subnqn:  {path.nqn}" not in said.stdout:
            told = " ".join(said.stderr.split()) or "another list of subsystems"
            found.append(f"{one['target']} by {path.address} does not offer {path.nqn}: {told}")
    return found


def main(arguments: list[str]) -> int:
    """Apply, stay, or prove."""
    if arguments == ["--keep"]:
        stay()
    if arguments == ["--proof"]:
        note = kept()
        print("\n".join(faults(note["plan"], note["secret"])) or "good")  # noqa: T201 (its answer)
        return 0
    return on_host.answer(apply)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
