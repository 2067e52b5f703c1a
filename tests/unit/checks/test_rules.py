"""Every rule fires on its own counter-example, which is an example spec with one mistake in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest

from rackwright import paths
from rackwright.checks import run
from rackwright.checks.registry import rules
from rackwright.checks.storage import FSX_EFA_STEP_GIB
from rackwright.checks.suppression import OWN_RULES
from rackwright.findings import Level
from tests.doubles.rule_cases import Case, case
from tests.doubles.spoiled_plans import SPOILED
from tests.doubles.storage_cases import STORAGE_CASES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rackwright.checks.run import Report

    Edit: TypeAlias = Callable[[str, Mapping[str, object]], Path]
    Judge: TypeAlias = Callable[[Path], Report]


LEAVES = {"site": "hall", "platform": "lab-node", "nodes": {"static": 1}, "image": "debian"}
RAILS = {"kind": "ethernet", "speed": "100m", "topology": {"kind": "rails"}}
ZONE = {
    "kind": "aws",
    "account": "123456789012",
    "region": "us-west-2",
    "zone_id": "usw2-az1",
    "vpc": {"cidrs": ["10.65.0.0/16"]},
}
UNTIL = "2027-03-01"

DGX = "onprem-dgx-h100"
CASES = [
    case(
        "TUNE001",
        "pools.node.tuning.sysctl.vm.swapiness",
        "lab",
        pools__node__tuning={"sysctl": {"vm.swapiness": 1}},
    ),
    case(
        "TUNE002", "pools.h100.tuning.cmdline", DGX, pools__h100__tuning={"cmdline": {"intel_iommu": "off"}}
    ),
    case(
        "TUNE003",
        "pools.h100.tuning.cmdline",
        DGX,
        pools__h100__tuning={"cmdline": {"transparent_hugepage": "never"}},
    ),
    case(
        "TUNE003",
        "pools.node.tuning.cmdline",
        "lab",
        pools__node__tuning={"sysctl": {"vm.nr_hugepages": 8}, "cmdline": {"hugepages": 8}},
    ),
    case("TUNE004", "pools.h100.tuning.hypotheses", DGX, pools__h100__tuning={"hypotheses": ["thp-madvice"]}),
    case(
        "TUNE004", "pools.h100.tuning.without", DGX, pools__h100__tuning={"without": ["sysctl.vm.swapiness"]}
    ),
    case(
        "TUNE006",
        "pools.h100.tuning.hypotheses",
        DGX,
        pools__h100__tuning={"hypotheses": ["thp-madvise", "thp-never"]},
    ),
    case(
        "TUNE005", "pools.h100.tuning.block_modules", DGX, pools__h100__tuning={"load_modules": ["nouveau"]}
    ),
    case("REF002", "pools.node.image", "lab", pools__node__image="debina"),
    case("REF002", "links.wan.between.1", "hybrid", links__wan__between=["hall-a", "use3"]),
    case("REF002", "fabrics.compute.topology.switch", "hybrid", fabrics__compute__topology__switch="qm970"),
    case("REF002", "storage.fsx.site", "hybrid", storage__fsx__site="use3"),
    case("REF002", "storage.scratch.fabric", "onprem-dgx-h100", storage__scratch__fabric="storag"),
    case("REF002", "storage.scratch.oss.0", "onprem-dgx-h100", storage__scratch__oss=["osss"]),
    case("REF002", "storage.cache.pools.0", "hybrid", storage__cache__pools=["h200"]),
    case(
        "REF002",
        "storage.fast.hosts.0",
        "hybrid",
        storage__fast={"kind": "nvmeof", "site": "hall-a", "targets": ["mgmt"], "hosts": ["h10"]},
    ),
    case("REF002", "schedulers.main.sites.1", "hybrid", schedulers__main__sites=["hall-a", "use3"]),
    case(
        "REF002",
        "schedulers.main.partitions.all.pools.0",
        "lab",
        schedulers__main__partitions__all__pools=["nodes"],
    ),
    case("NET001", "sites.hall.networks.bmc.cidr", "lab", sites__hall__networks__bmc__cidr="10.77.0.0/25"),
    case("NET001", "fabrics.compute.cidr", "lab", fabrics__compute__cidr="10.77.0.0/24"),
    case(
        "NET001", "sites.use2.vpc.cidrs.1", "hybrid", sites__use2__vpc__cidrs=["10.64.0.0/16", "10.64.8.0/24"]
    ),
    case("NET002", "sites.use2.vpc.cidrs.0", "hybrid", sites__use2__vpc__cidrs=["10.2.0.0/16"]),
    case("LINK001", "links.wan.between", "hybrid", links__wan__between=["use2", "use2"]),
    case(
        "LINK002",
        "links.wan.mtu",
        "hybrid",
        links__wan={"between": ["hall-a", "use2"], "via": "direct-connect", "mtu": 9000},
    ),
    case("LINK003", "links.wan.mtu", "hybrid", links__wan__mtu=1447),
    case("POOL001", "pools.node.nodes.burst", "lab", pools__node__nodes={"static": 2, "burst": 1}),
    case("POOL003", "pools.gb200.platform", "fabrics/gb200-9216", sites__hall__racks__cooling="air"),
    case("CAP001", "pools.node.capacity", "lab", pools__node__capacity={"kind": "spot"}),
    case("CAP002", "pools.trn2.nodes.burst", "aws-trn2", pools__trn2__nodes__burst=4),
    case("EFA001", "pools.p5.fabrics.efa", "aws-p5", pools__p5__platform="m7i.4xlarge"),
    case("EFA002", "pools.h100.fabrics.efa", "hybrid", pools__h100__fabrics__efa={}),
    case("EFA003", "pools.p5.fabrics.efa.nics", "aws-p5", pools__p5__fabrics__efa={"nics": 33}),
    case(
        "EFA006",
        "pools.more.fabrics.efa",
        "aws-p5",
        sites__usw2=ZONE,
        pools__more={
            "site": "usw2",
            "platform": "p5.48xlarge",
            "nodes": {"static": 1},
            "image": "p5",
            "fabrics": {"efa": {}},
        },
    ),
    case(
        "EFA007",
        "pools.p5.fabrics.more",
        "aws-p5",
        fabrics__more={"kind": "efa"},
        pools__p5__fabrics={"efa": {}, "more": {}},
    ),
    case("FAB002", "fabrics.spare", "lab", fabrics__spare=RAILS),
    case("FAB003", "pools.node.fabrics.compute", "lab", fabrics__compute__speed="200m"),
    case("FAB003", "pools.h100.fabrics.compute", "hybrid", fabrics__compute__speed="hdr"),
    case("FAB003", "pools.h100.fabrics.compute", "hybrid", fabrics__compute__topology__planes=2),
    Case("FAB008", "pools.compute-leaf", "lab", {"pools.compute-leaf": LEAVES}),
    Case("FAB008", "pools.compute-p2-spine", "lab", {"pools.compute-p2-spine": LEAVES}),
    case(
        "FAB009",
        "fabrics.compute.switches.os",
        "fabrics/twin-planes-2048",
        fabrics__compute__topology__switch="slingshot-200",
        fabrics__compute__switches={"os": "sonic", "loopbacks": "10.240.0.0/15"},
    ),
    case("IB001", "fabrics.compute.manager", "hybrid", pools__mgmt__roles=["slurm-controller"]),
    case("FSX001", "storage.fsx.capacity_gib", "aws-p5", storage__fsx__capacity_gib=38_401),
    case("FSX002", "storage.fsx", "aws-p5", storage__fsx__mbps_per_tib=None),
    case("FSX002", "storage.fsx.capacity_gib", "aws-p5", storage__fsx__existing="fs-0123456789abcdef0"),
    case("FSX003", "storage.fsx.site", "hybrid", storage__fsx__site="hall-a"),
    case("LUST001", "storage.scratch", "onprem-dgx-h100", storage__scratch__mds=[]),
    case("MNT001", "storage.cache.mount", "hybrid", storage__cache__mount="/scratch/node"),
    case("SLURM001", "schedulers.main", "lab", pools__head__roles=["slurmdbd"]),
    case("SLURM002", "schedulers.main", "lab"),
    case("SLURM003", "schedulers.main.partitions.trn2.pools.0", "hybrid", schedulers__main__sites=["hall-a"]),
    case("SLURM004", "schedulers.main.sites.1", "hybrid", links={}),
    case("REF002", "schedulers.main.default_qos", "lab", schedulers__main__default_qos="norml"),
    case(
        "REF002",
        "schedulers.main.qos.normal.preempts.0",
        "lab",
        schedulers__main__qos={"normal": {"preempts": ["lo"]}},
    ),
    case(
        "SLURM008",
        "schedulers.other",
        "lab",
        schedulers__other={"kind": "slurm", "sites": ["hall"], "partitions": {"all": {"pools": ["node"]}}},
    ),
    case("SLURM009", "schedulers.main.settings.KillWat", "lab", schedulers__main__settings={"KillWat": 5}),
    case(
        "SLURM009",
        "schedulers.main.settings.FastSchedule",
        "lab",
        schedulers__main__settings={"FastSchedule": 2},
    ),
    case(
        "SLURM010",
        "schedulers.main.settings.returntoservice",
        "lab",
        schedulers__main__settings={"returntoservice": 2},
    ),
    case("SLURM011", "schedulers.main", "lab", pools__head__roles=["slurm-controller"]),
    case("SLURM012", "pools.trn2.platform", "aws-trn2", pools__trn2__platform="p6e-gb200.36xlarge"),
    case("SLURM013", "schedulers.main", "onprem-dgx-h100"),
    case("SLURM014", "images.debian.slurm", "lab", images__debian__slurm="23.02"),
    case(
        "SLURM015",
        "schedulers.main.partitions.more.default",
        "lab",
        schedulers__main__partitions__more={"pools": ["node"], "default": True},
    ),
    case(
        "SLURM017",
        "schedulers.main.partitions.h100.pools",
        "hybrid",
        schedulers__main__partitions__h100__pools=["h100", "trn2"],
    ),
    case(
        "SLURM016",
        "schedulers.main.qos.normal.preempts.0",
        "lab",
        schedulers__main__qos={"normal": {"preempts": ["low"]}, "low": {}},
    ),
    case("STATE001", "state.backend", "aws-p5", state={"backend": "local"}),
    case("POWER001", "sites.hall.power.feed_kw", "lab", sites__hall__power={"feed_kw": 0.9, "pue": 1.2}),
    case("ASSET006", "pools.node", "lab", pools__node__nodes__static=4),
    case(
        "SUP001",
        "suppress.0.rule",
        "lab",
        suppress=[{"rule": "FAB999", "path": "fabrics", "reason": "x", "until": UNTIL}],
    ),
    case(
        "SUP002",
        "suppress.0.until",
        "lab",
        suppress=[{"rule": "SLURM002", "path": "schedulers", "reason": "x", "until": "2026-11-27"}],
    ),
    case(
        "SUP003",
        "suppress.0",
        "lab",
        suppress=[{"rule": "FAB002", "path": "fabrics", "reason": "x", "until": UNTIL}],
    ),
]
CASES += STORAGE_CASES


@pytest.mark.parametrize("one", CASES, ids=lambda one: f"{one.code}-{one.path}")
def test_a_rule_fires_on_its_counter_example(one: Case, edited: Edit, judged: Judge) -> None:
    found = judged(edited(one.example, one.edits)).findings
    (mine,) = [finding for finding in found if finding.code == one.code and str(finding.path) == one.path]
    assert mine.place is not None
    assert mine.place.line > 1
    assert all([mine.message, mine.got, mine.expected, mine.hint, mine.source])


def test_assets_of_a_cloud_pool(edited: Edit, judged: Judge) -> None:
    spec = edited("aws-p5", {"pools.p5.assets": "file:p5.csv"})
    (spec.parent / "p5.csv").write_text(
        "slot,serial,bmc_address,bmc_mac,boot_mac,hca_guids,state\n"
        "p5-001,S1,,02:00:00:00:00:01,02:00:00:00:00:02,,\n",
        encoding="utf-8",
    )
    assert [(one.code, str(one.path)) for one in judged(spec).findings] == [("POOL002", "pools.p5.assets")]


def test_every_rule_has_its_counter_example() -> None:
    codes = {rule.code for rule in rules()} | {rule.code for rule in OWN_RULES}
    seen = {one.code for one in CASES} | {one.code for one in SPOILED}
    assert seen | {"POOL002"} == codes


EXAMPLES = sorted(
    path.stem for path in (paths.repository() / "clusters").glob("*.yaml") if ".lock" not in path.suffixes
)


@pytest.mark.parametrize("example", EXAMPLES)
def test_no_example_has_an_error(example: str, edited: Edit, judged: Judge) -> None:
    findings = judged(edited(example, {})).findings
    assert [one.code for one in findings if one.level is Level.ERROR] == []
    assert {one.code for one in findings} <= {"ASSET006", "SLURM002", "SLURM012", "SLURM013", "STATE001"}


def test_every_rule_says_who_it_is() -> None:
    for rule in (*rules(), *OWN_RULES):
        assert rule.constraint.endswith("."), rule.code
        assert len(rule.constraint) > 20, rule.code
        assert rule.remedy, rule.code
        assert rule.source, rule.code


@pytest.mark.parametrize(("tier", "step"), FSX_EFA_STEP_GIB.items())
def test_fsx_steps_with_efa(tier: int, step: int, edited: Edit, judged: Judge) -> None:
    for gib, fits in ((step, True), (3 * step, True), (step + 1, False), (step // 2, False)):
        edits = {"storage.fsx.capacity_gib": gib, "storage.fsx.mbps_per_tib": tier}
        codes = {one.code for one in judged(edited("aws-p5", edits)).findings}
        assert ("FSX001" not in codes) is fits, gib


@pytest.mark.parametrize(
    ("gib", "fits"), [(1200, True), (2400, True), (4800, True), (3600, False), (1201, False)]
)
def test_fsx_steps_without_efa(gib: int, fits: bool, edited: Edit, judged: Judge) -> None:  # noqa: FBT001 (a column of the table)
    edits = {"storage.fsx.capacity_gib": gib, "storage.fsx.efa": False}
    codes = {one.code for one in judged(edited("aws-p5", edits)).findings}
    assert ("FSX001" not in codes) is fits


def test_names_that_lead_nowhere_are_one_finding_each(edited: Edit, judged: Judge) -> None:
    edits = {"links.wan.between": ["hall-a", "use3"], "storage.cache.pools": ["h200"]}
    findings = judged(edited("hybrid", edits)).findings
    assert [one.code for one in findings if one.level is Level.ERROR] == ["REF002", "REF002"]


def test_rules_on_the_plan_are_not_run_without_one(edited: Edit, judged: Judge) -> None:
    report = judged(edited("lab", {"pools.node.nodes.static": 10_000_000}))
    assert {one.code for one in report.not_run} == {rule.code for rule in rules() if rule.needs_plan}
    assert all("cannot be planned" in one.reason for one in report.not_run)


def test_no_rule_is_run_where_the_schema_is_broken() -> None:
    assert [one.code for one in run.none_run("because")] == [rule.code for rule in rules()]
