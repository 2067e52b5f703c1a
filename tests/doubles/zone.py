"""A cluster of the test's own in one emulated AWS zone, run by the real commands and the real engine."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any, Self

from rackwright import paths
from rackwright.lab.aws.plugin.install import install
from rackwright.plan.aws_model import CLUSTER_TAG
from tests.doubles.ec2 import ACCOUNT, REGION, ZONE
from tests.doubles.room import leave_room
from tests.doubles.site import SCRIPT, TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tests.doubles.ec2 import Cloud

AMI = "ami-0123456789abcdef0"
PROJECTS = ("aws-network", "aws-access", "aws-compute")


class Zone:
    """Cluster of one pool `cnode` in zone `cloud`, planned.

    Args:
        folder: for the spec and for the state.
        name: of the cluster; stack settings lie in the checkout, so no two may share it.
        cloud: the emulated AWS.
        nodes: of the pool, as the spec has them.
        beside: parts of another spec (`sites`, `pools`, `images`) that are in this one too.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        cloud: Cloud,
        nodes: Mapping[str, Any],
        beside: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder, self.name, self.cloud = folder, name, cloud
        self.environment = {
            **os.environ,
            **cloud.environment(),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        self.wanted: dict[str, Any] = self._spec(nodes)
        for part, named in (beside or {}).items():
            self.wanted[part] |= named
        install(self.state / "pulumi", [cloud.url])
        self.plan()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for project in PROJECTS:
            settings = paths.repository() / "stacks" / project / f"Pulumi.{self.stack}.yaml"
            settings.unlink(missing_ok=True)

    @property
    def spec(self) -> Path:
        return self.folder / f"{self.name}.yaml"

    @property
    def state(self) -> Path:
        return self.folder / "state" / "rackwright" / self.name

    @property
    def stack(self) -> str:
        return f"{self.name}-cloud"

    @property
    def pool(self) -> dict[str, Any]:
        """Of the spec; to be changed before `plan`."""
        found: dict[str, Any] = self.wanted["pools"]["cnode"]
        return found

    def plan(self) -> None:
        """Write the spec as it now is, and plan."""
        self.spec.write_text(json.dumps(self.wanted))
        self.run("plan")

    def planned(self) -> dict[str, Any]:
        """The plan, as stacks read it."""
        plan: dict[str, Any] = json.loads((self.state / "plan.json").read_text())
        return plan

    def run(self, *words: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run one command to its end, and assert its exit code."""
        done = subprocess.run(
            [str(SCRIPT), words[0], str(self.spec), *words[1:]],
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Begin a command that a test will cut off."""
        return subprocess.Popen(
            [str(SCRIPT), words[0], str(self.spec), *words[1:]],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def stacks(self, *words: str, code: int = 0) -> dict[str, Any]:
        """Project → what a command's JSON answer says of its stack."""
        answer = json.loads(self.run(*words, "--format", "json", code=code).stdout)
        return {name.partition("/")[0]: entry for name, entry in answer["stacks"].items()}

    def latest(self, project: str) -> dict[str, Any]:
        """The engine's state of a stack, from its file; nothing where it was never made."""
        file = self.state / "engine" / ".pulumi" / "stacks" / project / f"{self.stack}.json"
        found: dict[str, Any] = json.loads(file.read_text())["checkpoint"].get("latest") or {}
        return found

    def resources(self, project: str) -> list[dict[str, Any]]:
        """Resources in it."""
        found: list[dict[str, Any]] = self.latest(project).get("resources") or []
        return found

    def instances(self, *states: str) -> dict[str, dict[str, Any]]:
        """Slot (or id, where it has none) → instance in some states; all that are not gone by default."""
        answer = self.cloud.client().describe_instances(
            Filters=[
                {"Name": "instance-state-name", "Values": list(states or ("pending", "running"))},
                {"Name": f"tag:{CLUSTER_TAG}", "Values": [self.name]},
            ]
        )
        found = [one for reservation in answer["Reservations"] for one in reservation["Instances"]]
        return {_tags(one["Tags"]).get("rackwright:slot", one["InstanceId"]): one for one in found}

    def room(self, instances: int) -> None:
        """There is capacity for so many more of the pool."""
        leave_room(self.cloud, "cnode", instances)

    def _spec(self, nodes: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "rackwright": 1,
            "cluster": {"name": self.name, "domain": "test.example"},
            "images": {"cloud": {"os": "debian-13", "ami": AMI}},
            "sites": {
                "cloud": {
                    "kind": "aws",
                    "account": ACCOUNT,
                    "region": REGION,
                    "zone_id": ZONE,
                    "vpc": {"cidrs": ["10.64.0.0/16"]},
                    "tags": {"owner": "ml"},
                }
            },
            "pools": {
                "cnode": {"site": "cloud", "platform": "lab1.2rail", "nodes": dict(nodes), "image": "cloud"}
            },
        }


def _tags(pairs: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {pair["Key"]: pair["Value"] for pair in pairs}
