"""Paths to NVMe-oF subsystems: a host's plan in, what the kernel has and what it is told out.

Keys go to the kernel as nvme-cli hands them over, by /dev/nvme-fabrics, for a key on a command line is seen
by every process of the host. It lies beside nvmeof_host.py.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from on_host import Plan, must, read

if TYPE_CHECKING:
    from collections.abc import Callable

FABRICS = Path("/dev/nvme-fabrics")
CONTROLLERS = Path("/sys/class/nvme")
SUBSYSTEMS = Path("/sys/class/nvme-subsystem")
MODULES = {"tcp": "nvme-tcp", "rdma": "nvme-rdma"}
KEEP_ALIVE_S = 5
"""Of the kernel; a path that is silent for so long is lost."""


class Path_(NamedTuple):  # noqa: N801 (pathlib has the name)
    """One way to a subsystem."""

    nqn: str
    transport: str
    address: str
    service: str
    source: str = ""
    """Own address; empty where the kernel chooses."""

    @property
    def place(self) -> Path_:
        """What is at the other end, from wherever it is reached."""
        return self._replace(source="")


class Setting(NamedTuple):
    """An attribute of the kernel."""

    file: Path
    wanted: str
    name: str
    """As it is told."""
    secret: bool = False


# --- paths


def planned(plan: Plan) -> dict[Path_, Plan]:
    """Every path, to the connection it is of."""
    return {
        Path_(nqn, route["transport"], route["address"], str(route["service"]), route["source"] or ""): one
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
                address.get("host_traddr", ""),
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
    if path.source:
        words["host_traddr"] = path.source
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


def settings(plan: Plan, secret: Plan) -> list[Setting]:
    """Attributes of what is connected, as they are to be."""
    found, paths = [], planned(plan)
    for path, controller in connected().items():
        if (one := paths.get(path)) is not None:
            loss = "off" if one["loss_timeout_s"] < 0 else str(one["loss_timeout_s"])
            where = f"{one['target']} by {path.address}"
            found += [
                Setting(controller / "reconnect_delay", str(one["reconnect_s"]), f"{where} reconnect_delay"),
                Setting(controller / "ctrl_loss_tmo", loss, f"{where} ctrl_loss_tmo"),
            ]
            found += [
                Setting(controller / name, key, f"{where} {name}", secret=True)
                for name, key in keys(one, plan, secret).items()
                if key
            ]
    for folder in SUBSYSTEMS.glob("nvme-subsys*"):
        one = plan["subsystems"].get(read(folder / "subsysnqn"))
        if one is not None:
            found.append(Setting(folder / "iopolicy", one["policy"], f"{one['target']} iopolicy"))
    return found


def unset(plan: Plan, secret: Plan) -> list[Setting]:
    """Those that are otherwise; a kernel that does not know one has no file of that name."""
    return [one for one in settings(plan, secret) if read(one.file) not in (one.wanted, "")]


def keys(one: Plan, plan: Plan, secret: Plan) -> dict[str, str]:
    """Attribute of a path, to the key that it is to have there; empty for none."""
    own = secret.get(plan["identity"]["nqn"], {}) if one["authenticated"] else {}
    return {"dhchap_secret": own.get("host", ""), "dhchap_ctrl_secret": own.get("controller", "")}


def asks_otherwise(controller: Path, one: Plan, plan: Plan, secret: Plan) -> bool:
    """Whether a path was made with a key and is to have none, or without: no attribute changes that.

    ``none`` is what the kernel says of no key (Linux, drivers/nvme/host/sysfs.c).
    """
    for name, key in keys(one, plan, secret).items():
        found = read(controller / name)
        if found and (found != "none") != bool(key):
            return True
    return False
