"""Calls about networks that moto answers otherwise than EC2: what is in use is not deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moto.core.responses import ActionResult


class Networks(EC2Response):
    """Subnets that are nobody's default, deletions with EC2's DependencyViolation."""

    def create_subnet(self) -> ActionResult:
        """CreateSubnet: only those that AWS made are a zone's default, with public addresses."""
        answer = super().create_subnet()
        result: Any = answer.result
        result["Subnet"].default_for_az = False
        result["Subnet"].map_public_ip_on_launch = False
        return answer

    def delete_subnet(self) -> ActionResult:
        """DeleteSubnet: not while it has network interfaces."""
        name = self._get_param("SubnetId")
        if any(one.subnet.id == name for one in self.ec2_backend.enis.values()):
            raise _in_use(f"The subnet '{name}'")
        return super().delete_subnet()

    def delete_security_group(self) -> ActionResult:
        """DeleteSecurityGroup: not while an interface or another group's rule has it."""
        name = self._get_param("GroupId")
        interfaces = self.ec2_backend.enis.values()
        used = any(group.id == name for one in interfaces for group in one._group_set)  # noqa: SLF001 (moto's)
        if used or name in _named_by_others(self.ec2_backend, name):
            raise _in_use(f"resource {name}")
        return super().delete_security_group()

    def delete_vpc(self) -> ActionResult:
        """DeleteVpc: not while it has groups of its own or endpoints; moto sees to the rest."""
        name = self._get_param("VpcId")
        groups = self.ec2_backend.groups.get(name, {}).values()
        endpoints = [
            one
            for one in self.ec2_backend.vpc_end_points.values()
            if one.vpc_id == name and one.state != "deleted"
        ]
        if endpoints or any(group.name != "default" for group in groups):
            raise _in_use(f"The vpc '{name}'")
        return super().delete_vpc()


def _named_by_others(backend: Any, name: str) -> set[str]:  # noqa: ANN401 (moto's EC2 backend)
    return {
        source
        for groups in backend.groups.values()
        for group in groups.values()
        if group.id != name
        for source in _sources(group)
    }


def _sources(group: Any) -> Iterator[str]:  # noqa: ANN401 (moto's security group)
    """Ids of the groups that its rules name."""
    for rule in (*group.ingress_rules, *group.egress_rules):
        if rule.source_group:
            yield str(rule.source_group.get("GroupId"))


def _in_use(what: str) -> EC2ClientError:
    return EC2ClientError("DependencyViolation", f"{what} has dependencies and cannot be deleted.")
