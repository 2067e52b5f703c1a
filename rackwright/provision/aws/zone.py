"""What the components of a zone share: their provider, and the tags of each resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_aws as aws

if TYPE_CHECKING:
    from rackwright.plan.aws_model import ZoneStack


class ZoneComponent(pulumi.ComponentResource):
    """A component all of whose AWS resources are in one account and region."""

    outputs: pulumi.Output[dict[str, Any]]
    """One typed object, as `outputs.py` has it."""

    def __init__(self, kind: str, name: str, zone: ZoneStack, opts: pulumi.ResourceOptions | None) -> None:
        super().__init__(f"rackwright:aws:{kind}", name, None, opts)
        self._zone = zone
        own = pulumi.ResourceOptions(parent=self)
        # The provider compares the account itself, also under a plain `pulumi up`.
        self._aws = aws.Provider(zone.site, region=zone.region, allowed_account_ids=[zone.account], opts=own)
        self.within = pulumi.ResourceOptions(parent=self, provider=self._aws)
        """Options of every AWS resource of the component."""

    def tags(self, name: str) -> dict[str, str]:
        """Tags of a resource, its name among them."""
        return {**self._zone.tags, "Name": f"{self._zone.cluster}-{self._zone.site}-{name}"}

    def after(self, *others: pulumi.Resource) -> pulumi.ResourceOptions:
        """As `within`, for a resource that needs others without naming them."""
        return pulumi.ResourceOptions.merge(self.within, pulumi.ResourceOptions(depends_on=list(others)))
