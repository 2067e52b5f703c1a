"""What the plan says of a fabric's switches and cables: numbers from which each one follows."""

from __future__ import annotations

from rackwright.plan.fabric.frame import Frame
from rackwright.spec.base import Model


class TierPlan(Model):
    """Switches of one role, over all planes."""

    role: str
    switches: int


class CablesPlan(Model):
    """Cables between two roles, over all planes."""

    between: tuple[str, str]
    count: int


class CablingPlan(Model):
    """Switches and cables of one fabric, in numbers; `links.links` makes every cable of them."""

    site: str
    """Where its nodes are, or its switches where it has no nodes any more."""
    switch: str | None
    """Entry of the catalogue; None for one switch a rail, of whatever make."""
    switch_units: int | None
    """Rack units of a switch; None where no source tells."""
    port_split: int = 1
    """Ports of a switch in each of its cages."""
    cage_lanes: int | None = None
    """None where no source tells."""
    rate_gbps: float
    """Of a node's link."""
    uplink_gbps: float
    """Of a link between switches."""
    endpoints: int
    """NICs of nodes in one plane."""
    nics: dict[str, int]
    """Pool → NICs of each of its nodes on the fabric."""
    tree: Frame | None
    """None for one switch a rail."""
    manager_uplinks: int
    """Leaf ports that go to the fabric manager, in one plane."""
    manager: tuple[int, ...]
    """Places whose ports these are, in order."""
    tiers: tuple[TierPlan, ...]
    cables: tuple[CablesPlan, ...]
    places: dict[str, dict[str, str]]
    """Pool → spans of slot numbers → spans of places: ``{h100: {1-127: 0-126}}``."""
    switches: dict[str, dict[str, dict[str, str]]]
    """Tier → rack → spans of switch numbers → spans of their lowest units; empty where none is placed."""


class ManagerPlan(Model):
    """A host that runs the subnet manager of a subnet."""

    slot: str
    priority: int
    """15 of the master; the standby's is lower."""
    guid: str | None
    """Of its port in the subnet; None until the factory has told."""


class SubnetPlan(Model):
    """One subnet that opensm manages: a fabric, or one of its planes."""

    fabric: str
    plane: int
    """From 1."""
    managers: tuple[ManagerPlan, ...]
    """The master first, then the standby."""
