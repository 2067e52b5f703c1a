"""All asset files that a spec names in; the machine behind each slot, and what contradicts, out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwright import paths
from rackwright.canonical import sha256
from rackwright.errors import SpecUnreadable
from rackwright.findings import Finding, SpecPath, did_you_mean
from rackwright.spec import faults
from rackwright.spec.assets import AssetFile, AssetRow, parse_assets
from rackwright.spec.references import locate
from rackwright.spec.slots import parse_slot, slot_name
from rackwright.spec.text import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.spec.cluster import ClusterSpec


@dataclass(slots=True)
class DeliveredAssets:
    """Rows by slot, of all files together."""

    rows: dict[str, AssetRow] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    sha256: str = ""
    """Of the files' names and contents."""


def read_asset_files(spec: ClusterSpec, folder: Path) -> DeliveredAssets:
    """Read each file that a pool names, once.

    Args:
        spec: names the files.
        folder: what ``file:`` references are relative to.
    """
    delivered = DeliveredAssets()
    hashes: list[str] = []
    seen = _Seen(delivered)
    for reference, pools in sorted(_references(spec).items()):
        path = locate(reference, folder, paths.state(spec.cluster.name))
        at = SpecPath(("pools", pools[0], "assets"))
        try:
            text = read_text(path, "an asset file, CSV")
        except SpecUnreadable as error:
            delivered.findings.append(_unreadable(error, at))
            continue
        hashes.append(f"{reference} {sha256(text)}")
        file = parse_assets(path, text, at)
        delivered.findings += file.findings
        _place(spec, file, set(pools), seen)
    delivered.sha256 = sha256("\n".join(hashes))
    return delivered


def _references(spec: ClusterSpec) -> dict[str, list[str]]:
    """Reference → pools that name it."""
    found: dict[str, list[str]] = {}
    for name, pool in sorted(spec.pools.items()):
        if pool.assets:
            found.setdefault(pool.assets, []).append(name)
    return found


def _unreadable(error: SpecUnreadable, at: SpecPath) -> Finding:
    return Finding(
        faults.ASSET_FILE,
        f"the asset file: {error.message}",
        at,
        got=f"{error.where}: {error.got}",
        expected=error.expected,
        hint=error.hint or "a pool whose machines are not delivered yet needs no `assets`",
    )


def _place(spec: ClusterSpec, file: AssetFile, pools: set[str], seen: _Seen) -> None:
    """Give each row to its slot; rows of pools that do not name this file are somebody else's."""
    for row in file.rows:
        parsed = parse_slot(row.slot)
        pool, number = parsed or ("", 0)
        if pool not in spec.pools or not 1 <= number <= _slots(spec, pool):
            seen.delivered.findings.append(_no_such_slot(spec, row, file.at, pool))
        elif seen.is_new(row, spec.pools[pool].site, file.at) and pool in pools:
            seen.delivered.rows[row.slot] = row


def _slots(spec: ClusterSpec, pool: str) -> int:
    return spec.pools[pool].nodes.static + spec.pools[pool].nodes.burst


def _no_such_slot(spec: ClusterSpec, row: AssetRow, at: SpecPath, pool: str) -> Finding:
    if pool in spec.pools:
        slots = _slots(spec, pool)
        expected = f"{slot_name(pool, 1)} to {slot_name(pool, slots)}"
        hint = f"raise pools.{pool}.nodes.static, or take the row away"
    else:
        expected = f"a slot of {', '.join(spec.pools)}: NAME-NNN"
        hint = _nearest_slot(spec, row.slot)
    return Finding(
        faults.ASSET_SLOT,
        f"no pool has a slot {row.slot}",
        at,
        got=row.slot,
        expected=expected,
        hint=hint,
        place=row.place,
    )


def _nearest_slot(spec: ClusterSpec, name: str) -> str:
    """The slot that was probably meant: of the nearest pool, with the number that was given."""
    stem, _, number = name.rpartition("-")
    if not number.isdecimal():
        return did_you_mean(name, (slot_name(pool, 1) for pool in spec.pools))
    known = {slot_name(pool, int(number[:9])): pool for pool in spec.pools}
    return did_you_mean(f"{stem}-{number}", known)


@dataclass(slots=True)
class _Seen:
    """What has been given once: a slot in the cluster, serials and addresses in their site."""

    delivered: DeliveredAssets
    first: dict[tuple[str, str, str], AssetRow] = field(default_factory=dict)

    def is_new(self, row: AssetRow, site: str, at: SpecPath) -> bool:
        """Whether nothing of a row was there before; else it is a finding with both places."""
        new = True
        for name, scope, value in _identities(row, site):
            other = self.first.setdefault((name, scope, value), row)
            if other is not row:
                new = False
                self.delivered.findings.append(_twice(name, value, row, other, at))
        return new


def _identities(row: AssetRow, site: str) -> Iterator[tuple[str, str, str]]:
    """What must be unique: its name, where, and the value."""
    asset = row.asset
    yield "slot", "", row.slot
    yield "serial", site, asset.serial
    yield "MAC address", site, asset.bmc_mac
    yield "MAC address", site, asset.boot_mac
    if row.bmc_address:
        yield "BMC address", site, row.bmc_address
    for guid in asset.hca_guids:
        yield "GUID", site, guid


def _twice(name: str, value: str, row: AssetRow, other: AssetRow, at: SpecPath) -> Finding:
    return Finding(
        faults.ASSET_DUPLICATE,
        f"{name} {value} is given twice",
        at,
        got=f"{row.slot} at {row.place}",
        expected=f"one machine; the first is {other.slot} at {other.place}",
        hint="one of the two rows is a copy that was not changed" if name != "slot" else "",
        place=row.place,
    )
