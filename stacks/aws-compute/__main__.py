"""Nodes of one AWS zone. Everything it builds is in the plan; see rackwright/provision/aws/compute.py."""

from rackwright.provision import export, load_slice, outputs_of
from rackwright.provision.aws import ClusterCompute, Surroundings

plan = load_slice("aws-compute")
around = Surroundings(network=outputs_of("aws-network"), access=outputs_of("aws-access"))
export(ClusterCompute(plan.site, plan, around))
