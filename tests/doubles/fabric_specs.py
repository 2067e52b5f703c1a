"""Specs with one fat tree, drawn by hypothesis: any attachment, planes, breakouts, pools and manager."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Values = dict[str, Any]
POOLS = ("big", "mid", "zeta")


@st.composite
def specs(draw: st.DrawFn) -> Values:
    nics = draw(st.integers(1, 8))
    names = sorted(draw(st.sets(st.sampled_from(POOLS), min_size=1)))
    topology = {
        "kind": "fat-tree",
        "attach": draw(st.sampled_from(["rail", "tor", "dual-tor"])),
        "unit_nodes": draw(st.integers(1, 6)),
        "switch": "qm9700",
        "planes": draw(st.integers(1, 2)),
        "breakout": draw(st.sampled_from([1, 2])),
        "oversubscription": {"leaf": draw(st.sampled_from([1, 2, 0.5]))},
        "partial": draw(st.sampled_from([True, True, False])),
        "uplink_speed": draw(st.sampled_from([None, None, "hdr", "ndr"])),
    }
    speed = "hdr" if topology["breakout"] == 2 else "ndr"
    manager = {"kind": "opensm", "uplinks": draw(st.sampled_from([0, 0, 2]))}
    return {
        "rackwright": 1,
        "cluster": {"name": "any", "domain": "any.example"},
        "images": {"base": {"os": "debian-13"}},
        "sites": {
            "hall": {
                "kind": "onprem",
                "racks": {"rows": 4, "per_row": 6, "units": 48, "power_kw": 45},
                "access": {"console_logs": "state:console"},
                "networks": {"management": {"cidr": "10.0.0.0/24"}, "bmc": {"cidr": "10.0.1.0/24"}},
                "bmc": {"credentials": "env:BMC", "ca": "file:ca.pem"},
            }
        },
        "pools": {name: pool(draw(st.integers(1, 9)), nics) for name in names},
        "fabrics": {
            "compute": {"kind": "infiniband", "speed": speed, "manager": manager, "topology": topology}
        },
    }


def pool(nodes: int, nics: int) -> Values:
    return {
        "site": "hall",
        "platform": "dgx-h100",
        "image": "base",
        "nodes": {"static": nodes},
        "fabrics": {"compute": {"nics": nics}},
    }
