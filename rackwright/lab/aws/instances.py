"""Instances and interfaces as EC2 has them: pending until they answer, every interface with its place.

moto 5.2 starts instances as running, keys interfaces by device index alone (32 EFAs become 2), and
loses their type.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import instances as stock
from moto.ec2.models.elastic_network_interfaces import Attachment, NetworkInterface
from moto.ec2.utils import filter_dict_attribute_mapping, random_eni_attach_id

from rackwright.lab.aws import emulation

if TYPE_CHECKING:
    from datetime import datetime

EFA_ONLY = "efa-only"
PENDING, RUNNING, TERMINATED = "pending", "running", "terminated"
_CODES = {PENDING: 0, RUNNING: 16, TERMINATED: 48}
_RESERVED = 4
"""Addresses at a subnet's beginning that AWS keeps: network, router, DNS, future use."""


class PlacedAttachment(Attachment):
    """Tells which card it is on."""

    def __init__(self, eni: PlacedInterface) -> None:
        super().__init__(eni)
        self.network_card_index = eni.network_card_index


class PlacedInterface(NetworkInterface):
    """An interface with its card and type."""

    network_card_index = 0

    def place(self, asked: dict[str, Any]) -> None:
        """Take the place and type that were asked for; an efa-only interface has no IP address."""
        self.device_index = int(asked.get("DeviceIndex", 0))
        self.network_card_index = int(asked.get("NetworkCardIndex", 0))
        self.interface_type = asked.get("InterfaceType", "interface")
        if self.interface_type == EFA_ONLY:
            self.private_ip_address, self.private_ip_addresses = None, []

    @property
    def attachment(self) -> Attachment | None:
        """What it is attached to."""
        return PlacedAttachment(self) if self.attachment_id else None

    @property
    def group_set(self) -> Any:  # noqa: ANN401 (as moto has it)
        """Groups of the interface itself; EC2 has none at the instance where interfaces are given."""
        return self._group_set


class LabInstance(stock.Instance):
    """An instance with a real machine behind it."""

    _kept: stock.InstanceState | None = None
    visible_at: datetime | None = None

    @property
    def _state(self) -> stock.InstanceState:
        """Pending until the machine's sshd answers."""
        kept = self._kept or stock.InstanceState(PENDING, _CODES[PENDING])
        if kept.name == PENDING and emulation.current().state(self.id) == "on":
            kept.name, kept.code = RUNNING, _CODES[RUNNING]
        self._kept = kept
        return kept

    @_state.setter
    def _state(self, wanted: stock.InstanceState) -> None:
        """As moto sets it, but nothing runs at once."""
        if self._kept is None:
            wanted = stock.InstanceState(PENDING, _CODES[PENDING])
        self._kept = wanted

    def prep_nics(self, nic_spec: list[dict[str, Any]], *_: object, **__: object) -> None:
        """One interface for each that was asked for, the primary one first."""
        self.nics: dict[int, NetworkInterface] = {}
        for number, asked in enumerate(nic_spec):
            self.nics[number] = self._interface(asked)
        self.security_groups = list(self.nics[0].group_set)

    def _interface(self, asked: dict[str, Any]) -> PlacedInterface:
        subnet = self.ec2_backend.get_subnet(asked["SubnetId"])
        address = "" if asked.get("InterfaceType") == EFA_ONLY else self._address(subnet, asked)
        interface = PlacedInterface(  # type: ignore[abstract]  # (moto makes its own so)
            self.ec2_backend,
            subnet,
            address,
            public_ip_auto_assign=asked.get("AssociatePublicIpAddress", False),
            group_ids=asked["Groups"],
            description=asked.get("Description"),
            tags=asked["Tags"],
            delete_on_termination=asked["DeleteOnTermination"],
        )
        self.ec2_backend.enis[interface.id] = interface
        interface.instance = self
        interface.attachment_id = random_eni_attach_id()
        interface.attach_time = emulation.current().clock.now()
        interface.status = "in-use"
        interface.place(asked)
        return interface

    def _address(self, subnet: Any, asked: dict[str, Any]) -> str:  # noqa: ANN401 (a moto subnet)
        address = asked.get("PrivateIpAddress")
        given_back = sorted(subnet._unused_ips, key=ip_address)  # noqa: SLF001 (moto's, a set: no order)
        if address is None and not given_back:
            return str(subnet.get_available_subnet_ip(instance=self))
        address = address or given_back[0]
        subnet.request_ip(address, instance=self)
        return str(address)

    def _gone(self) -> bool:
        return not self.nics

    @property
    def private_ip(self) -> str | None:
        """Of the primary interface; a terminated instance has none."""
        return None if self._gone() else self.nics[0].private_ip_address

    @property
    def private_ip_address(self) -> str | None:
        """As `private_ip`."""
        return self.private_ip

    @property
    def public_ip(self) -> str | None:
        """Of the primary interface."""
        return None if self._gone() else self.nics[0].public_ip

    @property
    def public_ip_address(self) -> str | None:
        """As `public_ip`."""
        return self.public_ip

    @property
    def private_dns_name(self) -> str:
        """By address; a terminated instance has none."""
        return "" if self._gone() else super().private_dns_name

    @property
    def instance_status(self) -> dict[str, Any]:
        """Impaired where the machine behind a running instance does not answer."""
        if self.state == RUNNING and emulation.current().state(self.id) != "on":
            return {"Details": [{"Name": "reachability", "Status": "failed"}], "Status": "impaired"}
        return super().instance_status

    def terminate(self) -> stock.InstanceState:
        """End it; EC2 takes its interfaces away, and one that is gone stays gone."""
        if self.state == TERMINATED:
            return stock.InstanceState(TERMINATED, _CODES[TERMINATED])
        before = super().terminate()
        for nic in self.nics.values():
            nic.instance, nic.attachment_id, nic.status = None, None, "available"
        self.nics, self.security_groups = {}, []
        return before

    def fail(self, code: str, why: str) -> None:
        """End it because its machine did not start."""
        self.terminate()
        self.state_reason = stock.StateReason(f"{code}: {why}", code)


def require_address(subnet: Any, address: str) -> None:  # noqa: ANN401 (a moto subnet)
    """Refuse an address that EC2 would not give to an interface in that subnet."""
    network = ip_network(subnet.cidr_block)
    if ip_address(address) not in network:
        raise EC2ClientError(
            "InvalidParameterValue", f"Address {address} does not fall within the subnet's address range"
        )
    reserved = {*(network[number] for number in range(_RESERVED)), network[-1]}
    if ip_address(address) in reserved:
        raise EC2ClientError(
            "InvalidParameterValue", f"Address {address} is in subnet's reserved address range"
        )


def require_free(subnet: Any, address: str) -> None:  # noqa: ANN401 (a moto subnet)
    """Refuse an address that another interface has.

    After the client token: a launch that is asked for again finds its own address taken.
    """
    used = {one.private_ip_address for one in subnet.ec2_backend.enis.values() if one.subnet is subnet}
    if address in used:
        raise EC2ClientError("InvalidIPAddress.InUse", f"Address {address} is in use.")


def install() -> None:
    """Let moto make instances of this kind, and find them by their client token."""
    filter_dict_attribute_mapping["client-token"] = "client_token"
    stock.Instance = LabInstance  # type: ignore[misc]  # (the only way in: moto names the class itself)
