#!/usr/bin/python3
"""A host of NVMe-oF storage as the plan has it: paths connected, policy set, file systems mounted.

With ``--apply`` it reads one JSON object: ``plan`` (rackwright's NvmeHost), ``secret`` (NQN of a host to its
DH-CHAP keys), ``check``, and ``leave`` where it is only to let go of what is planned no more. What is to be
is kept in /var/lib/rackwright/nvmeof-host.json, mode 0600, with the names of all that is ours on this host.
With ``--proof`` it asks the targets' discovery, and prints ``good`` or what is wrong.
With ``--keep`` it is a daemon that goes on trying every path that is missing, for udev's own connecting
has no second try: a target may boot after its hosts, and may be away for longer than the loss time-out.

Keys go to the kernel as nvme-cli hands them over, by /dev/nvme-fabrics, for a key on a command line is seen
by every process of the host.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import on_host
from on_host import Difference, Plan, Refused, must, read, run, signature, told, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable

FABRICS = Path("/dev/nvme-fabrics")
CONTROLLERS = Path("/sys/class/nvme")
SUBSYSTEMS = Path("/sys/class/nvme-subsystem")
BY_ID = Path("/dev/disk/by-id")
UNITS = Path("/etc/systemd/system")
KEPT = Path("/var/lib/rackwright/nvmeof-host.json")
MODULES = {"tcp": "nvme-tcp", "rdma": "nvme-rdma"}
KEEP_ALIVE_S = 5
"""Of the kernel; a path that is silent for so long is lost."""
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


class Path_(NamedTuple):  # noqa: N801 (pathlib has the name)
    """One way to a subsystem."""

    nqn: str
    transport: str
    address: str
    service: str


# --- paths


def planned(plan: Plan) -> dict[Path_, Plan]:
    """Every path, to the connection it is of."""
    return {
        Path_(nqn, route["transport"], route["address"], str(route["service"])): {**one, "route": route}
        for nqn, one in plan["subsystems"].items()
        for route in one["routes"]
    }


def connected() -> dict[Path_, Path]:
    """Every path that the kernel has, in whatever state, to its controller."""
    found = {}
    for controller in sorted(CONTROLLERS.glob("nvme*")):
        words = read(controller / "address").split(",")
        address = dict(word.split("=", 1) for word in words if "=" in word)
        if "traddr" in address:
            path = Path_(
                read(controller / "subsysnqn"),
                read(controller / "transport"),
                address["traddr"],
                address.get("trsvcid", ""),
            )
            found[path] = controller
    return found


def options(path: Path_, one: Plan, plan: Plan, keys: Plan) -> str:
    """As the kernel takes them (Linux, drivers/nvme/host/fabrics.c, opt_tokens)."""
    words = {
        "nqn": path.nqn,
        "transport": path.transport,
        "traddr": path.address,
        "trsvcid": path.service,
        "hostnqn": plan["identity"]["nqn"],
        "hostid": plan["identity"]["id"],
        "reconnect_delay": str(one["reconnect_s"]),
        "ctrl_loss_tmo": str(one["loss_timeout_s"]),
        "keep_alive_tmo": str(KEEP_ALIVE_S),
    }
    if one["route"]["source"]:
        words["host_traddr"] = one["route"]["source"]
    if one["authenticated"]:
        words["dhchap_secret"] = keys["host"]
        if keys.get("controller"):
            words["dhchap_ctrl_secret"] = keys["controller"]
    return ",".join(f"{name}={value}" for name, value in words.items())


def connect(text: str) -> str:
    """Connect one path; what the kernel says against it, empty where it is connected."""
    try:
        handle = os.open(FABRICS, os.O_RDWR)
    except OSError as error:
        return f"{FABRICS}: {error.strerror}"
    try:
        os.write(handle, text.encode())
    except OSError as error:
        return error.strerror or "refused"
    finally:
        os.close(handle)
    return ""


def missing(plan: Plan) -> list[Path_]:
    """Paths that are planned and that the kernel does not have."""
    there = connected()
    return [path for path in planned(plan) if path not in there]


def connect_missing(plan: Plan, secret: Plan, go_on: Callable[[], bool] = lambda: True) -> dict[Path_, str]:
    """Try each once, as long as that is to go on; those that could not be, with what was said."""
    paths, keys = planned(plan), secret.get(plan["identity"]["nqn"], {})
    said = {path: connect(options(path, paths[path], plan, keys)) for path in missing(plan) if go_on()}
    return {path: words for path, words in said.items() if words}


def load(plan: Plan) -> None:
    """Load what the paths need; nothing where there are none."""
    if not planned(plan):
        return
    wanted = ["nvme-fabrics", *sorted({MODULES[path.transport] for path in planned(plan)})]
    must("modprobe", "--all", *wanted)


# --- what a subsystem and its paths are set to


def settings(plan: Plan) -> list[tuple[Path, str, str]]:
    """Attributes of what is connected: where, what is planned, and what it is called."""
    found = []
    for path, controller in connected().items():
        one = planned(plan).get(path)
        if one is not None:
            loss = "off" if one["loss_timeout_s"] < 0 else str(one["loss_timeout_s"])
            where = f"{one['target']} by {path.address}"
            found += [
                (controller / "reconnect_delay", str(one["reconnect_s"]), f"{where} reconnect_delay"),
                (controller / "ctrl_loss_tmo", loss, f"{where} ctrl_loss_tmo"),
            ]
    for folder in SUBSYSTEMS.glob("nvme-subsys*"):
        one = plan["subsystems"].get(read(folder / "subsysnqn"))
        if one is not None:
            found.append((folder / "iopolicy", one["policy"], f"{one['target']} iopolicy"))
    return found


def unset(plan: Plan) -> list[tuple[Path, str, str]]:
    """Those that are otherwise; a kernel that does not know one has no file of that name."""
    return [(path, wanted, name) for path, wanted, name in settings(plan) if read(path) not in (wanted, "")]


# --- file systems


def device(uuid: str) -> Path:
    """As udev names a namespace with a UUID."""
    return BY_ID / f"nvme-uuid.{uuid}"


def units(plan: Plan) -> dict[str, str]:
    """Unit of each planned mount, to its text."""
    found = {}
    for one in plan["subsystems"].values():
        for mount in one["mounts"]:
            path = device(mount["uuid"])
            found[unit_of(mount["mount"], "mount")] = _MOUNT.format(
                **mount, target=one["target"], device=path, device_unit=unit_of(str(path), "device")
            )
    return found


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


def left_over(plan: Plan, ours: set[str]) -> tuple[list[str], dict[Path_, Path]]:
    """What is ours and planned no more: units, and paths with their controllers."""
    gone = ours - set(units(plan)) - set(plan["subsystems"])
    paths = {
        path: controller
        for path, controller in connected().items()
        if path.nqn in ours and path not in planned(plan)
    }
    return sorted(name for name in gone if (UNITS / name).exists()), paths


def to_leave(plan: Plan, ours: set[str]) -> list[Difference]:
    """The same, as it is told."""
    names, paths = left_over(plan, ours)
    return [Difference("unit", name, "absent", "there") for name in names] + [
        Difference("namespace", f"{path.nqn} by {path.address}", "no path", read(controller / "state"))
        for path, controller in paths.items()
    ]


def differences(plan: Plan, ours: set[str]) -> list[Difference]:
    """All that is not as planned."""
    found = [
        Difference("namespace", f"{planned(plan)[path]['target']} by {path.address}", "connected", "no path")
        for path in missing(plan)
    ]
    for path, controller in connected().items():
        state = read(controller / "state")
        if path in planned(plan) and state != "live":
            target = planned(plan)[path]["target"]
            found.append(Difference("namespace", f"{target} by {path.address}", "live", state))
    found += [Difference("namespace", name, wanted, read(path)) for path, wanted, name in unset(plan)]
    for name, text in units(plan).items():
        state = run("systemctl", "is-active", name).stdout.strip()
        if read(UNITS / name) != text.strip() or state != "active":
            found.append(Difference("unit", name, "active, as planned", state))
    return found + to_leave(plan, ours)


def leave(plan: Plan, ours: set[str]) -> None:
    """Unmount and disconnect what is not planned any more; what is in use is refused."""
    names, paths = left_over(plan, ours)
    for name in names:
        must("systemctl", "disable", "--now", "--quiet", name)
        (UNITS / name).unlink(missing_ok=True)
    for controller in paths.values():
        must("nvme", "disconnect", "--device", controller.name)


def bring(plan: Plan, secret: Plan, ours: set[str]) -> list[str]:
    """Bring all about; what was made on the way."""
    load(plan)
    leave(plan, ours)
    ends = time.monotonic() + CONNECT_WITHIN_S
    while left := connect_missing(plan, secret):
        if time.monotonic() > ends:
            said = "; ".join(
                f"{planned(plan)[path]['target']} by {path.address}: {words}" for path, words in left.items()
            )
            raise Refused(f"not connected: {said}; hint: see dmesg on host and target")
        time.sleep(_POLL_S)
    for path, wanted, _ in unset(plan):
        on_host.write(path, "-1" if wanted == "off" else wanted)
    made = make_file_systems(plan)
    for name, text in units(plan).items():
        if read(UNITS / name) != text.strip():
            (UNITS / name).write_text(text)
    must("systemctl", "daemon-reload")
    for name in units(plan):
        must("systemctl", "enable", "--now", "--quiet", name)
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
    plan, note, check = asked["plan"], kept(), asked["check"]
    secret, ours = keys_of(plan, asked.get("secret") or {}), set(note["ours"])
    wanted = {"plan": plan, "secret": secret, "ours": sorted(named(plan))}
    # Noted first: the daemon goes by it, and would connect again what is let go of.
    meanwhile = {**wanted, "ours": sorted(ours | named(plan))}
    if asked.get("leave"):
        return let_go(plan, ours, meanwhile, check=check)
    found, made = differences(plan, ours), []
    if note != wanted:
        found.append(Difference("namespace", str(KEPT), "what is planned", "something else"))
    if found and not check:
        on_host.keep(KEPT, meanwhile)
        made = bring(plan, secret, ours)
        on_host.keep(KEPT, wanted)
    answer = told(found)
    return {**answer, "changes": [*answer["changes"], *made]}


def let_go(plan: Plan, ours: set[str], note: Plan, *, check: bool) -> Plan:
    """The first half of a converge, before targets stop serving: nothing is in use that they take away."""
    found = to_leave(plan, ours)
    if found and not check:
        on_host.keep(KEPT, note)
        leave(plan, ours)
    return told(found)


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


def faults(plan: Plan) -> list[str]:
    """What each target says of itself, and what the kernel has of it."""
    found = [f"{one.subject}: {one.observed}, not {one.intended}" for one in differences(plan, named(plan))]
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
        print("\n".join(faults(kept()["plan"])) or "good")  # noqa: T201 (its answer)
        return 0
    return on_host.answer(apply)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
