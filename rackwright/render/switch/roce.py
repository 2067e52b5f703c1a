"""A shipped file in, the figures of lossless Ethernet out, each with its source."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rackwright import strict_yaml
from rackwright.catalogue.model import Entry, Positive


class Roce(Entry):
    """What switches of any make are told of RoCE."""

    lossless: Positive
    """Priority of RoCE packets, and with it their traffic class, queue and priority group."""
    notifications: Positive
    """Priority of congestion notifications; their queue goes before all others."""
    lossless_weight: Positive
    """Of its queue, in percent, beside `best_effort_weight`."""
    best_effort_weight: Positive
    dscp: int
    """Mark of RoCE packets that Cumulus Linux takes without being told."""
    cnp_dscp: int
    """That of congestion notifications."""
    ecn_min_bytes: Positive
    """In a queue, from which on packets are marked."""
    ecn_max_bytes: Positive
    """From which on all are."""
    ecn_percent: Positive
    """Share of packets that is marked just below `ecn_max_bytes`."""
    watchdog_ms: Positive
    """Until a storm of pauses is told, and until it is told to be over, for each `watchdog_ports`."""
    watchdog_ports: Positive
    watchdog_poll_max_ms: Positive

    def watch_ms(self, ports: int) -> int:
        """How long SONiC itself would watch a switch with that many ports."""
        return self.watchdog_ms * max(1, -(-ports // self.watchdog_ports))


@cache
def figures() -> Roce:
    """The shipped ones."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return Roce.model_validate(strict_yaml.load(text))
