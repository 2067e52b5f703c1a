"""Faults of a management controller: it has another password, or a certificate that nobody here signed."""

from __future__ import annotations

import tempfile
from abc import abstractmethod
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.canonical import write_atomic
from rackwright.lab import authority, bmcs, logins
from rackwright.lab.authority import CERTIFICATE, KEY
from rackwright.lab.bmc_config import PASSWORDS
from rackwright.lab.faults.fault import Fault, Kept, Planted
from rackwright.lab.faults.subjects import SubjectKind
from rackwright.spec.credentials import Login

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.lab.faults.fault import Stage
    from rackwright.lab.model import Host

_MODE = 0o600


class BmcFiles(Fault):
    """Files of a controller, which reads them when it starts."""

    kind = SubjectKind.HOST
    breaks_bmc = True

    @abstractmethod
    def files(self, host: Host) -> Mapping[str, bytes]:
        """What to lay over its own, by name."""

    def prepare(self, stage: Stage, subject: str) -> Planted:
        """Keep what will be laid over."""
        folder, names = stage.world.places.bmc(subject), self.files(stage.world.host(subject))
        kept = [(name, b64encode((folder / name).read_bytes()).decode()) for name in names]
        return Planted(
            name=self.name,
            subject=subject,
            kept=tuple(Kept(path=name, base64=text, mode=_MODE) for name, text in kept),
        )

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Lay them, and start the controller anew."""
        self._lay(stage, planted.subject, self.files(stage.world.host(planted.subject)))

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Put its own back, and start the controller anew."""
        self._lay(stage, planted.subject, {kept.path: b64decode(kept.base64 or "") for kept in planted.kept})

    def repair(self, stage: Stage, planted: Planted) -> None:
        """Nothing: its files outlive it."""

    def _lay(self, stage: Stage, slot: str, files: Mapping[str, bytes]) -> None:
        for name, raw in files.items():
            write_atomic(stage.world.places.bmc(slot) / name, raw, mode=_MODE)
        bmcs.restart(stage.world, stage.world.host(slot))


class BmcPassword(BmcFiles):
    """A controller whose password somebody has changed."""

    name = "bmc-password"
    does = "its BMC has another password"
    shows = "nothing: `up` says that the BMC of that host refuses the login"

    def files(self, host: Host) -> Mapping[str, bytes]:
        """Another password, which nobody knows afterwards."""
        del host
        return {PASSWORDS: logins.hashed(Login(user=logins.USER, password=logins.random())).encode()}


class BmcCertificate(BmcFiles):
    """A controller that shows a certificate for its address which an authority of its own has signed."""

    name = "bmc-certificate"
    does = "its BMC shows a certificate of an authority that nobody here knows"
    shows = "nothing: `up` says that the certificate of that host's BMC is not trusted"

    def files(self, host: Host) -> Mapping[str, bytes]:
        """Key and certificate of a foreign authority."""
        with tempfile.TemporaryDirectory() as folder:
            theirs, served = Path(folder) / "ca", Path(folder) / "bmc"
            for made in (theirs, served):
                made.mkdir()
            authority.certify(served, host.bmc_address, authority.authority(theirs, "of somebody else"))
            return {name: (served / name).read_bytes() for name in (KEY, CERTIFICATE)}
