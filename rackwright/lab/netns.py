"""One network namespace through iproute2: what is in it, and commands within it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.lab.commands import run
from rackwright.lab.places import NETNS

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Link:
    """A network interface as it is now.

    Args:
        name: of the interface.
        master: the bridge it is a port of; empty for none.
        mtu: in bytes.
        mac: its address.
        alias: what `ip link set … alias` noted on it.
        up: whether it is switched on.
        rate_mbit: of its tbf queue; 0 without one.
        addresses: IPv4, with prefix length.
    """

    name: str
    master: str
    mtu: int
    mac: str
    alias: str
    up: bool
    rate_mbit: int
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Namespace:
    """A named network namespace; the empty name is the machine's own."""

    name: str = ""

    @property
    def path(self) -> Path:
        """What `nsenter --net` and `systemd-nspawn` take."""
        return NETNS / self.name

    @property
    def exists(self) -> bool:
        """Whether it is there; the plain file that a reboot leaves of one is none."""
        if not self.name:
            return True
        try:
            return self.path.stat().st_dev != NETNS.parent.stat().st_dev
        except OSError:
            return False

    def make(self) -> None:
        """Make it, with its loopback up."""
        self.path.unlink(missing_ok=True)
        run("ip", "netns", "add", self.name)
        self.ip("link", "set", "lo", "up")

    def ip(self, *words: str) -> str:
        """Run `ip` in it."""
        return run("ip", *self._within, *words)

    def tc(self, *words: str) -> str:
        """Run `tc` in it."""
        return run("tc", *self._within, *words)

    def nft(self, commands: str) -> str:
        """Run commands of `nft` in it, all or none."""
        return run("nsenter", f"--net={self.path}", "nft", commands)

    @property
    def _within(self) -> tuple[str, ...]:
        return ("-n", self.name) if self.name else ()

    def links(self) -> dict[str, Link]:
        """Its interfaces, by name."""
        rates, addresses = self._rates(), self._addresses()
        return {
            plain["ifname"]: Link(
                name=plain["ifname"],
                master=plain.get("master", ""),
                mtu=plain["mtu"],
                mac=plain.get("address", ""),
                alias=plain.get("ifalias", ""),
                up="UP" in plain["flags"],
                rate_mbit=rates.get(plain["ifname"], 0),
                addresses=addresses.get(plain["ifname"], ()),
            )
            for plain in json.loads(self.ip("-j", "link", "show"))
        }

    def _addresses(self) -> dict[str, tuple[str, ...]]:
        """Interface → IPv4 addresses; `ip addr` tells no alias, `ip link` no address."""
        return {
            plain["ifname"]: tuple(f"{one['local']}/{one['prefixlen']}" for one in plain["addr_info"])
            for plain in json.loads(self.ip("-j", "-4", "addr", "show"))
        }

    def _rates(self) -> dict[str, int]:
        """Interface → rate of its tbf queue, Mbit/s; tc prints bytes/s."""
        return {
            plain["dev"]: round(plain["options"]["rate"] * 8 / 1_000_000)
            for plain in json.loads(self.tc("-j", "qdisc", "show"))
            if plain["kind"] == "tbf"
        }

    def routes(self) -> list[tuple[str, str]]:
        """IPv4 destinations with their interface, of all tables; no default routes, no broadcasts."""
        plain = json.loads(self.ip("-j", "-4", "route", "show", "table", "all"))
        kept = (route for route in plain if route["dst"] != "default" and route.get("type") != "broadcast")
        return [(route["dst"], route.get("dev", "")) for route in kept]
