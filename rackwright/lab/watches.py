"""The inotify instances of this machine's root: the hosts of all labs share them.

The hosts' root is this machine's, as namespaces of users would forbid what hosts must do; so the limit
counts all of their systemd together. One instance too few, and a host dies at boot.
"""

from __future__ import annotations

from pathlib import Path

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
PER_HOST = 7
"""Of a booted host, its BMC and supervisor: 6 to 10 were counted on twenty hosts of several labs."""
_INSTANCE = "anon_inode:inotify"
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


def limit() -> int:
    """As many as root may have."""
    return int(LIMIT.read_text())


def used(processes: Path = Path("/proc")) -> int:
    """As many as root's processes have now; what ends meanwhile, or is hidden, is left out."""
    return sum(_of(folder) for folder in processes.iterdir() if folder.name.isdigit())


def _of(folder: Path) -> int:
    try:
        handles = list((folder / "fd").iterdir()) if folder.stat().st_uid == 0 else []
    except _GONE:
        return 0
    return sum(_is_instance(handle) for handle in handles)


def _is_instance(handle: Path) -> bool:
    try:
        return str(handle.readlink()) == _INSTANCE
    except _GONE:
        return False
