"""What the catalogue knows of hardware: every figure with its source, nothing guessed.

An absent figure is None and its use is refused with a finding; it is never taken for 0.
Units are in the names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self

from ClusterShell.RangeSet import (  # type: ignore[import-untyped]  # (it has no types)
    RangeSet,
    RangeSetException,
)
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

Key = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")]
Group = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
Interface = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]{0,14}$")]
"""A Linux interface name, at most 15 characters."""
Positive = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0)]
Power = Annotated[float, Field(gt=0)]
FabricKind = Literal["infiniband", "ethernet", "efa"]


class Frozen(BaseModel):
    """A frozen value that knows all its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Confidence(StrEnum):
    """How a figure came to us."""

    VENDOR = "vendor"
    """Read in the maker's own text."""
    SECOND_HAND = "second-hand"
    """Read in a text that cites or mirrors the maker."""
    ASSUMED = "assumed"
    """A planning bound of ours, to be replaced by the figure of the real machine."""
    DEFINED = "defined"
    """Ours to decide: the lab's own platforms."""
    MEASURED = "measured"
    """Seen by us on the thing itself."""
    HYPOTHESIS = "hypothesis"
    """From a weak source; nothing of it is used unless a spec asks for it."""


class Source(Frozen):
    """Where figures come from, and which ones."""

    text: str
    """Document, page, table."""
    url: str | None = None
    read: date
    """Day on which it was read or decided."""
    confidence: Confidence
    states: Annotated[tuple[str, ...], Field(min_length=1)]
    """Dotted names of the fields it vouches for; a name covers all below it."""


class Entry(Frozen):
    """One thing of the catalogue; it does not load unless a source vouches for each figure."""

    without_source: ClassVar[frozenset[str]] = frozenset(
        {"name", "title", "kind", "provisioning", "checks", "sources", "tuning"}
    )
    """Names of ours, what we can prove, and the sources themselves."""

    name: Key
    title: str
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _every_figure_has_a_source(self) -> Self:
        stated = {name for source in self.sources for name in source.states}
        figures = {figure for figure, _ in self.figures()}
        bare = sorted(figure for figure in figures if not stated & set(_prefixes(figure)))
        if bare:
            msg = f"no source states {', '.join(bare)}"
            raise ValueError(msg)
        known = {prefix for figure in figures for prefix in _prefixes(figure)}
        if stated - known:
            msg = f"a source states what is not there: {', '.join(sorted(stated - known))}"
            raise ValueError(msg)
        return self

    def figures(self) -> Iterator[tuple[str, object]]:
        """All that is stated about the thing: dotted names with values."""
        plain = self.model_dump(exclude_none=True, exclude=set(self.without_source))
        return leaves(plain)


def leaves(value: Mapping[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    """Dotted names of all that is in a mapping, with what it is."""
    for key, below in value.items():
        name = f"{path}{key}"
        if isinstance(below, Mapping):
            yield from leaves(below, f"{name}.")
        else:
            yield name, below


def _prefixes(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))


class Provisioning(StrEnum):
    """How a machine of a platform comes up."""

    REDFISH = "redfish"
    EC2 = "ec2"
    NONE = "none"
    """By hand: planned and converged, never powered by rackwright."""


class PlatformKind(StrEnum):
    """What a platform is."""

    ONPREM = "onprem"
    AWS = "aws"
    LAB = "lab"
    """Exists only in the lab: nothing of that name can be bought."""


class PortGroup(Frozen):
    """Equal ports of a node that go to one fabric, in the order of its rails."""

    nic: Key
    """Entry of ``nics``."""
    kinds: Annotated[tuple[FabricKind, ...], Field(min_length=1)]
    count: Positive
    rate_gbps: Rate
    interfaces: tuple[Interface, ...] | None = None
    """Names on the host, one a port."""

    @model_validator(mode="after")
    def _one_interface_a_port(self) -> Self:
        if self.interfaces is not None and len(self.interfaces) != self.count:
            msg = f"{len(self.interfaces)} interfaces for {self.count} ports"
            raise ValueError(msg)
        return self


class InterfaceType(StrEnum):
    """What EC2 puts on a network card (EC2 API, RunInstances: InterfaceType)."""

    INTERFACE = "interface"
    """ENA: an IP address and no EFA."""
    EFA = "efa"
    """ENA and EFA in one; it takes an IP address."""
    EFA_ONLY = "efa-only"
    """EFA without an IP address; never a node's first interface."""


class NetworkCard(Frozen):
    """One network card of an EC2 type."""

    interfaces: Positive | None = None
    """Most interfaces on it; each device index is below (NetworkCards[].MaximumNetworkInterfaces)."""
    carries: Annotated[tuple[InterfaceType, ...], Field(min_length=1)]
    ena_gbps: Rate | None = None
    """Most IP traffic."""
    efa_gbps: Rate | None = None
    """Of the one EFA interface that it takes."""

    @property
    def has_ena(self) -> bool:
        """Whether an interface with an IP address and no EFA can be on it."""
        return InterfaceType.INTERFACE in self.carries

    @property
    def has_efa(self) -> bool:
        """Whether an EFA interface can be on it."""
        return not {InterfaceType.EFA, InterfaceType.EFA_ONLY}.isdisjoint(self.carries)


def _indexes(text: str) -> tuple[int, ...]:
    """Numbers of a range as ClusterShell writes it: ``0``, ``1-16``, ``1-15/2``."""
    try:
        return tuple(RangeSet(text).intiter())
    except RangeSetException as error:
        raise ValueError(str(error)) from None


def _is_range(text: str) -> str:
    _indexes(text)
    return text


Cards = Annotated[str, AfterValidator(_is_range)]
"""Indexes of network cards: ``0``, ``1-16``, ``1-15/2`` for every second."""


class NetworkCards(Frozen):
    """Network cards of an EC2 type (DescribeInstanceTypes, NetworkInfo)."""

    cards: Annotated[Mapping[Cards, NetworkCard], Field(min_length=1)]
    """Equal cards by index."""
    efa_interfaces: Annotated[int, Field(ge=0)]
    """Most of a node, one a card (EfaInfo.MaximumEfaInterfaces)."""
    efa_cards: Cards | None = None
    """Cards of these EFA interfaces, where more could carry one; None where no source tells."""
    efa_total_gbps: Rate | None = None
    """Of all EFA interfaces together; None without EFA, or where no source tells."""
    ena_cards: Cards | None = None
    """Cards whose ENA interfaces together carry the most IP traffic; None where no source tells."""
    ena_total_gbps: Rate | None = None
    """Most IP traffic of a node."""

    @property
    def by_index(self) -> tuple[NetworkCard, ...]:
        """Every card, by its index."""
        return tuple(card for _, card in self._pairs())

    @property
    def with_efa(self) -> tuple[int, ...]:
        """Indexes of the cards that get an EFA interface, in order."""
        if self.efa_cards is not None:
            return _indexes(self.efa_cards)
        return tuple(index for index, card in self._pairs() if card.has_efa)

    @property
    def with_most_ena(self) -> tuple[int, ...] | None:
        """Indexes of ``ena_cards``."""
        return None if self.ena_cards is None else _indexes(self.ena_cards)

    def _pairs(self) -> list[tuple[int, NetworkCard]]:
        pairs = [(index, card) for key, card in self.cards.items() for index in _indexes(key)]
        return sorted(pairs, key=lambda pair: pair[0])

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        cards = dict(self._pairs())
        indexes = [index for index, _ in self._pairs()]
        if indexes != list(range(len(indexes))):
            msg = f"cards {', '.join(self.cards)} are not each index from 0 on, once"
            raise ValueError(msg)
        if cards[0].carries == (InterfaceType.EFA_ONLY,):
            raise ValueError("card 0 carries a node's first interface, which cannot be efa-only")
        if not all(index in cards and cards[index].has_efa for index in self.with_efa):
            raise ValueError("efa_cards names cards without EFA")
        if not all(index in cards and cards[index].has_ena for index in self.with_most_ena or ()):
            raise ValueError("ena_cards names cards without ENA")
        if self.efa_interfaces != len(self.with_efa):
            msg = f"{self.efa_interfaces} EFA interfaces, and {len(self.with_efa)} cards for them"
            raise ValueError(msg)
        return self


class Check(StrEnum):
    """A thing that can be proven of nodes; a platform declares those that have a meaning for it."""

    LINK = "link"
    """The link between its site and another; asked wherever the plan has one, of any platform."""
    LINKS = "links"
    """Its rail interfaces have a carrier."""
    CLOCK = "clock"
    MATRIX = "matrix"
    """A matrix product, repeated: right each time, and the same on all nodes."""
    MEMORY = "memory"
    DISK = "disk"
    PAIRS = "pairs"
    """Bandwidth of each rail between pairs of nodes."""
    COLLECTIVES = "collectives"
    """The lab's own program over MPI."""
    NCCL_TESTS = "nccl-tests"
    NCCOM_TEST = "nccom-test"
    TRANSPORT = "transport"
    """What NCCL's log says of each host: `network`, `provider`, `nics`, `gpudirect`, `nvls`."""
    KERNEL_LOG = "kernel-log"
    """`dmesg` of each node, sealed: `events`, and each of them (`rackwright.validate.model.Event`)."""
    GPU_STATE = "gpu-state"
    """`nvidia-smi` of each node."""
    DCGM_DIAG = "dcgm-diag"
    """`dcgm-diag` of each node: `status` of each test, with ``error_id`` and ``severity`` where it warns."""
    COUNTERS = "counters"
    """`counters` of each node: `growth` and `rate` of each counter, and `down`, the seconds in all that a
    port had no link meanwhile."""


Share = Annotated[float, Field(gt=0, le=1)]


class Processors(Frozen):
    """How the processors of a node hang together, as slurm.conf(5) counts them."""

    sockets: Positive
    cores_per_socket: Positive
    threads_per_core: Positive


class SlurmHost(Frozen):
    """How Slurm follows and confines jobs on a host; the defaults are those of a real machine."""

    proctrack: Literal["cgroup", "linuxproc"] = "cgroup"
    task: tuple[Literal["affinity", "cgroup", "none"], ...] = ("affinity", "cgroup")
    job_acct_gather: Literal["cgroup", "linux"] = "cgroup"
    cgroup_plugin: Literal["autodetect", "disabled"] = "autodetect"
    slurmd: tuple[Literal["config_overrides"], ...] = ()
    """SlurmdParameters; config_overrides where a host sees more, or less, than its share of a machine."""


class Reboot(Frozen):
    """How long a machine takes to come back; the defaults are a large one's, which tests its memory."""

    least_s: Annotated[int, Field(ge=0)] = 30
    """It is not asked before: a host that is slow to go down would answer as if it had been away."""
    within_s: Positive = 2700


class ScaleUp(Frozen):
    """Accelerators that reach one another past the network: a domain that jobs are best kept in."""

    link: Literal["nvlink", "infinity-fabric", "neuronlink"]
    accelerators: Positive
    """Of the whole domain."""
    nodes: Positive
    """That share it; 1 is a domain within a node."""


class LocalNvme(Frozen):
    """Drives of a node for scratch and caches, without those of its operating system."""

    drives: Positive
    drive_tb: Rate


class Platform(Entry):
    """One kind of node: the key for everything that depends on hardware."""

    kind: PlatformKind
    provisioning: Provisioning
    accelerator: Key | None = None
    """Entry of ``accelerators``."""
    accelerators: Annotated[int, Field(ge=0)] | None = None
    """Of each node."""
    units: Positive | None = None
    """Rack units of a node."""
    power_kw: Power | None = None
    """Most that one node draws, kW."""
    cooling: Literal["air", "liquid"] | None = None
    """What its chips are cooled by; None where no source tells."""
    scale_up: ScaleUp | None = None
    """None where no source tells, or there is none."""
    local_nvme: LocalNvme | None = None
    management_interface: Interface | None = None
    """The interface that boots, and that the controller reaches."""
    cpus: Positive | None = None
    """Logical processors of a node, as Slurm counts them."""
    memory_mib: Positive | None = None
    """Memory of a node that jobs may have, MiB."""
    processors: Processors | None = None
    slurm: SlurmHost | None = None
    """None is a machine of its own, with cgroups."""
    tuning: Key | None = None
    """Entry of ``tuning``: how its kernel is set. None leaves it as it is."""
    reboot: Reboot | None = None
    """None is a large machine."""
    checks: tuple[Check, ...] = ()
    """What `validate` can prove of it."""
    line_rate_share: Mapping[str, Share] = {}
    """Measurement or collective → least share of the planned rate that a healthy node reaches; under
    ``all_rails`` what remains of it where several rails are used at once."""
    healthy_busbw_gbps: Mapping[str, Rate] = {}
    """Collective → bus bandwidth over all rails that healthy nodes reached, as published, Gbit/s; a gate
    far below it is refused."""
    ports: Mapping[Group, PortGroup] = {}
    """Ports to fabrics, by group."""
    network_cards: NetworkCards | None = None
    """EC2 only."""

    @model_validator(mode="after")
    def _nodes_fill_their_domain(self) -> Self:
        domain = self.scale_up
        if domain is not None and domain.accelerators != domain.nodes * (self.accelerators or 0):
            msg = f"{domain.nodes} nodes of {self.accelerators} accelerators are no {domain.accelerators}"
            raise ValueError(msg)
        return self
