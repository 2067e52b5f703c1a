"""What the operator's own machine must have: programs, the engine, plugins, room, keys that are its own."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit
from rackwright.lack import Lack
from rackwright.paths import LOGIN_KEY
from rackwright.provision.keys import public_half
from rackwright.provision.places import engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rackwright.doctor.model import Ground

_PACKAGES = {"ssh": "openssh-client", "bash": "bash"}
"""Program → its package in Debian and Ubuntu: Ansible, validations and plain `pulumi` start them."""
_PROJECTS = ("ansible-playbook", "ansible-runner")
"""Programs that lie beside this Python."""
_GIB = 1 << 30
_ROOM_GIB = 1
"""Plan, engine state, logs and the evidence of some runs; a run of a hundred nodes is tens of MiB."""
_WITHIN_S = 60
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def programs(_: Ground) -> Iterator[Lack]:
    """The programs that commands start are on PATH, and Ansible is beside this Python."""
    folder = Path(sys.executable).parent
    absent = [name for name in _PACKAGES if shutil.which(name) is None]
    if absent:
        needed = " ".join(sorted({_PACKAGES[name] for name in absent}))
        yield Lack(
            "DOC001",
            "programs are missing",
            f"no {', '.join(absent)}",
            "all of them on PATH",
            f"apt-get install {needed}",
        )
    if gone := [name for name in _PROJECTS if shutil.which(name, path=folder) is None]:
        yield Lack(
            "DOC002",
            "the Python environment is not complete",
            f"no {', '.join(gone)} in {folder}",
            "what rackwright depends on",
            "`make setup`, or install rackwright anew",
        )


def pulumi(_: Ground) -> Iterator[Lack]:
    """There is a Pulumi engine, no older than the SDK it works with."""
    try:
        folder = engine()
    except EnvironmentUnfit as error:
        yield Lack.of(error)
        return
    said, wanted = _output([str(folder / "pulumi"), "version"]), version("pulumi")
    if _numbers(said) < _numbers(wanted):
        yield Lack(
            "DOC003",
            "the Pulumi engine is too old, or does not run",
            said or "no version",
            f"{wanted} or newer, as the Python SDK is",
            f"update it, or take it off PATH: `make setup` brings one ({folder})",
            where=str(folder / "pulumi"),
        )


def _output(command: list[str], environment: dict[str, str] | None = None) -> str:
    """All that a command prints; what keeps it from running is a part of it."""
    try:
        done = subprocess.run(
            command,
            env=os.environ | (environment or {}) | {"PULUMI_SKIP_UPDATE_CHECK": "true"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout.strip() if done.returncode == 0 else f"exit status {done.returncode}: {done.stdout}"


def _numbers(text: str) -> tuple[int, ...]:
    """``v3.272.0`` as numbers; nothing else has any."""
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", text)
    return tuple(map(int, found.groups())) if found else ()


def aws_plugin(ground: Ground) -> Iterator[Lack]:
    """The engine has its AWS plugin, where the plan has a zone of AWS."""
    if not ground.plan.stacks.aws_network:
        return
    wanted = version("pulumi-aws")
    plugins = ground.folders.state / "pulumi" / "plugins"
    if not (plugins / f"resource-aws-v{wanted}").is_dir():
        there = ", ".join(sorted(one.name for one in plugins.glob("resource-aws-*"))) or "none"
        yield Lack(
            "DOC004",
            "the engine's plugin for AWS is missing: nothing is downloaded while stacks run",
            there,
            f"resource-aws-v{wanted}",
            'eval "$(rackwright env SPEC)", then: pulumi plugin install resource aws ' + wanted,
            where=str(plugins),
        )


def backend(ground: Ground) -> Iterator[Lack]:
    """The engine's state can be reached where the spec says it is."""
    if ground.plan.backend == "local":
        return
    with tempfile.TemporaryDirectory() as home:
        said = _output(
            [str(engine() / "pulumi"), "whoami", "--non-interactive"],
            {"PULUMI_BACKEND_URL": ground.plan.backend, "PULUMI_HOME": home},
        )
    if said.startswith("exit status") or not said:
        yield Lack(
            "DOC005",
            "the engine cannot open its state",
            said.splitlines()[-1] if said else "no answer",
            f"a bucket or folder that this user may write to: {ground.plan.backend}",
            "make the bucket, log in to its cloud, or correct state.backend in the spec",
            where="state.backend",
        )


def room(ground: Ground) -> Iterator[Lack]:
    """State and evidence can be written, and there is room for them."""
    for folder in (ground.folders.state, ground.runs):
        there = next(path for path in (folder, *folder.parents) if path.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            yield _closed(there)
        elif (free := shutil.disk_usage(there).free / _GIB) < _ROOM_GIB:
            yield Lack(
                "DOC007",
                "the disk is nearly full",
                f"{free:.1f} GiB free",
                f"{_ROOM_GIB} GiB",
                "free some, or move the folder: XDG_STATE_HOME for state, another working folder for runs",
                where=str(there),
            )


def _closed(there: Path) -> Lack:
    return Lack(
        "DOC006",
        "a folder cannot be written to",
        f"no permission for user {os.geteuid()}" if there.is_dir() else "no folder",
        "a folder of this user",
        "correct its owner, or set XDG_STATE_HOME; run validations in a folder of your own",
        where=str(there),
    )


def keys(ground: Ground) -> Iterator[Lack]:
    """What rackwright made itself is readable by this user, and by nobody else."""
    folder = ground.folders.secrets
    for path in sorted(folder.glob("*")) if folder.is_dir() else ():
        if path.suffix != ".pub" and path.stat().st_mode & _OTHERS:
            yield Lack(
                "DOC008",
                "others can read a secret",
                stat.filemode(path.stat().st_mode),
                "-rw-------",
                f"chmod 600 {path}; then think of who may have read it",
                where=str(path),
            )
    if (folder / LOGIN_KEY).exists():
        yield from refused(lambda: public_half(folder / LOGIN_KEY))


def refused(work: Callable[[], object], hint: str = "") -> Iterator[Lack]:
    """What keeps a piece of work from being done."""
    try:
        work()
    except EnvironmentUnfit as error:
        yield Lack.of(error, hint=hint)
