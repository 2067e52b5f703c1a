"""What labd is told of a host to launch, and what it tells of those that it launched.

Standard library only: it is part of the protocol.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import StrEnum

INSTANCE = re.compile(r"i-[0-9a-f]{8}(?:[0-9a-f]{9})?")
"""Form of an EC2 instance id."""
_MAC = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}")


class Refusal(StrEnum):
    """Why labd did not launch a host, for those that answer in an API's own codes."""

    NO_CAPACITY = "no-capacity"
    """As many run as this lab's cloud holds, or its disk is full."""
    NO_SUCH_TYPE = "no-such-type"
    NO_SUBNET = "no-subnet"
    """The private address is in no range of this lab's cloud."""
    ADDRESS_IN_USE = "address-in-use"
    USER_DATA = "user-data"
    """Not the subset of `#cloud-config` that the lab's hosts boot with."""
    CHANGED = "changed"
    """An instance of this id runs already, and was launched otherwise."""


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface of an instance.

    Args:
        mac: its address, lower case with colons.
        address: private IPv4 address, without prefix length; empty where it has none.
        card: network card index.
        device: device index on that card.
    """

    mac: str
    address: str = ""
    card: int = 0
    device: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """One host to launch.

    Args:
        instance: its id, as EC2 makes them; labd knows the host by it.
        type: name of its platform: ``lab1.2rail``.
        interfaces: the primary one, which has the private address, first; the others are its rails, in
            order. Rails that are not given are there all the same, with MACs of the lab.
        user_data: in base64, as RunInstances takes it; empty for none.
        pool: of the cluster, by its tag; empty for none.
        slot: of the cluster, by its tag; empty for none.
    """

    instance: str
    type: str
    interfaces: tuple[Interface, ...]
    user_data: str = ""
    pool: str = ""
    slot: str = ""

    def plain(self) -> dict[str, object]:
        """As an object of JSON."""
        return asdict(self)

    @classmethod
    def read(cls, plain: object) -> Launch:
        """Read what `plain` wrote.

        Raises:
            ValueError: no launch; the message says why.
        """
        fields = _texts(plain, {"instance", "type", "user_data", "pool", "slot"}, {"interfaces"})
        if not INSTANCE.fullmatch(fields["instance"]):
            msg = f"no instance id: {fields['instance']}"
            raise ValueError(msg)
        listed = plain["interfaces"] if isinstance(plain, dict) else None
        if not isinstance(listed, list | tuple) or not listed:
            msg = "`interfaces` is a list of at least one"
            raise ValueError(msg)
        return cls(interfaces=tuple(map(_interface, listed)), **fields)


@dataclass(frozen=True, slots=True)
class Instance:
    """A host of the cloud that is there.

    Args:
        instance: its id.
        type: name of its platform.
        site: where it was launched.
        pool: by its tag; empty for none.
        slot: by its tag; empty for none.
        address: private IPv4 address of its primary interface.
        state: ``off``, ``booting`` or ``on``.
    """

    instance: str
    type: str
    site: str
    pool: str
    slot: str
    address: str
    state: str

    @classmethod
    def read(cls, plain: object) -> Instance:
        """Read what `asdict` made of one.

        Raises:
            ValueError: none.
        """
        return cls(**_texts(plain, {"instance", "type", "site", "pool", "slot", "address", "state"}, set()))


def _interface(plain: object) -> Interface:
    fields = _texts(plain, {"mac", "address"}, {"card", "device"})
    numbers: dict[str, int] = (
        {name: plain[name] for name in ("card", "device")} if isinstance(plain, dict) else {}
    )
    if not all(type(number) is int for number in numbers.values()) or not _MAC.fullmatch(fields["mac"]):
        msg = f"no interface: {plain}"
        raise ValueError(msg)
    return Interface(fields["mac"], fields["address"], numbers["card"], numbers["device"])


def _texts(plain: object, texts: set[str], others: set[str]) -> dict[str, str]:
    """The texts of an object that has exactly these keys.

    Raises:
        ValueError: it is another object.
    """
    if not isinstance(plain, dict) or plain.keys() != texts | others:
        msg = f"an object with {', '.join(sorted(texts | others))} is needed"
        raise ValueError(msg)
    found = {name: plain[name] for name in texts}
    if not all(isinstance(text, str) for text in found.values()):
        msg = f"{', '.join(sorted(texts))} are texts"
        raise ValueError(msg)
    return found
