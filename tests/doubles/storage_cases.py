"""Counter-examples of the rules on storage and RDMA."""

from __future__ import annotations

from tests.doubles.rule_cases import case


def served(key: str = "", value: object = None, **of_storage: object) -> dict[str, object]:
    """NVMe-oF storage of the lab with one wish: of its namespace, or of its subsystem, else of itself."""
    namespace: dict[str, object] = {"nsid": 1, "device": "/dev/disk/by-id/nvme-a"}
    subsystem: dict[str, object] = {
        "target": "head-001",
        "hosts": ["node-001"],
        "namespaces": {"one": namespace},
    }
    if key in ("target", "hosts"):
        subsystem[key] = value
    elif key == "two":
        subsystem["namespaces"] = {"one": namespace, "two": value}
    elif key:
        namespace[key] = value
    return {
        "kind": "nvmeof",
        "site": "hall",
        "targets": ["head"],
        "hosts": ["node"],
        "dhchap": "state:secrets/dhchap.csv",
        "subsystems": {"a": subsystem},
        **of_storage,
    }


FIRST = "storage.fast.subsystems.a"
NVMEOF_CASES = [
    case("NVME001", "storage.fast", "lab", storage__fast=served(subsystems={})),
    case("NVME002", f"{FIRST}.target", "lab", storage__fast=served("target", "head-002")),
    case("NVME002", f"{FIRST}.hosts.0", "lab", storage__fast=served("hosts", ["head-001"])),
    case(
        "NVME003",
        f"{FIRST}.namespaces.two.nsid",
        "lab",
        storage__fast=served("two", {"nsid": 1, "device": "/dev/disk/by-id/nvme-b"}),
    ),
    case(
        "NVME004",
        f"{FIRST}.namespaces.two.device",
        "lab",
        storage__fast=served("two", {"nsid": 2, "device": "/dev/disk/by-id/nvme-a"}),
    ),
    case("NVME005", f"{FIRST}.namespaces.one.mount", "lab", storage__fast=served("mount", "/fast")),
    case(
        "NVME005",
        f"{FIRST}.namespaces.one.file_system",
        "lab",
        storage__fast=served("file_system", "ext4")
        | {
            "subsystems": {
                "a": {
                    "target": "head-001",
                    "hosts": ["node-001", "node-002"],
                    "namespaces": {
                        "one": {"nsid": 1, "device": "/dev/disk/by-id/nvme-a", "file_system": "ext4"}
                    },
                }
            }
        },
    ),
    case("NVME006", "storage.fast.networks.storag", "lab", storage__fast=served(networks={"storag": {}})),
    case("NVME007", f"{FIRST}.namespaces.one.device", "lab", storage__fast=served("device", "/dev/sdb")),
    case("NVME008", "storage.fast", "lab", storage__fast=served(dhchap=None)),
    case(
        "NVME009",
        f"{FIRST}.namespaces.two.mount",
        "lab",
        storage__fast=served(
            subsystems={
                "a": {
                    "target": "head-001",
                    "hosts": ["node-001"],
                    "namespaces": {
                        name: {
                            "nsid": nsid,
                            "device": f"/dev/disk/by-id/nvme-{name}",
                            "file_system": "xfs",
                            "mount": mount,
                        }
                        for name, nsid, mount in (("one", 1, "/fast"), ("two", 2, "/fast/er"))
                    },
                }
            }
        ),
    ),
    case(
        "NVME010",
        "storage.fast.networks.management",
        "lab",
        storage__fast=served(networks={"management": {"inaccessible": [2]}}),
    ),
    case("NVME011", f"{FIRST}.hosts.0", "lab", storage__fast=served(networks={"compute": {}})),
    case(
        "NVME014",
        "storage.slow.subsystems.a.hosts.0",
        "lab",
        storage={"fast": served(), "slow": served("device", "/dev/disk/by-id/nvme-b", dhchap=None)},
    ),
]
SOFT = {"kind": "soft"}
RDMA_CASES = [
    case("RDMA001", "fabrics.compute.rdma", "lab", fabrics__compute__rdma=SOFT, fabrics__compute__cidr=None),
    case(
        "RDMA002",
        "pools.node.fabrics.compute.pci",
        "lab",
        pools__node__fabrics={"compute": {"nics": 2, "pci": ["0000:18:00.0", "0000:18:00.0"]}},
    ),
    case(
        "RDMA003",
        "fabrics.compute.rdma.dscp",
        "lab",
        fabrics__compute__rdma={**SOFT, "dscp": 24},
        fabrics__compute__switches={"os": "sonic", "loopbacks": "10.255.0.0/24"},
    ),
]
SCRATCH = {"kind": "local-nvme", "pools": ["node"], "mount": "/scratch"}
LOCAL_CASES = [
    case(
        "LOCAL001",
        "storage.more.pools.0",
        "lab",
        storage={"cache": SCRATCH, "more": {**SCRATCH, "mount": "/more"}},
    ),
    case(
        "LOCAL002",
        "schedulers.main.settings.Epilog",
        "lab",
        storage={"cache": {**SCRATCH, "wipe_after_job": True}},
        schedulers__main__settings__Epilog="/root/own.sh",
    ),
]
STORAGE_CASES = NVMEOF_CASES + RDMA_CASES + LOCAL_CASES
