"""Where the engine and its settings are, for one cluster: the environment of every `pulumi` we run."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright import __version__, canonical, paths
from rackwright.errors import EnvironmentUnfit
from rackwright.provision.keys import passphrase_file

if TYPE_CHECKING:
    from rackwright.plan.model import Plan

LAUNCHER = "pulumi-resource-rackwright"
_HOST = "pulumi-language-python"

_OFFLINE = {
    "PULUMI_SKIP_UPDATE_CHECK": "true",
    "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    "PULUMI_DISABLE_REGISTRY_RESOLVE": "true",
    "PULUMI_CREDENTIAL_STORE": "plaintext",
    "PULUMI_ERROR_OUTPUT_STRING": "true",
    "PULUMI_CONTINUE_ON_ERROR": "true",
}
"""Nothing is asked of the network, and no failing host set stops another."""


def engine() -> Path:
    """The folder of `pulumi` and its Python host: those on PATH, else those that set-up built.

    Raises:
        EnvironmentUnfit: neither is there.
    """
    on_path = shutil.which("pulumi")
    if on_path and shutil.which(_HOST):
        return Path(on_path).parent
    built = paths.cache() / "engine" / "current"
    if (built / "pulumi").is_file() and (built / _HOST).is_file():
        return built
    raise EnvironmentUnfit(
        "there is no Pulumi engine",
        code="ENV005",
        where=f"PATH, {built}",
        got="no `pulumi` with its Python language host",
        expected="Pulumi's command line, or the one that set-up builds",
        hint="make setup",
    )


@dataclass(frozen=True, slots=True)
class Folders:
    """Folders of one cluster.

    Args:
        spec: what ``file:`` references are relative to.
        state: what ``state:`` references are relative to.
    """

    spec: Path
    state: Path

    @property
    def plan(self) -> Path:
        """The plan that stacks read."""
        return self.state / "plan.json"

    @property
    def secrets(self) -> Path:
        """What rackwright makes itself."""
        return self.state / "secrets"


def environment(plan: Plan, state: Path) -> dict[str, str]:
    """What a `pulumi` for this cluster needs, on top of the environment it is started from."""
    home = state / "pulumi"
    path = [str(Path(sys.executable).parent), str(engine()), os.environ.get("PATH", os.defpath)]
    return {
        "PATH": os.pathsep.join(path),
        "PULUMI_HOME": str(home),
        "PULUMI_BACKEND_URL": _backend(plan.backend, state),
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase_file(state / "secrets")),
        **_OFFLINE,
    }


def _backend(backend: str, state: Path) -> str:
    if backend != "local":
        return backend
    folder = state / "engine"
    folder.mkdir(parents=True, exist_ok=True)
    return f"file://{folder}"


def install_plugin(folders: Folders) -> None:
    """Put the launcher of our provider where the engine looks for this version of it; it knows the folders.

    Never on PATH: the engine warns of every plugin it finds there.
    """
    folder = folders.state / "pulumi" / "plugins" / f"resource-rackwright-v{__version__}"
    launcher = folder / LAUNCHER
    options = shlex.join([f"--spec-folder={folders.spec}", f"--state-folder={folders.state}"])
    python = shlex.quote(sys.executable)
    script = f'#!/bin/sh\nexec {python} -I -W ignore -m rackwright.provision.server {options} "$@"\n'
    if not launcher.is_file() or launcher.read_bytes() != script.encode():
        canonical.write_atomic(launcher, script, mode=0o755)
