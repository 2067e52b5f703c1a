"""`rackwright validate` on the run's lab: begun, gone on with, and what it says."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from rackwright.errors import UsageError
from rackwright.validate.evidence import load
from tests.roles.conftest import WITHIN_S

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.validate.model import Run
    from tests.roles.conftest import Site


def command(site: Site, *words: str, **environment: str) -> subprocess.Popen[str]:
    """A validation of the lab; the leader of a process group, as a shell makes it."""
    return subprocess.Popen(
        site.lab.command("validate", str(site.lab.spec), "--format", "json", *words),
        env=site.lab.environment | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )


def start(site: Site, folder: Path, *options: str) -> subprocess.Popen[str]:
    return command(site, "--out", str(folder), *options)


def verdicts(said: str) -> dict[str, str]:
    return {subject["name"]: subject["verdict"] for subject in json.loads(said)["subjects"]}


def finish(process: subprocess.Popen[str], code: int) -> dict[str, str]:
    """Verdict of each subject, once it has ended."""
    out, err = process.communicate(timeout=2 * WITHIN_S)
    assert process.returncode == code, out + err
    return verdicts(out)


def validate(site: Site, folder: Path, *options: str, code: int) -> dict[str, str]:
    """Verdict of each subject."""
    return finish(start(site, folder, *options), code)


def everything(nodes: tuple[str, ...]) -> dict[str, str]:
    rails = [f"{node}/r{rail}" for node in nodes for rail in range(2)]
    return dict.fromkeys(["hall", *nodes, *rails], "PASS")


def there(folder: Path) -> Run | None:
    """The run of a folder, as far as it is written."""
    try:
        return load(folder)
    except UsageError:
        return None
