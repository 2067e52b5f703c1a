#!/usr/bin/python3
"""The kernel's NVMe target as the plan has it: configfs in, what differs out; --restore brings it back.

With ``--apply`` it reads one JSON object: ``plan`` (rackwright's NvmeTarget), ``secret`` (NQN of a host to
its DH-CHAP keys) and ``check``, or ``gone`` and no plan where this host serves nothing any more. All devices
are looked at before anything is changed: one that is not there, or that holds something nobody spoke of, and
nothing is. What was brought about is kept in /var/lib/rackwright/nvmet.json, mode 0600, from which a unit
restores it before hosts need it.

``attr_allow_any_host`` is always 0: there is no way to ask for anything else.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import on_host
from on_host import Difference, Plan, Refused, read, run, told
from served_devices import look

CONFIGFS = Path("/sys/kernel/config/nvmet")
KEPT = Path("/var/lib/rackwright/nvmet.json")
UNIT = Path("/etc/systemd/system/rackwright-nvmet.service")
MODULES = {"tcp": "nvmet-tcp", "rdma": "nvmet-rdma"}
RESTORE_WITHIN_S = 180.0
"""For addresses, devices and RDMA links that come later than this unit."""
_EVERY_S = 2.0
NOTHING: Plan = {"plan": {"ports": [], "subsystems": {}}, "devices": {}, "secret": {}}


# --- configfs


def names(folder: Path) -> list[str]:
    """What is in a folder of configfs."""
    return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []


class Target:
    """Wishes are made one by one; in check mode they are only told."""

    def __init__(self, *, check: bool) -> None:
        self.check = check
        self.differences: list[Difference] = []

    def note(self, subject: str, intended: str, observed: str) -> bool:
        """Something differs; whether it is to be changed."""
        self.differences.append(Difference("namespace", subject, intended, observed))
        return not self.check

    def folder(self, path: Path, subject: str) -> None:
        """Make one."""
        if not path.is_dir() and self.note(subject, "there", "absent"):
            path.mkdir()

    def value(self, path: Path, wanted: str, subject: str, *, secret: bool = False) -> bool:
        """Set an attribute; whether it was set."""
        found = read(path)
        if found == wanted or (not path.exists() and not wanted):
            return False
        shown = ("(secret)", "(another)") if secret else (wanted, found or "unset")
        if self.note(f"{subject} {path.name}", *shown):
            on_host.write(path, wanted or "\0")
        return True

    def link(self, path: Path, to: Path, subject: str) -> None:
        """Make one; a port takes its address with its first."""
        if not path.is_symlink() and self.note(subject, "linked", "absent"):
            try:
                path.symlink_to(to)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(path)) from None

    def gone(self, path: Path, subject: str) -> None:
        """Take a link or folder away that is not planned."""
        if self.note(subject, "absent", "there"):
            if path.is_symlink():
                path.unlink()
            else:
                path.rmdir()


def settle_namespaces(target: Target, folder: Path, nqn: str, spaces: list[Plan]) -> None:
    """Namespaces of a subsystem: a device or UUID is only changed while the namespace is disabled."""
    wanted = {str(space["nsid"]): space for space in spaces}
    for name in names(folder):
        if name not in wanted:
            disable(target, folder / name)
            target.gone(folder / name, f"{nqn} {name} ({read(folder / name / 'device_path')})")
    for name, space in wanted.items():
        subject = f"{nqn} {name}"
        target.folder(folder / name, subject)
        attributes = {"device_path": space["device"], "device_uuid": space["uuid"]}
        if any(read(folder / name / key) != value for key, value in attributes.items()):
            disable(target, folder / name)
            for key, value in attributes.items():
                target.value(folder / name / key, value, subject)
        target.value(folder / name / "ana_grpid", str(space["ana_group"]), subject)
        target.value(folder / name / "enable", "1", subject)


def disable(target: Target, folder: Path) -> None:
    """Before its device may change."""
    if not target.check and read(folder / "enable") == "1":
        on_host.write(folder / "enable", "0")


def settle_hosts(target: Target, plan: Plan, secret: Plan) -> None:
    """Hosts and their keys: configfs has each host once, whatever subsystems let it in."""
    for nqn, slot in hosts_of(plan).items():
        folder = CONFIGFS / "hosts" / nqn
        target.folder(folder, f"host {slot}")
        keys = secret.get(nqn, {})
        for name, key in (("dhchap_key", "host"), ("dhchap_ctrl_key", "controller")):
            if (keys.get(key) or read(folder / name)) and not (target.check and not folder.is_dir()):
                target.value(folder / name, keys.get(key, ""), f"host {slot}", secret=True)


def hosts_of(plan: Plan) -> dict[str, str]:
    """NQN of each host that may connect to something, to its slot."""
    return {nqn: slot for served in plan["subsystems"].values() for slot, nqn in served["hosts"].items()}


def settle_subsystem(target: Target, nqn: str, served: Plan) -> None:
    """One subsystem: closed before it has a namespace, so that no host finds it open."""
    folder = CONFIGFS / "subsystems" / nqn
    subject = f"{served['storage']} {nqn}"
    target.folder(folder, subject)
    target.value(folder / "attr_allow_any_host", "0", subject)
    target.value(folder / "attr_serial", served["serial"], subject)
    allowed = set(served["hosts"].values())
    for name in names(folder / "allowed_hosts"):
        if name not in allowed:
            target.gone(folder / "allowed_hosts" / name, f"{nqn} host {name}")
    for slot, host in served["hosts"].items():
        link = folder / "allowed_hosts" / host
        target.link(link, CONFIGFS / "hosts" / host, f"{nqn} host {slot}")
    settle_namespaces(target, folder / "namespaces", nqn, served["namespaces"])


def settle_port(target: Target, port: Plan, nqns: list[str]) -> None:
    """One port: its address is only changed while nothing is linked to it."""
    folder, subject = CONFIGFS / "ports" / str(port["id"]), f"port {port['address']}"
    target.folder(folder, subject)
    wanted = {
        "addr_trtype": port["transport"],
        "addr_adrfam": "ipv4",
        "addr_traddr": port["address"],
        "addr_trsvcid": str(port["service"]),
    }
    if any(read(folder / name) != value for name, value in wanted.items()):
        if not target.check:
            for name in names(folder / "subsystems"):
                (folder / "subsystems" / name).unlink()
        for name, value in wanted.items():
            target.value(folder / name, value, subject)
    settle_ana(target, folder / "ana_groups", port["ana"], subject)
    for name in names(folder / "subsystems"):
        if name not in nqns:
            target.gone(folder / "subsystems" / name, f"{subject} {name}")
    for nqn in nqns:
        link = folder / "subsystems" / nqn
        target.link(link, CONFIGFS / "subsystems" / nqn, f"{subject} {nqn}")


def settle_ana(target: Target, folder: Path, states: Plan, subject: str) -> None:
    """States of ANA groups; the first group is always there."""
    for name in {*names(folder), *states}:
        state = states.get(name, "optimized")
        if name in states:
            target.folder(folder / name, f"{subject} group {name}")
        target.value(folder / name / "ana_state", state, f"{subject} group {name}")


def take_away(target: Target, plan: Plan, ours: Plan) -> None:
    """Ports and subsystems that we made before and that are planned no more."""
    ports = {str(port["id"]) for port in plan["ports"]}
    for port in ours["ports"]:
        folder = CONFIGFS / "ports" / str(port["id"])
        if folder.name not in ports and folder.is_dir():
            empty(target, folder, ("subsystems",), f"port {port['address']}")
    for nqn in ours["subsystems"]:
        folder = CONFIGFS / "subsystems" / nqn
        if nqn not in plan["subsystems"] and folder.is_dir():
            if not target.check:
                for link in CONFIGFS.glob(f"ports/*/subsystems/{nqn}"):
                    link.unlink()
            for name in names(folder / "namespaces"):
                disable(target, folder / "namespaces" / name)
            empty(target, folder, ("allowed_hosts", "namespaces"), nqn)


def take_hosts_away(target: Target, plan: Plan, ours: Plan) -> None:
    """Hosts that we made before and that may connect to nothing any more."""
    for nqn, slot in hosts_of(ours).items():
        if nqn not in hosts_of(plan) and (CONFIGFS / "hosts" / nqn).is_dir():
            target.gone(CONFIGFS / "hosts" / nqn, f"host {slot}")


def empty(target: Target, folder: Path, below: tuple[str, ...], subject: str) -> None:
    """A folder and what is in it."""
    if not target.check:
        for kind in below:
            for name in names(folder / kind):
                entry = folder / kind / name
                if entry.is_symlink():
                    entry.unlink()
                else:
                    entry.rmdir()
        for name in names(folder / "ana_groups"):
            if name != "1":
                (folder / "ana_groups" / name).rmdir()
    target.gone(folder, subject)


def strangers(plan: Plan, ours: Plan) -> list[Difference]:
    """Subsystems and ports that somebody else made: told, and left to whoever made them."""
    both_ = both(plan, ours)
    ports = {str(port["id"]) for port in both_["ports"]}
    found = [name for name in names(CONFIGFS / "subsystems") if name not in both_["subsystems"]]
    found += [
        f"port {read(CONFIGFS / 'ports' / name / 'addr_traddr') or name}"
        for name in names(CONFIGFS / "ports")
        if name not in ports
    ]
    return [Difference("namespace", name, "absent", "there, made by hand") for name in found]


# --- the whole


def refuse_in_use(plan: Plan, ours: Plan) -> None:
    """A port that goes has no host any more: what a host has mounted of it could never be written back.

    The kernel tells of no subsystem who is connected; a connection of TCP is at least seen.
    """
    stay = {port["id"] for port in plan["ports"]}
    for port in ours["ports"]:
        if port["id"] not in stay and port["transport"] == "tcp":
            place = f"{port['address']}:{port['service']}"
            said = run("ss", "--no-header", "--tcp", "--numeric", "state", "established", "src", place).stdout
            if hosts := sorted({line.split()[-1].rpartition(":")[0] for line in said.splitlines()}):
                raise Refused(
                    f"port {place}: {', '.join(hosts)} still connected; nothing was changed; hint: converge "
                    "these hosts first, then this target again"
                )


def modules(plan: Plan) -> None:
    """Load what the ports need; nothing where nothing is served."""
    if not plan["ports"]:
        return
    wanted = ["nvmet", *sorted({MODULES[port["transport"]] for port in plan["ports"]})]
    done = run("modprobe", "--all", *wanted)
    if done.returncode != 0:
        raise Refused(f"modules {', '.join(wanted)}: {' '.join(done.stderr.split())}")


def settle(target: Target, plan: Plan, secret: Plan, ours: Plan) -> None:
    """Bring all about: hosts before what they may connect to, ports last.

    The kernel takes nothing away that something links to: what goes, goes in the other order.
    """
    take_away(target, plan, ours)
    settle_hosts(target, plan, secret)
    for nqn, served in plan["subsystems"].items():
        settle_subsystem(target, nqn, served)
    for port in plan["ports"]:
        nqns = [nqn for nqn, served in plan["subsystems"].items() if port["id"] in served["ports"]]
        settle_port(target, port, nqns)
    take_hosts_away(target, plan, ours)


def keys_of(plan: Plan, secret: Plan) -> Plan:
    """Keys of the hosts that prove who they are; one without a key is refused."""
    found: Plan = {}
    for served in plan["subsystems"].values():
        for slot, nqn in served["hosts"].items():
            if served["authenticated"]:
                if not secret.get(nqn, {}).get("host"):
                    raise Refused(
                        f"{slot}: no DH-CHAP key of it; nothing was changed; hint: see dhchap of the spec"
                    )
                found[nqn] = secret[nqn]
    return found


def ours_of(note: Plan) -> Plan:
    """All that we have made, or begun to; ``left`` is what a run that was cut off was to take away."""
    return both(note["plan"], note.get("left", NOTHING["plan"]))


def both(new: Plan, old: Plan) -> Plan:
    """Ports and subsystems of either plan, with the hosts of both."""
    ids = {port["id"] for port in new["ports"]}
    subsystems = {**old["subsystems"], **new["subsystems"]}
    for nqn in old["subsystems"].keys() & new["subsystems"].keys():
        hosts = {**old["subsystems"][nqn]["hosts"], **new["subsystems"][nqn]["hosts"]}
        subsystems[nqn] = {**subsystems[nqn], "hosts": hosts}
    ports = [*new["ports"], *(port for port in old["ports"] if port["id"] not in ids)]
    return {"ports": ports, "subsystems": subsystems}


def apply(asked: Plan) -> Plan:
    """One converge, or one look."""
    if asked.get("gone"):
        return be_gone(check=asked["check"])
    plan, before = asked["plan"], on_host.kept(KEPT, NOTHING)
    secret, ours = keys_of(plan, asked.get("secret") or {}), ours_of(before)
    spaces = [space for served in plan["subsystems"].values() for space in served["namespaces"]]
    devices = {space["uuid"]: look(space, before["devices"]) for space in spaces}
    wanted = {"plan": plan, "devices": devices, "secret": secret}
    unnoted = before != wanted or not KEPT.exists()
    if not asked["check"]:
        refuse_in_use(plan, ours)
        modules(plan)
        if unnoted:
            # Noted first: what a run that is cut off has made, or not yet taken away, is known as ours.
            on_host.keep(KEPT, {**wanted, "left": ours})
    target = Target(check=bool(asked["check"]))
    settle(target, plan, secret, ours)
    if unnoted:
        target.note(str(KEPT), "what is planned", "something else")
        if not target.check:
            on_host.keep(KEPT, wanted)
    return told(target.differences, strangers(plan, ours))


def be_gone(*, check: bool) -> Plan:
    """A host that serves nothing any more: all that is ours goes, the note last."""
    found = on_host.gone(UNIT, KEPT)
    answer = apply({"plan": NOTHING["plan"], "check": check}) if KEPT.exists() else told([])
    if found and not check:
        on_host.forget(UNIT.name, UNIT, note=KEPT)
    return {name: answer[name] + told(found)[name] for name in answer}


def restore() -> None:
    """At boot: try until all is there, for addresses and links may come later."""
    before, ends = on_host.kept(KEPT, NOTHING), time.monotonic() + RESTORE_WITHIN_S
    plan = before["plan"]
    while True:
        try:
            for served in plan["subsystems"].values():
                for space in served["namespaces"]:
                    look(space, before["devices"])
            modules(plan)
            settle(Target(check=False), plan, before["secret"], plan)
        except (OSError, Refused) as error:
            if time.monotonic() > ends:
                sys.exit(str(error))
            time.sleep(_EVERY_S)
        else:
            return


def main(arguments: list[str]) -> int:
    """Apply, or restore."""
    if arguments == ["--restore"]:
        restore()
        return 0
    return on_host.answer(apply, hint)


def hint(error: OSError) -> str:
    """What to look at where the kernel refuses something."""
    if "/ports/" in str(error.filename):
        return "; hint: is the port's address on this host, for rdma on a link of `rdma link`?"
    return "; hint: see dmesg on the host"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
