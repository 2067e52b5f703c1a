"""Calls about launch templates that moto answers otherwise than EC2: whose tags are whose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.ec2.models.launch_templates import LaunchTemplate
from moto.ec2.responses import EC2Response

if TYPE_CHECKING:
    from moto.core.responses import ActionResult


class Templates(EC2Response):
    """Create and describe."""

    def create_launch_template(self) -> ActionResult:
        """CreateLaunchTemplate: tags of the template itself are no part of what it launches."""
        answer = super().create_launch_template()
        result: Any = answer.result
        template = self.ec2_backend.get_launch_template(result["LaunchTemplate"]["LaunchTemplateId"])
        data = template.versions[0].data
        own = [one for one in data.get("TagSpecifications", []) if one["ResourceType"] != "launch-template"]
        data.pop("TagSpecifications", None)
        data |= {"TagSpecifications": own} if own else {}
        return answer


def _tags_now(template: LaunchTemplate) -> list[dict[str, str]]:
    return template.get_tags()


def _tags_then(template: LaunchTemplate, tags: object) -> None:
    """Not kept: moto would keep the first ones."""


def install() -> None:
    """Let a template tell the tags it has now."""
    LaunchTemplate.tags = property(_tags_now, _tags_then)  # type: ignore[assignment]  # (an attribute of moto's)
