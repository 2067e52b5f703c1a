"""Security groups, with rules that stand alone, and placement groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pulumi_aws import ec2, vpc

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
    from collections.abc import Callable

_ALL_OUT = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]


class SecurityGroup(Ec2Resource):
    """aws_security_group without rules of its own: inline and standalone ones delete one another."""

    token = "aws:ec2/securityGroup:SecurityGroup"  # noqa: S105 (a resource's type)
    args = ec2.SecurityGroupArgs
    imitated = frozenset({"name", "description", "vpcId", "tags"})
    replacing = frozenset({"name", "description", "vpcId"})
    named = "name"

    def create(self, wanted: Props) -> str:
        """CreateSecurityGroup; as AWS's provider does, the rule that lets all out is taken away."""
        made = self.ec2.create_security_group(
            GroupName=wanted["name"],
            Description=wanted.get("description", "Managed by Pulumi"),
            VpcId=wanted["vpcId"],
            TagSpecifications=specification("security-group", wanted),
        )
        name: str = made["GroupId"]
        self.ec2.revoke_security_group_egress(GroupId=name, IpPermissions=_ALL_OUT)
        return name

    def read(self, name: str) -> Props | None:
        """DescribeSecurityGroups."""
        answer = found(lambda: self.ec2.describe_security_groups(GroupIds=[name]), "InvalidGroup.NotFound")
        if answer is None:
            return None
        [group] = answer["SecurityGroups"]
        return {
            "name": group["GroupName"],
            "description": group["Description"],
            "vpcId": group["VpcId"],
            "tags": tags_of(group.get("Tags")),
            "arn": self.clients.arn(f"security-group/{name}"),
            "ownerId": self.clients.account,
        }

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """Tags alone."""
        self.retag(name, before, wanted)

    def delete(self, name: str) -> None:
        """DeleteSecurityGroup."""
        self.ec2.delete_security_group(GroupId=name)


class _Rule(Ec2Resource):
    """One rule, by its own id."""

    imitated = frozenset(
        {
            "securityGroupId",
            "ipProtocol",
            "fromPort",
            "toPort",
            "cidrIpv4",
            "referencedSecurityGroupId",
            "description",
            "tags",
        }
    )
    replacing = imitated - {"tags"}
    egress: ClassVar[bool]

    def create(self, wanted: Props) -> str:
        """Authorize one permission, which is one rule."""
        authorize = self._of("authorize")
        made = authorize(
            GroupId=wanted["securityGroupId"],
            IpPermissions=[_permission(wanted)],
            TagSpecifications=specification("security-group-rule", wanted),
        )
        name: str = made["SecurityGroupRules"][0]["SecurityGroupRuleId"]
        return name

    def _of(self, verb: str) -> Callable[..., Any]:
        way = "egress" if self.egress else "ingress"
        call: Callable[..., Any] = getattr(self.ec2, f"{verb}_security_group_{way}")
        return call

    def read(self, name: str) -> Props | None:
        """DescribeSecurityGroupRules."""
        rule = self._found(name)
        if rule is None or rule["IsEgress"] != self.egress:
            return None
        ports = {"fromPort": rule.get("FromPort"), "toPort": rule.get("ToPort")}
        other = rule.get("ReferencedGroupInfo", {}).get("GroupId")
        plain = {
            "securityGroupId": rule["GroupId"],
            "ipProtocol": rule["IpProtocol"],
            "cidrIpv4": rule.get("CidrIpv4"),
            "referencedSecurityGroupId": other,
            "description": rule.get("Description"),
            **{key: port for key, port in ports.items() if port not in (None, -1)},
        }
        kept = {key: value for key, value in plain.items() if value not in (None, "")}
        return kept | {
            "tags": tags_of(rule.get("Tags")),
            "securityGroupRuleId": name,
            "arn": self.clients.arn(f"security-group-rule/{name}"),
        }

    def _found(self, name: str) -> Any:  # noqa: ANN401 (boto3)
        answer = found(
            lambda: self.ec2.describe_security_group_rules(SecurityGroupRuleIds=[name]),
            "InvalidSecurityGroupRuleId.NotFound",
        )
        return one_or_none(answer["SecurityGroupRules"]) if answer else None

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """Tags alone; AWS's provider can change the rest in place too."""
        self.retag(name, before, wanted)

    def delete(self, name: str) -> None:
        """Revoke it by its id."""
        group = self._found(name)["GroupId"]
        self._of("revoke")(GroupId=group, SecurityGroupRuleIds=[name])


def _permission(wanted: Props) -> dict[str, Any]:
    plain: dict[str, Any] = {"IpProtocol": wanted["ipProtocol"]}
    for name, api in (("fromPort", "FromPort"), ("toPort", "ToPort")):
        if name in wanted:
            plain[api] = int(wanted[name])
    told = {"Description": wanted["description"]} if "description" in wanted else {}
    if "cidrIpv4" in wanted:
        plain["IpRanges"] = [{"CidrIp": wanted["cidrIpv4"], **told}]
    if "referencedSecurityGroupId" in wanted:
        plain["UserIdGroupPairs"] = [{"GroupId": wanted["referencedSecurityGroupId"], **told}]
    return plain


class IngressRule(_Rule):
    """aws_vpc_security_group_ingress_rule."""

    token = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"  # noqa: S105
    args = vpc.SecurityGroupIngressRuleArgs
    egress = False


class EgressRule(_Rule):
    """aws_vpc_security_group_egress_rule."""

    token = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"  # noqa: S105
    args = vpc.SecurityGroupEgressRuleArgs
    egress = True


class PlacementGroup(Ec2Resource):
    """aws_placement_group, known by its name."""

    token = "aws:ec2/placementGroup:PlacementGroup"  # noqa: S105
    args = ec2.PlacementGroupArgs
    imitated = frozenset({"name", "strategy", "tags"})
    replacing = frozenset({"name", "strategy"})
    named = "name"

    def create(self, wanted: Props) -> str:
        """CreatePlacementGroup."""
        self.ec2.create_placement_group(
            GroupName=wanted["name"],
            Strategy=wanted["strategy"],
            TagSpecifications=specification("placement-group", wanted),
        )
        return str(wanted["name"])

    def read(self, name: str) -> Props | None:
        """DescribePlacementGroups."""
        answer = found(
            lambda: self.ec2.describe_placement_groups(GroupNames=[name]), "InvalidPlacementGroup.Unknown"
        )
        if answer is None:
            return None
        [group] = answer["PlacementGroups"]
        return {
            "name": name,
            "strategy": group["Strategy"],
            "tags": tags_of(group.get("Tags")),
            "placementGroupId": group["GroupId"],
            "arn": self.clients.arn(f"placement-group/{name}"),
        }

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """Tags alone, which are at its id."""
        now = self.read(name)
        if now and changed(before, wanted, "tags"):
            self.retag(now["placementGroupId"], before, wanted)

    def delete(self, name: str) -> None:
        """DeletePlacementGroup."""
        self.ec2.delete_placement_group(GroupName=name)
