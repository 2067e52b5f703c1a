"""opensm on hosts, run by the role: without an adapter, and as master and standby of a simulated fabric."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from rackwright import paths
from rackwright.lab.up import image
from rackwright.plan.build import build
from rackwright.render.fabric.network import manager_guid, network
from rackwright.render.fabric.opensm import of_hosts
from rackwright.spec.assets import Asset
from rackwright.validate.fabric import simulation
from tests.doubles import superpod
from tests.hosts.lab import Lab, write_spec
from tests.roles.conftest import wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

pytestmark = [pytest.mark.lab, pytest.mark.slow]

SLOTS = {"head-001": "mgmt-001", "node-001": "mgmt-002"}
"""Host of the lab → the slot of the planned hall that it plays."""
MASTER, STANDBY = SLOTS
LOG = "/var/log/rackwright-opensm/compute.log"
UNIT = "rackwright-opensm@compute.service"
WITHIN_S = 300


@dataclass(frozen=True)
class Managed:
    """A lab whose two hosts are to manage a hall's fabric, which only a simulation has."""

    lab: Lab
    folder: Path
    plan: Plan

    def converge(self, *options: str) -> subprocess.CompletedProcess[str]:
        """The role alone, by plain ansible-playbook on the generated inventory."""
        state = self.lab.places.state
        program = Path(sys.executable).with_name("ansible-playbook")
        words = map(
            str, (program, "-i", state / "inventory" / "hosts.yml", self.folder / "play.yml", *options)
        )
        return subprocess.run(
            list(words),
            env=os.environ
            | {
                "ANSIBLE_CONFIG": str(state / "inventory" / "ansible.cfg"),
                "ANSIBLE_ROLES_PATH": str(paths.repository() / "roles"),
                "ANSIBLE_LIBRARY": str(paths.repository() / "playbooks" / "library"),
                "ANSIBLE_ACTION_PLUGINS": str(paths.repository() / "playbooks" / "action_plugins"),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * WITHIN_S,
            stdin=subprocess.DEVNULL,
        )

    def ssh(self, host: str, command: str) -> str:
        """As root."""
        return self.lab.ssh(host, f"sudo sh -c {json.dumps(command)}")

    def said(self, host: str) -> str:
        return self.ssh(host, f"grep -aE 'tables configured|Entering' {LOG} | tail -n 1")


def hall(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue) -> Plan:
    """A unit of 31 nodes, and two hosts with the manager's own links."""
    assets: dict[str, Asset] = {}
    for number, slot in enumerate(SLOTS.values()):
        guid = f"{int(manager_guid(number + 1), 16) + 1:016x}"
        mac = f"02:00:00:00:00:{number:02x}"
        assets[slot] = Asset(serial=slot, bmc_mac=mac, boot_mac=mac, hca_guids=(guid,))
    return build(replace(make_loaded(superpod.managed()), assets=assets), catalogue, None)[0]


@pytest.fixture(scope="module")
def managed(
    can_hold_a_lab: None,  # noqa: ARG001 (a fixture takes no mark)
    ranges: Iterator[str],
    make_loaded: Callable[..., LoadedSpec],
    catalogue: Catalogue,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Managed]:
    missing = [name for name in ("usr/sbin/opensm", "usr/bin/ibsim") if not (image() / name).exists()]
    if missing:
        pytest.skip(f"the image at {image()} has no {' and no '.join(missing)}: run `make setup`")
    folder, plan, prefix = tmp_path_factory.mktemp("managed"), hall(make_loaded, catalogue), next(ranges)
    name = f"lab-test-{prefix.rpartition('.')[2]}"
    lab = Lab(name, write_spec(folder / "clusters", name, prefix, nodes=1), prefix, folder / "state")
    try:
        yield up(lab, folder, plan)
    finally:
        lab.down()


def up(lab: Lab, folder: Path, plan: Plan) -> Managed:
    """Both hosts on and known, the plan's files and a play of the role beside them."""
    lab.up()
    lab.rackwright("plan", str(lab.spec))
    lab.prepare()
    lab.boot(*SLOTS)
    lab.rackwright("inventory", str(lab.spec))
    for path, text in of_hosts(plan, {"compute": network(plan, "compute")}):
        target = folder / "rendered" / "subnet_manager" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    variables = {
        "played": SLOTS,
        "subnet_manager_subnets": ["compute"],
        "subnet_manager_rendered": f"{folder}/rendered/subnet_manager/{{{{ played[inventory_hostname] }}}}",
        "rackwright_rendered": str(folder / "rendered"),
    }
    play = {"hosts": "all", "gather_facts": False, "become": True, "vars": variables}
    (folder / "play.yml").write_text(
        yaml.safe_dump([{"name": "Managers", **play, "roles": ["subnet_manager"]}])
    )
    return Managed(lab, folder, plan)


def test_a_host_without_an_adapter_says_so(managed: Managed) -> None:
    """No kernel of a lab has InfiniBand: opensm ends, or does not come up, and the play fails on its host."""
    ran = managed.converge("-e", "subnet_manager_within_s=3")
    assert ran.returncode != 0
    said = ran.stdout + ran.stderr
    assert f"{UNIT}: is" in said or "it needs an InfiniBand port that is up" in said, said
    for host in SLOTS:
        assert managed.ssh(host, "cat /etc/default/opensm").endswith("PORTS=NONE")
        assert managed.ssh(host, f"systemctl show -p SubState --value {UNIT}") != "running"


@pytest.fixture(scope="module")
def simulated(managed: Managed) -> Iterator[Managed]:
    """The planned network by ibsim on the first host; both hosts' opensm have an adapter in it."""
    one = network(managed.plan, "compute")
    encoded = simulation.text(one)
    lab = managed.lab
    written = subprocess.run(
        lab.command("lab", "ssh", "--spec", str(lab.spec), MASTER, "cat >/tmp/network.txt"),
        env=lab.environment,
        input=encoded,
        text=True,
        check=False,
        capture_output=True,
        timeout=WITHIN_S,
    )
    assert written.returncode == 0, written.stderr
    size = " ".join(simulation.size(one))
    run = "systemd-run --unit=ibsim --collect --property=StandardInput=null"
    managed.ssh(MASTER, f"{run} ibsim -s -n -r -l 7070 {size} /tmp/network.txt")
    address = lab.plan.pools["head"].slots[MASTER].addresses["management"].partition("/")[0]
    for number, host in enumerate(SLOTS, 1):
        settings = {
            "LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so",
            "IBSIM_SERVER_NAME": address,
            "IBSIM_SERVER_PORT": "7070",
            "SIM_HOST": f"H-{manager_guid(number)}",
        }
        words = "\n".join(f"Environment={key}={value}" for key, value in settings.items())
        folder = f"/etc/systemd/system/{UNIT}.d"
        managed.ssh(host, f"mkdir -p {folder}; printf '[Service]\n{words}\n' >{folder}/simulated.conf")
        managed.ssh(host, f"systemctl daemon-reload; systemctl stop {UNIT}")
    yield managed
    managed.ssh(MASTER, "systemctl stop ibsim")


def test_one_host_routes_the_tree_and_the_other_stands_by(simulated: Managed) -> None:
    ran = simulated.converge()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "ftree tables configured on all switches" in simulated.said(MASTER)
    assert "STANDBY" in simulated.said(STANDBY)
    again = simulated.converge()
    assert again.returncode == 0, again.stdout
    assert again.stdout.count("changed=0 ") == len(SLOTS)


def test_the_standby_takes_over(simulated: Managed) -> None:
    """How the master takes it back is shown by tests/fabric/test_handover.py.

    Two managers at once lose packets in ibsim, more so over a network, and opensm waits for them without
    end, since libumad2sim has no time-outs: here that would be a matter of luck.
    """
    simulated.ssh(MASTER, f"systemctl stop {UNIT}")
    wait(lambda: "ftree tables" in simulated.said(STANDBY), lambda: simulated.said(STANDBY))


def test_a_changed_unit_restarts_it(simulated: Managed) -> None:
    """And only a changed one."""
    unit = (paths.repository() / "roles" / "subnet_manager" / "files" / "opensm@.service").read_text()
    changed = unit.replace("RestartSec=10", "RestartSec=11")
    assert changed != unit
    files = {"/etc/systemd/system/rackwright-opensm@.service": {"content": changed}}
    options = ("--limit", MASTER, "-e", json.dumps({"subnet_manager_unit": files}))

    def invocation() -> str:
        return simulated.ssh(MASTER, f"systemctl show -p InvocationID --value {UNIT}")

    assert simulated.converge("--limit", MASTER).returncode == 0  # it was stopped by the test before
    before = invocation()
    ran = simulated.converge(*options)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    after = invocation()
    assert before != after
    assert "changed=0 " in simulated.converge(*options).stdout
    assert invocation() == after
    assert simulated.converge("--limit", MASTER).returncode == 0


def test_a_tree_that_opensm_refuses_fails_its_host(simulated: Managed) -> None:
    """Leaves as its roots: it falls back on minhop, and says SUBNET UP all the same."""
    simulated.ssh(STANDBY, f"systemctl stop {UNIT}")
    folder = simulated.folder / "rendered" / "subnet_manager" / SLOTS[MASTER] / "compute"
    right = (folder / "root_guids.txt").read_text()
    leaves = [one for one in network(simulated.plan, "compute").devices.values() if "leaf" in one.name]
    (folder / "root_guids.txt").write_text("".join(f"0x{one.guid}\n" for one in leaves))
    refused = simulated.converge("--limit", MASTER, "-e", "subnet_manager_within_s=20")
    (folder / "root_guids.txt").write_text(right)
    assert refused.returncode != 0, f"{refused.stdout}{simulated.said(MASTER)}"
    assert "minhop tables configured" in refused.stdout + refused.stderr
    assert simulated.converge("--limit", MASTER).returncode == 0


def test_a_subnet_that_leaves_the_plan_leaves_its_hosts(simulated: Managed) -> None:
    """By the role where another stays, and by site.yml's own play where none does: here its tasks alone."""
    options = ("--limit", STANDBY, "-e", json.dumps({"subnet_manager_subnets": []}))
    units = f"/etc/systemd/system/*/{UNIT} /etc/systemd/system/rackwright-opensm@.service"
    left = f"ls -d /etc/rackwright/opensm/* {units}"
    assert UNIT in simulated.ssh(STANDBY, left)
    told = simulated.converge(*options, "--check")
    assert told.returncode == 0, told.stdout + told.stderr
    assert UNIT in simulated.ssh(STANDBY, left)
    ran = simulated.converge(*options)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert simulated.ssh(STANDBY, f"{left} 2>/dev/null || true") == ""
    assert simulated.ssh(STANDBY, f"systemctl is-active {UNIT} || true") == "inactive"
    assert "changed=0 " in simulated.converge(*options).stdout
