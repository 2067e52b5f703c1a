"""Which way a unit is good: each is in one of `MORE_`, `LESS_`, `FEWER_IS_BETTER` and `NO_ORDER` (a test)."""

from __future__ import annotations

from rackwright.validate.model import Unit

THROUGHPUT = frozenset({Unit.MBIT_S, Unit.MIB_S, Unit.GB_S, Unit.GBIT_S})
MORE_IS_BETTER = THROUGHPUT | {Unit.GFLOPS, Unit.OPS_S}
LESS_IS_BETTER = frozenset({Unit.SECONDS, Unit.MICROSECONDS})
FEWER_IS_BETTER = frozenset({Unit.COUNT, Unit.CELSIUS})
"""Of what is counted or felt; only for the order in which a reader sees them, where no figure says it."""
NO_ORDER = frozenset({Unit.BYTES, Unit.SHA256, Unit.WORD, Unit.YES_NO})
