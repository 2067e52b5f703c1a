"""Kernel settings of a pool: the platform's, the hypotheses that are asked for, the spec's on top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.catalogue.model import Confidence
from rackwright.catalogue.tuning import Settings
from rackwright.plan.tuning import settings
from rackwright.spec.pools import Pool
from rackwright.spec.tuning import Tuning

if TYPE_CHECKING:
    from rackwright.catalogue.load import Catalogue


def resolved(catalogue: Catalogue, platform: str, **wishes: object) -> Settings:
    pool = {"site": "hall", "platform": platform, "nodes": {"static": 1}, "image": "os", "tuning": wishes}
    return settings(catalogue, Pool.model_validate(pool))


def test_the_spec_goes_before_the_platform_key_by_key(catalogue: Catalogue) -> None:
    platform = resolved(catalogue, "dgx-h100")
    own = resolved(catalogue, "dgx-h100", sysctl={"vm.swappiness": 1}, governor="powersave")
    assert own.sysctl == {**platform.sysctl, "vm.swappiness": 1}
    assert (own.governor, own.cmdline) == ("powersave", platform.cmdline)
    assert platform.sysctl["vm.swappiness"] == 10


def test_modules_of_the_spec_come_beside_the_platforms(catalogue: Catalogue) -> None:
    assert resolved(catalogue, "dgx-h100", block_modules=["floppy", "nouveau"]).block_modules == (
        "nouveau",
        "floppy",
    )


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("governor", "governor"),
        ("sysctl.vm.swappiness", "sysctl.vm.swappiness"),
        ("limits", "limits"),
        ("cmdline.iommu", "cmdline.iommu"),
    ],
)
def test_what_is_not_wanted_is_not_set(catalogue: Catalogue, name: str, gone: str) -> None:
    before = resolved(catalogue, "dgx-h100").model_dump(exclude_defaults=True)
    after = resolved(catalogue, "dgx-h100", without=[name]).model_dump(exclude_defaults=True)
    field, _, key = gone.partition(".")
    if key:
        assert after[field] == {one: value for one, value in before[field].items() if one != key}
        assert after[field] != before[field]
    else:
        assert after == {one: value for one, value in before.items() if one != field}


def test_a_hypothesis_is_off_until_it_is_asked_for(catalogue: Catalogue) -> None:
    assert resolved(catalogue, "dgx-h100").transparent_hugepages == "always"
    assert resolved(catalogue, "dgx-h100", hypotheses=["thp-madvise"]).transparent_hugepages == "madvise"


def test_a_lab_platform_leaves_the_kernel_alone(catalogue: Catalogue) -> None:
    for platform in ("lab-node", "lab1.2rail", "lab-guest"):
        assert resolved(catalogue, platform) == Settings()


def test_every_kind_of_accelerator_node_has_its_tuning(catalogue: Catalogue) -> None:
    tuned = {name for name, one in catalogue.platforms.items() if one.tuning}
    bought = "dgx-a100 dgx-h100 dgx-h200 dgx-b200 dgx-gb200 hgx-mi300x cpu-1u"
    launched = "trn1.32xlarge trn2.48xlarge p5.48xlarge"
    assert {*bought.split(), *launched.split()} <= tuned


def test_what_a_weak_source_says_is_a_hypothesis_and_nothing_else_is(catalogue: Catalogue) -> None:
    for one in catalogue.tuning.values():
        for source in one.sources:
            if source.confidence is Confidence.HYPOTHESIS:
                assert all(state.startswith("hypotheses") for state in source.states), one.name


def test_spec_and_catalogue_set_the_same_things() -> None:
    assert Tuning.model_fields.keys() - {"hypotheses", "without"} == Settings.model_fields.keys()
