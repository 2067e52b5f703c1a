"""A RunInstances request and its launch template in, what EC2 would launch out, or EC2's refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from moto.ec2.exceptions import (
    EC2ClientError,
    InvalidParameterCombination,
    InvalidSecurityGroupNotFoundError,
)

from rackwright.lab.aws import emulation
from rackwright.lab.aws.instances import EFA_ONLY, require_address, require_free

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Params = dict[str, Any]
"""Parameters of a call as botocore's model has them: the border to moto, which has no types for them."""

_KINDS = ("interface", "efa", EFA_ONLY)
_REQUEST_ONLY = frozenset({"MinCount", "MaxCount", "ClientToken", "DryRun", "LaunchTemplate"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be launched.

    Args:
        least: fewer are none at all.
        most: how many are wanted.
        params: the request over its launch template.
        interfaces: of each instance, the primary one first.
        zone: where.
    """

    least: int
    most: int
    params: Params
    interfaces: tuple[Params, ...]
    zone: str

    @property
    def kind(self) -> str:
        """Instance type."""
        return str(self.params["InstanceType"])

    def tags(self, of: str) -> dict[str, str]:
        """Tags that a kind of resource gets at launch."""
        return tags_of(self.params.get("TagSpecifications", ()), of)


def tags_of(specifications: Iterable[Params], of: str) -> dict[str, str]:
    """Tags of a kind of resource out of TagSpecifications."""
    chosen = [one for one in specifications if one["ResourceType"] == of]
    return {tag["Key"]: tag.get("Value", "") for one in chosen for tag in one.get("Tags", ())}


def wanted(backend: Any, request: Mapping[str, Any]) -> Wanted:  # noqa: ANN401 (moto's EC2 backend)
    """Merge, and refuse what EC2 refuses.

    Raises:
        EC2ClientError: as EC2 words it.
    """
    params = _merged(backend, request)
    least, most = request["MinCount"], request["MaxCount"]
    if not 1 <= least <= most:
        raise EC2ClientError(
            "InvalidParameterValue", f"Invalid value '{most}' for maxCount. Must be >= 1 and >= minCount."
        )
    kind = _kind(params)
    _require_image(params)
    given = params.get("NetworkInterfaces", [])
    _refuse_both(params, given)
    interfaces = tuple(_complete(params, one) for one in given or [_plain(params)])
    _check_layout(kind, interfaces)
    _check_addresses(backend, interfaces, most)
    subnet = backend.get_subnet(interfaces[0]["SubnetId"])
    return Wanted(least, most, params, _primary_first(interfaces), str(subnet.availability_zone))


def _merged(backend: Any, request: Mapping[str, Any]) -> Params:  # noqa: ANN401
    """Parameters of the request override those of its template (EC2 API, RunInstances, LaunchTemplate)."""
    own = {name: value for name, value in request.items() if name not in _REQUEST_ONLY}
    named = request.get("LaunchTemplate")
    if not named:
        return own
    version = backend._get_template_from_args(named)  # noqa: SLF001 (moto has no other name for it)
    data = {name: value for name, value in version.data.items() if value not in (None, [])}
    template = {
        "aws:ec2launchtemplate:id": version.template.id,
        "aws:ec2launchtemplate:version": str(version.number),
    }
    merged = {**data, **own}
    merged["TagSpecifications"] = list(_tag_specifications(data, own, template))
    return merged


def _tag_specifications(data: Params, own: Params, template: dict[str, str]) -> Iterator[Params]:
    """Tags of both, the request's over the template's; instances are marked with their template."""
    both = [*data.get("TagSpecifications", ()), *own.get("TagSpecifications", ())]
    for of in dict.fromkeys(["instance", *(one["ResourceType"] for one in both)]):
        tags = tags_of(both, of) | (template if of == "instance" else {})
        yield {"ResourceType": of, "Tags": [{"Key": key, "Value": tags[key]} for key in tags]}


def _kind(params: Params) -> emulation.InstanceType:
    name = str(params.get("InstanceType"))
    known = emulation.current().types
    if name not in known:
        raise EC2ClientError("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")
    return known[name]


def _require_image(params: Params) -> None:
    image, known = params.get("ImageId"), emulation.current().images
    if not image:
        raise EC2ClientError("MissingParameter", "The request must contain the parameter ImageId")
    if known and image not in known:
        raise EC2ClientError("InvalidAMIID.NotFound", f"The image id '[{image}]' does not exist")


def _refuse_both(params: Params, given: list[Params]) -> None:
    """Interfaces and the same thing at the instance exclude one another."""
    for name, words in (
        ("SubnetId", "an instance-level subnet ID"),
        ("SecurityGroupIds", "an instance-level security groups"),
        ("PrivateIpAddress", "an instance-level private address"),
    ):
        if given and params.get(name):
            raise InvalidParameterCombination(
                f"Network interfaces and {words} may not be specified on the same request"
            )


def _plain(params: Params) -> Params:
    """The one interface of a request that names none."""
    if "SubnetId" not in params:
        raise EC2ClientError("MissingInput", "The emulator has no default VPC: name a subnet.")
    return {
        "DeviceIndex": 0,
        "SubnetId": params["SubnetId"],
        "Groups": params.get("SecurityGroupIds", []),
        "DeleteOnTermination": True,
        **({"PrivateIpAddress": params["PrivateIpAddress"]} if "PrivateIpAddress" in params else {}),
    }


def _complete(params: Params, given: Params) -> Params:
    """Defaults as EC2 has them: one made at launch goes with its instance unless it is said otherwise."""
    tags = tags_of(params.get("TagSpecifications", ()), "network-interface")
    return {
        "NetworkCardIndex": 0,
        "InterfaceType": "interface",
        "Groups": [],
        "DeleteOnTermination": True,
        **given,
        "Tags": tags,
    }


def _primary_first(interfaces: tuple[Params, ...]) -> tuple[Params, ...]:
    return tuple(sorted(interfaces, key=lambda one: (one["NetworkCardIndex"], one["DeviceIndex"])))


def _check_layout(kind: emulation.InstanceType, interfaces: tuple[Params, ...]) -> None:
    """Cards, devices and types within what the instance type has."""
    seen = set()
    for one in interfaces:
        card, device = one["NetworkCardIndex"], one["DeviceIndex"]
        if (card, device) in seen:
            raise EC2ClientError(
                "InvalidParameterValue", f"Network card {card} has device index {device} twice."
            )
        seen.add((card, device))
        _check_place(kind, card, device)
        _check_kind(kind, one)
    if (0, 0) not in seen:
        raise EC2ClientError(
            "InvalidParameterCombination", "The primary network interface must be network card 0, device 0."
        )
    _check_efas(kind, interfaces)
    if len(interfaces) > 1 and any(one.get("AssociatePublicIpAddress") for one in interfaces):
        raise InvalidParameterCombination(
            "The associatePublicIPAddress parameter cannot be specified when launching "
            "with multiple network interfaces."
        )


def _check_efas(kind: emulation.InstanceType, interfaces: tuple[Params, ...]) -> None:
    efas = [one["NetworkCardIndex"] for one in interfaces if one["InterfaceType"] != "interface"]
    if len(set(efas)) < len(efas):
        raise InvalidParameterCombination("A network card takes at most one EFA network interface.")
    if len(efas) > kind.efa_interfaces:
        raise EC2ClientError(
            "AttachmentLimitExceeded",
            f"EFA interfaces count {len(efas)} exceeds allowed limit for {kind.name}. "
            f"Limit: {kind.efa_interfaces}.",
        )


def _check_place(kind: emulation.InstanceType, card: int, device: int) -> None:
    if not 0 <= card < len(kind.cards):
        raise EC2ClientError(
            "InvalidParameterValue",
            f"Network card index {card} exceeds the limit for {kind.name}. Limit: {len(kind.cards)} cards.",
        )
    if not 0 <= device < kind.cards[card]:
        raise EC2ClientError(
            "AttachmentLimitExceeded",
            f"Device index {device} exceeds the limit of network card {card} of {kind.name}. "
            f"Limit: {kind.cards[card]} interfaces.",
        )


def _check_kind(kind: emulation.InstanceType, one: Params) -> None:
    card, wanted_kind = one["NetworkCardIndex"], one["InterfaceType"]
    if wanted_kind not in _KINDS:
        raise EC2ClientError("InvalidParameterValue", f"Invalid value '{wanted_kind}' for interfaceType.")
    if wanted_kind == EFA_ONLY and (card, one["DeviceIndex"]) == (0, 0):
        raise EC2ClientError(
            "InvalidParameterCombination", "An EFA-only network interface cannot be the primary one."
        )
    if wanted_kind != "interface" and card not in kind.efa_cards:
        raise EC2ClientError(
            "InvalidParameterCombination", f"Network card {card} of {kind.name} does not support EFA."
        )


def _check_addresses(backend: Any, interfaces: tuple[Params, ...], most: int) -> None:  # noqa: ANN401
    zones = set()
    for one in interfaces:
        if "SubnetId" not in one:
            raise EC2ClientError("MissingParameter", "Each network interface needs a subnet here.")
        subnet = backend.get_subnet(one["SubnetId"])
        zones.add(subnet.availability_zone)
        _require_groups(backend, subnet, one["Groups"])
        address = one.get("PrivateIpAddress")
        if address and most > 1:
            raise InvalidParameterCombination(
                "A private IP address cannot be specified when launching more than one instance."
            )
        if address:
            require_address(subnet, address)
    if len(zones) > 1:
        raise InvalidParameterCombination("Network interfaces must be in one Availability Zone.")


def require_free_addresses(backend: Any, interfaces: tuple[Params, ...]) -> None:  # noqa: ANN401
    """Refuse addresses that other interfaces have, of this launch too."""
    seen = set()
    for one in interfaces:
        if one.get("PrivateIpAddress"):
            place = (one["SubnetId"], one["PrivateIpAddress"])
            if place in seen:
                raise EC2ClientError("InvalidIPAddress.InUse", f"Address {place[1]} is in use.")
            seen.add(place)
            require_free(backend.get_subnet(one["SubnetId"]), one["PrivateIpAddress"])


def _require_groups(backend: Any, subnet: Any, groups: list[str]) -> None:  # noqa: ANN401
    for name in groups:
        group = backend.get_security_group_from_id(name)
        if group is None:
            raise InvalidSecurityGroupNotFoundError(name)
        if group.vpc_id != subnet.vpc_id:
            raise EC2ClientError(
                "InvalidParameter",
                f"Security group {name} and subnet {subnet.id} belong to different networks.",
            )
