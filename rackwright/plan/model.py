"""The plan: everything that is decided before anything is touched.

Every list is sorted, every map keyed by a stable name; `canonical.dumps(plan)` is the file that
stacks, inventory and templates read. Units are in the names, counts are integers.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rackwright.catalogue.model import Processors, Reboot, SlurmHost
from rackwright.catalogue.tuning import Settings
from rackwright.plan.aws_model import AwsAccessStack, AwsComputeStack, AwsNetworkStack
from rackwright.plan.fabric.model import CablingPlan, SubnetPlan
from rackwright.plan.local_nvme_model import LocalScratch
from rackwright.plan.nics import NicPlan
from rackwright.plan.nvmeof_model import NvmeofPlan
from rackwright.plan.rdma_model import RdmaHost
from rackwright.spec.assets import Asset as Asset  # noqa: PLC0414 (part of the plan: re-exported)
from rackwright.spec.base import Model
from rackwright.spec.fabrics import Fabric
from rackwright.spec.pools import Role
from rackwright.spec.schedulers import BurstTimes, Logins
from rackwright.spec.sites import Cooling, Link

SCHEMA: Literal["rackwright/plan/1"] = "rackwright/plan/1"


class Origin(Model):
    """What a plan was made from; `up` refuses a plan whose origin has changed."""

    spec_sha256: str
    assets_sha256: str
    lock_sha256: str
    catalogue_sha256: str
    package: str
    """Version of rackwright."""


class Identity(Model):
    """Name and DNS domain of the cluster."""

    name: str
    domain: str


class NetworkPlan(Model):
    """One address range of a site."""

    cidr: str
    gateway: str
    """First address of the range."""
    mtu: int


class RackPlan(Model):
    """One rack that holds something."""

    row: int
    place: int
    """Place in the row, from 1."""
    units_used: int
    units: int
    power_kw: float
    """Draw of what it holds, kW of IT load at most."""
    limit_kw: float


class BmcPlan(Model):
    """How the management controllers of a site are reached; secrets are references."""

    protocol: Literal["redfish"]
    port: int
    credentials: str
    ca: str


class LoginPlan(Model):
    """How the controller reaches the hosts of a site."""

    user: str
    bastion: str | None


class AccessPlan(LoginPlan):
    """The same of a hall, with where its hosts' consoles are written."""

    console_logs: str


class OnpremSitePlan(Model):
    """A hall."""

    kind: Literal["onprem"]
    networks: dict[str, NetworkPlan]
    racks: dict[str, RackPlan]
    cooling: Cooling
    bmc: BmcPlan
    access: AccessPlan


class AwsSitePlan(Model):
    """An AWS zone."""

    kind: Literal["aws"]
    account: str
    region: str
    zone_id: str
    networks: dict[str, NetworkPlan]
    """``management``: the subnet of the nodes; empty where the VPC is somebody else's."""
    access: LoginPlan


SitePlan = Annotated[OnpremSitePlan | AwsSitePlan, Field(discriminator="kind")]


class RailPort(Model):
    """One NIC of a slot on one rail of a fabric."""

    fabric: str
    rail: int
    interface: str | None
    """Name of the interface on the host, as the platform has it; None where no source tells."""
    address: str | None
    """With prefix length (``10.77.16.16/24``); None where the fabric has no address range."""


class Position(Model):
    """Where a slot is in its hall."""

    rack: str
    unit: int
    """Lowest rack unit, from 1."""


class Slot(Model):
    """A place in the cluster, whatever machine fills it."""

    name: str
    number: int
    """From 1, never used again within the pool."""
    index: int
    """From 0, unique in the site; every address of the slot is its network's base plus this."""
    addresses: dict[str, str]
    """Network → address with prefix length."""
    ports: tuple[RailPort, ...]
    position: Position | None
    """None in the cloud, where nobody knows it before launch."""
    asset: Asset | None
    """None in the cloud, and on-prem until the factory has delivered."""
    burst: bool
    """Filled on demand."""


class PoolPlan(Model):
    """An ordered set of equal slots."""

    site: str
    platform: str
    image: str
    roles: tuple[Role, ...]
    provisioning: Literal["redfish", "ec2", "none"]
    """What brings its nodes up; none is by hand."""
    management_interface: str | None
    """The interface that boots and is managed, as the platform has it; None where no source tells."""
    accelerators_per_node: int
    accelerator: str | None
    power_kw_per_node: float | None
    units_per_node: int | None
    tuning: Annotated[Settings, Field(exclude_if=lambda settings: settings == Settings())] = Settings()
    """What the kernels of its hosts are set to; what is not in it is left as they have it."""
    reboot: Annotated[Reboot, Field(exclude_if=lambda reboot: reboot == Reboot())] = Reboot()
    nics: tuple[NicPlan, ...]
    """Network interfaces that each node is launched with, the first one first; none on-prem."""
    slots: dict[str, Slot]


class HostPlan(Model):
    """What one host is and should be, as the on-prem reconciler needs it."""

    bmc_address: str
    serial: str
    boot_mac: str
    held: str
    """Why its power is not touched; empty when it is."""


class HostSetPlan(Model):
    """At most 32 hosts that are reconciled together."""

    pool: str
    hosts: dict[str, HostPlan]


class OnpremStack(Model):
    """Slice of the stack `onprem` of one site."""

    site: str
    bmc: BmcPlan
    host_sets: dict[str, HostSetPlan]


class StacksPlan(Model):
    """The slices of all stacks, by site."""

    onprem: dict[str, OnpremStack]
    aws_network: dict[str, AwsNetworkStack]
    aws_access: dict[str, AwsAccessStack]
    aws_compute: dict[str, AwsComputeStack]


class SlurmNodes(Model):
    """One line of nodes in slurm.conf: equal slots of one pool."""

    nodes: tuple[str, ...]
    """Slots that are always filled, in order."""
    burst: tuple[str, ...] = ()
    """Slots that Slurm fills on demand, in order."""
    awaited: tuple[str, ...]
    """Those of them that the factory has not delivered: known to Slurm, and given no job."""
    cpus: int | None
    """Logical processors of each; None where no source tells."""
    processors: Processors | None
    memory_mib: int | None
    accelerator: str | None
    device: str | None
    """Its device files, without their numbers; None where no source tells."""
    accelerators: int
    """Of each, for gres."""


class SlurmPartition(Model):
    """A partition."""

    pools: tuple[str, ...]
    default: bool
    max_hours: float | None


class SlurmQos(Model):
    """A quality of service."""

    priority: int
    preempts: tuple[str, ...]
    max_hours: float | None


class SlurmPlan(Model):
    """One Slurm: who runs its daemons, and what its files say."""

    cluster: str
    """ClusterName: what its jobs are accounted under."""
    controllers: tuple[str, ...]
    """Slots that run slurmctld, the primary first."""
    accounting: str | None
    """Slot that runs slurmdbd and its database."""
    version: str
    """Major and minor: ``24.11``."""
    state_folder: str
    slurmd_timeout_s: int
    host: SlurmHost
    """How jobs are followed and confined."""
    logins: Logins = "open"
    """Whether a login on a node needs a job there, whose it becomes. Open where jobs have no cgroup."""
    settings: dict[str, str]
    """Further keys of slurm.conf: ours, where the spec does not state others."""
    pools: dict[str, SlurmNodes]
    partitions: dict[str, SlurmPartition]
    units: dict[str, tuple[str, ...]]
    """Scalable unit → its slots: the leaves of the topology that jobs are placed by."""
    burst: BurstTimes | None
    """None where no slot is filled on demand."""
    spines: dict[str, tuple[str, ...]]
    """Switch above the units of each site; no job spans two of them. None with blocks."""
    block_sizes: tuple[int, ...] = ()
    """Nodes of a block, and of blocks side by side; none is a tree."""
    qos: dict[str, SlurmQos]
    default_qos: str
    account: str
    users: tuple[str, ...]
    """Login users of its sites: they may submit jobs to any quality of service."""


class Totals(Model):
    """Sums over the cluster; None where no part plans them yet."""

    nodes: int
    accelerators: int
    racks: int
    power_kw: float | None
    resources: int | None
    """Pulumi resources over all stacks."""
    switches: int | None
    cables: int | None


class Plan(Model):
    """The whole plan."""

    schema_: Annotated[Literal["rackwright/plan/1"], Field(alias="schema")] = SCHEMA
    origin: Origin
    cluster: Identity
    backend: str
    secrets: str
    sites: dict[str, SitePlan]
    links: dict[str, Link]
    pools: dict[str, PoolPlan]
    fabrics: dict[str, Fabric]
    cabling: dict[str, CablingPlan]
    """Fabric → its switches and cables, for all that have cables and nodes."""
    subnets: dict[str, SubnetPlan]
    """Fabric, or plane of one → who manages it, for all that opensm manages."""
    stacks: StacksPlan
    slurm: dict[str, SlurmPlan]
    """By name of the scheduler."""
    nvmeof: Annotated[NvmeofPlan | None, Field(exclude_if=lambda plan: plan is None)] = None
    """None, and not written, without such storage."""
    rdma: dict[str, RdmaHost] = Field(default_factory=dict, exclude_if=lambda hosts: not hosts)
    """Slot → its interfaces with RDMA over Ethernet; not written where there are none."""
    local_nvme: dict[str, LocalScratch] = Field(default_factory=dict, exclude_if=lambda pools: not pools)
    """Pool → scratch on its nodes' own drives; not written where there is none."""
    totals: Totals
    not_planned: tuple[str, ...]
    """Totals and parts that no code plans yet, by name."""
    not_provisionable: tuple[str, ...]
    """Parts of the spec that are planned, but that nothing here can build, each with its reason."""
    undelivered: dict[str, str]
    """Pool → numbers of its on-prem slots that have no asset yet (``1-96``): nothing to power on."""
