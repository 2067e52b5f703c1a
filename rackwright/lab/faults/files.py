"""A fault that is files on a host's disk: laid over what is there, and that put back byte for byte."""

from __future__ import annotations

from abc import abstractmethod
from base64 import b64decode, b64encode
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rackwright.lab import rootfs
from rackwright.lab.faults import subjects
from rackwright.lab.faults.fault import Fault, Kept, Planted
from rackwright.lab.rootfs import Content

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rackwright.lab.faults.fault import Stage


class FilesFault(Fault):
    """Files on the disk of one host; they stay there when it reboots."""

    @abstractmethod
    def files(self, root: Path) -> Mapping[PurePosixPath, Content]:
        """What to lay, in that order, by path below the root.

        Args:
            root: of the host; to read, not to write.

        Raises:
            EnvironmentUnfit: this machine cannot make them.
        """

    def prepare(self, stage: Stage, subject: str) -> Planted:
        """Keep what will be laid over."""
        with stage.hosts.root(subjects.slot_of(subject)) as root:
            kept = tuple(_kept(root, path) for path in self.files(root))
        return Planted(name=self.name, subject=subject, kept=kept)

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Lay them."""
        with stage.hosts.root(subjects.slot_of(planted.subject)) as root:
            for path, content in self.files(root).items():
                rootfs.write(root, path, content)

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Put back what was there; what was laid last goes first."""
        with stage.hosts.root(subjects.slot_of(planted.subject)) as root:
            for kept in reversed(planted.kept):
                put_back(root, kept)


def _kept(root: Path, path: PurePosixPath) -> Kept:
    content = rootfs.read(root, path)
    if content is None:
        return Kept(path=str(path), base64=None, folders=rootfs.missing_folders(root, path))
    return Kept(
        path=str(path),
        base64=b64encode(content.raw).decode(),
        mode=content.mode,
        owner=content.owner or (0, 0),
    )


def put_back(root: Path, kept: Kept) -> None:
    """Make a file what it was."""
    path = PurePosixPath(kept.path)
    if kept.base64 is None:
        rootfs.remove(root, path)
        rootfs.remove_folders(root, path, kept.folders)
    else:
        rootfs.write(root, path, Content(b64decode(kept.base64), kept.mode, kept.owner))
