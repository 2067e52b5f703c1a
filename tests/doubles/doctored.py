"""A hall on loopback and a zone of AWS to which nothing is lacking, until a test takes something away."""

from __future__ import annotations

import json
import os
import shutil
from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.doctor.model import Ground
from rackwright.provision import keys
from rackwright.provision.aws import identity
from rackwright.provision.places import Folders
from tests.doubles.site import Site

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ACCOUNT = "123456789012"
_CLOUD = {
    "kind": "aws",
    "account": ACCOUNT,
    "region": "us-east-1",
    "zone_id": "use1-az1",
    "vpc": {"cidrs": ["10.98.0.0/24"]},
}
_POOL = {"site": "zone", "platform": "lab1.2rail", "nodes": {"static": 1}, "image": "cloud"}


def program(path: Path, script: str) -> None:
    """Put a program there that does no more than the script says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


class Hybrid(Site):
    """Its files are written, and no command is run on them."""

    open_files: ClassVar[list[int]] = []
    """Descriptors that a test holds, closed when the next one begins."""

    def plan(self) -> None:
        self.write()
        spec = json.loads(self.spec.read_text())
        spec["images"]["cloud"] = {"os": "debian-13", "ami": "ami-0123456789abcdef0"}
        spec["sites"]["zone"], spec["pools"]["burst"] = _CLOUD, _POOL
        self.spec.write_text(json.dumps(spec))

    def make_whole(self, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Give it all it needs: logins, an engine, its plugin, an account, a console server."""
        while self.open_files:
            os.close(self.open_files.pop())
        for bmc in self.hall.bmcs.values():
            bmc.fault, bmc.password = None, "secret"
        for left in (self.folder / "state", self.folder / "runs"):
            shutil.rmtree(left, ignore_errors=True)
        self.plan()
        monkeypatch.setenv("XDG_STATE_HOME", str(self.folder / "state"))
        monkeypatch.setattr(identity, "_account", lambda *_: ACCOUNT)
        monkeypatch.chdir(self.folder)
        program(programs / "pulumi", f"echo v{version('pulumi')}")
        program(programs / "pulumi-language-python", "true")
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        for folder in (self.plugin, self.state / "console"):
            folder.mkdir(parents=True)
        keys.passphrase_file(self.state / "secrets")
        keys.login_public_key(self.state / "secrets")

    @property
    def plugin(self) -> Path:
        return self.state / "pulumi" / "plugins" / f"resource-aws-v{version('pulumi-aws')}"

    def ground(self) -> Ground:
        folders = Folders(spec=self.folder, state=self.state)
        return Ground(open_cluster(self.spec).plan, folders, paths.runs(self.name))
