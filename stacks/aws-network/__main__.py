"""Network of one AWS zone. Everything it builds is in the plan; see rackwright/provision/aws/network.py."""

from rackwright.provision import export, load_slice
from rackwright.provision.aws import ClusterNetwork

plan = load_slice("aws-network")
export(ClusterNetwork(plan.site, plan))
