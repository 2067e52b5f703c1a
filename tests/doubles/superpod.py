"""Scalable units of DGX H100 in one InfiniBand fat tree, as values of a spec."""

from __future__ import annotations

from typing import Any

UNIT_NODES, PER_ROW = 32, 32
PUBLISHED = (
    (64, 0, [16, 8], [512, 512]),
    (128, 0, [32, 16], [1024, 1024]),
    (256, 0, [64, 32], [2048, 2048]),
    (512, 0, [128, 128, 64], [4096, 4096, 4096]),
    (1024, 0, [256, 256, 128], [8192, 8192, 8192]),
    (2048, 0, [512, 512, 256], [16384, 16384, 16384]),
    (31, 4, [8, 4], [252, 256]),
    (63, 4, [16, 8], [508, 512]),
    (95, 4, [24, 16], [764, 768]),
    (127, 4, [32, 16], [1020, 1024]),
)
"""Nodes, uplinks of the manager, switches and cables by tier: both tables of facts/fabric.md §1.1."""


def values(nodes: int, manager_uplinks: int = 0, **topology: Any) -> dict[str, Any]:  # noqa: ANN401 (YAML)
    """A hall with that many nodes, two in a rack, and room for switches beside them."""
    racks = nodes + 8
    return {
        "rackwright": 1,
        "cluster": {"name": "pod", "domain": "pod.example"},
        "images": {"dgx": {"os": "ubuntu-24.04", "slurm": "25.11"}},
        "sites": {
            "hall": {
                "kind": "onprem",
                "racks": {"rows": -(-racks // PER_ROW), "per_row": PER_ROW, "units": 48, "power_kw": 25},
                "access": {"console_logs": "state:console"},
                "networks": {"management": {"cidr": "10.0.0.0/16"}, "bmc": {"cidr": "10.1.0.0/16"}},
                "bmc": {"credentials": "env:BMC", "ca": "file:ca.pem"},
            }
        },
        "pools": {
            "gpu": {
                "site": "hall",
                "platform": "dgx-h100",
                "image": "dgx",
                "nodes": {"static": nodes},
                "fabrics": {"compute": {}},
            }
        },
        "fabrics": {
            "compute": {
                "kind": "infiniband",
                "speed": "ndr",
                "manager": {"kind": "ufm", "uplinks": manager_uplinks},
                "topology": {
                    "kind": "fat-tree",
                    "unit_nodes": UNIT_NODES,
                    "switch": "qm9700",
                    **topology,
                },
            }
        },
    }


def managed() -> dict[str, Any]:
    """A spec's values of a unit of 31 nodes, and of two hosts with the subnet manager's own links."""
    found = values(31, manager_uplinks=2)
    found["fabrics"]["compute"]["manager"]["kind"] = "opensm"
    found["pools"]["mgmt"] = {
        "site": "hall",
        "platform": "cpu-1u",
        "image": "dgx",
        "nodes": {"static": 2},
        "roles": ["subnet-manager"],
    }
    return found
