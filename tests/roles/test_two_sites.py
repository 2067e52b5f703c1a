"""A hall and a zone behind a line: who is blamed when it is cut or swallows packets, or a node is missing.

One lab for all tests here, by the product's own way: engine, EC2's emulator, converge. The line is broken
by `rackwright lab fault`, and nobody tells the product.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3  # type: ignore[import-untyped]  # (it has no types)
import pytest

from rackwright import paths
from rackwright.errors import EnvironmentUnfit
from rackwright.lab import parts, processes
from rackwright.provision.places import engine
from tests.hosts.lab import Lab
from tests.roles.conftest import Site, wait

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.lab, pytest.mark.engine, pytest.mark.slow]

EXAMPLE = paths.repository() / "clusters" / "lab-hybrid.yaml"
LIMIT_S = 900.0
"""Of one command: the machine may be busy with other tests."""
TIMEOUT_S = 30
"""SlurmdTimeout here: longer than a fault takes to plant and clear on a busy machine."""
CUT = "link wan: no node of cloud answers over it"
CLOUD = ("cnode-001", "cnode-002")


def write_spec(folder: Path, name: str, prefix: str) -> Path:
    """The example with a hall of a head and one node, and two instances that are always there."""
    (folder / "assets").mkdir(parents=True)
    spec = EXAMPLE.read_text().replace("name: lab-hybrid,", f"name: {name},").replace("10.78.", f"{prefix}.")
    for old, new in (
        ("static: 3", "static: 1"),
        ("static: 1, burst: 1", "static: 2"),
        ("validation: {on_demand: true}", "# validation: {on_demand: true}"),
        ("slurmd_timeout_s: 10", f"slurmd_timeout_s: {TIMEOUT_S}"),
        ("    burst: {", "    # burst: {"),
    ):
        assert old in spec
        spec = spec.replace(old, new)
    (folder / f"{name}.yaml").write_text(spec)
    rows = (EXAMPLE.parent / "assets" / "lab-hybrid.csv").read_text().replace("10.78.", f"{prefix}.")
    (folder / "assets" / "lab-hybrid.csv").write_text("\n".join(rows.splitlines()[:3]) + "\n")
    return folder / f"{name}.yaml"


@dataclass(frozen=True)
class TwoSites:
    """The lab, and Slurm as its login user sees it."""

    lab: Lab
    site: Site

    def run(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.lab.command(*words),
            env=self.lab.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == code, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *words: str, code: int = 0) -> Any:  # noqa: ANN401 (JSON)
        return json.loads(self.run(*words, "--format", "json", code=code).stdout)

    def fault(self, *words: str) -> None:
        self.run("lab", "fault", *words, "--lab", self.lab.name)

    def validate(self, folder: Path, limit: str, code: int) -> dict[str, Any]:
        """Subjects of a validation, by name."""
        words = ("validate", str(self.lab.spec), "--limit", limit, "--out", str(folder / "run"))
        return {one["name"]: one for one in self.json(*words, code=code)["subjects"]}

    def submit(self, *options: str) -> int:
        """A job on one node of the cloud that would last for a while."""
        words = (
            "sbatch",
            "--parsable",
            "--partition=cloud",
            "--output=/dev/null",
            *options,
            "--wrap='sleep 900'",
        )
        return int(self.site.user(" ".join(words)))

    def job(self, number: int) -> dict[str, str]:
        shown = self.site.user(f"scontrol --oneliner show job {number}").split()
        return dict(word.split("=", 1) for word in shown if "=" in word)

    def await_job(self, number: int, *states: str) -> None:
        wait(lambda: self.job(number)["JobState"] in states, lambda: str(self.job(number)))

    def instances(self) -> dict[str, str]:
        """Id of each instance that the lab has → its state."""
        hosts = self.json("lab", "status", self.lab.name)["hosts"]
        return {one["instance"]: one["state"] for one in hosts if one["instance"]}

    def client(self) -> Any:  # noqa: ANN401 (boto3 has no types)
        """EC2 of the zone, as the product reaches it."""
        lines = self.run("env", str(self.lab.spec)).stdout.splitlines()
        shell = "\n".join([*lines, "env -0"])
        printed = subprocess.run(
            ["sh", "-c", shell], env=os.environ, capture_output=True, text=True, check=True
        ).stdout
        found = dict(word.split("=", 1) for word in printed.split("\0") if "=" in word)
        return boto3.client(
            "ec2",
            endpoint_url=found["AWS_ENDPOINT_URL"],
            region_name="us-east-1",
            aws_access_key_id=found["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=found["AWS_SECRET_ACCESS_KEY"],
        )

    def reasons(self) -> dict[str, str]:
        """Node of the cloud → why it is down."""
        lines = self.site.user("sinfo --noheader --Node --partition=cloud --format='%N|%E'").splitlines()
        return dict(line.strip().split("|") for line in lines)


@pytest.fixture(scope="module")
def two_sites(
    tmp_path_factory: pytest.TempPathFactory, ranges: Iterator[str], can_hold_a_lab: None
) -> Iterator[TwoSites]:
    del can_hold_a_lab
    try:
        engine()
    except EnvironmentUnfit as error:
        pytest.skip(f"{error.message}: {error.hint}")
    prefix, folder = next(ranges), tmp_path_factory.mktemp("two-sites")
    name = f"lab-two-{prefix.rpartition('.')[2]}"
    lab = Lab(name, write_spec(folder / "clusters", name, prefix), prefix, folder / "state")
    made = TwoSites(lab, Site(lab))
    spec = str(lab.spec)
    try:
        for words in (
            ("lab", "up", spec),
            ("plan", spec),
            ("up", spec, "--yes"),
            ("inventory", spec, "--wait", "300"),
            ("converge", spec),
        ):
            made.run(*words)
        made.site.await_idle("node-001", *CLOUD)
        yield made
    finally:
        made.run("lab", "down", name)
    assert parts.find(lab.places) == []


@pytest.fixture
def whole(two_sites: TwoSites) -> Iterator[TwoSites]:
    """No fault before, none after, and all nodes back by themselves."""
    two_sites.site.await_idle("node-001", *CLOUD)
    yield two_sites
    two_sites.fault("clear")
    two_sites.site.user("scancel --me")
    two_sites.site.await_idle("node-001", *CLOUD)


def test_nodes_of_the_zone_serve_under_their_slots_in_a_partition_of_their_own(whole: TwoSites) -> None:
    said = whole.site.user("srun --partition=cloud --nodes=2 hostname").split()
    assert sorted(said) == list(CLOUD)
    assert whole.site.user("srun --partition=hall hostname") == "node-001"
    both = whole.site.user("srun --partition=hall hostname : --partition=cloud hostname").split()
    assert ("node-001" in both, len(both)) == (True, 2), "a job over both, where it is asked for as such"


def test_a_cut_shorter_than_slurms_patience_costs_no_node_and_no_job(whole: TwoSites) -> None:
    number = whole.submit()
    whole.await_job(number, "RUNNING")
    whole.fault("link-down", "wan")
    whole.fault("clear", "link-down")
    assert whole.site.user("srun --partition=cloud --nodelist=cnode-002 hostname") == "cnode-002"
    job = whole.job(number)
    assert (job["JobState"], job["Restarts"]) == ("RUNNING", "0")


def test_a_longer_cut_is_the_reason_of_the_nodes_and_they_are_back_by_themselves(
    whole: TwoSites, tmp_path: Path
) -> None:
    again, once = whole.submit("--requeue"), whole.submit("--no-requeue")
    whole.await_job(again, "RUNNING")
    whole.await_job(once, "RUNNING")
    whole.fault("link-down", "wan")
    wait(lambda: whole.reasons() == dict.fromkeys(CLOUD, CUT), lambda: str(whole.reasons()))
    assert whole.site.node_states()["node-001"] == "idle"
    assert whole.job(again)["JobState"] in ("PENDING", "REQUEUED")
    assert whole.job(again)["Restarts"] == "1"
    assert whole.job(once)["JobState"] == "NODE_FAIL"
    assert all("State=DOWN" in whole.site.user(f"scontrol show node {name}") for name in CLOUD)
    told = whole.validate(tmp_path, "cnode", code=3)
    assert {name: told[name]["verdict"] for name in ("cloud", *CLOUD)} == dict.fromkeys(
        ("cloud", *CLOUD), "ERROR"
    )
    wait(lambda: whole.job(again)["Reason"] != "BeginTime", lambda: str(whole.job(again)))
    whole.fault("clear", "link-down")
    wait(lambda: set(whole.reasons().values()) == {"none"}, lambda: str(whole.reasons()))
    whole.await_job(again, "RUNNING")
    assert whole.job(again)["Restarts"] == "1"


def test_a_black_hole_is_found_and_named(whole: TwoSites, tmp_path: Path) -> None:
    whole.fault("mtu-black-hole", "wan")
    told = whole.validate(tmp_path, "node-001,cnode-001", code=1)
    causes = [reason["cause"] for reason in told["wan"]["reasons"] if reason["value"] == "FAIL"]
    assert "an MTU black hole: packets that are too big vanish, and nobody is told" in causes
    assert "the largest packet that came over it has 1200 bytes" in causes
    assert [name for name, one in told.items() if one["verdict"] == "FAIL"] == ["wan"]


def test_a_node_for_which_there_is_no_capacity_is_named_by_up_and_not_run_in_the_verdict(
    whole: TwoSites, tmp_path: Path
) -> None:
    spec = str(whole.lab.spec)
    _terminate(whole, "cnode-002")
    whole.fault("no-capacity", "cnode")
    up = whole.json("up", spec, "--yes", code=2)
    [stack] = [one for name, one in up["stacks"].items() if name.startswith("aws-compute/")]
    [failure] = stack["failures"]
    assert failure["code"] == "EC2001"
    assert "pool cnode, use1-az1, 1 of 1 not launched: InsufficientInstanceCapacity" in failure["cause"]
    told = whole.validate(tmp_path, "cnode-002", code=3)
    assert told["cnode-002"]["verdict"] == "NOT_RUN"
    assert told["cloud"]["verdict"] == "NOT_RUN"
    whole.fault("clear", "no-capacity")
    whole.run("up", spec, "--yes")
    whole.run("inventory", spec, "--wait", "300")
    whole.run("converge", spec, "--limit", "cnode-002")


def _terminate(two_sites: TwoSites, slot: str) -> None:
    """As by hand, behind everybody's back."""
    client = two_sites.client()
    wanted = [
        {"Name": "tag:rackwright:slot", "Values": [slot]},
        {"Name": "instance-state-name", "Values": ["running"]},
    ]
    [one] = client.describe_instances(Filters=wanted)["Reservations"]
    client.terminate_instances(InstanceIds=[one["Instances"][0]["InstanceId"]])


def test_an_emulator_that_is_killed_has_the_same_ids_again_and_no_host_boots(two_sites: TwoSites) -> None:
    before, boots = two_sites.instances(), [two_sites.lab.boot_id(name) for name in CLOUD]
    running = processes.read_pid_file(two_sites.lab.places.emulator_pid)
    assert running is not None
    running.kill()
    assert processes.wait_gone([running], LIMIT_S) == []
    two_sites.run("lab", "up", str(two_sites.lab.spec))
    up = two_sites.json("up", str(two_sites.lab.spec), "--yes")
    assert all(one["changes"] == [] and one["failures"] == [] for one in up["stacks"].values())
    assert two_sites.instances() == before == dict.fromkeys(before, "on")
    assert len(before) == len(CLOUD)
    assert [two_sites.lab.boot_id(name) for name in CLOUD] == boots


def test_a_destroyed_zone_leaves_nothing_in_ec2_and_no_host_and_the_hall_stays(two_sites: TwoSites) -> None:
    """The last one of this module: nothing brings the zone up again."""
    hall = {name: two_sites.lab.boot_id(name) for name in ("head-001", "node-001")}
    ours = [{"Name": "tag:rackwright:cluster", "Values": [two_sites.lab.name]}]
    assert two_sites.client().describe_vpcs(Filters=ours)["Vpcs"]
    two_sites.run("destroy", str(two_sites.lab.spec), "--yes", "--stack", f"{two_sites.lab.name}-cloud")
    assert two_sites.instances() == {}
    client = two_sites.client()
    there = client.describe_instances(
        Filters=[*ours, {"Name": "instance-state-name", "Values": ["pending", "running", "shutting-down"]}]
    )
    left = {
        "instances": there["Reservations"],
        "VPCs": client.describe_vpcs(Filters=ours)["Vpcs"],
        "subnets": client.describe_subnets(Filters=ours)["Subnets"],
        "groups": client.describe_security_groups(Filters=ours)["SecurityGroups"],
        "templates": client.describe_launch_templates(Filters=ours)["LaunchTemplates"],
        "interfaces": client.describe_network_interfaces()["NetworkInterfaces"],
    }
    assert not any(left.values()), left
    assert {name: two_sites.lab.boot_id(name) for name in hall} == hall
