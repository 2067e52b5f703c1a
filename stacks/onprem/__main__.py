"""Hosts of one hall. Everything it builds is in the plan; see rackwright/provision/onprem/hall.py."""

from rackwright.provision import export, load_slice
from rackwright.provision.onprem import Hall

plan = load_slice("onprem")
export(Hall(plan.site, plan))
