"""A slot of a zone in, the user data out that its instance boots with: the boot seed as `#cloud-config`.

The files are those that a hall's boot server lays (`boot.py`), with two differences: an instance asks
its zone for names, so it keeps its image's resolv.conf; and user data is small, so its hosts file has
only itself and the hosts that its daemons look for. `converge` and the resume program lay the whole one.

The document is JSON, which is YAML too, so that no content needs quoting rules of its own. It holds
no secret: whoever may describe an instance, or runs on it, can read its user data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import canonical
from rackwright.plan.model import AwsSitePlan
from rackwright.render.boot import Interface, hosts_file, login_files, rail_files
from rackwright.spec.sites import MANAGEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rackwright.plan.model import Plan, PoolPlan, Slot

FIRST_LINE = "#cloud-config\n"
MOST_BYTES = 16384
"""Of user data, before base64 (EC2 API, RunInstances: UserData)."""
NOT_OF_AN_INSTANCE = frozenset({"etc/resolv.conf", "etc/hostname"})
"""The zone's resolver is the image's to know; cloud-init itself sets the name."""
MODES = {"etc/sudoers.d/rackwright": "0440"}
"""Of files that are refused with the usual 0644."""
_APPLIED = (
    ["systemctl", "daemon-reload"],
    ["systemd-sysusers", "/etc/sysusers.d/rackwright.conf"],
    ["systemd-tmpfiles", "--create", "/etc/tmpfiles.d/rackwright.conf"],
    ["networkctl", "reload"],
    ["systemctl", "try-reload-or-restart", "ssh.service"],
)
"""What makes the files count that cloud-init writes when the system is up; a host that has them before it
boots needs none of it. networkctl fails where networkd is not used, and nothing depends on it there."""


def user_data(plan: Plan, pool: str, slot: str, authorized_keys: Sequence[str]) -> str:
    """User data of one slot.

    Args:
        plan: the plan.
        pool: of the slot, in a zone.
        slot: which.
        authorized_keys: public keys that may log in.

    Raises:
        TypeError: the pool is in no zone.
    """
    ours = plan.pools[pool]
    site = plan.sites[ours.site]
    if not isinstance(site, AwsSitePlan):
        msg = f"pool {pool} is in a hall"
        raise TypeError(msg)
    files = _files(plan, site, ours, ours.slots[slot], authorized_keys)
    document: dict[str, canonical.Json] = {
        "hostname": slot,
        "fqdn": f"{slot}.{plan.cluster.domain}",
        "manage_etc_hosts": False,
        "users": [],
        "write_files": [
            {"path": f"/{path}", "permissions": MODES.get(path, "0644"), "content": content}
            for path, content in sorted(files.items())
        ],
        "runcmd": [list(words) for words in _APPLIED],
    }
    return FIRST_LINE + canonical.dumps(document)


def _files(
    plan: Plan, site: AwsSitePlan, pool: PoolPlan, slot: Slot, authorized_keys: Sequence[str]
) -> dict[str, str]:
    files = {
        "etc/hosts": hosts_file(plan.cluster.domain, [*_looked_for(plan), slot]),
        **login_files(site.access, authorized_keys),
        **rail_files(plan, slot),
        **_first_interface(site, pool, slot),
    }
    return {path: content for path, content in files.items() if path not in NOT_OF_AN_INSTANCE}


def _looked_for(plan: Plan) -> Iterator[Slot]:
    """Hosts that a node's daemons look for by name."""
    names = {name for slurm in plan.slurm.values() for name in slurm.controllers}
    for pool in plan.pools.values():
        yield from (pool.slots[name] for name in sorted(names & pool.slots.keys()))


def _first_interface(site: AwsSitePlan, pool: PoolPlan, slot: Slot) -> dict[str, str]:
    """Its planned address, where the platform names the interface; DHCP gives it the same elsewhere."""
    network, address = site.networks.get(MANAGEMENT), slot.addresses.get(MANAGEMENT)
    if pool.management_interface is None or network is None or address is None:
        return {}
    text = Interface(
        what=MANAGEMENT,
        match=f"Name={pool.management_interface}",
        network=(f"Address={address}", f"Gateway={network.gateway}"),
        mtu=network.mtu,
    ).text()
    return {"etc/systemd/network/10-management.network": text}
