"""A lab stands on machines that are made otherwise than this one."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab

ONE_TREE = "umount --lazy /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup"
NEW_RUN = "mount -t tmpfs tmpfs /run && mkdir /run/mount"
"""As after a boot: mount(8) has been there, nobody else."""


@contextmanager
def _machine(change: str) -> Iterator[tuple[str, ...]]:
    """What a command is to be run in for a machine that is changed so: a mount namespace."""
    program = f"{change} && echo ready && exec sleep 600"
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", program], stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"ready\n"
            yield "nsenter", f"--mount=/proc/{holder.pid}/ns/mnt", f"--wdns={Path.cwd()}"
        finally:
            holder.kill()


def _found(within: tuple[str, ...], *words: str) -> list[str]:
    done = subprocess.run([*within, "find", *words], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_control_groups_may_be_one_tree(small_lab: Lab) -> None:
    with _machine(ONE_TREE) as within:
        lab = replace(small_lab, within=within)
        lab.up()
        try:
            lab.rackwright("plan", str(lab.spec))
            lab.prepare()
            lab.boot("head-001", "node-001")
            assert lab.ssh("node-001", "systemctl is-system-running") == "running"
            assert lab.ssh("node-001", "stat -f -c %T /sys/fs/cgroup") == "cgroup2fs"
            lab.reset("node-001", "ForceOff")
            assert lab.states() == {"head-001": "on", "node-001": "off"}
        finally:
            lab.down()
        assert _found(within, "/sys/fs/cgroup", "-name", lab.name) == []


def test_a_machine_that_never_had_a_namespace_or_a_systemd_has_none_after_the_lab(small_lab: Lab) -> None:
    with _machine(NEW_RUN) as within:
        lab = replace(small_lab, within=within)
        lab.up()
        try:
            lab.reset("node-001", "On")
            assert lab.states()["node-001"] in {"booting", "on"}
            assert {"/run/netns", "/run/rackwright", "/run/systemd"} <= set(_found(within, "/run"))
        finally:
            lab.down()
        assert _found(within, "/run") == ["/run", "/run/mount"]
