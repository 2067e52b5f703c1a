"""What the catalogue says of each pool's nodes, as far as the plan needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.catalogue.load import nearest
from rackwright.catalogue.model import Provisioning
from rackwright.findings import Finding, SpecPath
from rackwright.plan import faults
from rackwright.plan.nics import PRIMARY, NicPlan, NoNicPlan, nic_plan
from rackwright.plan.racks import WATTS, Footprint
from rackwright.plan.wiring import Cabled, cabled
from rackwright.spec.fabrics import Efa
from rackwright.spec.sites import OnpremSite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.catalogue.load import Catalogue
    from rackwright.catalogue.model import Platform
    from rackwright.spec.cluster import ClusterSpec
    from rackwright.spec.pools import FabricUse
    from rackwright.spec.sites import Site

_NEVER_ZERO = "a figure that no source states is not taken for 0"


@dataclass(frozen=True, slots=True)
class Hardware:
    """The nodes of one pool."""

    platform: Platform
    accelerators: int
    wiring: tuple[Cabled, ...]
    nics: tuple[NicPlan, ...]
    """Interfaces that EC2 launches a node with; none on-prem."""
    footprint: Footprint | None
    """None in the cloud."""


def hardware(spec: ClusterSpec, catalogue: Catalogue) -> tuple[dict[str, Hardware], list[Finding]]:
    """The nodes of every pool whose references hold; the others are findings."""
    found: dict[str, Hardware] = {}
    findings: list[Finding] = []
    for name in sorted(spec.pools):
        faults = list(_dangling(spec, name, catalogue))
        if not faults:
            platform = catalogue.platforms[spec.pools[name].platform]
            wiring, loose = cabled(spec, name, platform)
            nics = _nics(spec, name, platform)
            odd = [nics] if isinstance(nics, Finding) else []
            faults = [*_unfit(spec, name, platform), *loose, *odd]
            if not isinstance(nics, Finding) and not faults:
                found[name] = _nodes(spec, name, platform, wiring, nics)
        findings += faults
    return found, findings


def _dangling(spec: ClusterSpec, name: str, catalogue: Catalogue) -> Iterator[Finding]:
    pool, at = spec.pools[name], SpecPath() / "pools" / name
    if pool.site not in spec.sites:
        yield _unknown(at / "site", "site", pool.site, spec.sites)
    if pool.platform not in catalogue.platforms:
        yield _unknown(at / "platform", "platform", pool.platform, catalogue.platforms)
    for fabric in sorted(pool.fabrics.keys() - spec.fabrics.keys()):
        yield _unknown(at / "fabrics" / fabric, "fabric", fabric, spec.fabrics)


def _unknown(at: SpecPath, what: str, got: str, known: Mapping[str, object]) -> Finding:
    return Finding(
        code=faults.DANGLING,
        message=f"there is no {what} {got}",
        path=at,
        got=got,
        expected=f"a {what} of the {'catalogue' if what == 'platform' else 'spec'}",
        hint=nearest(got, known),
    )


def _unfit(spec: ClusterSpec, name: str, platform: Platform) -> Iterator[Finding]:
    pool, at = spec.pools[name], SpecPath() / "pools" / name / "platform"
    site = spec.sites[pool.site]
    if not _belongs(platform, site):
        yield Finding(
            code=faults.PLATFORM_ELSEWHERE,
            message=f"{platform.name} does not come up in a site of kind {site.kind}",
            path=at,
            got=f"provisioning {platform.provisioning}",
            expected="ec2" if site.kind == "aws" else "redfish, or none",
            hint="choose another platform, or another site for the pool",
        )
        return
    in_rack = ("units", "power_kw") if isinstance(site, OnpremSite) else ()
    for figure in ("accelerators", *in_rack):
        if getattr(platform, figure) is None:
            yield _figure_unknown(at, platform, figure)


def _figure_unknown(at: SpecPath, platform: Platform, figure: str) -> Finding:
    return Finding(
        code=faults.FIGURE_UNKNOWN,
        message=f"the catalogue does not know {figure} of {platform.name}",
        path=at,
        got=f"no {figure}",
        expected=f"{figure} with its source",
        hint=f"add it to the catalogue entry of {platform.name}",
        source=_NEVER_ZERO,
    )


def _belongs(platform: Platform, site: Site) -> bool:
    return (platform.provisioning is Provisioning.EC2) == (site.kind == "aws")


def _nics(spec: ClusterSpec, name: str, platform: Platform) -> tuple[NicPlan, ...] | Finding:
    """Interfaces of a pool's nodes; one where the pool is on no EFA fabric, or its platform has none."""
    if platform.provisioning is not Provisioning.EC2:
        return ()
    for fabric_name, use in sorted(spec.pools[name].fabrics.items()):
        fabric = spec.fabrics[fabric_name]
        if isinstance(fabric, Efa):
            return _with_efa(SpecPath() / "pools" / name / "fabrics" / fabric_name, fabric, use, platform)
    return (PRIMARY,)


def _with_efa(at: SpecPath, fabric: Efa, use: FabricUse, platform: Platform) -> tuple[NicPlan, ...] | Finding:
    cards = platform.network_cards
    if cards is None:
        return _figure_unknown(at, platform, "network_cards")
    efas = None if use.nics is None else min(use.nics, cards.efa_interfaces)  # beyond it is EFA003's
    try:
        return nic_plan(cards, fabric.scheme, efas)
    except NoNicPlan as misfit:
        return Finding(
            code=faults.NO_NIC_PLAN,
            message=f"{platform.name}: {misfit.message}",
            path=at,
            got=misfit.got,
            expected=misfit.expected,
            hint=misfit.hint,
            source="EC2 User Guide, EFA on accelerated instance types",
        )


def _nodes(
    spec: ClusterSpec, name: str, platform: Platform, wiring: list[Cabled], nics: tuple[NicPlan, ...]
) -> Hardware:
    footprint = None
    if platform.units is not None and platform.power_kw is not None:
        watts = round(platform.power_kw * WATTS)
        footprint = Footprint(name, platform.units, watts, spec.pools[name].nodes_per_rack)
    return Hardware(platform, platform.accelerators or 0, tuple(wiring), nics, footprint)
