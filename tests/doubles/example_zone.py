"""An example spec in one AWS zone, under a name and a backend of the test's own: its nodes are previewed."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML

from rackwright import paths
from tests.doubles.mocked import ACCESS, NETWORK
from tests.doubles.site import SCRIPT, TIMEOUT_S
from tests.doubles.zone import Zone

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.doubles.ec2 import Cloud

SURROUNDINGS = {"aws-network": NETWORK, "aws-access": ACCESS}
"""Stacks whose outputs the nodes stand in → these outputs, the same as under mocks."""
_ROOT = "pulumi:pulumi:Stack"


class ExampleZone(Zone):
    """What surrounds the nodes is said to be up; nothing is launched, and nothing is asked of EC2.

    File systems are left out, which no stack builds.
    """

    def __init__(self, folder: Path, name: str, cloud: Cloud, example: str) -> None:
        self.example = example
        super().__init__(folder, name, cloud, {})
        for project, outputs in SURROUNDINGS.items():
            state = folder / f"{project}.json"
            state.write_text(json.dumps(_state(project, self.stack, outputs)))
            self.pulumi(project, "stack", "import", "--file", str(state))

    @property
    def site(self) -> str:
        (name,) = self.wanted["sites"]
        return str(name)

    @property
    def stack(self) -> str:
        return f"{self.name}-{self.site}"

    def pulumi(self, project: str, *words: str) -> str:
        """A plain `pulumi` in a project's folder; what it says."""
        shell = 'eval "$("$1" env "$2")" && "$1" stacks init -q "$2" >&2 && shift 2 && pulumi "$@"'
        done = subprocess.run(
            ["sh", "-c", shell, "-", str(SCRIPT), str(self.spec), *words, "--stack", self.stack],
            cwd=paths.repository() / "stacks" / project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def previewed(self) -> dict[str, dict[str, Any]]:
        """Pool → inputs of the launch template that a plain `pulumi preview` of the nodes would make."""
        steps = json.loads(self.pulumi("aws-compute", "preview", "--json"))["steps"]
        made = (step["newState"] for step in steps if "launchTemplate" in step["urn"])
        return {one["urn"].rpartition("::")[2]: one["inputs"] for one in made}

    def _spec(self, nodes: object) -> dict[str, Any]:
        del nodes
        values: dict[str, Any] = YAML(typ="safe").load(
            paths.repository() / "clusters" / f"{self.example}.yaml"
        )
        values["cluster"]["name"] = self.name
        values.pop("storage", None)
        values["state"] = {"backend": "local"}
        return values


def _state(project: str, stack: str, outputs: Mapping[str, str]) -> dict[str, Any]:
    """State of a stack that has these outputs, as `pulumi stack import` takes it."""
    root = {
        "urn": f"urn:pulumi:{stack}::{project}::{_ROOT}::{project}-{stack}",
        "custom": False,
        "type": _ROOT,
        "outputs": {"outputs": dict(outputs)},
    }
    manifest = {"time": "2026-11-28T00:00:00Z", "magic": "", "version": ""}
    return {"version": 3, "deployment": {"manifest": manifest, "resources": [root]}}
