"""Programs of roles as modules, and doubles of the programs that they run on a host."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

from rackwright import paths

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


SHARED = ("on_host", "mounts", "nvme_paths", "served_devices")
"""Modules of programs, those that others import first."""


def load(role: str, name: str) -> ModuleType:
    """A program, with the modules that it imports as new as itself."""
    folder = paths.repository() / "roles" / role / "files"
    for shared in SHARED if name not in SHARED else SHARED[: SHARED.index(name)]:
        if (folder / f"{shared}.py").exists():
            sys.modules[shared] = _loaded(folder, shared)
    return _loaded(folder, name)


def _loaded(folder: Path, name: str) -> ModuleType:
    path = folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"program_{name}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Host:
    """Doubles of the host's programs, in a folder that is first on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def program(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.folder}/calls\n{text}\n')
        path.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().replace(f"{self.folder}/", "").splitlines() if path.exists() else []

    def systemd(self, units: Path) -> Path:
        """A systemd that knows mounts: one that is mounted stays as it is when its unit's text changes.

        Returns:
            Folder of what is mounted: name of each unit, with its device; ``NAME.busy`` keeps one from going.
        """
        state = self.folder / "mounted"
        state.mkdir()
        self.program("systemctl", _SYSTEMCTL.format(units=units, state=state))
        self.program("systemd-escape", 'echo "$(basename "$3").${2#--suffix=}"')
        self.program(
            "findmnt",
            f'for place; do :; done; cat "{state}/$(basename "$place").mount" 2>/dev/null || exit 1',
        )
        return state

    def lvm(self) -> Path:
        """An LVM with one group, and what is made on its one volume.

        Returns:
            Folder of what there is: ``pv`` and ``vg`` with drives, ``lv`` with its layout, ``fs``.
        """
        state = self.folder / "lvm"
        state.mkdir()
        for name, text in _LVM.items():
            self.program(name, f"cd {state}\n{text}")
        return state


_LVM = {
    "pvs": """\
for last; do :; done
case "$*" in
    *vg_name=*) cat vg 2>/dev/null;;
    *) grep -qx "$last" pv || exit 5; grep -qsx "$last" vg && echo rackwright_scratch; true;;
esac
""",
    "pvcreate": 'for one; do case "$one" in -*) ;; *) echo "$one" >> pv;; esac; done',
    "vgcreate": 'for one; do case "$one" in /*) echo "$one" >> vg;; esac; done',
    "lvcreate": '[ ! -e lv ] || exit 5; case "$*" in *striped*) echo striped;; *) echo linear;; esac > lv',
    "lvs": """\
[ -e lv ] || exit 5
case "$*" in
    *lv_active*) [ -e inactive ] || echo "  active";;
    *) if grep -q linear lv; then while read -r _; do cat lv; done < vg; else cat lv; fi;;
esac
""",
    "mkfs.ext4": "echo ext4 > fs",
    "mkfs.xfs": "echo xfs > fs",
    "blkid": """\
for last; do :; done
case "$last" in
    /dev/rackwright_scratch/*) [ -e fs ] && echo "TYPE=$(cat fs)" || exit 2;;
    *) grep -qsx "$last" pv && echo TYPE=LVM2_member || exit 2;;
esac
""",
}
_SYSTEMCTL = """\
for name; do :; done
case "$1" in
    is-active) if [ -e "{state}/$name" ]; then echo active; else echo inactive; exit 3; fi;;
    is-enabled) if [ -e "{state}/$name.enabled" ]; then echo enabled; else echo disabled; exit 1; fi;;
    enable)
        touch "{state}/$name.enabled"
        [ -e "{state}/$name" ] || readlink -m "$(sed -n s/^What=//p "{units}/$name")" > "{state}/$name";;
    disable)
        [ ! -e "{state}/$name.busy" ] || {{ echo 'Job failed' >&2; exit 1; }}
        rm -f "{state}/$name" "{state}/$name.enabled";;
esac
"""
