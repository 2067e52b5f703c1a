"""What is refused before anything is done, and what is wrong with the machine rather than with a host."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.doubles.site import Site

pytestmark = pytest.mark.engine


def _untouched(site: Site) -> bool:
    return not any(bmc.asked for bmc in site.hall.bmcs.values())


def test_up_refuses_a_spec_that_was_not_planned(make_site: Callable[..., Site]) -> None:
    site = make_site()
    text = site.spec.read_text()
    site.spec.write_text(text.replace('"static": 3', '"static": 3, "retired": [3]'))
    assert "PLAN001" in site.run("up", "--yes", code=1).stderr
    assert _untouched(site)


def test_up_refuses_a_given_plan_that_is_not_of_this_spec(make_site: Callable[..., Site]) -> None:
    site = make_site()
    saved = site.folder / "saved.json"
    shutil.copy(site.state / "plan.json", saved)
    site.held = {"node-001"}
    site.write()
    done = site.run("up", "--yes", "--plan", str(saved), code=1)
    assert "PLAN001" in done.stderr
    assert "assets" in done.stderr
    assert _untouched(site)
    shutil.copy(site.spec, saved)
    assert "no plan" in site.run("up", "--yes", "--plan", str(saved), code=2).stderr
    site.run("plan")
    site.run("up", "--yes", "--plan", str(site.state / "plan.json"))


@pytest.mark.slow
def test_plain_pulumi_on_a_plan_that_was_cut_says_what_writes_it_anew(make_site: Callable[..., Site]) -> None:
    site = make_site()
    site.run("stacks", "init")
    plan = site.state / "plan.json"
    plan.write_text(plan.read_text()[:1000])
    done = site.pulumi("preview")
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "rackwright plan SPEC writes it anew" in said
    assert "Traceback" not in said
    site.run("plan")
    assert site.pulumi("preview").returncode == 0


def test_up_asks_first_and_only_a_terminal_can_answer(make_site: Callable[..., Site]) -> None:
    site = make_site()
    done = site.run("up", code=2)
    assert "--yes" in done.stderr
    assert _untouched(site)
    assert "--yes" in site.run("destroy", code=2).stderr


def test_a_terminal_is_asked_and_no_is_an_answer(make_site: Callable[..., Site]) -> None:
    site = make_site()
    words = " ".join(site.command("up"))
    done = subprocess.run(
        ["script", "-qec", words, "/dev/null"],
        input="n\n",
        env=site.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"bring up onprem/{site.stack_name}?" in done.stdout
    assert done.returncode == 130
    assert _untouched(site)


def _with_a_file_system_in_a_zone(spec: Path) -> None:
    """Make the site a hybrid one, with what a stack `aws-storage` would have to build."""
    values = json.loads(spec.read_text())
    values["sites"]["use2"] = {
        "kind": "aws",
        "account": "123456789012",
        "region": "us-east-2",
        "zone_id": "use2-az2",
        "vpc": {"cidrs": ["10.128.0.0/16"]},
    }
    values["pools"]["cloud"] = {
        "site": "use2",
        "platform": "p5.48xlarge",
        "nodes": {"static": 1},
        "image": "debian",
        "fabrics": {"efa": {}},
        "capacity": {"kind": "on-demand"},
    }
    values["images"]["debian"]["ami"] = "ami-0123456789abcdef0"
    values["fabrics"] = {"efa": {"kind": "efa"}}
    values["storage"] = {
        "fsx": {
            "kind": "fsx-lustre",
            "site": "use2",
            "mount": "/fsx",
            "capacity_gib": 38400,
            "mbps_per_tib": 250,
            "efa": True,
        }
    }
    spec.write_text(json.dumps(values))


def test_parts_that_nothing_can_build_yet_are_named_and_the_others_can_be_chosen(
    make_site: Callable[..., Site],
) -> None:
    site = make_site()
    _with_a_file_system_in_a_zone(site.spec)
    site.run("plan")
    for words in (("up", "--yes"), ("preview",)):
        done = site.run(*words, code=2)
        assert "UP001" in done.stderr
        assert "storage.fsx: this release does not make FSx file systems" in done.stderr
    for project in ("aws-storage", "aws-capacity"):
        other = site.run("up", "--yes", "--stack", project, code=2)
        assert "the plan has no such stack" in other.stderr
        assert f"onprem/{site.stack_name}" in other.stderr
    assert _untouched(site)
    assert not (site.state / "engine").exists()
    assert not site.settings.exists()
    site.run("up", "--yes", "--stack", f"onprem/{site.stack_name}")
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)


def test_a_state_of_another_passphrase_is_no_fault_of_ours(make_site: Callable[..., Site]) -> None:
    site = make_site()
    site.run("up", "--yes")
    (site.state / "secrets" / "passphrase").write_text("another\n")
    done = site.run("up", "--yes", code=2)
    assert "PULUMI001" in done.stderr
    assert "put the passphrase back" in done.stderr


def test_settings_of_a_cluster_that_is_gone_do_not_lock_out_its_successor(
    make_site: Callable[..., Site],
) -> None:
    site = make_site()
    site.run("up", "--yes")
    shutil.rmtree(site.state)
    assert site.settings.exists()
    site.run("plan")
    site.run("up", "--yes")
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda site: site.credentials.unlink(), "ENV002"),
        (lambda site: site.credentials.write_text("slot;user;password\n"), "BMC010"),
        (lambda site: (site.folder / "ca.pem").write_text("no certificate"), "BMC011"),
        (lambda site: (site.folder / "ca.pem").unlink(), "BMC011"),
    ],
    ids=["no credentials", "malformed credentials", "no certificate", "no authority"],
)
def test_what_a_site_refers_to_must_be_there(
    make_site: Callable[..., Site], spoil: Callable[[Site], object], told: str
) -> None:
    site = make_site()
    spoil(site)
    done = site.run("up", "--yes", code=2)
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert _untouched(site)


def test_a_stack_with_a_login_missing_names_that_slot_alone(make_site: Callable[..., Site]) -> None:
    site = make_site()
    site.let_in("slot,user,password\nnode-001,admin,secret\nnode-003,admin,secret\n")
    done = site.run("up", "--yes", code=2)
    assert "node-002: error BMC008" in done.stderr
    assert site.hall.asked("On") == {"node-001": 1, "node-002": 0, "node-003": 1}


def test_without_an_engine_it_says_what_makes_one(tmp_path: Path, make_site: Callable[..., Site]) -> None:
    site = make_site()
    site.environment |= {"XDG_CACHE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = site.run("up", "--yes", code=2)
    assert "ENV005" in done.stderr
    assert "make setup" in done.stderr
    assert _untouched(site)
