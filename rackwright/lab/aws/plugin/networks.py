"""VPC, subnet, route table, gateway and endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pulumi_aws import ec2

from rackwright.lab.aws.plugin.resource import (
    Ec2Resource,
    Props,
    changed,
    found,
    one_or_none,
    specification,
    tags_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_VPC = "InvalidVpcID.NotFound"


class Vpc(Ec2Resource):
    """aws_vpc."""

    token = "aws:ec2/vpc:Vpc"  # noqa: S105 (a resource's type)
    args = ec2.VpcArgs
    imitated = frozenset({"cidrBlock", "enableDnsSupport", "enableDnsHostnames", "tags"})
    replacing = frozenset({"cidrBlock"})

    def create(self, wanted: Props) -> str:
        """CreateVpc, then its attributes."""
        made = self.ec2.create_vpc(
            CidrBlock=wanted["cidrBlock"], TagSpecifications=specification("vpc", wanted)
        )
        name: str = made["Vpc"]["VpcId"]
        self.update(name, {"tags": wanted.get("tags")}, wanted)
        return name

    def read(self, name: str) -> Props | None:
        """DescribeVpcs, and one attribute at a time."""
        answer = found(lambda: self.ec2.describe_vpcs(VpcIds=[name]), _NO_VPC)
        if answer is None:
            return None
        [vpc] = answer["Vpcs"]
        return {
            "cidrBlock": vpc["CidrBlock"],
            "enableDnsSupport": self._attribute(name, "enableDnsSupport"),
            "enableDnsHostnames": self._attribute(name, "enableDnsHostnames"),
            "tags": tags_of(vpc.get("Tags")),
            "arn": self.clients.arn(f"vpc/{name}"),
            "ownerId": self.clients.account,
        }

    def _attribute(self, name: str, attribute: str) -> bool:
        answer = self.ec2.describe_vpc_attribute(VpcId=name, Attribute=attribute)
        return bool(answer[attribute[0].upper() + attribute[1:]]["Value"])

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """ModifyVpcAttribute takes one attribute a call."""
        for attribute in ("enableDnsSupport", "enableDnsHostnames"):
            if attribute in wanted and changed(before, wanted, attribute):
                value = {attribute[0].upper() + attribute[1:]: {"Value": wanted[attribute]}}
                self.ec2.modify_vpc_attribute(VpcId=name, **value)
        self.retag(name, before, wanted)

    def delete(self, name: str) -> None:
        """DeleteVpc."""
        self.ec2.delete_vpc(VpcId=name)


class VpcCidr(Ec2Resource):
    """aws_vpc_ipv4_cidr_block_association."""

    token = "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation"  # noqa: S105
    args = ec2.VpcIpv4CidrBlockAssociationArgs
    imitated = replacing = frozenset({"vpcId", "cidrBlock"})

    def create(self, wanted: Props) -> str:
        """AssociateVpcCidrBlock."""
        made = self.ec2.associate_vpc_cidr_block(VpcId=wanted["vpcId"], CidrBlock=wanted["cidrBlock"])
        name: str = made["CidrBlockAssociation"]["AssociationId"]
        return name

    def read(self, name: str) -> Props | None:
        """Among the associations of all VPCs."""
        for vpc in self.ec2.describe_vpcs()["Vpcs"]:
            for one in vpc.get("CidrBlockAssociationSet", []):
                if one["AssociationId"] == name and one["CidrBlockState"]["State"] == "associated":
                    return {"vpcId": vpc["VpcId"], "cidrBlock": one["CidrBlock"]}
        return None

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """Every change replaces it."""

    def delete(self, name: str) -> None:
        """DisassociateVpcCidrBlock."""
        self.ec2.disassociate_vpc_cidr_block(AssociationId=name)


class Subnet(Ec2Resource):
    """aws_subnet."""

    token = "aws:ec2/subnet:Subnet"  # noqa: S105
    args = ec2.SubnetArgs
    imitated = frozenset({"vpcId", "cidrBlock", "availabilityZoneId", "mapPublicIpOnLaunch", "tags"})
    replacing = frozenset({"vpcId", "cidrBlock", "availabilityZoneId"})

    def create(self, wanted: Props) -> str:
        """CreateSubnet, then its attribute."""
        made = self.ec2.create_subnet(
            VpcId=wanted["vpcId"],
            CidrBlock=wanted["cidrBlock"],
            TagSpecifications=specification("subnet", wanted),
            **(
                {"AvailabilityZoneId": wanted["availabilityZoneId"]} if "availabilityZoneId" in wanted else {}
            ),
        )
        name: str = made["Subnet"]["SubnetId"]
        self.update(name, {"tags": wanted.get("tags"), "mapPublicIpOnLaunch": False}, wanted)
        return name

    def read(self, name: str) -> Props | None:
        """DescribeSubnets."""
        answer = found(lambda: self.ec2.describe_subnets(SubnetIds=[name]), "InvalidSubnetID.NotFound")
        if answer is None:
            return None
        [subnet] = answer["Subnets"]
        return {
            "vpcId": subnet["VpcId"],
            "cidrBlock": subnet["CidrBlock"],
            "availabilityZone": subnet["AvailabilityZone"],
            "availabilityZoneId": subnet["AvailabilityZoneId"],
            "mapPublicIpOnLaunch": subnet["MapPublicIpOnLaunch"],
            "tags": tags_of(subnet.get("Tags")),
            "arn": self.clients.arn(f"subnet/{name}"),
        }

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """ModifySubnetAttribute."""
        if "mapPublicIpOnLaunch" in wanted and changed(before, wanted, "mapPublicIpOnLaunch"):
            self.ec2.modify_subnet_attribute(
                SubnetId=name, MapPublicIpOnLaunch={"Value": wanted["mapPublicIpOnLaunch"]}
            )
        self.retag(name, before, wanted)

    def delete(self, name: str) -> None:
        """DeleteSubnet."""
        self.ec2.delete_subnet(SubnetId=name)


class RouteTable(Ec2Resource):
    """aws_route_table, without routes of its own: those stand alone."""

    token = "aws:ec2/routeTable:RouteTable"  # noqa: S105
    args = ec2.RouteTableArgs
    imitated = frozenset({"vpcId", "tags"})
    replacing = frozenset({"vpcId"})

    def create(self, wanted: Props) -> str:
        """CreateRouteTable."""
        made = self.ec2.create_route_table(
            VpcId=wanted["vpcId"], TagSpecifications=specification("route-table", wanted)
        )
        name: str = made["RouteTable"]["RouteTableId"]
        return name

    def read(self, name: str) -> Props | None:
        """DescribeRouteTables."""
        table = route_table(self.ec2, name)
        if table is None:
            return None
        return {
            "vpcId": table["VpcId"],
            "tags": tags_of(table.get("Tags")),
            "arn": self.clients.arn(f"route-table/{name}"),
            "ownerId": self.clients.account,
        }

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """Tags alone."""
        self.retag(name, before, wanted)

    def delete(self, name: str) -> None:
        """DeleteRouteTable."""
        self.ec2.delete_route_table(RouteTableId=name)


def route_table(client: Any, name: str) -> Any:  # noqa: ANN401 (boto3)
    """One route table; None where it is gone."""
    answer = found(lambda: client.describe_route_tables(RouteTableIds=[name]), "InvalidRouteTableID.NotFound")
    return one_or_none(answer["RouteTables"]) if answer else None


class RouteTableAssociation(Ec2Resource):
    """aws_route_table_association of a subnet."""

    token = "aws:ec2/routeTableAssociation:RouteTableAssociation"  # noqa: S105
    args = ec2.RouteTableAssociationArgs
    imitated = replacing = frozenset({"routeTableId", "subnetId"})

    def create(self, wanted: Props) -> str:
        """AssociateRouteTable."""
        made = self.ec2.associate_route_table(
            RouteTableId=wanted["routeTableId"], SubnetId=wanted["subnetId"]
        )
        name: str = made["AssociationId"]
        return name

    def read(self, name: str) -> Props | None:
        """Among the associations of all route tables."""
        for table in self.ec2.describe_route_tables()["RouteTables"]:
            for one in table["Associations"]:
                if one["RouteTableAssociationId"] == name and "SubnetId" in one:
                    return {"routeTableId": table["RouteTableId"], "subnetId": one["SubnetId"]}
        return None

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """Every change replaces it; AWS's provider can move it to another table in place."""

    def delete(self, name: str) -> None:
        """DisassociateRouteTable."""
        self.ec2.disassociate_route_table(AssociationId=name)


class VpnGateway(Ec2Resource):
    """aws_vpn_gateway, attached to its VPC."""

    token = "aws:ec2/vpnGateway:VpnGateway"  # noqa: S105
    args = ec2.VpnGatewayArgs
    imitated = frozenset({"vpcId", "tags"})
    replacing = frozenset({"vpcId"})

    def create(self, wanted: Props) -> str:
        """CreateVpnGateway, AttachVpnGateway."""
        made = self.ec2.create_vpn_gateway(
            Type="ipsec.1", TagSpecifications=specification("vpn-gateway", wanted)
        )
        name: str = made["VpnGateway"]["VpnGatewayId"]
        self.ec2.attach_vpn_gateway(VpnGatewayId=name, VpcId=wanted["vpcId"])
        return name

    def read(self, name: str) -> Props | None:
        """DescribeVpnGateways, by filter: a deleted one is still told by its id."""
        wanted = [{"Name": "vpn-gateway-id", "Values": [name]}]
        gateway = one_or_none(self.ec2.describe_vpn_gateways(Filters=wanted)["VpnGateways"])
        if gateway is None or gateway["State"] == "deleted":
            return None
        attached = [one["VpcId"] for one in gateway["VpcAttachments"] if one["State"] == "attached"]
        return {
            "vpcId": attached[0] if attached else "",
            "tags": tags_of(gateway.get("Tags")),
            "arn": self.clients.arn(f"vpn-gateway/{name}"),
        }

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """Tags alone."""
        self.retag(name, before, wanted)

    def delete(self, name: str) -> None:
        """DetachVpnGateway, DeleteVpnGateway."""
        now = self.read(name)
        if now and now["vpcId"]:
            self.ec2.detach_vpn_gateway(VpnGatewayId=name, VpcId=now["vpcId"])
        self.ec2.delete_vpn_gateway(VpnGatewayId=name)


class Route(Ec2Resource):
    """aws_route to a gateway."""

    token = "aws:ec2/route:Route"  # noqa: S105
    args = ec2.RouteArgs
    imitated = frozenset({"routeTableId", "destinationCidrBlock", "gatewayId"})
    replacing = imitated

    def create(self, wanted: Props) -> str:
        """CreateRoute; EC2 gives a route no id."""
        table, to = wanted["routeTableId"], wanted["destinationCidrBlock"]
        self.ec2.create_route(RouteTableId=table, DestinationCidrBlock=to, GatewayId=wanted["gatewayId"])
        return f"{table} {to}"

    def read(self, name: str) -> Props | None:
        """Among the routes of its table."""
        table_name, _, to = name.partition(" ")
        table = route_table(self.ec2, table_name)
        for one in table["Routes"] if table else ():
            if one.get("DestinationCidrBlock") == to:
                return {
                    "routeTableId": table_name,
                    "destinationCidrBlock": to,
                    "gatewayId": one.get("GatewayId", ""),
                    "state": one["State"],
                }
        return None

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """Every change replaces it; AWS's provider can change its gateway in place."""

    def delete(self, name: str) -> None:
        """DeleteRoute."""
        table, _, to = name.partition(" ")
        self.ec2.delete_route(RouteTableId=table, DestinationCidrBlock=to)


class VpcEndpoint(Ec2Resource):
    """aws_vpc_endpoint, of a gateway or an interface."""

    token = "aws:ec2/vpcEndpoint:VpcEndpoint"  # noqa: S105
    args = ec2.VpcEndpointArgs
    imitated = frozenset(
        {
            "vpcId",
            "serviceName",
            "vpcEndpointType",
            "routeTableIds",
            "subnetIds",
            "securityGroupIds",
            "privateDnsEnabled",
            "tags",
        }
    )
    replacing = frozenset({"vpcId", "serviceName", "vpcEndpointType", "privateDnsEnabled"})
    unordered = frozenset({"routeTableIds", "subnetIds", "securityGroupIds"})
    _LISTS: ClassVar[Mapping[str, tuple[str, str]]] = {
        "routeTableIds": ("RouteTableIds", "RouteTableIds"),
        "subnetIds": ("SubnetIds", "SubnetIds"),
        "securityGroupIds": ("SecurityGroupIds", "SecurityGroupIds"),
    }

    def create(self, wanted: Props) -> str:
        """CreateVpcEndpoint."""
        lists = {api: wanted[name] for name, (api, _) in self._LISTS.items() if wanted.get(name)}
        dns = {"PrivateDnsEnabled": wanted["privateDnsEnabled"]} if "privateDnsEnabled" in wanted else {}
        made = self.ec2.create_vpc_endpoint(
            VpcId=wanted["vpcId"],
            ServiceName=wanted["serviceName"],
            VpcEndpointType=wanted.get("vpcEndpointType", "Gateway"),
            TagSpecifications=specification("vpc-endpoint", wanted),
            **lists,
            **dns,
        )
        name: str = made["VpcEndpoint"]["VpcEndpointId"]
        return name

    def read(self, name: str) -> Props | None:
        """DescribeVpcEndpoints; a deleted one is still told for a while."""
        answer = found(
            lambda: self.ec2.describe_vpc_endpoints(VpcEndpointIds=[name]), "InvalidVpcEndpointId.NotFound"
        )
        endpoint = one_or_none(answer["VpcEndpoints"]) if answer else None
        if endpoint is None or endpoint["State"].lower() in ("deleted", "deleting"):
            return None
        return {
            "vpcId": endpoint["VpcId"],
            "serviceName": endpoint["ServiceName"],
            "vpcEndpointType": endpoint["VpcEndpointType"],
            "routeTableIds": endpoint.get("RouteTableIds", []),
            "subnetIds": endpoint.get("SubnetIds", []),
            "securityGroupIds": [one["GroupId"] for one in endpoint.get("Groups", [])],
            "privateDnsEnabled": endpoint.get("PrivateDnsEnabled", False),
            "tags": tags_of(endpoint.get("Tags")),
            "state": endpoint["State"].lower(),
            "arn": self.clients.arn(f"vpc-endpoint/{name}"),
        }

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """ModifyVpcEndpoint adds and removes."""
        moves: dict[str, list[str]] = {}
        for one, (_, api) in self._LISTS.items():
            old, new = set(before.get(one) or ()), set(wanted.get(one) or ())
            moves |= {f"Add{api}": sorted(new - old)} if new - old else {}
            moves |= {f"Remove{api}": sorted(old - new)} if old - new else {}
        if moves:
            self.ec2.modify_vpc_endpoint(VpcEndpointId=name, **moves)
        self.retag(name, before, wanted)

    def delete(self, name: str) -> None:
        """DeleteVpcEndpoints."""
        self.ec2.delete_vpc_endpoints(VpcEndpointIds=[name])
