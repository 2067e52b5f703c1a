"""The component of an on-prem stack: a site's slice in, its host sets as resources out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi

from rackwright import __version__
from rackwright.provision.onprem.model import HOST_SET, FoundHost, WantedSet, wanted_set
from rackwright.provision.onprem.outputs import outputs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwright.plan.model import OnpremStack


class HostSet(pulumi.CustomResource):
    """At most 32 hosts of one pool, reconciled together over Redfish."""

    hosts: pulumi.Output[dict[str, Any]]
    """By slot, as `FoundHost`; the SDK evaluates this annotation, so it takes only plain types."""

    def __init__(self, name: str, args: WantedSet, opts: pulumi.ResourceOptions | None = None) -> None:
        versioned = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(version=__version__))
        super().__init__(HOST_SET, name, args.model_dump(mode="json"), versioned)


class Hall(pulumi.ComponentResource):
    """The hosts of one on-prem site."""

    outputs: pulumi.Output[dict[str, Any]]
    """`OnpremOutputs`."""

    def __init__(self, name: str, args: OnpremStack, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("rackwright:onprem:Hall", name, None, opts)
        within = pulumi.ResourceOptions(parent=self)
        self.host_sets = [HostSet(set_, wanted_set(args, set_), within) for set_ in args.host_sets]
        found = pulumi.Output.all(*(host_set.hosts for host_set in self.host_sets))
        self.outputs = found.apply(lambda sets: _outputs(args.site, sets))
        self.register_outputs({"outputs": self.outputs})


def _outputs(site: str, sets: Iterable[dict[str, Any]]) -> dict[str, Any]:
    hosts = {slot: FoundHost.model_validate(host) for found in sets for slot, host in found.items()}
    return outputs(site, hosts).model_dump(mode="json", by_alias=True)
