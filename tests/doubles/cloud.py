"""A small lab with a hall and a zone of AWS: its spec, and hosts that its cloud may launch."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from rackwright.lab.cloud.wire import Interface, Launch

if TYPE_CHECKING:
    from pathlib import Path

_SPEC = """\
rackwright: 1
cluster: {{name: {name}, domain: lab.internal}}
images:
  debian: {{os: debian-13}}
  cloud: {{os: debian-13, ami: ami-0123456789abcdef0}}
sites:
  hall:
    kind: onprem
    racks: {{rows: 1, per_row: 1, units: 12, power_kw: 2, cooling: air}}
    access: {{user: rackwright, console_logs: "state:console"}}
    networks:
      management: {{cidr: {prefix}.0.0/24}}
      bmc: {{cidr: {prefix}.1.0/24}}
    bmc: {{credentials: "state:secrets/bmc.csv", ca: "state:bmc-ca.pem"}}
  cloud:
    kind: aws
    account: "123456789012"
    region: us-east-1
    zone_id: use1-az1
    vpc: {{cidrs: [{prefix}.32.0/24]}}
links:
  wan: {{between: [hall, cloud], via: routed, mtu: 1400}}
pools:
  node:
    site: hall
    platform: lab-node
    nodes: {{static: {nodes}}}
    image: debian
    fabrics: {{compute: {{nics: 2}}}}
    assets: "file:assets/lab.csv"
  cnode:
    site: cloud
    platform: lab1.2rail
    nodes: {{static: 1, burst: 1}}
    image: cloud
    fabrics: {{rails: {{}}}}
fabrics:
  compute: {{kind: ethernet, speed: 100m, topology: {{kind: rails}}, cidr: {prefix}.16.0/23, mtu: 1500}}
  rails: {{kind: ethernet, speed: 100m, topology: {{kind: rails}}, cidr: {prefix}.48.0/23, mtu: 1500}}
"""
_ASSETS = """\
slot,serial,bmc_address,bmc_mac,boot_mac,hca_guids,state
"""
_ROW = "node-{n:03},LAB-{n:04},{prefix}.1.{last},02:77:01:00:00:{n:02x},02:77:00:00:00:{n:02x},,\n"
TYPE = "lab1.2rail"


def write_spec(folder: Path, name: str, prefix: str, nodes: int = 1) -> Path:
    """Write spec and assets.

    Args:
        folder: where to.
        name: of the cluster.
        prefix: first two numbers of all addresses: ``10.87``.
        nodes: of the hall.
    """
    (folder / "assets").mkdir(parents=True, exist_ok=True)
    rows = "".join(_ROW.format(n=n, prefix=prefix, last=15 + n) for n in range(1, nodes + 1))
    (folder / "assets" / "lab.csv").write_text(_ASSETS + rows)
    (folder / f"{name}.yaml").write_text(_SPEC.format(name=name, prefix=prefix, nodes=nodes))
    return folder / f"{name}.yaml"


def instance(number: int) -> str:
    """An instance id."""
    return f"i-{number:017x}"


def launch(number: int, prefix: str, user_data: str = "", slot: str = "") -> Launch:
    """An instance whose private address is that of the slot of that number, from 1.

    Args:
        number: of the instance.
        prefix: of the lab's addresses.
        user_data: as text.
        slot: by its tag.
    """
    return Launch(
        instance=instance(number),
        type=TYPE,
        interfaces=(Interface(f"02:aa:00:00:00:{number:02x}", f"{prefix}.32.{15 + number}"),),
        user_data=base64.b64encode(user_data.encode()).decode(),
        pool="cnode" if slot else "",
        slot=slot,
    )


def cloud_config(hostname: str, files: dict[str, str]) -> str:
    """User data that names a host and writes files, path → content."""
    written = [{"path": path, "content": content} for path, content in files.items()]
    return f"#cloud-config\n{json.dumps({'hostname': hostname, 'write_files': written})}\n"
