"""What a zone's instances may do. Everything is in the plan; see rackwright/provision/aws/access.py."""

from rackwright.provision import export, load_slice
from rackwright.provision.aws import ClusterAccess

plan = load_slice("aws-access")
export(ClusterAccess(plan.site, plan))
