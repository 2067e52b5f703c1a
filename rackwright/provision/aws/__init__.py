"""AWS zones: what surrounds nodes by `pulumi_aws`, and nodes by our own `NodeSet`.

Components are imported when they are named: who asks EC2 without the engine (the inventory, a
controller that fills slots) needs no Pulumi, and does not wait for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rackwright.provision.aws.access import ClusterAccess
    from rackwright.provision.aws.compute import ClusterCompute, NodeSet, Surroundings
    from rackwright.provision.aws.network import ClusterNetwork

__all__ = ["ClusterAccess", "ClusterCompute", "ClusterNetwork", "NodeSet", "Surroundings"]
_HOMES = {
    "ClusterAccess": "access",
    "ClusterCompute": "compute",
    "ClusterNetwork": "network",
    "NodeSet": "compute",
    "Surroundings": "compute",
}


def __getattr__(name: str) -> object:
    """A component, from its module (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
