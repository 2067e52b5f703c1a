"""AWS zones: what surrounds nodes by `pulumi_aws`, and nodes by our own `NodeSet`."""

from rackwright.provision.aws.access import ClusterAccess
from rackwright.provision.aws.compute import ClusterCompute, NodeSet, Surroundings
from rackwright.provision.aws.network import ClusterNetwork

__all__ = ["ClusterAccess", "ClusterCompute", "ClusterNetwork", "NodeSet", "Surroundings"]
