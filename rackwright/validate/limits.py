"""Plan and catalogue in, what is expected of transports, GPUs and ports out; figures and words are data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from rackwright import strict_yaml
from rackwright.catalogue.model import Check, InterfaceType
from rackwright.spec.base import Model
from rackwright.validate.expectations import Expectation, Key, Provenance
from rackwright.validate.model import Unit

if TYPE_CHECKING:
    from rackwright.catalogue.load import Catalogue
    from rackwright.catalogue.model import Platform
    from rackwright.plan.model import Plan, PoolPlan

_FOLDER = Path(__file__).parent
_EFA = frozenset({InterfaceType.EFA, InterfaceType.EFA_ONLY})


class Source(Model):
    """Where a limit was read."""

    text: str
    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d(-\d\d)?$")]


class Limit(Model):
    """What one value may be."""

    check: Check
    name: str
    parameters: dict[str, str | int | float] = {}
    unit: Unit
    at_least: float | None = None
    at_most: float | None = None
    one_of: tuple[str, ...] = ()
    source: str


class Limits(Model):
    """All of them."""

    sources: Mapping[str, Source]
    limits: tuple[Limit, ...]


class Way(Model):
    """Words of NCCL for one kind of fabric."""

    network: Annotated[tuple[str, ...], Field(min_length=1)]
    provider: tuple[str, ...]
    source: str


class Links(Model):
    """Accelerators with NVLinks; for `Transports.nvls` those whose switches reduce."""

    accelerators: tuple[str, ...]
    source: str


class Transports(Model):
    """What NCCL's log says where all is well."""

    fabrics: Mapping[str, Way]
    gpudirect: str
    """Source of what is expected of it."""
    nvlinks: Links
    nvls: Links


@cache
def limits() -> Limits:
    """Those that come with the package."""
    return Limits.model_validate(strict_yaml.load((_FOLDER / "limits.yaml").read_text(encoding="utf-8")))


@cache
def transports() -> Transports:
    """Those that come with the package."""
    text = (_FOLDER / "transports.yaml").read_text(encoding="utf-8")
    return Transports.model_validate(strict_yaml.load(text))


def of_state(plan: Plan, catalogue: Catalogue, nodes: list[str]) -> Iterator[Expectation]:
    """What is asked of transports, GPUs and ports of these slots, as far as platforms declare the checks."""
    pools = {name: pool for name, pool in plan.pools.items() if pool.slots.keys() & set(nodes)}
    declared = {check for pool in pools.values() for check in catalogue.platforms[pool.platform].checks}
    yield from (_limit(one) for one in limits().limits if one.check in declared)
    for platform in dict.fromkeys(pool.platform for pool in pools.values()):
        alike = {name: pool for name, pool in pools.items() if pool.platform == platform}
        yield from _of_platform(catalogue.platforms[platform], plan, alike)


def _limit(one: Limit) -> Expectation:
    bound = one.at_most if one.at_most is not None else one.at_least
    source = limits().sources[one.source]
    return Expectation(
        key=Key(name=one.name, check=one.check, parameters=one.parameters),
        unit=one.unit,
        at_least=one.at_least,
        at_most=one.at_most,
        one_of=one.one_of,
        nominal=bound or 0,
        provenance=Provenance.PUBLISHED,
        source=source.text,
        date=source.date,
    )


def _of_platform(platform: Platform, plan: Plan, pools: Mapping[str, PoolPlan]) -> Iterator[Expectation]:
    if Check.GPU_STATE in platform.checks and platform.accelerators:
        state = Key(name="", check=Check.GPU_STATE, platform=platform.name)
        yield _planned(state, "gpus", platform.accelerators)
        if has_nvlinks(platform.accelerator, platform.accelerators):
            yield _planned(state, "nvlink_gpus", platform.accelerators)
            yield _yes(state, "nvlinks_up", transports().nvlinks.source)
    if Check.TRANSPORT in platform.checks:
        log = Key(name="", check=Check.TRANSPORT, platform=platform.name)
        ways = {name: way_of(plan, pool) for name, pool in pools.items()}
        alike = len(set(ways.values())) == 1
        for name, way in [*ways.items()][: 1 if alike else None]:
            yield from _of_way(log if alike else log.model_copy(update={"pool": name}), *way)
        if platform.accelerator in transports().nvls.accelerators:
            yield _yes(log, "nvls", transports().nvls.source)


def _of_way(about: Key, kind: str, nics: int) -> Iterator[Expectation]:
    """What NCCL says of so many NICs to a fabric of this kind."""
    known = transports()
    if (way := known.fabrics.get(kind)) is None:
        return
    yield _word(about, "network", way.network, way.source)
    if way.provider:
        yield _word(about, "provider", way.provider, way.source)
    yield _planned(about, "nics", nics)
    yield _yes(about, "gpudirect", known.gpudirect)


def way_of(plan: Plan, pool: PoolPlan) -> tuple[str, int]:
    """Kind of the fabric that collectives of a node go over, and its NICs there; empty where that is open.

    EFA where a node is launched with it, else the fabric to which most of its ports go.
    """
    efa = sum(one.interface_type in _EFA for one in pool.nics)
    if efa:
        return "efa", efa
    ports = Counter(port.fabric for slot in list(pool.slots.values())[:1] for port in slot.ports)
    most = [fabric for fabric, count in ports.items() if count == max(ports.values())]
    return (plan.fabrics[most[0]].kind, ports[most[0]]) if len(most) == 1 else ("", 0)


def _planned(about: Key, name: str, count: int) -> Expectation:
    of = f"a {about.platform} of {f'pool {about.pool} of ' if about.pool else ''}this plan"
    return Expectation(
        key=about.model_copy(update={"name": name}),
        unit=Unit.COUNT,
        at_least=count,
        at_most=count,
        nominal=count,
        provenance=Provenance.PLAN,
        source=f"{of} has {count}",
    )


def _word(about: Key, name: str, words: tuple[str, ...], source: str) -> Expectation:
    return Expectation(
        key=about.model_copy(update={"name": name}),
        unit=Unit.WORD,
        one_of=words,
        nominal=0,
        provenance=Provenance.PLAN,
        source=f"the plan's fabric; {source}",
    )


def has_nvlinks(accelerator: str | None, accelerators: int) -> bool:
    """Whether so many accelerators of a node are joined by NVLinks."""
    return accelerators > 1 and accelerator in transports().nvlinks.accelerators


def _yes(about: Key, name: str, source: str) -> Expectation:
    return Expectation(
        key=about.model_copy(update={"name": name}),
        unit=Unit.YES_NO,
        at_least=1,
        nominal=1,
        provenance=Provenance.PUBLISHED,
        source=source,
    )
