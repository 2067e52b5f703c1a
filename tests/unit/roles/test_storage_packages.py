"""Whatever a storage role's program runs, the role's own package list brings."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from bootstrap import image, packages
from rackwright import paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BROUGHT_BY = {
    "blkid": "util-linux",
    "findmnt": "util-linux",
    "lvcreate": "lvm2",
    "lvs": "lvm2",
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "modprobe": "kmod",
    "nvme": "nvme-cli",
    "pvcreate": "lvm2",
    "pvs": "lvm2",
    "ss": "iproute2",
    "vgcreate": "lvm2",
}
EVERYWHERE = {"systemctl", "systemd-escape", "udevadm"}
"""Of systemd, by which a host is a host of ours."""
SLURMS = {"squeue"}
"""Run by Slurm's own epilog."""


@pytest.mark.parametrize("role", ["nvmeof_target", "nvmeof_host", "local_nvme_cache"])
def test_every_program_that_is_run_comes_with_the_role(role: str) -> None:
    files = paths.repository() / "roles" / role / "files"
    listed = set(packages.names(files / f"packages.{image.SYSTEM}.txt"))
    run = {name for file in files.glob("*.py") for name in programs(file)} - EVERYWHERE - SLURMS
    if role == "nvmeof_target":
        assert "ss" in run, "what is run is found"
    assert {BROUGHT_BY[name] for name in run} <= listed


def programs(file: Path) -> Iterator[str]:
    """First words of what a module runs; a name that is made of a file system's is one for each of them."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("run", "must"):
            first = node.args[0]
            if isinstance(first, ast.Constant):
                yield str(first.value)
            elif isinstance(first, ast.JoinedStr):
                yield from ("mkfs.ext4", "mkfs.xfs")
