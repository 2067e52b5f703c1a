"""What the pages show of a lab, on a lab: each command succeeds and prints what is shown."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from tests.doubles.transcript import Block, blocks, shows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.hosts.lab import Lab
    from tests.roles.conftest import Site

pytestmark = [pytest.mark.lab, pytest.mark.engine]

_ALL = [*paths.repository().glob("*.md"), *paths.repository().glob("docs/**/*.md")]
PAGES = sorted(page for page in _ALL if any(block.mark == "lab" for block in blocks(page)))
WITHIN_S = 1200
_END = "@@ ended with "


def _meant(text: str, lab: Lab) -> str:
    """The page's lab is the example's; the test's has another name, range and state."""
    return (
        re.sub(r"(rackwright lab fault .*)", rf"\1 --lab {lab.name}", text)
        .replace("rackwright lab status\n", f"rackwright lab status {lab.name}\n")
        .replace("rackwright lab ssh ", f"rackwright lab ssh --spec {lab.spec} ")
        .replace("clusters/lab.yaml", str(lab.spec))
        .replace("clusters/lab-hybrid.yaml", str(lab.spec))
        .replace("~/.local/state/rackwright/lab-hybrid", str(lab.places.state))
        .replace("~/.local/state/rackwright/lab", str(lab.places.state))
        .replace("lab-hybrid-hall", f"{lab.name}-hall")
        .replace("onprem/lab-hall", f"onprem/{lab.name}-hall")
        .replace("lab: 4 of 4", f"{lab.name}: 4 of 4")
        .replace("10.77.", f"{lab.prefix}.")
    )


def _outputs(commands: list[str], lab: Lab) -> list[tuple[int, str]]:
    """Run commands one after the other in one shell, each with its exit status and all it prints."""
    script = "".join(f"{command}\nprintf '\\n{_END}%s\\n' $?\n" for command in commands)
    engine = paths.cache() / "engine" / "current"
    environment = lab.environment | {
        "PATH": f"{Path(sys.executable).parent}:{engine}:{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
    }
    ran = subprocess.run(
        ["bash", "-c", script],
        stdin=subprocess.DEVNULL,
        cwd=paths.repository(),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        timeout=WITHIN_S,
    )
    parts = re.split(rf"\n{_END}(\d+)\n", ran.stdout)
    return [(int(status), _whole(output)) for output, status in zip(parts[::2], parts[1::2], strict=False)]


def _whole(output: str) -> str:
    return output if output.endswith("\n") or not output else f"{output}\n"


def _steps(block: Block, lab: Lab) -> list[tuple[str, str]]:
    """Commands with what is shown for them; a script is one command of which nothing is shown."""
    if block.language == "sh":
        return [(_meant(block.text, lab), "…\n")]
    return [(_meant(f"{command}\n", lab).rstrip(), _meant(shown, lab)) for command, shown in block.steps()]


@pytest.fixture(scope="module")
def converged(site: Site) -> Iterator[Lab]:
    """The lab after all stages of `make lab` but the last; what commands write into the checkout goes."""
    lab = site.lab
    lab.rackwright("up", str(lab.spec), "--yes")
    site.await_idle()
    yield lab
    (paths.repository() / "stacks" / "onprem" / f"Pulumi.{lab.name}-hall.yaml").unlink(missing_ok=True)
    shutil.rmtree(paths.repository() / "runs" / lab.name, ignore_errors=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_commands_do_what_the_page_shows(page: Path, converged: Lab) -> None:
    steps = [step for block in blocks(page) if block.mark == "lab" for step in _steps(block, converged)]
    outputs = _outputs([command for command, _ in steps], converged)
    assert len(outputs) == len(steps)
    for (command, shown), (status, output) in zip(steps, outputs, strict=True):
        assert status == 0, f"$ {command}\n{output}"
        assert shows(shown, output), f"$ {command}\n{output}"
