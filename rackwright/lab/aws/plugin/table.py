"""All resource types of the plugin; a new one is a class and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.lab.aws.plugin.access import InstanceProfile, Role, RolePolicy
from rackwright.lab.aws.plugin.groups import EgressRule, IngressRule, PlacementGroup, SecurityGroup
from rackwright.lab.aws.plugin.launch_template import LaunchTemplate
from rackwright.lab.aws.plugin.networks import (
    Route,
    RouteTable,
    RouteTableAssociation,
    Subnet,
    Vpc,
    VpcCidr,
    VpcEndpoint,
    VpnGateway,
)

if TYPE_CHECKING:
    from rackwright.lab.aws.plugin.resource import Resource

RESOURCES: dict[str, type[Resource]] = {
    kind.token: kind
    for kind in (
        Vpc,
        VpcCidr,
        Subnet,
        RouteTable,
        RouteTableAssociation,
        Route,
        VpnGateway,
        VpcEndpoint,
        SecurityGroup,
        IngressRule,
        EgressRule,
        PlacementGroup,
        LaunchTemplate,
        Role,
        RolePolicy,
        InstanceProfile,
    )
}
"""Token → class."""
