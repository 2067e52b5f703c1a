"""A lab stands on both layouts of control groups, whichever of them this machine has."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab

ONE_TREE = """
umount --lazy /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && echo ready && exec sleep 600
"""


@pytest.fixture
def one_tree() -> Iterator[tuple[str, ...]]:
    """How to run in a mount namespace whose control groups are version 2 alone."""
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", ONE_TREE], stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"ready\n"
            yield "nsenter", f"--mount=/proc/{holder.pid}/ns/mnt", f"--wdns={Path.cwd()}"
        finally:
            holder.kill()


def test_hosts_boot_and_go_where_there_is_one_tree(small_lab: Lab, one_tree: tuple[str, ...]) -> None:
    lab = replace(small_lab, within=one_tree)
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
    look = ["find", "/sys/fs/cgroup", "-name", lab.name]
    assert subprocess.run([*one_tree, *look], capture_output=True, check=True).stdout == b""
