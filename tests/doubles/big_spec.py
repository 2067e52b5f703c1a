"""A spec of any size, as its files: YAML and the asset CSV of every node.

Benchmarks and tests of every stage measure themselves on it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

NODES_PER_RACK = 4
RACKS_PER_ROW = 64
MOST_HOSTS = 65_000
"""As many as the /16 of its management network takes, nearly."""

_SPEC = """\
rackwright: 1
cluster: {{name: {name}, domain: big.example}}
images:
  dgx: {{os: ubuntu-24.04}}
sites:
  hall:
    kind: onprem
    racks: {{rows: {rows}, per_row: {per_row}, units: 48, power_kw: 44}}
    access: {{console_logs: "state:console"}}
    networks:
      management: {{cidr: 10.0.0.0/16}}
      bmc: {{cidr: 10.1.0.0/16}}
    bmc: {{credentials: "{credentials}", ca: "{ca}", port: {port}}}
pools:
  node:
    site: hall
    platform: dgx-h100
    nodes: {{static: {hosts}}}
    nodes_per_rack: {nodes_per_rack}
    image: dgx
    assets: "file:assets.csv"
    fabrics: {{compute: {{}}, storage: {{nics: 2}}}}
fabrics:
  compute: {{kind: ethernet, speed: 400g, topology: {{kind: rails}}, cidr: 10.128.0.0/13}}
  storage: {{kind: ethernet, speed: 400g, topology: {{kind: rails}}, cidr: 10.136.0.0/15}}
"""


@dataclass(frozen=True, slots=True)
class Reaching:
    """How its management controllers are reached; see the spec's `bmc`."""

    credentials: str = "env:BMC_CREDENTIALS"
    ca: str = "file:ca.pem"
    port: int = 443


def spec_text(hosts: int, name: str = "big", reaching: Reaching = Reaching()) -> str:
    """YAML of one hall with that many DGX H100: 8 accelerators and 10 ports each."""
    if not 1 <= hosts <= MOST_HOSTS:
        msg = f"{hosts} hosts: 1 to {MOST_HOSTS} fit the spec's networks"
        raise ValueError(msg)
    racks = -(-hosts // NODES_PER_RACK)
    return _SPEC.format(
        name=name,
        hosts=hosts,
        rows=-(-racks // RACKS_PER_ROW),
        per_row=min(racks, RACKS_PER_ROW),
        nodes_per_rack=NODES_PER_RACK,
        **asdict(reaching),
    )


def assets_text(hosts: int) -> str:
    """CSV with one row a host."""
    rows = (
        f"node-{number:03d},BIG-{number:06d},,02:01:{_octets(number)},02:00:{_octets(number)},,"
        for number in range(1, hosts + 1)
    )
    return "\n".join(["slot,serial,bmc_address,bmc_mac,boot_mac,hca_guids,state", *rows, ""])


def _octets(number: int) -> str:
    return ":".join(f"{number >> shift & 255:02x}" for shift in (24, 16, 8, 0))


def write(folder: Path, hosts: int, name: str = "big", reaching: Reaching = Reaching()) -> Path:
    """Write both files into a folder, which is made where it is missing; the spec's path."""
    folder.mkdir(parents=True, exist_ok=True)
    spec = folder / f"{name}.yaml"
    spec.write_text(spec_text(hosts, name, reaching), encoding="utf-8")
    (folder / "assets.csv").write_text(assets_text(hosts), encoding="utf-8")
    return spec
