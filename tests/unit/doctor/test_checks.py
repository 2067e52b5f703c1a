"""Each thing that a cluster's operator may lack is named when it is planted, and nothing else is."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import time
from collections import namedtuple
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.converge.lock import LOCK
from rackwright.doctor import machine, sites
from rackwright.doctor.checks import CHECKS
from rackwright.doctor.model import Ground, examine
from rackwright.errors import EnvironmentUnfit, PlanStale
from rackwright.provision import keys
from rackwright.provision.aws import identity
from rackwright.provision.locks import WORK
from rackwright.provision.places import engine
from tests.doubles.doctored import Hybrid, program
from tests.doubles.redfish import Fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwright.lack import Lack

    Plant = Callable[[Hybrid, Ground, pytest.MonkeyPatch], Ground]

Usage = namedtuple("Usage", "total used free")  # noqa: PYI024 (as shutil has it)


def _found(ground: Ground) -> dict[str, list[Lack]]:
    return {result.check.name: list(result.lacks) for result in examine(CHECKS, ground) if result.lacks}


def _unplanned(_: Hybrid, ground: Ground, __: pytest.MonkeyPatch) -> Ground:
    return replace(ground, stale=PlanStale("the spec has changed since it was planned"))


def _unbuilt(_: Hybrid, ground: Ground, __: pytest.MonkeyPatch) -> Ground:
    return replace(ground, plan=ground.plan.model_copy(update={"not_provisionable": ("storage: scratch",)}))


def _without_ssh(_: Hybrid, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    which = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda name, path=None: None if name == "ssh" else which(name, path=path)
    )
    return ground


def _without_ansible(_: Hybrid, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    which = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda name, path=None: None if name == "ansible-runner" else which(name, path=path)
    )
    return ground


def _without_engine(_: Hybrid, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    def none() -> Path:
        raise EnvironmentUnfit("there is no Pulumi engine", code="ENV005")

    monkeypatch.setattr(machine, "engine", none)
    return ground


def _old_engine(_: Hybrid, ground: Ground, __: pytest.MonkeyPatch) -> Ground:
    program(engine() / "pulumi", "echo v3.9.0")
    return ground


def _without_plugin(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    site.plugin.rename(site.plugin.with_name("resource-aws-v1.0.0"))
    return ground


def _without_bucket(_: Hybrid, ground: Ground, __: pytest.MonkeyPatch) -> Ground:
    program(
        engine() / "pulumi",
        f'test "$1" = version && echo v{version("pulumi")} && exit; echo error: no such bucket; exit 1',
    )
    return replace(ground, plan=ground.plan.model_copy(update={"backend": "s3://atlas"}))


def _full_disk(_: Hybrid, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 40, 1 << 40, 1 << 20))
    return ground


def _no_folder(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    return replace(ground, runs=site.credentials / "runs")


def _open_key(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    (site.state / "secrets" / keys.PASSPHRASE).chmod(0o640)
    return ground


def _spoiled_key(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    (site.state / "secrets" / paths.LOGIN_KEY).write_text("no key")
    return ground


def _stack_lock(site: Hybrid, host: str) -> None:
    folder = site.state / "engine" / ".pulumi" / "locks" / "organization" / "onprem" / site.stack_name
    folder.mkdir(parents=True)
    holder = {"pid": 1 << 22, "username": "ann", "hostname": host, "timestamp": "today"}
    (folder / "1.json").write_text(json.dumps(holder))


def _held_stack(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    _stack_lock(site, "another-machine")
    return ground


def _dead_stack(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    _stack_lock(site, socket.gethostname())
    return ground


def _held_cluster(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    site.open_files.append(_locked(site.state / WORK))
    return ground


def _locked(path: Path) -> int:
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def _held_converge(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    (site.state / "converge").mkdir()
    site.open_files.append(_locked(site.state / "converge" / LOCK))
    return ground


def _nobody(_: Hybrid, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    def refuse(*_: object) -> str:
        raise EnvironmentUnfit("no credentials", code="AWS002")

    monkeypatch.setattr(identity, "_account", refuse)
    return ground


def _stranger(_: Hybrid, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setattr(identity, "_account", lambda *_: "999999999999")
    return ground


def _undelivered(_: Hybrid, ground: Ground, __: pytest.MonkeyPatch) -> Ground:
    return replace(ground, plan=ground.plan.model_copy(update={"undelivered": {"node": "3-4"}}))


def _no_credentials(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    site.credentials.unlink()
    return ground


def _spoiled_credentials(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    site.credentials.write_text("name;password\n")
    return ground


def _one_login_short(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    rows = site.credentials.read_text().splitlines()
    site.credentials.write_text("\n".join(rows[:-1]))
    return ground


def _no_authority(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    (site.folder / "ca.pem").write_text("no certificate")
    return ground


def _at(moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> Clock:
            del tz
            return cls.fromisoformat(moment)

    monkeypatch.setattr(sites, "datetime", Clock)


def _authority_of_yesterday(_: Hybrid, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    _at("2999-01-01T00:00:00+00:00", monkeypatch)
    return ground


def _password_changed(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    site.bmc("node-002").password = "another"  # noqa: S105 (the double's)
    site.bmc("node-003").password = "another"  # noqa: S105 (the double's)
    return ground


def _foreign_certificate(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    site.bmc("node-001").fault = Fault.FOREIGN
    return ground


def _another_machine(site: Hybrid, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setattr(site.bmc("node-004"), "serial", "S99999")
    return ground


def _no_console(_: Hybrid, ground: Ground, __: pytest.MonkeyPatch) -> Ground:
    hall = ground.plan.sites["hall"]
    access = hall.access.model_copy(update={"console_logs": "/nowhere/conserver"})
    sites = ground.plan.sites | {"hall": hall.model_copy(update={"access": access})}
    return replace(ground, plan=ground.plan.model_copy(update={"sites": sites}))


def _no_lab_console(site: Hybrid, ground: Ground, _: pytest.MonkeyPatch) -> Ground:
    (site.state / "console").rmdir()
    return ground


PLANTED = (
    (_unplanned, "plan", "PLAN001", ""),
    (_unbuilt, "parts", "UP001", "storage: scratch"),
    (_without_ssh, "programs", "DOC001", "no ssh"),
    (_without_ansible, "programs", "DOC002", "no ansible-runner"),
    (_without_engine, "engine", "ENV005", ""),
    (_old_engine, "engine", "DOC003", "v3.9.0"),
    (_without_plugin, "aws-plugin", "DOC004", "resource-aws-v1.0.0"),
    (_without_bucket, "backend", "DOC005", "error: no such bucket"),
    (_no_folder, "room", "DOC006", "no folder"),
    (_full_disk, "room", "DOC007", "0.0 GiB free"),
    (_open_key, "keys", "DOC008", "-rw-r-----"),
    (_spoiled_key, "keys", "ENV004", ""),
    (_held_cluster, "work-lock", "UP003", "a process"),
    (_held_stack, "stack-locks", "UP003", "ann on another-machine"),
    (_dead_stack, "stack-locks", "UP003", "ann on"),
    (_held_converge, "converge-lock", "CONV001", "a process"),
    (_nobody, "accounts", "AWS002", ""),
    (_stranger, "accounts", "AWS001", "999999999999"),
    (_undelivered, "assets", "DOC010", "slots 3-4 of node"),
    (_no_credentials, "bmc-logins", "ENV002", "No such file"),
    (_spoiled_credentials, "bmc-logins", "BMC010", "another first line"),
    (_one_login_short, "bmc-logins", "BMC008", "none for node-004"),
    (_no_authority, "bmc-authority", "BMC011", "no PEM certificate"),
    (_authority_of_yesterday, "bmc-authority", "DOC011", "valid until"),
    (_password_changed, "bmcs", "BMC004", "HTTP 401"),
    (_foreign_certificate, "bmcs", "BMC003", ""),
    (_another_machine, "bmcs", "IDENTITY001", "got serial S99999"),
    (_no_console, "consoles", "DOC012", "nothing"),
    (_no_lab_console, "consoles", "DOC012", "nothing"),
)
WARNINGS = {_unbuilt, _dead_stack, _undelivered, _no_lab_console}


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted[0].__name__.strip("_"))
def test_what_lacks_is_named_by_its_check_alone(
    planted: tuple[Plant, str, str, str], site: Hybrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, check, code, got = planted
    found = _found(plant(site, site.ground(), monkeypatch))
    assert list(found) == [check]
    assert {lack.code for lack in found[check]} == {code}
    lack = found[check][0]
    assert got in lack.got
    assert lack.blocks != (plant in WARNINGS)
    assert lack.hint or plant in {_unplanned, _without_engine, _nobody}, "the plants' own errors have none"


def test_every_check_was_seen_to_find_something() -> None:
    assert {check for _, check, _, _ in PLANTED} == {check.name for check in CHECKS}


def test_hosts_with_one_trouble_are_one_finding(site: Hybrid, monkeypatch: pytest.MonkeyPatch) -> None:
    (lack,) = _found(_password_changed(site, site.ground(), monkeypatch))["bmcs"]
    assert lack.where == "node-[002-003]"


def test_an_authority_that_runs_out_soon_is_a_warning(site: Hybrid, monkeypatch: pytest.MonkeyPatch) -> None:
    _at(datetime.fromtimestamp(time.time() + 86400 * 20).astimezone().isoformat(), monkeypatch)
    (lack,) = _found(site.ground())["bmc-authority"]
    assert (lack.code, lack.blocks) == ("DOC011", False)
