"""The component of a stack `aws-compute`: a launch template and a node set for each pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi_aws import ec2

from rackwright import __version__
from rackwright.plan.aws_model import POOL_TAG
from rackwright.provision.aws import templates
from rackwright.provision.aws.nodeset.model import NODE_SET, FoundNodes, wanted_nodes
from rackwright.provision.aws.outputs import ComputeOutputs
from rackwright.provision.aws.zone import ZoneComponent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.plan.aws_model import AwsComputeStack, NodeSetPlan


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Outputs of the stacks that the nodes stand in."""

    network: pulumi.Output[Mapping[str, Any]]
    """`NetworkOutputs`."""
    access: pulumi.Output[Mapping[str, Any]]
    """`AccessOutputs`."""


class NodeSet(pulumi.CustomResource):
    """All slots of one pool, filled by instances of one launch template."""

    nodes: pulumi.Output[dict[str, Any]]
    """By slot, as `FoundNode`; the SDK evaluates this annotation, so it takes only plain types."""
    orphans: pulumi.Output[dict[str, str]]

    def __init__(
        self, name: str, args: Mapping[str, pulumi.Input[Any]], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        versioned = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(version=__version__))
        super().__init__(NODE_SET, name, {**args, "orphans": None}, versioned)


class ClusterCompute(ZoneComponent):
    """The pools of one zone."""

    def __init__(
        self,
        name: str,
        args: AwsComputeStack,
        around: Surroundings,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("ClusterCompute", name, args, opts)
        self._args = args
        self._around = around
        self._own = pulumi.ResourceOptions(parent=self)
        sets = {pool: self._pool(pool, plan) for pool, plan in args.node_sets.items()}
        self.outputs = pulumi.Output.all(**sets).apply(self._found)
        self.register_outputs({"outputs": self.outputs})

    def _pool(self, pool: str, plan: NodeSetPlan) -> pulumi.Output[dict[str, Any]]:
        """The state of the pool's node set."""
        ground: dict[str, pulumi.Input[Any]] = self._ground(pool, plan)
        made = NodeSet(
            pool,
            {
                **ground,
                "nodes": {slot: node.model_dump(mode="json") for slot, node in wanted_nodes(plan).items()},
            },
            self._own,
        )
        return pulumi.Output.all(**ground, nodes=made.nodes, orphans=made.orphans)

    def _ground(self, pool: str, plan: NodeSetPlan) -> dict[str, pulumi.Input[Any]]:
        """`Ground`, with what only exists once the other stacks do."""
        template = self._template(pool, plan)
        zone = self._args
        return {
            "site": zone.site,
            "cluster": zone.cluster,
            "pool": pool,
            "account": zone.account,
            "region": zone.region,
            "zone_id": zone.zone_id,
            "subnet": self._around.network["subnet"],
            "template": template.id,
            "version": template.latest_version,
            "tags": self._tags(pool),
            "all_or_nothing": plan.all_or_nothing,
        }

    def _template(self, pool: str, plan: NodeSetPlan) -> ec2.LaunchTemplate:
        wanted = plan.template
        subnet, group = self._around.network["subnet"], self._around.network["node_group"]
        profile = self._around.access["controller_profile" if wanted.controller else "node_profile"]
        return ec2.LaunchTemplate(
            pool,
            image_id=wanted.ami,
            instance_type=wanted.instance_type,
            iam_instance_profile=ec2.LaunchTemplateIamInstanceProfileArgs(name=profile),
            network_interfaces=templates.interfaces(wanted, subnet, group),
            instance_market_options=templates.market(wanted.capacity),
            capacity_reservation_specification=templates.reservation(wanted.capacity),
            placement=self._placement(pool) if wanted.placement_group else None,
            metadata_options=templates.metadata(),
            instance_initiated_shutdown_behavior="terminate",
            tag_specifications=templates.tag_specifications(self._tags(pool)),
            update_default_version=True,
            tags=self.tags(pool),
            opts=self.within,
        )

    def _placement(self, pool: str) -> ec2.LaunchTemplatePlacementArgs:
        """Close together; EC2 takes a group's name here."""
        group = ec2.PlacementGroup(pool, strategy="cluster", tags=self.tags(pool), opts=self.within)
        return ec2.LaunchTemplatePlacementArgs(group_name=group.name)

    def _tags(self, pool: str) -> dict[str, str]:
        return {**self._args.tags, POOL_TAG: pool}

    def _found(self, sets: dict[str, Any]) -> dict[str, Any]:
        node_sets = {pool: FoundNodes.model_validate(found) for pool, found in sets.items()}
        found = ComputeOutputs(site=self._args.site, node_sets=node_sets)
        return found.model_dump(mode="json", by_alias=True)
