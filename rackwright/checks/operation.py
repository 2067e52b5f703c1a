"""Rules on how a cluster is run: state, power, and the machines that were delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.checks.registry import Breach, plan_rule, rule
from rackwright.findings import Level, SpecPath
from rackwright.plan.model import OnpremSitePlan
from rackwright.spec.sites import AwsSite, OnpremSite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.checks.registry import PlanSubject, SpecSubject

FEW_NODES = 64
"""As many as one operator may look after from one machine."""


@rule(
    "STATE001",
    level=Level.INFO,
    remedy='name a bucket: `state: {backend: "s3://…", secrets: "awskms://…"}`',
    source="Pulumi documentation, state and backends: the local backend has no sharing between machines",
)
def big_clusters_share_their_state(subject: SpecSubject) -> Iterator[Breach]:
    """The state of a cluster in the cloud, or of more than 64 nodes, is where all its operators see it."""
    spec = subject.spec
    nodes = sum(pool.nodes.static + pool.nodes.burst for pool in spec.pools.values())
    cloud = any(isinstance(site, AwsSite) for site in spec.sites.values())
    if spec.state.backend == "local" and (cloud or nodes > FEW_NODES):
        yield Breach(
            SpecPath() / "state" / "backend",
            "the engine's state is on this machine only",
            got=f"local, for {nodes} nodes{' and a cloud account' if cloud else ''}",
            expected="a bucket that all operators can reach",
        )


@plan_rule(
    "POWER001",
    remedy="fewer nodes, or a larger feed",
    source="ISO/IEC 30134-2: IT power times PUE is what the feed delivers",
)
def a_hall_draws_what_its_feed_delivers(subject: PlanSubject) -> Iterator[Breach]:
    """The nodes of a hall, times its PUE, draw no more than its feed delivers."""
    for name, planned in subject.plan.sites.items():
        site = subject.spec.sites[name]
        if not isinstance(planned, OnpremSitePlan) or not isinstance(site, OnpremSite) or not site.power:
            continue
        it_kw = sum(rack.power_kw for rack in planned.racks.values())
        drawn_kw = it_kw * site.power.pue
        if drawn_kw > site.power.feed_kw:
            yield Breach(
                SpecPath() / "sites" / name / "power" / "feed_kw",
                f"the feed of {name} is too small for its nodes",
                got=f"{drawn_kw:.1f} kW: {it_kw:.1f} kW of nodes, times PUE {site.power.pue:g}",
                expected=f"at most {site.power.feed_kw:g} kW",
            )


@plan_rule(
    "ASSET006",
    level=Level.WARNING,
    remedy="nothing, until they are delivered; then add their rows to the pool's asset file",
    source="docs/decisions/0002: identity is matched before anything is touched",
)
def slots_have_machines(subject: PlanSubject) -> Iterator[Breach]:
    """Every on-prem slot has a row in its pool's asset file."""
    for name, waiting in subject.plan.undelivered.items():
        yield Breach(
            SpecPath() / "pools" / name,
            f"slots of pool {name} cannot be powered on: their machines are not delivered yet",
            got=f"no asset for {name}-[{waiting}]",
            expected="a row with serial and MAC addresses for each slot",
        )
