"""A spec's path in; the whole spec with its places, assets and hashes out, or all its faults at once."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from rackwright.canonical import sha256
from rackwright.errors import SpecInvalid
from rackwright.findings import Place
from rackwright.spec.asset_files import read_asset_files
from rackwright.spec.cluster import ClusterSpec
from rackwright.spec.include import gather
from rackwright.spec.positions import Positions
from rackwright.spec.schema_errors import schema_findings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rackwright.findings import Finding
    from rackwright.spec.assets import Asset, AssetRow
    from rackwright.spec.include import Gathered


@dataclass(frozen=True, slots=True)
class LoadedSpec:
    """A spec that fits its schema."""

    spec: ClusterSpec
    path: Path
    positions: Positions
    rows: Mapping[str, AssetRow]
    """Slot → its row of an asset file."""
    assets: Mapping[str, Asset]
    """Slot → the machine behind it, for the slots that have one."""
    spec_sha256: str
    assets_sha256: str


def load(path: Path) -> LoadedSpec:
    """Read a spec, the files it includes and the asset files it names.

    Raises:
        SpecUnreadable: a file of the spec is missing, not readable, or not YAML.
        SpecInvalid: all that breaks the schema, or all that is wrong with the asset files.
    """
    gathered = gather(path)
    positions = Positions(gathered.document.marks, Place(path, 1, 1))
    spec = _validated(gathered, positions)
    delivered = read_asset_files(spec, path.parent)
    if delivered.findings:
        raise SpecInvalid(positions.locate(delivered.findings))
    return LoadedSpec(
        spec=spec,
        path=path,
        positions=positions,
        rows=delivered.rows,
        assets={slot: row.asset for slot, row in delivered.rows.items()},
        spec_sha256=_spec_hash(gathered, path),
        assets_sha256=delivered.sha256,
    )


def read(path: Path) -> ClusterSpec:
    """The spec alone, its asset files unread: an old version of it may stand where they are not.

    Raises:
        SpecUnreadable: a file of the spec is missing, not readable, or not YAML.
        SpecInvalid: all that breaks the schema.
    """
    gathered = gather(path)
    return _validated(gathered, Positions(gathered.document.marks, Place(path, 1, 1)))


def _validated(gathered: Gathered, positions: Positions) -> ClusterSpec:
    """The model of the values; in strict mode, which takes no text for a number and no 1 for true."""
    document = gathered.document
    findings: list[Finding] = list(document.findings)
    try:
        spec = ClusterSpec.model_validate_json(json.dumps(document.values), strict=True)
    except ValidationError as error:
        said = {finding.path for finding in findings}
        more = schema_findings(error, document.values, positions)
        findings += [finding for finding in more if finding.path not in said]
        raise SpecInvalid(positions.locate(findings)) from None
    if findings:
        raise SpecInvalid(positions.locate(findings))
    return spec


def _spec_hash(gathered: Gathered, path: Path) -> str:
    """Of the spec's text; of the names and hashes of its files where it has several."""
    if len(gathered.hashes) == 1:
        return next(iter(gathered.hashes.values()))
    root = path.resolve().parent
    return sha256(
        "\n".join(f"{os.path.relpath(file, root)} {digest}" for file, digest in gathered.hashes.items())
    )
