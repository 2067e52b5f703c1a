"""The component of a stack `aws-access`: who the zone's instances are, and who fills burst slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
from pulumi_aws import iam

from rackwright.provision.aws import policies
from rackwright.provision.aws.outputs import AccessOutputs
from rackwright.provision.aws.zone import ZoneComponent

if TYPE_CHECKING:
    from rackwright.plan.aws_model import AwsAccessStack


class ClusterAccess(ZoneComponent):
    """A profile of nodes that may do nothing, and a role of the controller that fills and empties slots."""

    def __init__(self, name: str, args: AwsAccessStack, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ClusterAccess", name, args, opts)
        self._args = args
        self.node_role = self._role("nodes", policies.trust_of_instances())
        self.node_profile = self._profile("nodes", self.node_role)
        self.controller_role = self._controller()
        in_zone = self.controller_role is not None and args.controller == "instance"
        self.controller_profile = (
            self._profile("controller", self.controller_role) if in_zone and self.controller_role else None
        )
        self.outputs = pulumi.Output.all(
            self.node_profile.name,
            self.controller_profile.name if self.controller_profile else None,
            self.controller_role.arn if self.controller_role else None,
        ).apply(self._found)
        self.register_outputs({"outputs": self.outputs})

    def _role(self, name: str, trust: str) -> iam.Role:
        return iam.Role(name, assume_role_policy=trust, tags=self.tags(name), opts=self.within)

    def _profile(self, name: str, role: iam.Role) -> iam.InstanceProfile:
        return iam.InstanceProfile(name, role=role.name, tags=self.tags(name), opts=self.within)

    def _controller(self) -> iam.Role | None:
        if self._args.controller is None:
            return None
        role = self._role("controller", policies.trust_of_controller(self._args, self._args.controller))
        iam.RolePolicy(
            "controller",
            role=role.id,
            policy=self.node_role.arn.apply(lambda arn: policies.filling(self._args, arn)),
            opts=self.within,
        )
        return role

    def _found(self, made: list[str | None]) -> dict[str, Any]:
        nodes, profile, role = made
        found = AccessOutputs(
            site=self._args.site, node_profile=nodes or "", controller_profile=profile, controller_role=role
        )
        return found.model_dump(mode="json", by_alias=True)
