"""The component of a stack `aws-network`: a zone's slice in, its VPC, subnet, group and ways out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
from pulumi_aws import ec2, vpc

from rackwright.plan.aws import GATEWAY_LINKS
from rackwright.plan.aws_model import NODE_GROUP, ExistingVpcPlan
from rackwright.provision.aws.outputs import NetworkOutputs
from rackwright.provision.aws.zone import ZoneComponent

if TYPE_CHECKING:
    from rackwright.plan.aws_model import AwsNetworkStack, GroupRule, NewVpcPlan


class ClusterNetwork(ZoneComponent):
    """VPC, subnet, security group, endpoints and links of one zone."""

    def __init__(self, name: str, args: AwsNetworkStack, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ClusterNetwork", name, args, opts)
        self._args = args
        if isinstance(args.vpc, ExistingVpcPlan):
            self.vpc, self.subnet = (
                pulumi.Output.from_input(args.vpc.vpc),
                pulumi.Output.from_input(args.vpc.subnet),
            )
            self.node_group = self._node_group()
        else:
            self.vpc, self.subnet = self._new(args.vpc)
            self.node_group = self._node_group()
            self._routes(args.vpc)
        self.outputs = pulumi.Output.all(self.vpc, self.subnet, self.node_group).apply(self._found)
        self.register_outputs({"outputs": self.outputs})

    def _new(self, plan: NewVpcPlan) -> tuple[pulumi.Output[str], pulumi.Output[str]]:
        """A VPC, and in it one subnet in the zone, without public addresses."""
        made = ec2.Vpc(
            "vpc",
            cidr_block=plan.cidrs[0],
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags=self.tags("vpc"),
            opts=self.within,
        )
        for number, cidr in enumerate(plan.cidrs[1:], start=2):
            ec2.VpcIpv4CidrBlockAssociation(
                f"cidr-{number}", vpc_id=made.id, cidr_block=cidr, opts=self.within
            )
        subnet = ec2.Subnet(
            "nodes",
            vpc_id=made.id,
            cidr_block=plan.cidrs[0],
            availability_zone_id=self._args.zone_id,
            map_public_ip_on_launch=plan.public_addresses,
            tags=self.tags("nodes"),
            opts=self.within,
        )
        return made.id, subnet.id

    def _node_group(self) -> pulumi.Output[str]:
        """The group of every interface; its rules stand alone: inline ones delete those (pulumi-aws#2947)."""
        group = ec2.SecurityGroup(
            "nodes",
            description="Nodes of a rackwright cluster",
            vpc_id=self.vpc,
            tags=self.tags("nodes"),
            opts=self.within,
        )
        for name, rule in self._args.rules.items():
            self._allow(name, rule, group.id)
        return group.id

    def _allow(self, name: str, rule: GroupRule, group: pulumi.Output[str]) -> None:
        """One rule of the plan."""
        kind = vpc.SecurityGroupIngressRule if rule.direction == "in" else vpc.SecurityGroupEgressRule
        itself = rule.peer == NODE_GROUP
        kind(
            name,
            security_group_id=group,
            ip_protocol=rule.protocol,
            referenced_security_group_id=group if itself else None,
            cidr_ipv4=None if itself else rule.peer,
            tags=self.tags(name),
            opts=self.within,
        )

    def _routes(self, plan: NewVpcPlan) -> None:
        """A route table of the subnet, the endpoints of AWS services, and the ways to linked sites."""
        table = ec2.RouteTable("nodes", vpc_id=self.vpc, tags=self.tags("nodes"), opts=self.within)
        ec2.RouteTableAssociation("nodes", route_table_id=table.id, subnet_id=self.subnet, opts=self.within)
        for service in plan.gateway_endpoints:
            self._endpoint(service, "Gateway", route_table_ids=[table.id])
        for service in plan.interface_endpoints:
            self._endpoint(
                service,
                "Interface",
                subnet_ids=[self.subnet],
                security_group_ids=[self.node_group],
                private_dns_enabled=True,
            )
        self._links(table)

    def _endpoint(self, service: str, kind: str, **where: Any) -> None:  # noqa: ANN401 (inputs, handed through)
        ec2.VpcEndpoint(
            service,
            vpc_id=self.vpc,
            service_name=f"com.amazonaws.{self._args.region}.{service}",
            vpc_endpoint_type=kind,
            tags=self.tags(service),
            opts=self.within,
            **where,
        )

    def _links(self, table: ec2.RouteTable) -> None:
        """One gateway for all tunnels and virtual interfaces, and a route to each range behind them."""
        linked = {name: one for name, one in self._args.links.items() if one.via in GATEWAY_LINKS}
        if not linked:
            return
        gateway = ec2.VpnGateway("links", vpc_id=self.vpc, tags=self.tags("links"), opts=self.within)
        for name, one in linked.items():
            for number, cidr in enumerate(one.cidrs, start=1):
                ec2.Route(
                    f"{name}-{number}",
                    route_table_id=table.id,
                    destination_cidr_block=cidr,
                    gateway_id=gateway.id,
                    opts=self.within,
                )

    def _found(self, ids: list[str]) -> dict[str, Any]:
        made, subnet, group = ids
        found = NetworkOutputs(site=self._args.site, vpc=made, subnet=subnet, node_group=group)
        return found.model_dump(mode="json", by_alias=True)
