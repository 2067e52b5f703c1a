"""All criteria that judge measurements: each a sentence, what it looks at, and whom it judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rackwright.catalogue.model import Check
from rackwright.verdict.accelerators import AcceleratorBandwidth
from rackwright.verdict.bounded import Bounded
from rackwright.verdict.curve import BandwidthCurve
from rackwright.verdict.device_codes import DeviceCodes, Diagnosis
from rackwright.verdict.hashes import ResultHash
from rackwright.verdict.limited import Limited
from rackwright.verdict.model import Kind
from rackwright.verdict.pairs import PairBandwidth
from rackwright.verdict.transport import Traffic, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.verdict.evidence import Evidence
    from rackwright.verdict.judgement import Judgement


class Criterion(Protocol):
    """One criterion; every subject of its kind must get a judgement, or the lack of one is an ERROR."""

    @property
    def name(self) -> str:
        """Stable, for reasons and actions."""

    @property
    def check(self) -> str:
        """Check whose values it looks at; it is applied where that was asked for."""

    @property
    def kind(self) -> Kind:
        """Of the subjects that must have a judgement by it."""

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """Its judgements on those of whom there are values."""


CRITERIA: tuple[Criterion, ...] = (
    Bounded(
        "link-carrier",
        Check.LINKS,
        Kind.RAIL,
        "carrier",
        good="its interface has a carrier",
        bad="its interface has no carrier",
    ),
    Bounded(
        "link-path-mtu",
        Check.LINK,
        Kind.LINK,
        "path_mtu",
        good="it carries packets of its planned size",
        bad="the largest packet that came over it has {value} bytes",
        nothing="nothing came over it: it is cut, or the host that was asked is off",
    ),
    Bounded(
        "link-black-hole",
        Check.LINK,
        Kind.LINK,
        "black_hole",
        good="who sends a packet that is too big is told so",
        bad="an MTU black hole: packets that are too big vanish, and nobody is told",
    ),
    Bounded(
        "clock-offset",
        Check.CLOCK,
        Kind.NODE,
        "offset",
        good="its clock agrees with the others",
        bad="its clock is off by {value:g} s",
    ),
    Bounded(
        "matrix-verify",
        Check.MATRIX,
        Kind.NODE,
        "wrong",
        good="every matrix product is right",
        bad="{value} matrix products are wrong",
    ),
    Bounded(
        "matrix-repeat",
        Check.MATRIX,
        Kind.NODE,
        "mismatches",
        good="every matrix product is the same",
        bad="{value} matrix products differ from the first of the same numbers",
    ),
    ResultHash(),
    Bounded(
        "memory-verify",
        Check.MEMORY,
        Kind.NODE,
        "failures",
        good="memory holds what was written",
        bad="{value} memory tests failed",
    ),
    Bounded(
        "disk-verify",
        Check.DISK,
        Kind.NODE,
        "verify_errors",
        good="the disk gives back what was written",
        bad="the disk did not give back what was written",
    ),
    PairBandwidth(),
    Bounded(
        "collective-correct",
        Check.COLLECTIVES,
        Kind.SITE,
        "wrong",
        good="every element of every collective is right",
        bad="{count} collectives gave wrong elements, one of them {value}",
    ),
    Bounded(
        "accelerator-correct",
        Check.NCCL_TESTS,
        Kind.SITE,
        "wrong",
        good="every element of every collective between accelerators is right",
        bad="{count} collectives between accelerators gave wrong elements, one of them {value}",
    ),
    BandwidthCurve(),
    AcceleratorBandwidth(Check.NCCL_TESTS),
    AcceleratorBandwidth(Check.NCCOM_TEST),
    Transport(),
    Traffic(),
    DeviceCodes(),
    Diagnosis(),
    Limited(
        "gpu-state",
        Check.GPU_STATE,
        (
            "gpus",
            "recovery_action",
            "row_remap_failure",
            "row_remap_pending",
            "sram_uncorrected_aggregate",
            "event_reason",
            "nvlink_gpus",
            "nvlinks_up",
        ),
        good="all of its GPUs are there and well",
        needs_all=True,
    ),
    Limited(
        "port-counters",
        Check.COUNTERS,
        ("down", "growth", "rate"),
        good="no counter of its ports tells of a fault",
        needs_all=False,
        unless={"down": frozenset({"link_downed", "carrier_down_count"})},
    ),
)
