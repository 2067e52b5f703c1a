"""Faults of a host's services: one is killed and does not come back, or has another key than the rest."""

from __future__ import annotations

from hashlib import sha512
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, ClassVar

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import rootfs
from rackwright.lab.faults.files import FilesFault
from rackwright.lab.faults.subjects import SubjectKind
from rackwright.lab.rootfs import Content

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rackwright.lab.faults.fault import Planted, Stage

_BROKEN = b"[Service]\nType=oneshot\nExecStart=\nExecStart=/bin/false\nRestart=no\n"
_MUNGE_KEY = PurePosixPath("etc/munge/munge.key")


class Broken(FilesFault):
    """A service that is killed and fails whenever somebody starts it."""

    kind = SubjectKind.HOST
    unit: ClassVar[str]
    role: ClassVar[str]
    """Of the hosts that run it."""

    def prepare(self, stage: Stage, subject: str) -> Planted:
        """Only where it runs can it break."""
        if self.role not in stage.world.host(subject).roles:
            raise EnvironmentUnfit(
                f"{self.unit} does not run there",
                code="LAB026",
                where=subject,
                got=f"roles {', '.join(stage.world.host(subject).roles) or 'none'}",
                expected=self.role,
            )
        return super().prepare(stage, subject)

    def files(self, root: Path) -> Mapping[PurePosixPath, Content]:
        """A setting that comes after all others."""
        del root
        return {PurePosixPath(f"etc/systemd/system/{self.unit}.d/99-broken.conf"): Content(_BROKEN)}

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Lay it, and kill what runs."""
        super().plant(stage, planted)
        stage.hosts.run(planted.subject, "systemctl", "daemon-reload")
        script = f"systemctl kill --signal=KILL {self.unit}; systemctl stop {self.unit}"
        stage.hosts.run(planted.subject, "sh", "-c", script)

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Put back what was there, and start it where it starts at boot."""
        super().clear(stage, planted)
        script = (
            f"systemctl daemon-reload; systemctl reset-failed {self.unit};"
            f" if systemctl is-enabled --quiet {self.unit}; then systemctl start {self.unit}; fi"
        )
        stage.hosts.run(planted.subject, "sh", "-c", script)


class DatabaseDown(Broken):
    """The database of accounting has crashed, and crashes again whenever it is started."""

    name = "database-down"
    unit = "mariadb.service"
    role = "slurmdbd"
    does = "MariaDB is killed and does not start any more"
    shows = "nothing: jobs run without it; `converge` says that it does not start"


class ControllerKilled(Broken):
    """slurmctld has crashed, and crashes again whenever it is started."""

    name = "controller-killed"
    unit = "slurmctld.service"
    role = "slurm-controller"
    does = "slurmctld is killed and does not start any more"
    shows = "nothing: `validate` says that Slurm does not answer"


class MungeKey(FilesFault):
    """A host that was installed with another key than the cluster's."""

    name = "munge-key"
    kind = SubjectKind.HOST
    does = "munged has another key than the other hosts"
    shows = "ERROR of that node and its rails: Slurm does not hear of it"

    def files(self, root: Path) -> Mapping[PurePosixPath, Content]:
        """Another key, always the same, of the size that munge makes."""
        before = rootfs.read(root, _MUNGE_KEY)
        if before is None:
            raise EnvironmentUnfit(
                "a host without a munge key cannot have another one",
                code="LAB027",
                where=f"/{_MUNGE_KEY}",
                hint="`rackwright converge` lays it",
            )
        other = b"".join(sha512(b"%d" % number).digest() for number in range(2))
        return {_MUNGE_KEY: Content(other, before.mode, before.owner)}

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Lay it, and let munged read it."""
        super().plant(stage, planted)
        stage.hosts.run(planted.subject, "systemctl", "try-restart", "munge.service")

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Put the right one back, and let munged read it."""
        super().clear(stage, planted)
        stage.hosts.run(planted.subject, "systemctl", "try-restart", "munge.service")
