"""A spec of one file or several becomes one value with places and hashes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypeAlias

import pytest

from rackwright.errors import SpecUnreadable
from rackwright.findings import Finding, Place, SpecPath
from rackwright.spec import faults as codes
from rackwright.spec.load import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write: TypeAlias = Callable[..., Path]
    Faults: TypeAlias = Callable[[Path], list[Finding]]

POOLS = "pools:\n  head:\n"


def test_the_lab(lab: Write) -> None:
    spec = lab()
    loaded = load(spec)
    assert loaded.spec.cluster.name == "lab"
    assert list(loaded.assets) == ["head-001", "node-001", "node-002", "node-003"]
    assert loaded.spec_sha256 == hashlib.sha256(spec.read_bytes()).hexdigest()


def test_a_comment_changes_the_hash_of_the_spec_and_a_row_that_of_the_assets(lab: Write) -> None:
    before = load(lab())
    commented = load(lab({"rackwright: 1": "# new\nrackwright: 1"}))
    assert commented.spec_sha256 != before.spec_sha256
    assert commented.assets_sha256 == before.assets_sha256
    spec = lab()
    assets = spec.parent / "assets/lab.csv"
    assets.write_text(assets.read_text().replace("LAB-0001", "LAB-0009"))
    assert load(spec).assets_sha256 != before.assets_sha256


def test_places(lab: Write) -> None:
    spec = lab()
    of = load(spec).positions.of
    assert of(SpecPath(("rackwright",))) == Place(spec, 3, 13)
    assert of(SpecPath(("pools", "head"))) == Place(spec, 21, 3)
    assert of(SpecPath(("pools", "head", "nodes", "static"))) == Place(spec, 24, 21)
    assert of(SpecPath(("pools", "head", "nodes", "burst"))) == of(SpecPath(("pools", "head", "nodes")))
    assert of(SpecPath(("nothing", "here"))) == Place(spec, 1, 1)


def test_findings_are_located_and_sorted_by_place(lab: Write) -> None:
    positions = load(lab()).positions
    placed = Finding("X001", "m", place=Place(lab(), 1, 2))
    found = positions.locate([Finding("X002", "m", SpecPath(("pools",))), placed])
    assert found[0] is placed
    assert found[1].place is not None
    assert found[1].place.line == 20


def test_included_maps_are_merged(lab: Write) -> None:
    spec = lab(
        {"rackwright: 1\n": "rackwright: 1\ninclude: [more.yaml, images.yaml]\n"},
        more="pools:\n  extra: {site: hall, platform: lab-node, nodes: {static: 1}, image: other}\n",
        images="images:\n  other: {os: debian-12}\n",
    )
    loaded = load(spec)
    assert sorted(loaded.spec.pools) == ["extra", "head", "node"]
    assert loaded.spec.images["other"].os == "debian-12"
    extra = loaded.positions.of(SpecPath(("pools", "extra", "image")))
    assert extra == Place(spec.parent / "more.yaml", 2, 70)
    (spec.parent / "images.yaml").write_text("images:\n  other: {os: debian-13}\n")
    assert load(spec).spec_sha256 != loaded.spec_sha256


def test_a_value_in_two_files_is_a_conflict_with_both_places(lab: Write, faults: Faults) -> None:
    spec = lab(
        {"rackwright: 1\n": "rackwright: 1\ninclude: [more.yaml]\n"},
        more="cluster: {name: other}\nimages: {debian: {os: debian-12}}\n",
    )
    name, os = faults(spec)
    assert (name.code, str(name.path), str(os.path)) == (
        codes.INCLUDE_CONFLICT,
        "cluster.name",
        "images.debian.os",
    )
    assert name.place == Place(spec.parent / "more.yaml", 1, 17)
    assert f"{spec}:5:17" in name.expected


def test_files_that_include_one_another_in_a_circle(lab: Write, faults: Faults) -> None:
    spec = lab({"rackwright: 1\n": "rackwright: 1\ninclude: [more.yaml]\n"}, more="include: [lab.yaml]\n")
    (cycle,) = faults(spec)
    assert cycle.code == codes.INCLUDE_CYCLE
    assert cycle.place == Place(spec.parent / "more.yaml", 1, 11)


def test_a_file_included_twice_is_read_once(lab: Write) -> None:
    spec = lab(
        {"rackwright: 1\n": "rackwright: 1\ninclude: [one.yaml, two.yaml]\n"},
        one="include: [images.yaml]\n",
        two="include: [images.yaml]\n",
        images="images:\n  other: {os: debian-12}\n",
    )
    assert sorted(load(spec).spec.images) == ["debian", "other"]


def test_a_missing_included_file_is_shown_where_it_is_included(lab: Write) -> None:
    spec = lab({"rackwright: 1\n": "rackwright: 1\ninclude: [mroe.yaml]\n"}, more="images: {}\n")
    with pytest.raises(SpecUnreadable) as caught:
        load(spec)
    assert caught.value.where == f"{spec}:4:11"
    assert "mroe.yaml" in caught.value.got
    assert "more.yaml" in caught.value.hint


def test_broken_yaml_in_an_included_file_is_shown_there(lab: Write) -> None:
    spec = lab({"rackwright: 1\n": "rackwright: 1\ninclude: [more.yaml]\n"}, more="a: b: c\n")
    with pytest.raises(SpecUnreadable) as caught:
        load(spec)
    assert caught.value.where == f"{spec.parent / 'more.yaml'}:1:5"


def test_include_that_is_no_list_is_for_the_schema_to_say(lab: Write, faults: Faults) -> None:
    (finding,) = faults(lab({"rackwright: 1\n": "rackwright: 1\ninclude: more.yaml\n"}))
    assert (finding.code, str(finding.path)) == (codes.WRONG_TYPE, "include")
