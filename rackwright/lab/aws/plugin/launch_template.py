"""Launch templates: a change of what is launched is a new version."""

from __future__ import annotations

from typing import Any

from pulumi_aws import ec2

from rackwright.lab.aws.plugin.resource import (
    Ec2Resource,
    Props,
    found,
    one_or_none,
    tag_list,
    tags_of,
)

_DATA = frozenset(
    {
        "imageId",
        "instanceType",
        "keyName",
        "iamInstanceProfile",
        "networkInterfaces",
        "instanceMarketOptions",
        "capacityReservationSpecification",
        "placement",
        "metadataOptions",
        "instanceInitiatedShutdownBehavior",
        "disableApiTermination",
        "tagSpecifications",
        "userData",
    }
)
"""Inputs that are the template's data; the others are about the template."""
_OTHER_NAMES = {"securityGroups": "Groups"}
_TEXT_FLAGS = frozenset({"deleteOnTermination", "associatePublicIpAddress"})
"""Flags that Terraform's provider has as texts, so that they can be left out."""


class LaunchTemplate(Ec2Resource):
    """aws_launch_template."""

    token = "aws:ec2/launchTemplate:LaunchTemplate"  # noqa: S105 (a resource's type)
    args = ec2.LaunchTemplateArgs
    imitated = _DATA | {"name", "tags", "updateDefaultVersion"}
    replacing = frozenset({"name"})
    named = "name"
    computed = {"latestVersion": _DATA, "defaultVersion": _DATA}  # noqa: RUF012 (a constant of the class)

    def create(self, wanted: Props) -> str:
        """CreateLaunchTemplate: version 1, which is the default."""
        made = self.ec2.create_launch_template(
            LaunchTemplateName=wanted["name"],
            LaunchTemplateData=data_of(wanted),
        )
        name: str = made["LaunchTemplate"]["LaunchTemplateId"]
        if wanted.get("tags"):
            self.ec2.create_tags(Resources=[name], Tags=tag_list(wanted["tags"]))
        return name

    def read(self, name: str) -> Props | None:
        """The template, and the data of its latest version."""
        answer = found(
            lambda: self.ec2.describe_launch_templates(LaunchTemplateIds=[name]),
            "InvalidLaunchTemplateId.NotFound",
        )
        template = one_or_none(answer["LaunchTemplates"]) if answer else None
        if template is None:
            return None
        latest = self.ec2.describe_launch_template_versions(LaunchTemplateId=name, Versions=["$Latest"])
        data = latest["LaunchTemplateVersions"][0]["LaunchTemplateData"]
        return inputs_of(data) | {
            "name": template["LaunchTemplateName"],
            "tags": tags_of(template.get("Tags")),
            "latestVersion": template["LatestVersionNumber"],
            "defaultVersion": template["DefaultVersionNumber"],
            "arn": self.clients.arn(f"launch-template/{name}"),
        }

    def update(self, name: str, before: Props, wanted: Props) -> None:
        """A new version where the data changed; the default follows where the program says so."""
        if data_of(before) != data_of(wanted):
            made = self.ec2.create_launch_template_version(
                LaunchTemplateId=name, LaunchTemplateData=data_of(wanted)
            )
            number = made["LaunchTemplateVersion"]["VersionNumber"]
            if wanted.get("updateDefaultVersion"):
                self.ec2.modify_launch_template(LaunchTemplateId=name, DefaultVersion=str(number))
        self.retag(name, before, wanted)

    def delete(self, name: str) -> None:
        """DeleteLaunchTemplate, with all versions."""
        self.ec2.delete_launch_template(LaunchTemplateId=name)

    @classmethod
    def same(cls, name: str, one: object, other: object) -> bool:
        """By what EC2 would have of them."""
        if name in _DATA:
            return data_of({name: one}) == data_of({name: other})
        return super().same(name, one, other)


def data_of(wanted: Props) -> dict[str, Any]:
    """LaunchTemplateData of a program's inputs."""
    return {_api(name): _to_api(name, wanted[name]) for name in sorted(_DATA & wanted.keys())}


def _api(name: str) -> str:
    return _OTHER_NAMES.get(name, name[:1].upper() + name[1:])


def _to_api(name: str, value: Any) -> Any:  # noqa: ANN401 (JSON)
    if name == "tags":
        return tag_list(value)
    if name in _TEXT_FLAGS:
        return value in (True, "true")
    if isinstance(value, dict):
        return {_api(key): _to_api(key, one) for key, one in sorted(value.items())}
    if isinstance(value, list):
        return [_to_api("", one) for one in value]
    if isinstance(value, float) and value == int(value):
        return int(value)
    return value


def inputs_of(data: dict[str, Any]) -> Props:
    """Inputs that would make this LaunchTemplateData."""
    back = {_pulumi(name): _from_api(name, value) for name, value in data.items()}
    return {name: value for name, value in back.items() if name in _DATA}


def _pulumi(name: str) -> str:
    others = {api: own for own, api in _OTHER_NAMES.items()}
    return others.get(name, name[:1].lower() + name[1:])


def _from_api(name: str, value: Any) -> Any:  # noqa: ANN401 (JSON)
    if name == "Tags":
        return tags_of(value)
    if _pulumi(name) in _TEXT_FLAGS:
        return str(value).lower()
    if isinstance(value, dict):
        return {_pulumi(key): _from_api(key, one) for key, one in value.items()}
    if isinstance(value, list):
        return [_from_api("", one) for one in value]
    return value
