"""Stacks of a zone under Pulumi's mocks: every input that a program registers, without an engine."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi.runtime import mocks

from rackwright.provision.aws import ClusterAccess, ClusterCompute, ClusterNetwork, Surroundings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.plan.model import Plan


@dataclass(frozen=True, slots=True)
class Registered:
    """One resource."""

    type: str
    name: str
    inputs: Mapping[str, Any]


@dataclass
class _Recorder(mocks.Mocks):
    seen: list[Registered] = field(default_factory=list)

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.seen.append(Registered(args.typ, args.name, args.inputs))
        made = {"arn": f"arn:{args.name}", "latestVersion": 1, "name": args.name, "orphans": {}}
        return f"{args.name}-id", {**made, **args.inputs}

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        raise AssertionError(args.token)


NETWORK = {"vpc": "vpc-id", "subnet": "subnet-id", "node_group": "sg-id"}
ACCESS = {"node_profile": "nodes", "controller_profile": "controller", "controller_role": "arn:controller"}


def registered(plan: Plan, site: str) -> list[Registered]:
    """Resources of the three stacks of a zone, by type and name."""
    recorder = _Recorder()
    mocks.set_mocks(recorder, project="test", stack="test")
    with warnings.catch_warnings():
        # `pulumi_aws` warns of its own old names when it is first used.
        warnings.simplefilter("ignore", DeprecationWarning)
        pulumi.runtime.test(_programs)(plan, site)  # type: ignore[no-untyped-call]  # (it has no types)
    return sorted(recorder.seen, key=lambda one: (one.type, one.name))


def _programs(plan: Plan, site: str) -> pulumi.Output[Any]:
    stacks = plan.stacks
    around = Surroundings(pulumi.Output.from_input(NETWORK), pulumi.Output.from_input(ACCESS))
    return pulumi.Output.all(
        ClusterNetwork(site, stacks.aws_network[site]).outputs,
        ClusterAccess(site, stacks.aws_access[site]).outputs,
        ClusterCompute(site, stacks.aws_compute[site], around).outputs,
    )
