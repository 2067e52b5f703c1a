"""An example spec in one AWS zone, under a name and a backend of the test's own, against the emulated AWS."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import boto3  # type: ignore[import-untyped]  # (boto3 has no types)
from ruamel.yaml import YAML

from rackwright import paths
from tests.doubles.ec2 import KEY
from tests.doubles.site import SCRIPT, TIMEOUT_S
from tests.doubles.zone import Zone

if TYPE_CHECKING:
    from pathlib import Path

    from tests.doubles.ec2 import Cloud

SURROUNDINGS = ("aws-network", "aws-access")
"""Stacks whose outputs the nodes stand in."""


class ExampleZone(Zone):
    """What surrounds the nodes of an example is up; the nodes themselves are only previewed.

    File systems are left out, which no stack builds; a VPC that the example brings is made first.
    """

    def __init__(self, folder: Path, name: str, cloud: Cloud, example: str) -> None:
        self.example = example
        super().__init__(folder, name, cloud, {})
        for stack in SURROUNDINGS:
            self.run("up", "--yes", "--stack", stack)

    @property
    def site(self) -> str:
        (name,) = self.wanted["sites"]
        return str(name)

    @property
    def stack(self) -> str:
        return f"{self.name}-{self.site}"

    def previewed(self) -> list[dict[str, Any]]:
        """Inputs of the launch templates that a plain `pulumi preview` of the nodes would make."""
        shell = (
            f'eval "$({SCRIPT} env {self.spec})" && {SCRIPT} stacks init -q {self.spec} >&2'
            f" && pulumi preview --json --stack {self.stack}"
        )
        done = subprocess.run(
            ["sh", "-c", shell],
            cwd=paths.repository() / "stacks" / "aws-compute",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        steps = json.loads(done.stdout)["steps"]
        made = [step["newState"] for step in steps if "launchTemplate" in step["urn"]]
        return [one["inputs"] for one in sorted(made, key=lambda one: str(one["urn"]))]

    def _spec(self, nodes: object) -> dict[str, Any]:
        del nodes
        values: dict[str, Any] = YAML(typ="safe").load(
            paths.repository() / "clusters" / f"{self.example}.yaml"
        )
        values["cluster"]["name"] = self.name
        values.pop("storage", None)
        values["state"] = {"backend": "local"}
        (site,) = values["sites"].values()
        if "existing" in site["vpc"]:
            site["vpc"] = self._brought(site["region"])
        return values

    def _brought(self, region: str) -> dict[str, Any]:
        """A VPC that somebody else has made."""
        ec2 = boto3.client(
            "ec2",
            region_name=region,
            endpoint_url=self.cloud.url,
            aws_access_key_id=KEY,
            aws_secret_access_key="secret",  # noqa: S106 (a double's)
        )
        vpc = ec2.create_vpc(CidrBlock="10.72.0.0/16")["Vpc"]["VpcId"]
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.72.0.0/20")["Subnet"]["SubnetId"]
        return {"existing": vpc, "subnets": {"nodes": subnet}}
