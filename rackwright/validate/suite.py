"""A suite: which checks are made of nodes, in which order, with which sizes; a data file in, a `Suite` out.

What a platform's catalogue entry does not declare in its ``checks`` is not asked of it, whatever the
suite says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from rackwright import strict_yaml
from rackwright.errors import UsageError
from rackwright.findings import did_you_mean
from rackwright.spec.base import Model, Name
from rackwright.validate.busbw import COLLECTIVES

SHIPPED = Path(__file__).parent / "suites"
Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]
Whole = Annotated[int, Field(ge=1)]
"""Seconds for a tool that takes no fractions."""
Environment = dict[Annotated[str, Field(pattern=r"^[A-Z][A-Za-z0-9_]*$")], str]


class _Check(Model):
    """What every check says."""

    limit_s: Seconds
    """A step that takes longer is stopped."""
    about_s: Seconds
    """What a step takes about, for the estimate before the start."""
    settle_s: Annotated[float, Field(ge=0)] = 0
    """Nothing runs for so long before its first step: what is hot from a load before cools down."""


class _OfNode(_Check):
    """One step a node."""

    at_once: Positive
    """Nodes; 1 where speed is judged."""


class OfAll(_Check):
    """Steps of all nodes together."""

    repeat_on_survivors: bool
    """Whether a step in which a node was lost is made again without it."""
    tries: Positive = 1
    """How often a step is made that fails while all its nodes live; all its outputs are kept."""


class Links(_OfNode):
    """Carrier of the rail interfaces."""

    check: Literal["links"]


class Link(_Check):
    """Round trip and path MTU from one node of a site to one of each site it is linked to."""

    check: Literal["link"]
    probes: Annotated[int, Field(ge=1, le=5)]
    """A kernel answers six datagrams at once, and then one a second."""


class Clock(OfAll):
    """Offsets of the clocks."""

    check: Literal["clock"]
    questions: Positive


class Matrix(_OfNode):
    """A matrix product, again and again."""

    check: Literal["matrix"]
    order: Annotated[int, Field(ge=2, le=2048)]
    """Of the square matrices; greater ones would not be exact (roles/burn_in/README.md)."""
    seconds: Seconds


class Memory(_OfNode):
    """Memory written, moved and verified."""

    check: Literal["memory"]
    share: Annotated[float, Field(gt=0, le=0.9)]
    """Of the memory that jobs may have."""
    seconds: Whole


class Disk(_OfNode):
    """A file written, read back and verified by check sums."""

    check: Literal["disk"]
    folder: Annotated[str, Field(pattern=r"^/")]
    size_mib: Positive
    block_kib: Positive


class Pairs(_Check):
    """Bandwidth of each rail between two nodes, in both directions."""

    check: Literal["pairs"]
    seconds: Whole
    partners: Positive
    """Of each node at most; all pairs where there are not more."""
    rails_at_once: bool
    port: Annotated[int, Field(ge=1024, le=60000)]
    """First of the TCP ports used, one a rail."""


class Collectives(OfAll):
    """Our own program over MPI, for each rail and for all together."""

    check: Literal["collectives"]
    iterations: Positive
    sizes: dict[str, Annotated[tuple[Positive, ...], Field(min_length=1)]]
    """Collective → sizes, bytes."""
    environment: Environment = {}

    @model_validator(mode="after")
    def _only_known(self) -> Collectives:
        unknown = set(self.sizes) - set(COLLECTIVES)
        if unknown:
            msg = f"no such collective: {', '.join(sorted(unknown))}"
            raise ValueError(msg)
        return self


class NcclTests(OfAll):
    """NVIDIA's nccl-tests."""

    check: Literal["nccl-tests"]
    programs: Annotated[tuple[str, ...], Field(min_length=1)]
    from_bytes: Positive
    to_bytes: Positive
    iterations: Positive
    repeats: Positive = 1
    """How often each program is run from the start: three or more tell whether its figures are stable."""
    environment: Environment = {}


class NccomTest(OfAll):
    """AWS Neuron's nccom-test."""

    check: Literal["nccom-test"]
    collectives: Annotated[tuple[str, ...], Field(min_length=1)]
    ranks_per_accelerator: Positive
    from_bytes: Positive
    to_bytes: Positive
    environment: Environment = {}


class Transport(_Check):
    """What NCCL's log tells of its way: a second look at what nccl-tests print, with no step of its own."""

    check: Literal["transport"]


class Counters(_OfNode):
    """Counters of RDMA ports, of rail interfaces and of LNet, before all other checks and after them."""

    check: Literal["counters"]
    folder: Annotated[str, Field(pattern=r"^/")]
    """On the node, for what is kept until the end."""
    after: bool = False
    """Whether the end has come; the suite says nothing of it."""


class KernelLog(_OfNode):
    """The kernel's log, once the load is over."""

    check: Literal["kernel-log"]
    days: Positive
    """How far back its earlier boots are told of: a fault of theirs that came back is the hardware's."""


class GpuState(_OfNode):
    """What the driver says of each GPU, once the load is over."""

    check: Literal["gpu-state"]
    columns: Annotated[tuple[str, ...], Field(min_length=1)]
    """Of ``nvidia-smi --query-gpu``; ``index`` and ``count`` are asked for anyway."""


class DcgmDiag(_OfNode):
    """DCGM's diagnosis of a node."""

    check: Literal["dcgm-diag"]
    level: Annotated[int, Field(ge=1, le=4)]


AnyCheck = Annotated[
    Links
    | Link
    | Clock
    | Matrix
    | Memory
    | Disk
    | Pairs
    | Collectives
    | NcclTests
    | NccomTest
    | Transport
    | Counters
    | KernelLog
    | GpuState
    | DcgmDiag,
    Field(discriminator="check"),
]


class Suite(Model):
    """Checks in their order."""

    name: Name
    title: str
    start_within_s: Whole
    """A job that has not started by then is cancelled."""
    answer_within_s: Whole
    """A node that does not run a trivial step in that time, after one failed, is taken for lost."""
    mpi: Environment = {}
    """Of every step that uses Open MPI."""
    checks: Annotated[tuple[AnyCheck, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _each_once(self) -> Suite:
        names = [check.check for check in self.checks]
        if len(set(names)) != len(names):
            msg = "a check stands twice"
            raise ValueError(msg)
        return self


def known(folder: Path = SHIPPED) -> list[str]:
    """Names of all suites."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def load(name: str, folder: Path = SHIPPED) -> Suite:
    """The suite of that name.

    Raises:
        UsageError: there is none, or its file is not what it should be.
    """
    path = folder / f"{name}.yaml"
    if name not in known(folder):
        raise UsageError(
            "no such suite",
            code="VAL001",
            where="SUITE",
            got=name,
            expected=", ".join(known(folder)),
            hint=did_you_mean(name, known(folder)),
        )
    try:
        suite = Suite.model_validate(strict_yaml.load(path.read_text(encoding="utf-8")))
    except (ValueError, strict_yaml.NotYaml) as error:  # also bytes that are no text
        raise _spoiled(path, error) from None
    if suite.name != name:
        raise _spoiled(path, ValueError(f"name {suite.name}"))
    return suite


def _spoiled(path: Path, error: Exception) -> UsageError:
    return UsageError(
        "this is no suite",
        code="VAL002",
        where=str(path),
        got=str(error),
        expected="a suite as docs/validation.md describes it",
    )
