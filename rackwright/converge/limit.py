"""``--limit``: names, groups and hostlists in, the hosts they mean out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.errors import UsageError
from rackwright.findings import did_you_mean
from rackwright.hostlists import NoHostlist, unfolded
from rackwright.inventory.files import groups

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwright.inventory.model import Inventory

_ALL = "all"


def chosen(inventory: Inventory, limit: str) -> frozenset[str]:
    """The hosts that are asked for, those that nobody may connect to included.

    Args:
        inventory: of the cluster.
        limit: as ClusterShell reads it: ``head-001,node-[001-003]!node-002``, where any name may be a
            pool's or a group's of the inventory; empty for all.

    Raises:
        UsageError: no hostlist, a name that is neither host, pool nor group, or no host at all.
    """
    known = _known(inventory)
    if not limit:
        return frozenset(known[_ALL])
    hosts = frozenset(_resolved(limit, known))
    if not hosts:
        raise UsageError("there is no host in it", code="CONV003", where="--limit", got=limit)
    return hosts


def _known(inventory: Inventory) -> dict[str, Sequence[str]]:
    """Every name that may be asked for, and the hosts it means."""
    pools: dict[str, list[str]] = {}
    for name, host in inventory.hosts.items():
        pools.setdefault(host.pool, []).append(name)
    for name, gone in inventory.absent.items():
        pools.setdefault(gone.pool, []).append(name)
    names = [*inventory.hosts, *inventory.absent]
    return {_ALL: names, **pools, **groups(inventory), **{name: [name] for name in names}}


def _resolved(limit: str, known: Mapping[str, Sequence[str]]) -> set[str]:
    """Left to right, as ClusterShell does: a comma adds, an exclamation mark takes away."""
    hosts: set[str] = set()
    for taken_away, words in _terms(limit):
        meant = {host for name in _expanded(words) for host in _meant(name, known)}
        hosts = hosts - meant if taken_away else hosts | meant
    return hosts


def _terms(limit: str) -> Iterator[tuple[bool, str]]:
    first, *excluded = limit.split("!")
    if first.strip(" ,"):
        yield False, first
    for one in excluded:
        away, _, more = _outside_brackets(one)
        yield True, away
        if more:
            yield False, more


def _outside_brackets(text: str) -> tuple[str, str, str]:
    """Split at the first comma that is not between brackets."""
    depth = 0
    for at, letter in enumerate(text):
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            return text[:at], ",", text[at + 1 :]
    return text, "", ""


def _expanded(words: str) -> tuple[str, ...]:
    try:
        return unfolded(words)
    except NoHostlist as error:
        raise UsageError(
            "this is no hostlist",
            code="CONV003",
            where="--limit",
            got=str(error),
            expected="names, groups and ranges: head-001,node-[001-003]",
        ) from None


def _meant(name: str, known: Mapping[str, Sequence[str]]) -> Sequence[str]:
    if name in known:
        return known[name]
    raise UsageError(
        "the plan has no such host, pool or group",
        code="CONV003",
        where="--limit",
        got=name,
        expected="a host, a pool, or a group of the inventory",
        hint=did_you_mean(name, known),
    )
