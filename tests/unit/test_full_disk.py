"""A disk that is full while something is written: told by the file's name, the old one whole, then gone on.

The disk is a real one of a few KiB; what writes are the product's own commands and stores.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from rackwright import canonical, paths
from rackwright.cli.cluster import open_cluster
from rackwright.cli.frame import run
from rackwright.converge import record
from rackwright.converge.events import Outcome, TaskEvent
from rackwright.converge.model import ConvergeReport, totals
from rackwright.errors import EnvironmentUnfit
from rackwright.inventory import store
from rackwright.inventory.model import SCHEMA, Inventory
from rackwright.lab.aws.journal import Journal
from rackwright.plan.observed import HostKey, Observed, ObservedSlot
from rackwright.provision import keys
from rackwright.validate import suite as suites
from rackwright.validate.asked import asked
from rackwright.validate.evidence import load
from rackwright.validate.expectations import Expectations
from rackwright.validate.run import Order, validate
from tests.doubles.fake_slurm import FakeSlurm
from tests.doubles.small_disk import SmallDisk, small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.doubles.fake_slurm import Outcome as StepOutcome

    Capture = pytest.CaptureFixture[str]

FULL = "No space left on device"
NODES = ("node-001", "node-002", "node-003")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", kib=512) as disk:
        yield disk


@pytest.fixture
def spec(disk: SmallDisk, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A planned spec on the small disk, its state beside it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(disk.root / "state"))
    monkeypatch.chdir(disk.root)
    shutil.copytree(paths.repository() / "clusters" / "assets", disk.root / "assets")
    spec = disk.root / "lab.yaml"
    shutil.copy(paths.repository() / "clusters" / "lab.yaml", spec)
    assert run(["plan", str(spec), "-q"]) == 0
    return spec


@pytest.mark.parametrize("room", [0, 4096], ids=["none", "of a lock"])
def test_plan_leaves_lock_and_plan_as_they_were_and_plans_again(
    disk: SmallDisk, spec: Path, capsys: Capture, room: int
) -> None:
    grown = spec.read_text().replace("static: 3", "static: 4")
    assert grown != spec.read_text()
    spec.write_text(grown)
    before = disk.contents()
    disk.fill(but=room)
    assert run(["plan", str(spec), "--format", "json"]) == 2
    error = json.loads(capsys.readouterr().out)
    assert error["got"] == FULL
    assert error["where"].endswith((".lock.yaml", "plan.json"))
    changed = {name for name, raw in disk.contents().items() if before.get(name) != raw}
    assert changed <= {"lab.lock.yaml"}, "the lock comes first, and is whole"
    open_cluster(spec)
    disk.empty()
    assert run(["plan", str(spec), "-q"]) == 0
    assert len(open_cluster(spec).plan.pools["node"].slots) == 4


def _observed(hosts: int) -> Observed:
    key = HostKey(type="ssh-ed25519", key="QUJD" * 20)
    return Observed(
        cluster="lab", slots={f"node-{one:03}": ObservedSlot(host_keys=(key,)) for one in range(hosts)}
    )


def test_what_is_known_of_hosts_stays_as_it_was(disk: SmallDisk) -> None:
    file = disk.root / "observed.json"
    store.save(file, _observed(3))
    disk.fill()
    with pytest.raises(OSError, match=FULL):
        store.save(file, _observed(300))
    assert store.load(file, "lab") == _observed(3)
    assert set(disk.contents()) == {"observed.json"}, "nothing half written stays"


def test_a_secret_is_made_whole_or_not_at_all(disk: SmallDisk) -> None:
    secrets = disk.root / "secrets"
    secrets.mkdir()
    disk.fill()
    for make in (keys.passphrase_file, keys.login_public_key):
        with pytest.raises(OSError, match=FULL):
            make(secrets)
    assert disk.contents() == {}
    disk.empty()
    assert keys.passphrase_file(secrets).read_text().strip()
    assert keys.login_public_key(secrets).startswith("ssh-ed25519 ")


def _report(hosts: int) -> ConvergeReport:
    return ConvergeReport(
        cluster="lab" * hosts,
        plan_sha256="0" * 64,
        started="2026-11-28T08:00:00+00:00",
        seconds=1.0,
        check=False,
        tags=(),
        interrupted=False,
        problem=None,
        hosts={},
        shards={},
        totals=totals({}),
    )


def test_report_and_events_of_the_last_converge_stay_as_they_were(disk: SmallDisk) -> None:
    event = TaskEvent(
        at="2026-11-28T08:00:00",
        shard="r1",
        host="n1",
        role="",
        task="x" * 9000,
        action="",
        outcome=Outcome.OK,
        remote=True,
        delegated=False,
        seconds=1.0,
        cause=None,
    )
    with record.EventLog(disk.root) as log:
        log.add(event)
    record.save(disk.root, _report(1))
    before = disk.contents()
    disk.fill()
    with pytest.raises(OSError, match=FULL), record.EventLog(disk.root) as log:
        log.add(event)
    with pytest.raises(OSError, match=FULL):
        record.save(disk.root, _report(9000))
    assert {name: disk.contents()[name] for name in before} == before
    assert record.last(disk.root) == _report(1)


def test_evidence_keeps_every_step_that_had_ended_and_goes_on(disk: SmallDisk, tmp_path: Path) -> None:
    order, slurm = _order(tmp_path, disk.root / "run"), FakeSlurm(dict.fromkeys(NODES, ("IDLE",)))

    def wordy(_name: str, _nodes: Sequence[str]) -> StepOutcome:
        return 0, "x" * 20000, ""

    slurm.step = wordy
    disk.fill(but=200 * 1024)
    with pytest.raises(EnvironmentUnfit) as caught:
        validate(order, slurm, lambda _: None)
    assert (caught.value.got, caught.value.expected) == (FULL, "room on its file system")
    assert caught.value.where.startswith(str(disk.root / "run"))
    assert f"`--resume {disk.root / 'run'}`" in caught.value.hint, "without it another run begins"
    there = load(disk.root / "run")
    assert 3 < len(there.steps) < 30
    assert there.finished is None
    assert slurm.job == "", "the job was given back"
    disk.empty()
    slurm.step = FakeSlurm({}).step
    run_ = load(validate(replace(order, resume=True), slurm, lambda _: None).folder)
    assert run_.steps[: len(there.steps)] == there.steps
    assert run_.finished is not None


def _order(tmp_path: Path, folder: Path) -> Order:
    cluster = open_cluster(paths.repository() / "clusters" / "lab.yaml")
    nobody = {"schema": SCHEMA, "cluster": "x", "domain": "x", "hosts": {}, "absent": {}}
    return Order(
        plan=cluster.plan,
        plan_sha256=canonical.sha256(""),
        asked=asked(cluster.plan, cluster.catalogue, Inventory.model_validate(nobody), NODES),
        suite=suites.load("acceptance"),
        expectations=Expectations(expectations=()),
        folder=folder,
        runs=tmp_path,
    )


def test_the_emulators_journal_has_whole_lines_only(disk: SmallDisk) -> None:
    now = datetime(2026, 11, 28, tzinfo=UTC)
    journal = Journal(disk.root / "journal")
    journal.begin(now, {}, b"first")
    disk.fill(but=4096)
    with pytest.raises(OSError, match=FULL):
        journal.begin(now, {}, b"second" * 2000)
    disk.empty()
    journal.begin(now, {}, b"third")
    assert [call.body for call in Journal(disk.root / "journal").read()] == [b"first", b"third"]
