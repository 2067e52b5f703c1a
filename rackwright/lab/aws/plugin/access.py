"""IAM: roles, their policies, and instance profiles."""

from __future__ import annotations

import json
from typing import Any

from pulumi_aws import iam

from rackwright.lab.aws.plugin.resource import (
    Props,
    Resource,
    changed,
    found,
    same_document,
    tag_list,
    tags_of,
)

_GONE = "NoSuchEntity"


def _text(document: Any) -> str:  # noqa: ANN401 (boto3 decodes documents)
    return document if isinstance(document, str) else json.dumps(document, sort_keys=True)


class Role(Resource):
    """aws_iam_role without inline policies: those stand alone."""

    token = "aws:iam/role:Role"  # noqa: S105 (a resource's type)
    args = iam.RoleArgs
    imitated = frozenset({"name", "assumeRolePolicy", "tags"})
    replacing = frozenset({"name"})
    named = "name"

    def create(self, wanted: Props) -> str:
        """CreateRole."""
        self.iam.create_role(
            RoleName=wanted["name"],
            AssumeRolePolicyDocument=wanted["assumeRolePolicy"],
            Tags=tag_list(wanted.get("tags")),
        )
        return str(wanted["name"])

    def read(self, name: str) -> Props | None:
        """GetRole."""
        answer = found(lambda: self.iam.get_role(RoleName=name), _GONE)
        if answer is None:
            return None
        role = answer["Role"]
        return {
            "name": name,
            "assumeRolePolicy": _text(role["AssumeRolePolicyDocument"]),
            "tags": tags_of(role.get("Tags")),
            "arn": role["Arn"],
            "uniqueId": role["RoleId"],
        }

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """UpdateAssumeRolePolicy, tags."""
        if changed(before, wanted, "assumeRolePolicy"):
            self.iam.update_assume_role_policy(RoleName=name, PolicyDocument=wanted["assumeRolePolicy"])
        gone = [key for key in before.get("tags") or {} if key not in (wanted.get("tags") or {})]
        if gone:
            self.iam.untag_role(RoleName=name, TagKeys=gone)
        if wanted.get("tags") and changed(before, wanted, "tags"):
            self.iam.tag_role(RoleName=name, Tags=tag_list(wanted["tags"]))

    def delete(self, name: str) -> None:
        """DeleteRole."""
        self.iam.delete_role(RoleName=name)

    @classmethod
    def same(cls, name: str, one: object, other: object) -> bool:
        """Documents by what they say."""
        return same_document(one, other) if name == "assumeRolePolicy" else super().same(name, one, other)


class RolePolicy(Resource):
    """aws_iam_role_policy."""

    token = "aws:iam/rolePolicy:RolePolicy"  # noqa: S105
    args = iam.RolePolicyArgs
    imitated = frozenset({"name", "role", "policy"})
    replacing = frozenset({"name", "role"})
    named = "name"

    def create(self, wanted: Props) -> str:
        """PutRolePolicy."""
        self.iam.put_role_policy(
            RoleName=wanted["role"], PolicyName=wanted["name"], PolicyDocument=_text(wanted["policy"])
        )
        return f"{wanted['role']}:{wanted['name']}"

    def read(self, name: str) -> Props | None:
        """GetRolePolicy."""
        role, _, policy = name.partition(":")
        answer = found(lambda: self.iam.get_role_policy(RoleName=role, PolicyName=policy), _GONE)
        if answer is None:
            return None
        return {"name": policy, "role": role, "policy": _text(answer["PolicyDocument"])}

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """PutRolePolicy over it."""
        if changed(before, wanted, "policy"):
            self.create({**wanted, "name": name.partition(":")[2]})

    def delete(self, name: str) -> None:
        """DeleteRolePolicy."""
        role, _, policy = name.partition(":")
        self.iam.delete_role_policy(RoleName=role, PolicyName=policy)

    @classmethod
    def same(cls, name: str, one: object, other: object) -> bool:
        """Documents by what they say."""
        return same_document(one, other) if name == "policy" else super().same(name, one, other)


class InstanceProfile(Resource):
    """aws_iam_instance_profile of one role."""

    token = "aws:iam/instanceProfile:InstanceProfile"  # noqa: S105
    args = iam.InstanceProfileArgs
    imitated = frozenset({"name", "role", "tags"})
    replacing = frozenset({"name"})
    named = "name"

    def create(self, wanted: Props) -> str:
        """CreateInstanceProfile, AddRoleToInstanceProfile."""
        name = str(wanted["name"])
        self.iam.create_instance_profile(InstanceProfileName=name, Tags=tag_list(wanted.get("tags")))
        if wanted.get("role"):
            self.iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=wanted["role"])
        return name

    def read(self, name: str) -> Props | None:
        """GetInstanceProfile."""
        answer = found(lambda: self.iam.get_instance_profile(InstanceProfileName=name), _GONE)
        if answer is None:
            return None
        profile = answer["InstanceProfile"]
        roles = [role["RoleName"] for role in profile["Roles"]]
        return {
            "name": name,
            "role": roles[0] if roles else "",
            "tags": tags_of(profile.get("Tags")),
            "arn": profile["Arn"],
            "uniqueId": profile["InstanceProfileId"],
        }

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """The role is taken out, and the other put in if there is one; tags."""
        if changed(before, wanted, "role"):
            self._empty(name)
            if wanted.get("role"):
                self.iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=wanted["role"])
        gone = [key for key in before.get("tags") or {} if key not in (wanted.get("tags") or {})]
        if gone:
            self.iam.untag_instance_profile(InstanceProfileName=name, TagKeys=gone)
        if wanted.get("tags") and changed(before, wanted, "tags"):
            self.iam.tag_instance_profile(InstanceProfileName=name, Tags=tag_list(wanted["tags"]))

    def _empty(self, name: str) -> None:
        profile = self.iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]
        for role in profile["Roles"]:
            self.iam.remove_role_from_instance_profile(InstanceProfileName=name, RoleName=role["RoleName"])

    def delete(self, name: str) -> None:
        """RemoveRoleFromInstanceProfile, DeleteInstanceProfile."""
        self._empty(name)
        self.iam.delete_instance_profile(InstanceProfileName=name)
