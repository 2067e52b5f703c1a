"""An `Inventory` in, the folder out that Ansible and ssh use.

| file | for |
|---|---|
| `known_hosts` | the keys, by name and address: the only ones that ssh accepts |
| `ssh_config` | `ssh -F`: user, client key, jump host, strict checking |
| `ansible.cfg` | `ANSIBLE_CONFIG`: this inventory, pipelining, one lasting connection per host |
| `group_vars/all.yml` | the same ssh settings for ``ansible -i …/hosts.yml`` alone |
| `group_vars/onprem.yml`, `group_vars/aws.yml` | static variables, from `inventories/` of the checkout |
| `hosts.yml` | the hosts; absent ones are listed with their reason and are no hosts to Ansible |
| `inventory.json` | the same as one typed value |
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright import canonical, paths
from rackwright.errors import EnvironmentUnfit
from rackwright.render.templates import render

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from rackwright.inventory.model import Absent, Host, Inventory

    Variables = Mapping[str, canonical.Json]

STATIC = ("aws.yml", "onprem.yml")
"""Variables by kind of site."""
_STATIC_HINT = "see that it may be read and is UTF-8; `git status` tells what differs from the checkout"
SUBNET_MANAGERS = "subnet_managers"
"""Group of the hosts that run opensm."""
FORKS = 32
"""Hosts at once: one failure domain."""


def write(inventory: Inventory, folder: Path, client_key: Path) -> None:
    """Write the folder's files, `hosts.yml` last: who reads it finds the others as new as it is.

    Args:
        inventory: what to write.
        folder: made if it is not there; files of other names are left alone.
        client_key: private key that the hosts let in.

    Raises:
        EnvironmentUnfit: variables by kind of site cannot be read.
        OSError: a file could not be written whole; it is then the old one.
    """
    static = paths.repository() / "inventories" / "group_vars"
    contents = {
        "known_hosts": known_hosts(inventory),
        "ssh_config": ssh_config(inventory, folder, client_key),
        "ansible.cfg": ansible_cfg(folder),
        "group_vars/all.yml": all_yml(folder),
        **{f"group_vars/{name}": text_of(static / name, _STATIC_HINT) for name in STATIC},
        "inventory.json": canonical.dumps(inventory),
        "hosts.yml": hosts_yml(inventory),
    }
    for name, content in contents.items():
        canonical.write_atomic(folder / name, content)


def text_of(path: Path, hint: str) -> str:
    """The text of a file of the inventory.

    Args:
        path: of it.
        hint: what to do where it cannot be read.

    Raises:
        EnvironmentUnfit: it cannot.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EnvironmentUnfit(
            "a file of the inventory cannot be read",
            code="INV012",
            where=str(path),
            got=(error.strerror or "") if isinstance(error, OSError) else "no UTF-8",
            hint=hint,
        ) from None


def known_hosts(inventory: Inventory) -> str:
    """One line per key, under the host's name, full name and address (sshd(8), SSH_KNOWN_HOSTS)."""
    return "".join(
        f"{','.join(_names(name, host, inventory.domain))} {key.type} {key.key}\n"
        for name, host in sorted(inventory.hosts.items())
        for key in host.host_keys
    )


def _names(name: str, host: Host, domain: str) -> tuple[str, str, str]:
    return name, f"{name}.{domain}", host.address


@dataclass(frozen=True, slots=True)
class _SshHost:
    """One `Host` block of the ssh configuration; ``jump`` has one element or none."""

    names: str
    address: str
    user: str
    jump: tuple[str, ...]


def ssh_config(inventory: Inventory, folder: Path, client_key: Path) -> str:
    """For ``ssh -F``: strict, with the keys of `known_hosts` and no others (ssh_config(5))."""
    hosts = [
        _ssh_host(_names(name, host, inventory.domain), host)
        for name, host in sorted(inventory.hosts.items())
    ]
    values = {
        "folder": folder,
        "bastions": sorted({_bare(jump) for host in hosts for jump in host.jump} - _own_names(inventory)),
        "hosts": hosts,
        "known_hosts": _quoted(folder / "known_hosts"),
        "client_key": _quoted(client_key),
    }
    return render("inventory/ssh_config.j2", values)


def _ssh_host(names: tuple[str, str, str], host: Host) -> _SshHost:
    is_bastion = host.bastion is not None and _bare(host.bastion) in names
    jump = (host.bastion,) if host.bastion and not is_bastion else ()
    return _SshHost(names=" ".join(names), address=host.address, user=host.user, jump=jump)


def _own_names(inventory: Inventory) -> set[str]:
    """Names of the plan's slots: whoever answers to one must have the key of that slot."""
    slots = (*inventory.hosts, *inventory.absent)
    addresses = {host.address for host in inventory.hosts.values()}
    return addresses.union(slots, (f"{slot}.{inventory.domain}" for slot in slots))


def _bare(jump: str) -> str:
    """The host of ``user@host:port``."""
    return jump.rpartition("@")[2].partition(":")[0]


def _quoted(path: Path) -> str:
    """A path for ssh_config: spaces kept together, no percent sign taken for a token."""
    return f'"{str(path).replace("%", "%%")}"'


def all_yml(folder: Path) -> str:
    """Variables of every host: whoever names only ``hosts.yml`` must not fall back on other keys."""
    return canonical.dumps({"ansible_ssh_common_args": f"-F {shlex.quote(str(folder / 'ssh_config'))}"})


def ansible_cfg(folder: Path) -> str:
    """For ``ANSIBLE_CONFIG``."""
    values = {
        "folder": folder,
        "repository": paths.repository(),
        "forks": FORKS,
        "ssh_config": shlex.quote(str(folder / "ssh_config")),
        "sockets": canonical.sha256(str(folder))[:8],
    }
    return render("inventory/ansible.cfg.j2", values)


def hosts_yml(inventory: Inventory) -> str:
    """Ansible's static form, a line a host and a line a group, so that `grep` and `diff` work on it.

    It is YAML written as JSON: Ansible tries that first, and reads thousands of hosts in a third of
    the time (benchmarks/results).
    """
    hosts = {name: _variables(host) for name, host in sorted(inventory.hosts.items())}
    children = {group: {"hosts": dict.fromkeys(members)} for group, members in groups(inventory).items()}
    return (
        '{"all": {\n'
        f'"vars": {json.dumps(_cluster(inventory))},\n'
        f'"hosts": {_line_each(hosts)},\n'
        f'"children": {_line_each(children)}'
        "}}\n"
    )


def _line_each(values: Mapping[str, Variables]) -> str:
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def dynamic(inventory: Inventory) -> Mapping[str, canonical.Json]:
    """The form in which Ansible prints an inventory (``ansible-inventory --list``), with a ``schema``."""
    by_group = groups(inventory)
    hostvars = {name: _variables(host) for name, host in sorted(inventory.hosts.items())}
    absent = {name: gone.model_dump(mode="json") for name, gone in sorted(inventory.absent.items())}
    return {
        "schema": inventory.schema_,
        "_meta": {"hostvars": hostvars, "absent": absent},
        "all": {"hosts": list(hostvars), "children": list(by_group), "vars": _cluster(inventory)},
        **{group: {"hosts": members} for group, members in by_group.items()},
    }


def _cluster(inventory: Inventory) -> Variables:
    return {
        "rackwright_cluster": inventory.cluster,
        "rackwright_domain": inventory.domain,
        "rackwright_absent": {name: _reason(gone) for name, gone in sorted(inventory.absent.items())},
    }


def _reason(gone: Absent) -> str:
    return f"{gone.absence}: {gone.reason}"


def _variables(host: Host) -> Variables:
    return {
        "ansible_host": host.address,
        "ansible_user": host.user,
        "rackwright_site": host.site,
        "rackwright_pool": host.pool,
        "rackwright_platform": host.platform,
        "rackwright_image": host.image,
        "rackwright_roles": list(host.roles),
        "rackwright_scheduler": host.slurm.scheduler if host.slurm else None,
        "rackwright_logins": host.slurm.logins if host.slurm else "open",
        "rackwright_subnets": list(host.subnets),
        "rackwright_rack": host.rack,
        "rackwright_unit": host.unit,
        "rackwright_serial": host.serial,
        "rackwright_instance": host.instance,
        "rackwright_addresses": host.addresses,
        "rackwright_rails": [port.model_dump(mode="json") for port in host.rails],
    }


def groups(inventory: Inventory) -> dict[str, list[str]]:
    """Group → hosts, both sorted. A prefix says of what kind it is; a name has no underscore of its own."""
    members: dict[str, list[str]] = {}
    for name, host in sorted(inventory.hosts.items()):
        for group in _groups_of(host):
            members.setdefault(group, []).append(name)
    return dict(sorted(members.items()))


def _groups_of(host: Host) -> Iterator[str]:
    yield host.kind
    yield _group("site", host.site)
    yield _group("pool", host.pool)
    yield _group("unit", host.host_set)
    if host.rack:
        yield _group("rack", f"{host.site}_{host.rack}")
    for role in host.roles:
        yield _group("role", role)
    if host.slurm:
        yield from host.slurm.duties
    if host.subnets:
        yield SUBNET_MANAGERS
    yield from host.storage


def _group(kind: str, name: str) -> str:
    """A name that Ansible takes without a warning: letters, digits and underscores."""
    return f"{kind}_{name.replace('-', '_')}"
