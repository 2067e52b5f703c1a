"""On-prem halls: hosts powered on over Redfish."""

from rackwright.provision.onprem.hall import Hall, HostSet

__all__ = ["Hall", "HostSet"]
