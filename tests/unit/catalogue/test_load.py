"""The catalogue: what is shipped holds, and what is wrong is named with file and key."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest

from rackwright.catalogue.load import SHIPPED, load
from rackwright.errors import CatalogueInvalid


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped data to spoil."""
    return Path(copytree(SHIPPED, tmp_path / "data"))


def spoil(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_what_is_shipped_loads_and_covers_the_examples() -> None:
    catalogue = load()
    assert {"dgx-h100", "p5.48xlarge", "trn2.48xlarge", "cpu-1u", "lab-node", "lab1.2rail"} <= set(
        catalogue.platforms
    )
    assert catalogue.platforms["dgx-h100"].power_kw == 10.2
    assert catalogue.switches["qm9700"].ports == 64


def test_every_figure_has_a_source_with_a_date() -> None:
    for _, entry in load().entries():
        stated = {name for source in entry.sources for name in source.states}
        for figure, _ in entry.figures():
            parts = figure.split(".")
            assert stated & {".".join(parts[: n + 1]) for n in range(len(parts))}, f"{entry.name}: {figure}"
        assert all(source.read.year >= 2026 for source in entry.sources)


def test_a_figure_without_a_source_does_not_load(folder: Path) -> None:
    spoil(folder, "platforms/dgx-h100.yaml", "accelerators, units, power_kw]", "accelerators, units]")
    with pytest.raises(CatalogueInvalid) as error:
        load(folder)
    assert "no source states power_kw" in error.value.expected
    assert error.value.where.endswith("platforms/dgx-h100.yaml")


def test_a_nested_figure_without_a_source_does_not_load(folder: Path) -> None:
    spoil(folder, "platforms/dgx-h100.yaml", "ports.storage.nic, ", "")
    with pytest.raises(CatalogueInvalid) as error:
        load(folder)
    assert "ports.storage.nic" in error.value.expected


def test_a_source_for_nothing_does_not_load(folder: Path) -> None:
    spoil(folder, "switches/qm9700.yaml", "states: [ports]", "states: [ports, power_kw]")
    with pytest.raises(CatalogueInvalid) as error:
        load(folder)
    assert "power_kw" in error.value.expected


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("units: 8", "units: eight", "units"),
        ("units: 8", "unit: 8", "unit"),
        ("power_kw: 10.2", "power_kw: -1", "power_kw"),
        ("accelerators: 8", "accelerators: -8", "accelerators"),
        ("ibp220s0]", "]", "ports.compute"),
        ("confidence: vendor", "confidence: hearsay", "confidence"),
    ],
)
def test_a_wrong_value_is_named_with_file_and_key(folder: Path, old: str, new: str, key: str) -> None:
    spoil(folder, "platforms/dgx-h100.yaml", old, new)
    with pytest.raises(CatalogueInvalid) as error:
        load(folder)
    assert key in error.value.message
    assert error.value.where.endswith("platforms/dgx-h100.yaml")
    assert error.value.got
    assert error.value.expected


def test_a_key_that_stands_twice_is_refused_with_its_line(folder: Path) -> None:
    spoil(folder, "platforms/dgx-h100.yaml", "units: 8\n", "units: 8\nunits: 4\n")
    with pytest.raises(CatalogueInvalid) as error:
        load(folder)
    assert error.value.where.endswith("dgx-h100.yaml:10:1")
    assert "units" in error.value.got


def test_a_file_that_is_no_yaml_is_refused_with_its_line(folder: Path) -> None:
    spoil(folder, "nics/cx7.yaml", "kinds: [", "kinds: [[")
    with pytest.raises(CatalogueInvalid) as error:
        load(folder)
    assert "cx7.yaml:" in error.value.where


@pytest.mark.parametrize(
    ("name", "old", "new", "hint"),
    [
        ("platforms/dgx-h100.yaml", "accelerator: h100", "accelerator: h10", "`h100`"),
        ("platforms/dgx-h100.yaml", "nic: cx7", "nic: cx77", "`cx7`"),
    ],
)
def test_a_dangling_reference_is_refused_with_the_nearest_name(
    folder: Path, name: str, old: str, new: str, hint: str
) -> None:
    spoil(folder, name, old, new)
    with pytest.raises(CatalogueInvalid) as error:
        load(folder)
    assert hint in error.value.hint


def test_an_entry_is_named_after_its_file(folder: Path) -> None:
    (folder / "nics/cx7.yaml").rename(folder / "nics/cx8.yaml")
    with pytest.raises(CatalogueInvalid) as error:
        load(folder)
    assert (error.value.got, error.value.expected) == ("cx7", "cx8")


def test_a_name_means_one_thing(folder: Path) -> None:
    spoil(folder, "switches/slingshot-200.yaml", "name: slingshot-200", "name: cx7")
    (folder / "switches/slingshot-200.yaml").rename(folder / "switches/cx7.yaml")
    with pytest.raises(CatalogueInvalid) as error:
        load(folder)
    assert "twice" in error.value.message


def test_the_hash_follows_content_and_not_layout(folder: Path) -> None:
    before = load(folder).sha256
    spoil(folder, "nics/cx7.yaml", "maker: NVIDIA", "maker:   NVIDIA   # as printed on it")
    assert load(folder).sha256 == before == load().sha256
    spoil(folder, "platforms/dgx-h100.yaml", "power_kw: 10.2", "power_kw: 10.3")
    assert load(folder).sha256 != before


def test_a_scale_up_domain_is_filled_by_its_nodes(folder: Path) -> None:
    spoil(folder, "platforms/dgx-gb200.yaml", "accelerators: 72, nodes: 18", "accelerators: 72, nodes: 9")
    with pytest.raises(CatalogueInvalid) as error:
        load(folder)
    assert "9 nodes of 4 accelerators are no 72" in error.value.expected


def test_the_hardware_of_the_field_is_there() -> None:
    catalogue = load()
    gpus = {"a100", "h100", "h200", "gh200", "b200", "b300", "gb200", "gb300", "mi300x", "mi325x", "mi355x"}
    others = {"trainium", "trainium2", "inferentia2", "tpu-v4", "tpu-v5p", "gaudi-3", "mtia", "maia-100"}
    assert gpus | others <= set(catalogue.accelerators)
    assert {name: (one.ports, one.rate_gbps) for name, one in catalogue.switches.items()} == {
        "qm8700": (40, 200),
        "qm9700": (64, 400),
        "q3400": (144, 800),
        "sn5600": (64, 800),
        "sn5600-2x400": (128, 400),
        "slingshot-200": (64, 200),
    }
    domains = {one.scale_up.accelerators for one in catalogue.platforms.values() if one.scale_up}
    assert domains == {6, 8, 12, 16, 64, 72}


def test_every_accelerator_has_a_platform_but_those_for_counts() -> None:
    catalogue = load()
    for_counts = {"tpu-v4", "tpu-v5p", "gaudi-3", "mtia", "maia-100"}
    on_nodes = {platform.accelerator for platform in catalogue.platforms.values()} - {None}
    assert on_nodes == catalogue.accelerators.keys() - for_counts
    assert all("for counts" in catalogue.accelerators[name].title for name in for_counts)
