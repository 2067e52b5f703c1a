"""NVMe over fabrics as it is planned: what each target serves, and what each host connects to."""

from __future__ import annotations

from typing import Literal

from rackwright.spec.base import Model

Transport = Literal["tcp", "rdma"]
AnaState = Literal["optimized", "non-optimized", "inaccessible"]


class NvmeIdentity(Model):
    """Who a host is to targets: from its slot, so that a replaced machine is let in as the old one was."""

    nqn: str
    id: str
    """UUID; the same as in ``nqn``."""


class NvmePort(Model):
    """One address that a target listens on."""

    id: int
    """Of nvmet; from the address, so that another port changes none."""
    transport: Transport
    address: str
    service: int
    ana: dict[str, AnaState]
    """ANA group → how its namespaces are reached here; of groups that are not named, optimised."""


class NvmeDevice(Model):
    """One namespace as its target serves it."""

    nsid: int
    uuid: str
    """Of the namespace: hosts find it as ``/dev/disk/by-id/nvme-uuid.…``."""
    device: str
    ana_group: int
    holds_data: bool


class NvmeServed(Model):
    """One subsystem of a target."""

    storage: str
    serial: str
    hosts: dict[str, str]
    """Slot that may connect → its NQN; nobody else can."""
    authenticated: bool
    """Whether a host proves by DH-CHAP that it is who it says."""
    namespaces: tuple[NvmeDevice, ...]
    ports: tuple[int, ...]


class NvmeTarget(Model):
    """All that a slot serves."""

    ports: tuple[NvmePort, ...]
    subsystems: dict[str, NvmeServed]
    """By NQN."""


class NvmeRoute(Model):
    """One path to a subsystem."""

    transport: Transport
    address: str
    service: int
    source: str | None
    """Own address in the network of the path."""


class NvmeMount(Model):
    """A namespace with a file system."""

    uuid: str
    file_system: Literal["ext4", "xfs"]
    mount: str


class NvmeConnection(Model):
    """One subsystem that a host uses."""

    storage: str
    target: str
    """Slot."""
    routes: tuple[NvmeRoute, ...]
    authenticated: bool
    reconnect_s: int
    loss_timeout_s: int
    """-1 is never."""
    policy: Literal["numa", "round-robin", "queue-depth"]
    namespaces: tuple[str, ...]
    """UUIDs."""
    mounts: tuple[NvmeMount, ...]


class NvmeHost(Model):
    """All that a slot connects to."""

    identity: NvmeIdentity
    subsystems: dict[str, NvmeConnection]
    """By NQN."""


class NvmeofPlan(Model):
    """Targets and hosts of all NVMe-oF storage, by slot."""

    targets: dict[str, NvmeTarget]
    hosts: dict[str, NvmeHost]
    secrets: dict[str, str]
    """Storage → reference to its DH-CHAP keys; no key is in a plan."""
