#!/usr/bin/python3
"""Counters of this host's ports around a load: ``counters.py --run RUN --before FILE``, then ``--after``.

Lines of ``rackwright/counters/1``. Before: all counters are read once, kept in FILE on this host, and one
line of kind ``begun`` says of how many ports. After: they are read again, and both samples of each port are
kept and printed, so that one output tells all. Who asks for them once more, because that output was cut off,
is told the same; FILE stays until the next run begins, and is of no use to another one. Meanwhile
`watch.py` adds up for how long each port has no link (``down_s``), where it can be started as a unit of
systemd. Ports are those of RDMA devices, EFA's among them (/sys/class/infiniband), of network interfaces that
are named, and LNet as a whole. Each counter is read twice in all: reading those of some NICs makes their
driver write to the kernel's log (leptonai/gpud#1164).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import watch
from sealed import host, refuse, tell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NotRequired, TypedDict

    Sample = dict[str, object]

    class Kept(TypedDict):
        """What stays on this host."""

        run: str
        before: list[Sample]
        after: NotRequired[list[Sample]]


SCHEMA = "rackwright/counters/1"
FOLDERS = ("counters", "hw_counters")
LNET = Path("kernel/debug/lnet/stats")
"""Below /sys; for root alone."""
GAUGES = frozenset({"msgs_alloc"})
"""Numbers among counters that go down, too."""
SUDO_S = 10
NET = frozenset(
    {
        *("rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped", "rx_crc_errors"),
        "carrier_down_count",
    }
)
"""Of an interface; its other statistics are parts of these."""
WATCHED_S = 86400
"""A watch that nobody asks ends by itself."""
LNET_NAMES = (
    *("msgs_alloc", "msgs_max", "errors", "send_count", "recv_count", "route_count", "drop_count"),
    *("send_length", "recv_length", "route_length", "drop_length"),
)
"""Of the one line of LNet's statistics (Lustre, lnet/lnet/router_proc.c)."""


def main(arguments: list[str]) -> None:
    """Read the counters; print what is known of them by now."""
    options = argparse.ArgumentParser()
    options.add_argument("--run", default="")
    options.add_argument("--before", type=Path)
    options.add_argument("--after", type=Path)
    options.add_argument("--sys", type=Path, default=Path("/sys"))
    options.add_argument("interfaces", nargs="*")
    asked = options.parse_args(arguments)
    if (asked.before is None) == (asked.after is None):
        refuse(SCHEMA, "either --before or --after must be given")
    if asked.before is not None:
        begin(asked.run, asked.before, asked.sys, asked.interfaces)
    else:
        compare(asked.run, asked.after, asked.sys, asked.interfaces)


def begin(run: str, file: Path, root: Path, interfaces: list[str]) -> None:
    """Keep the first samples, and have ports watched from here on; one that is watched was not down yet."""
    file.unlink(missing_ok=True)
    watch.ask(str(file))
    now = samples(root, interfaces)
    first = dict.fromkeys(watch.ports(root, interfaces) if watching(file, root, interfaces) else (), 0.0)
    keep(file, {"run": run, "before": [{**one, **_down(one, first)} for one in now]})
    tell(SCHEMA, "begun", host=host(), ports=len(now))


def watching(file: Path, root: Path, interfaces: list[str]) -> bool:
    """Start the watch outside of this step, which ends before the load begins."""
    program = Path(__file__).with_name("watch.py")
    unit = ("--quiet", "--collect", f"--uid={os.getuid()}", f"--property=RuntimeMaxSec={WATCHED_S}")
    started = ("sudo", "-n", "systemd-run", *unit, "--service-type=exec", sys.executable, str(program))
    words = [*started, "--sys", str(root), str(file), *interfaces]
    try:
        done = subprocess.run(words, capture_output=True, check=False, timeout=SUDO_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _down(sample: Sample, told: dict[str, float]) -> Sample:
    """Seconds without a link of the port of a sample, where somebody watched it."""
    name = f"{sample['device']}/{sample['port']}"
    return {"down_s": told[name]} if name in told else {}


def compare(run: str, file: Path, root: Path, interfaces: list[str]) -> None:
    """Print both samples of each port; the second ones are kept before who watched is let go."""
    kept = known(run, file)
    with watch.asked(str(file)) as told:
        if "after" not in kept:
            kept["after"] = [{**one, **_down(one, told)} for one in samples(root, interfaces)]
            keep(file, kept)
    if sum("down_s" in one for one in kept["before"]) > sum("down_s" in one for one in kept["after"]):
        refuse(SCHEMA, "who watched its ports is gone: the host was restarted, or the watch was ended")
    for one in (*kept["before"], *kept["after"]):
        tell(SCHEMA, "sample", host=host(), **one)


def known(run: str, file: Path) -> Kept:
    """What is kept of a run."""
    try:
        kept: Kept = json.loads(file.read_text())
        is_ours = kept["run"] == run
    except (OSError, ValueError, TypeError, KeyError) as error:  # also what an earlier release kept
        refuse(SCHEMA, f"there is no first sample: {error}")
    if not is_ours:
        refuse(SCHEMA, "the first sample is of another run")
    return kept


def keep(file: Path, kept: Kept) -> None:
    """Write a file in one step: whoever is cut off in it leaves the old one."""
    new = file.with_name(f".{file.name}.new")
    new.write_text(json.dumps(kept))
    new.replace(file)


def samples(root: Path, interfaces: list[str]) -> list[Sample]:
    """All counters of all ports, now."""
    ports = [*rdma(root), *net(root, interfaces), *lnet(root)]
    found: list[Sample] = [
        {"device": device, "port": port, "at_s": time.monotonic(), "values": values}
        for device, port, folders in ports
        if (values := read(folders))
    ]
    if not found:
        refuse(SCHEMA, "this host has no port whose counters can be read")
    return [{**one, "ports": len(found)} for one in found]


def rdma(root: Path) -> Iterator[tuple[str, int, list[Path]]]:
    """Ports of RDMA devices."""
    for port in sorted(root.glob("class/infiniband/*/ports/*")):
        yield port.parts[-3], int(port.name), [port / folder for folder in FOLDERS]


def net(root: Path, interfaces: list[str]) -> Iterator[tuple[str, int, list[Path]]]:
    """Network interfaces that were named; how often the carrier went stands beside their statistics."""
    for name in interfaces:
        place = root / "class" / "net" / name
        yield name, 0, [*(place / "statistics" / one for one in sorted(NET)), place / "carrier_down_count"]


def lnet(root: Path) -> Iterator[tuple[str, int, list[Path]]]:
    """LNet, where this host has it."""
    if (root / "module" / "lnet").is_dir():
        yield "lnet", 0, [root / LNET]


def read(places: list[Path]) -> dict[str, int]:
    """Counters of one port; one that cannot be read, or is no number from 0 on, is left out."""
    found: dict[str, int] = {}
    for file in (
        one for place in places for one in (sorted(place.iterdir()) if _is_folder(place) else [place])
    ):
        with contextlib.suppress(OSError, ValueError):
            words = text(file).split()
            names = LNET_NAMES if len(words) > 1 else (file.name,)
            found.update(zip(names, map(int, words), strict=True))
    return {name: value for name, value in found.items() if value >= 0 and name not in GAUGES}


def text(file: Path) -> str:
    """A file, by sudo where it is root's alone.

    Raises:
        OSError: it cannot be read.
    """
    try:
        return file.read_text()
    except PermissionError:
        words = ["sudo", "-n", "cat", str(file)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=SUDO_S)
        return done.stdout


def _is_folder(place: Path) -> bool:
    try:
        return place.is_dir()
    except PermissionError:
        return False


if __name__ == "__main__":
    main(sys.argv[1:])
