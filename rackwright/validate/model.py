"""What a validation leaves behind: steps with their raw output, and measurements read from it.

A run folder (``runs/<cluster>/<start>/``) holds::

    run.json            `Run`: what was asked, what was run, hashes of all other files
    expectations.json   what the plan lets one expect, as it was when the run began
    history.json        what earlier runs said of these nodes (`rackwright.validate.history`)
    raw/…               output of every step, byte for byte
    measurements.json   `Measurements`, made from raw/ by the parsers; can be made again

Measurement is not judgement: nothing here says whether a figure is good.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from rackwright.spec.base import Model

RUN_SCHEMA: Literal["rackwright/run/1"] = "rackwright/run/1"
MEASUREMENTS_SCHEMA: Literal["rackwright/measurements/1"] = "rackwright/measurements/1"

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


def _moment(text: str) -> str:
    """The same, where it is a point in time wherever it is read."""
    if datetime.fromisoformat(text).tzinfo is None:
        msg = "a time without its zone"
        raise ValueError(msg)
    return text


Moment = Annotated[str, AfterValidator(_moment)]


class Unit(StrEnum):
    """Unit of a value; a comparison of two units is an error, never a conversion."""

    MBIT_S = "mbit_s"
    MIB_S = "mib_s"
    GB_S = "gb_s"
    """10⁹ bytes a second, as tools of accelerators print it."""
    GBIT_S = "gbit_s"
    GFLOPS = "gflops"
    SECONDS = "s"
    MICROSECONDS = "us"
    BYTES = "bytes"
    COUNT = "count"
    CELSIUS = "celsius"
    OPS_S = "ops_s"
    SHA256 = "sha256"
    """The value is a text: hashes are equal or not."""
    WORD = "word"
    """The value is a text out of a few that the tool has: a status, the name of a transport."""
    YES_NO = "yes_no"
    """The value is true or false."""


class Context(Model):
    """What a value is about; None where that has no meaning for it. Two contexts are merged by `over`."""

    node: str | None = None
    """Slot the value belongs to."""
    peer: str | None = None
    """The other slot of a pair."""
    fabric: str | None = None
    rail: int | None = None
    """Of the fabric; None with a fabric: over all its rails at once."""
    link: str | None = None
    """Between the sites of node and peer."""
    collective: str | None = None
    algorithm: str | None = None
    size_bytes: int | None = None
    ranks: int | None = None
    nodes: tuple[str, ...] = ()
    """Slots that took part, sorted."""
    direction: str | None = None
    """``forward`` (node to peer) or ``reverse``."""
    pattern: str | None = None
    """Data the tool worked on, where that changes the figure."""
    parameters: dict[str, str | int | float] = {}
    """Of the tool, as far as they change the figure: matrix order, block size."""

    def over(self, below: Context) -> Context:
        """This context, completed by another where it says nothing."""
        return below.model_copy(update={name: value for name, value in self if value != _SAYS_NOTHING[name]})


_SAYS_NOTHING: dict[str, object] = dict(Context())


class Artefact(Model):
    """A file of the run folder."""

    path: str
    """Relative to the folder, with ``/``."""
    sha256: Sha256


class Reading(Model):
    """One value as a parser read it, in the terms of the tool."""

    name: str
    """What was measured, in the field's terms: ``busbw``, ``bandwidth``, ``result_hash``."""
    value: bool | int | float | str
    unit: Unit
    context: Context = Context()


class Event(StrEnum):
    """Name of a reading that is something a log tells of a device: its value is the code, as a text.

    Parameters of its context: ``device`` (PCI address), ``at`` (the stamp as it was printed), ``at_s`` (the
    same in seconds, on one clock for all events of an output), and where the event says so ``text``,
    ``severity`` (``fatal`` or ``nonfatal``), ``unit`` (part of the device: GPC, TPC, SM) and ``link``.
    ``boot`` counts the boots of a log that goes over several, from 0; without it there is one.
    """

    XID = "xid"
    SXID = "sxid"
    FALLEN_OFF_BUS = "fallen_off_bus"
    """With or without an Xid; its value is the device."""


class Measurement(Reading):
    """One value with where it was read, by whom, and of what."""

    step: str
    """Name of the step."""
    artefact: Artefact
    parser: str = ""
    """Name and version of the parser: ``nccl-tests/1``."""
    platform: str = ""
    """Of all nodes that it is about; empty where they are of several."""
    versions: dict[str, str] = {}
    """Of what all images of the run have alike, as the spec says it: kernel, driver, nccl."""


class Completeness(StrEnum):
    """How much of a tool's output could be understood."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    """Cut off, or a rank or result is missing."""
    CORRUPT = "corrupt"
    """Not what the tool writes; no part of it is used."""
    NOT_RUN = "not_run"
    """The tool itself says that it did not measure."""


class Parsed(Model):
    """What a parser made of one output; readings are empty unless it is complete."""

    status: Completeness
    problem: str = ""
    """Why it is not complete, with the line or key concerned."""
    readings: tuple[Reading, ...] = ()


class Unread(Model):
    """A step whose output is not used."""

    step: str
    status: Completeness
    problem: str


class Measurements(Model):
    """All measurements of a run, in the order of its steps."""

    schema_: Annotated[Literal["rackwright/measurements/1"], Field(alias="schema")] = MEASUREMENTS_SCHEMA
    measurements: tuple[Measurement, ...]
    unread: tuple[Unread, ...] = ()
    """Steps that printed something of which no part is used."""


class Tool(StrEnum):
    """A tool with a parser of its name."""

    COLLECTIVES = "collectives"
    MATRIX = "matrix"
    STRESS_NG = "stress-ng"
    FIO = "fio"
    IPERF3 = "iperf3"
    LINK = "link"
    """Round trip and path MTU over a link between two sites."""
    LINKS = "links"
    """Carrier of the rail interfaces."""
    CLOCK = "clock"
    NCCL_TESTS = "nccl-tests"
    RCCL_TESTS = "rccl-tests"
    NCCOM_TEST = "nccom-test"
    DCGM_DIAG = "dcgm-diag"
    NVIDIA_SMI = "nvidia-smi"
    NVLINK = "nvlink"
    """State of each NVLink, by nvidia-smi."""
    NVBANDWIDTH = "nvbandwidth"
    GPU_BURN = "gpu-burn"
    PERFTEST = "perftest"
    IBDIAGNET = "ibdiagnet"
    IBLINKINFO = "iblinkinfo"
    ETHTOOL = "ethtool"
    LSPCI = "lspci"
    DMESG = "dmesg"
    """The kernel's log."""
    COUNTERS = "counters"
    """Counters of ports, twice, with the time between."""
    NCCL_LOG = "nccl-log"
    """What NCCL_DEBUG=INFO prints of transports."""


class Ended(StrEnum):
    """How a step ended."""

    DONE = "done"
    """Exit status 0."""
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    NODE_LOST = "node-lost"
    """A node of it went away meanwhile."""
    NOT_RUN = "not-run"


class Step(Model):
    """One command that was run, or why it was not."""

    name: str
    """Unique in the run, a path of words: ``pairs/compute-0/node-001+node-002``."""
    check: str
    """Check of the suite it belongs to: ``pairs``."""
    tool: Tool
    context: Context
    """What it is about; completes what the parser reads."""
    nodes: tuple[str, ...]
    """Slots it ran on."""
    command: tuple[str, ...]
    ended: Ended
    exit_status: int | None = None
    reason: str = ""
    """Why it did not end well, or was not run."""
    lost: tuple[str, ...] = ()
    """Slots that went away meanwhile."""
    seconds: float = 0.0
    stdout: Artefact | None = None
    stderr: Artefact | None = None


class Rail(Model):
    """A port of a node on a rail."""

    node: str
    fabric: str
    rail: int
    interface: str


class Run(Model):
    """A validation: what was asked, and what became of it."""

    schema_: Annotated[Literal["rackwright/run/1"], Field(alias="schema")] = RUN_SCHEMA
    cluster: str
    suite: str
    suite_sha256: str = ""
    """Of its canonical text; empty where nobody wrote it down."""
    plan_sha256: Sha256
    started: Moment
    """RFC 3339, UTC."""
    finished: Moment | None = None
    """None while it runs, and after it was interrupted."""
    resumed: tuple[Moment, ...] = ()
    """When it went on after it had been cut off; RFC 3339, UTC."""
    sites: dict[str, tuple[str, ...]]
    """Site → slots of it that were asked for, sorted."""
    site_kinds: dict[str, Literal["onprem", "aws"]] = {}
    """Site → its kind, which decides what a person can do about a fault."""
    platforms: dict[str, tuple[str, ...]] = {}
    """Platform → slots of it that were asked for, sorted."""
    pools: dict[str, tuple[str, ...]] = {}
    """Pool → slots of it that were asked for, sorted."""
    machines: dict[str, str] = {}
    """Slot → serial number or instance of the machine that fills it; none where nobody knows."""
    images: dict[str, dict[str, str]] = {}
    """Image of these slots → what the spec says is in it: kernel, driver, nccl."""
    racks: dict[str, dict[str, tuple[str, ...]]] = {}
    """Site → rack → slots of it that were asked for, sorted; nobody knows the racks of a cloud."""
    rails: tuple[Rail, ...]
    """All rail ports of those slots."""
    checks: tuple[str, ...]
    """Checks that apply: each must be measured on every slot asked for, but for those of `not_declared`."""
    not_declared: dict[str, tuple[str, ...]] = {}
    """Check → slots of which it is not asked, sorted: their platforms do not declare it, and others' do."""
    together: tuple[str, ...] = ()
    """Checks that measured several nodes at the same time; nodes that share anything measured one another."""
    not_applicable: dict[str, str] = {}
    """Check or criterion → why it does not apply here; is no verdict."""
    links: dict[str, tuple[str, str]] = {}
    """Link → its two sites, of both of which slots were asked for."""
    partitions: dict[str, tuple[str, ...]] = {}
    """Partition → slots of it that were asked for, sorted.

    Each is measured in a job of its own; those of one that are not proven by the same checks in several.
    """
    missing: dict[str, str] = {}
    """Slot → why there is nothing that could be measured: no instance fills it."""
    held: dict[str, str] = {}
    """Slot → why it was left alone: in maintenance, or the job it runs."""
    lost: dict[str, str] = {}
    """Slot → why it could not be measured, or from where on not: ``DOWN since …``."""
    job_ids: tuple[int, ...] = ()
    """Slurm jobs of the run."""
    expectations: Artefact
    history: Artefact | None = None
    """None of runs that were made before there was one."""
    steps: tuple[Step, ...] = ()
