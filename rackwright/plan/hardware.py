"""What the catalogue says of each pool's nodes, as far as the plan needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.catalogue.load import nearest
from rackwright.catalogue.model import Provisioning
from rackwright.findings import Finding, SpecPath
from rackwright.plan import faults
from rackwright.plan.racks import WATTS, Footprint
from rackwright.plan.wiring import Cabled, cabled
from rackwright.spec.sites import OnpremSite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.catalogue.load import Catalogue
    from rackwright.catalogue.model import Platform
    from rackwright.spec.cluster import ClusterSpec
    from rackwright.spec.sites import Site

_NEVER_ZERO = "a figure that no source states is not taken for 0 (design §4)"


@dataclass(frozen=True, slots=True)
class Hardware:
    """The nodes of one pool."""

    platform: Platform
    accelerators: int
    wiring: tuple[Cabled, ...]
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
            faults = [*_unfit(spec, name, platform), *loose]
            if not faults:
                found[name] = _nodes(spec, name, platform, wiring)
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
            yield Finding(
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


def _nodes(spec: ClusterSpec, name: str, platform: Platform, wiring: list[Cabled]) -> Hardware:
    footprint = None
    if platform.units is not None and platform.power_kw is not None:
        watts = round(platform.power_kw * WATTS)
        footprint = Footprint(name, platform.units, watts, spec.pools[name].nodes_per_rack)
    return Hardware(platform, platform.accelerators or 0, tuple(wiring), footprint)
