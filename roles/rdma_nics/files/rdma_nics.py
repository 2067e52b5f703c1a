#!/usr/bin/python3
"""RDMA interfaces as the plan has them: names, addresses, routes, marks, and links of soft RoCE.

With ``--apply`` it reads one JSON object: ``plan`` (rackwright's RdmaHost), or ``gone`` where this host has
no such interface any more, and ``check``. What was brought about is kept in /var/lib/rackwright/rdma.json;
``--restore`` makes at boot what the kernel forgets: links of soft RoCE, marks and priorities. Names and
addresses are files of systemd-networkd, which has them by itself.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import count
from pathlib import Path

import on_host
from on_host import Difference, Plan, Refused, must, read, run, text_of, told

NETWORKD = Path("/etc/systemd/network")
SYSCTL = Path("/etc/sysctl.d/62-rackwright-rdma.conf")
KEPT = Path("/var/lib/rackwright/rdma.json")
UNIT = Path("/etc/systemd/system/rackwright-rdma.service")
INTERFACES = Path("/sys/class/net")
RDMA_CM = Path("/sys/kernel/config/rdma_cm")
CONF = Path("/proc/sys/net/ipv4/conf")
WITHIN_S = 120.0
"""For interfaces that come later than this unit."""
_EVERY_S = 1.0
_PREFIX = "05-rackwright-"
"""Before the file that a host was booted with."""
_HEAD = "# Written by rackwright.\n"
_LINK = _HEAD + "[Match]\nPath=pci-{pci}\n\n[Link]\nName={interface}\n"
_NETWORK = (
    _HEAD
    + """\
[Match]
Name={interface}

[Link]
MTUBytes={mtu}

[Network]
LinkLocalAddressing=no
IPv6AcceptRA=no
Address={address}

# An answer leaves by the interface that was asked.
[RoutingPolicyRule]
From={own}
Table={table}
Priority={table}

[Route]
Destination={network}
PreferredSource={own}
Scope=link
Table={table}
"""
)
ARP = {"arp_ignore": "1", "arp_announce": "2", "rp_filter": "2"}
"""Each interface answers for its own address alone, and several may be in one network (Linux, ip-sysctl)."""


def files(plan: Plan) -> dict[Path, str]:
    """Files of the system's own daemons."""
    found = {}
    for nic in plan["nics"]:
        values = {**nic, "own": nic["address"].partition("/")[0]}
        name = f"{_PREFIX}{nic['interface']}"
        found[NETWORKD / f"{name}.network"] = _NETWORK.format(**values)
        if nic["pci"]:
            found[NETWORKD / f"{name}.link"] = _LINK.format(**values)
    lines = [
        f"net.ipv4.conf.{nic['interface']}.{key} = {value}\n"
        for nic in plan["nics"]
        for key, value in ARP.items()
    ]
    return {**found, SYSCTL: _HEAD + "".join(lines)} if plan["nics"] else {}


def device(nic: Plan) -> str:
    """Name of the RDMA device of an interface; empty where it has none."""
    if nic["kind"] == "soft":
        return f"rxe_{nic['interface']}"
    folder = INTERFACES / nic["interface"] / "device" / "infiniband"
    return next((entry.name for entry in sorted(folder.iterdir())), "") if folder.is_dir() else ""


def links() -> dict[str, str]:
    """RDMA device → its network interface."""
    said = run("rdma", "--json", "link", "show")
    entries = json.loads(said.stdout or "[]") if said.returncode == 0 else []
    return {entry["ifname"]: entry.get("netdev", "") for entry in entries}


def pci(interface: str) -> str:
    """PCI address behind an interface; that of a virtio one is its parent's."""
    path = (INTERFACES / interface / "device").resolve()
    own = [part for part in path.parts if part.count(":") == 2]  # noqa: PLR2004 (domain:bus:device.function)
    return own[-1] if own else ""


def by_pci() -> dict[str, list[str]]:
    """PCI address → names that its interfaces have now: several with two ports, or in switchdev mode."""
    found: dict[str, list[str]] = {}
    for entry in sorted(INTERFACES.iterdir()):
        if (entry / "device").exists():
            found.setdefault(pci(entry.name), []).append(entry.name)
    return found


def leads_out(interface: str) -> bool:
    """Whether it has this host's default route: what a run comes in by, as a rule."""
    said = run("ip", "--json", "route", "show", "default", "dev", interface)
    return said.returncode == 0 and bool(json.loads(said.stdout or "[]"))


def addresses(interface: str) -> list[str]:
    """IPv4 addresses of an interface, with prefix length."""
    said = run("ip", "--json", "-4", "address", "show", "dev", interface)
    entries = json.loads(said.stdout or "[]") if said.returncode == 0 else []
    return [f"{one['local']}/{one['prefixlen']}" for entry in entries for one in entry.get("addr_info", [])]


def differences(plan: Plan, before: Plan) -> list[Difference]:
    """All that is not as planned, in files and live."""
    found = [
        Difference("file", str(path), "as planned", "absent" if not path.exists() else "something else")
        for path, text in files(plan).items()
        if text_of(path) != text
    ]
    found += [
        Difference("file", str(path), "absent", "there")
        for path in set(files(before)) - set(files(plan))
        if path.exists()
    ]
    there = links()
    for nic in plan["nics"]:
        found += _of_nic(nic, there)
    wanted = {device(nic) for nic in plan["nics"]}
    gone = {device(nic) for nic in before["nics"] if nic["kind"] == "soft"} - wanted
    return [
        *found,
        *(Difference("module", f"link {name}", "absent", "there") for name in sorted(gone & set(there))),
    ]


def _of_nic(nic: Plan, there: dict[str, str]) -> list[Difference]:
    interface = nic["interface"]
    if not (INTERFACES / interface).exists():
        return [Difference("state", interface, "an interface", "absent")]
    found = []
    live = [
        ("address", nic["address"], nic["address"] if nic["address"] in addresses(interface) else "another"),
        ("MTU", str(nic["mtu"]), read(INTERFACES / interface / "mtu")),
        ("PCI address", nic["pci"] or "", pci(interface) if nic["pci"] else ""),
        ("rule", str(nic["table"]), str(nic["table"]) if _has_rule(nic) else "absent"),
        ("RDMA link", interface, there.get(device(nic), "absent")),
        ("mark", str(nic["dscp"] << 2), tos(nic) or "unset"),
    ]
    found += [
        Difference("state", f"{interface} {name}", wanted, seen)
        for name, wanted, seen in live
        if wanted != seen
    ]
    return found + [
        Difference("sysctl", f"net.ipv4.conf.{interface}.{key}", value, read(CONF / interface / key))
        for key, value in ARP.items()
        if read(CONF / interface / key) != value
    ]


def _has_rule(nic: Plan) -> bool:
    own = nic["address"].partition("/")[0]
    said = run("ip", "--json", "-4", "rule", "show", "from", own)
    return any(str(rule.get("table")) == str(nic["table"]) for rule in json.loads(said.stdout or "[]"))


# --- what the kernel forgets at boot


def tos(nic: Plan) -> str:
    """Type of service that connections of a device have, from its mark."""
    return read(RDMA_CM / device(nic) / "ports" / "1" / "default_roce_tos")


def mark(nic: Plan) -> None:
    """Mark packets of a device's connections; the folder is there while somebody wants it."""
    must("modprobe", "rdma_cm")
    folder = RDMA_CM / device(nic)
    folder.mkdir(exist_ok=True)
    on_host.write(folder / "ports" / "1" / "default_roce_tos", str(nic["dscp"] << 2))


def soft_link(nic: Plan) -> None:
    """Make the link of soft RoCE."""
    there = links()
    name = device(nic)
    if there.get(name) not in (nic["interface"], None):
        must("rdma", "link", "delete", name)
    if there.get(name) != nic["interface"]:
        must("modprobe", "rdma_rxe")
        must("rdma", "link", "add", name, "type", "rxe", "netdev", nic["interface"])


def priority(nic: Plan) -> None:
    """Pause one priority instead of dropping it, and sort packets into it by their mark."""
    interface, wanted = nic["interface"], str(nic["priority"])
    must("dcb", "pfc", "set", "dev", interface, "prio-pfc", "all:off", f"{wanted}:on")
    must("dcb", "app", "replace", "dev", interface, "dscp-prio", f"{nic['dscp']}:{wanted}")
    for side in ("roce_np", "roce_rp"):
        enable = INTERFACES / interface / "ecn" / side / "enable" / wanted
        if enable.exists():
            on_host.write(enable, "1" if nic["ecn"] else "0")


def make(plan: Plan) -> None:
    """All of it."""
    for nic in plan["nics"]:
        if nic["kind"] == "soft":
            soft_link(nic)
        elif not device(nic):
            raise Refused(f"{nic['interface']}: its adapter has no RDMA device; hint: is its driver loaded?")
        else:
            priority(nic)
        mark(nic)


# --- the whole


def kept() -> Plan:
    """What we brought about last."""
    return on_host.kept(KEPT, {"nics": []})


def refuse_strange(plan: Plan) -> None:
    """Before anything is changed: each PCI address has one interface, and each name is free for it."""
    there = by_pci()
    given_up = {name for nic in plan["nics"] for name in there.get(nic["pci"], [])}
    for nic in (one for one in plan["nics"] if one["pci"]):
        names = there.get(nic["pci"], [])
        if not names:
            known = ", ".join(f"{address} ({', '.join(those)})" for address, those in sorted(there.items()))
            raise Refused(
                f"no interface at PCI address {nic['pci']} for {nic['interface']}; there are {known}"
            )
        if nic["interface"] not in given_up and (INTERFACES / nic["interface"]).exists():
            holder = pci(nic["interface"]) or "no PCI address"
            raise Refused(
                f"{nic['interface']} is the name of the interface at {holder}, expected it to be free for "
                f"that at {nic['pci']}; hint: see pci of the pool's fabric in the spec"
            )
        if nic["interface"] not in names:
            refuse_to_rename(nic, names)


def refuse_to_rename(nic: Plan, names: list[str]) -> None:
    """One that cannot be told from others, or that this host is reached by, keeps its name."""
    if len(names) > 1:
        raise Refused(
            f"{nic['pci']} has {len(names)} interfaces ({', '.join(names)}), and which is {nic['interface']} "
            "cannot be told; nothing was changed; hint: name it by hand, and it is left so"
        )
    if leads_out(names[0]):
        raise Refused(
            f"{names[0]} at {nic['pci']} has this host's default route and would be taken down to become "
            f"{nic['interface']}; nothing was changed; hint: see pci of the pool's fabric in the spec"
        )


def misnamed(plan: Plan) -> dict[str, str]:
    """Name now → name planned, of interfaces whose PCI address is planned."""
    there = by_pci()
    wrong = [nic for nic in plan["nics"] if nic["pci"] and nic["interface"] not in there[nic["pci"]]]
    return {there[nic["pci"]][0]: nic["interface"] for nic in wrong}


def rename(plan: Plan) -> None:
    """Give interfaces their names; a file of udev does so only when a device appears, which is at boot.

    Two that have one another's name get one in between, by which their PCI address still finds them: also the
    next run, where this one is cut off.
    """
    names = misnamed(plan)
    taken = {entry.name for entry in INTERFACES.iterdir()} | {nic["interface"] for nic in plan["nics"]}
    free = (name for number in count() if (name := f"rw{number}") not in taken)
    between = {now: next(free) for now in sorted(names)}
    for now, name in between.items():
        must("ip", "link", "set", "dev", now, "down")
        must("ip", "link", "set", "dev", now, "name", name)
    for now, wanted in names.items():
        must("ip", "link", "set", "dev", between[now], "name", wanted)


def ours(before: Plan) -> Plan:
    """What we brought about last, and what a run that was cut off may have begun."""
    return {"nics": [*before["nics"], *before.get("coming", [])]}


def bring(plan: Plan, before: Plan) -> None:
    """Bring all about."""
    for path in set(files(before)) - set(files(plan)):
        path.unlink(missing_ok=True)
    for path, text in files(plan).items():
        if text_of(path) != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    gone = {device(nic) for nic in before["nics"] if nic["kind"] == "soft"} - {
        device(nic) for nic in plan["nics"]
    }
    for name in sorted(gone & set(links())):
        must("rdma", "link", "delete", name)
    rename(plan)
    must("networkctl", "reload")
    for nic in plan["nics"]:
        must("networkctl", "reconfigure", nic["interface"])
    await_addresses(plan)
    if plan["nics"]:
        must("sysctl", "--quiet", "--load", str(SYSCTL))
    make(plan)


def await_addresses(plan: Plan) -> None:
    """Wait for networkd."""
    ends = time.monotonic() + WITHIN_S
    for nic in plan["nics"]:
        while nic["address"] not in addresses(nic["interface"]):
            if time.monotonic() > ends:
                raise Refused(
                    f"{nic['interface']}: no address {nic['address']}; see journalctl -u systemd-networkd"
                )
            time.sleep(_EVERY_S)


def apply(asked: Plan) -> Plan:
    """One converge, or one look."""
    if asked.get("gone"):
        return be_gone(check=asked["check"])
    plan, before = asked["plan"], kept()
    refuse_strange(plan)
    found = differences(plan, ours(before))
    if before != plan or not KEPT.exists():
        found.append(Difference("state", str(KEPT), "what is planned", "something else"))
    if found and not asked["check"]:
        on_host.keep(KEPT, {**before, "coming": plan["nics"]})
        bring(plan, ours(before))
        on_host.keep(KEPT, plan)
    return told(found)


def be_gone(*, check: bool) -> Plan:
    """A host without such interfaces: all that is ours goes, the note last."""
    found = on_host.gone(UNIT, KEPT)
    answer = apply({"plan": {"nics": []}, "check": check}) if KEPT.exists() else told([])
    if found and not check:
        on_host.forget(UNIT.name, UNIT, note=KEPT)
    return {name: answer[name] + told(found)[name] for name in answer}


def restore() -> None:
    """At boot."""
    await_addresses(kept())
    make(kept())


def main(arguments: list[str]) -> int:
    """Apply, or restore."""
    if arguments != ["--restore"]:
        return on_host.answer(apply)
    try:
        restore()
    except (OSError, Refused) as error:
        sys.exit(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
