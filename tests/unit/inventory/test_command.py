"""`rackwright inventory` as a script sees it: exit code, stdout, stderr, files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.frame import run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.doubles.hall import Hall

ONE = "gpu-node-001"


@pytest.fixture
def planned(hall: Hall, capsys: pytest.CaptureFixture[str]) -> Hall:
    hall.write()
    assert run(["plan", str(hall.spec_path)]) == 0
    capsys.readouterr()
    return hall


def _plan_again(hall: Hall, capsys: pytest.CaptureFixture[str]) -> None:
    hall.write()
    assert run(["plan", str(hall.spec_path)]) == 0
    capsys.readouterr()


def test_all_keys_known_is_0_and_says_how_to_go_on(planned: Hall, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inventory", str(planned.spec_path)]) == 0
    out, err = capsys.readouterr()
    folder = paths.inventory("atlas")
    assert out.startswith(f"atlas: 3 of 3 hosts in {folder}\n")
    assert f"ANSIBLE_CONFIG={folder}/ansible.cfg ansible all -m ping" in out
    assert err == ""


def test_host_without_a_key_is_3_and_named_with_its_reason(
    planned: Hall, capsys: pytest.CaptureFixture[str]
) -> None:
    (planned.consoles / f"{ONE}.log").unlink()
    assert run(["inventory", str(planned.spec_path)]) == 3
    out, err = capsys.readouterr()
    assert f"no-key       {ONE}: no console log" in out
    assert err.startswith(f"{ONE}: error KEY001: no console log\n  got       neither {ONE}.log nor")


def test_held_and_undelivered_hosts_are_named_and_no_error(
    hall: Hall, capsys: pytest.CaptureFixture[str]
) -> None:
    hall.held, hall.undelivered = frozenset({1}), frozenset({2})
    _plan_again(hall, capsys)
    assert run(["inventory", str(hall.spec_path)]) == 0
    out, err = capsys.readouterr()
    assert f"held         {ONE}: its asset row says state: maintenance" in out
    assert "undelivered  gpu-node-002: " in out
    assert err == ""


def test_json_is_one_document_that_names_the_absent(
    planned: Hall, capsys: pytest.CaptureFixture[str]
) -> None:
    (planned.consoles / f"{ONE}.log").unlink()
    assert run(["inventory", str(planned.spec_path), "--format", "json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "rackwright/inventory/1"
    assert set(document["_meta"]["hostvars"]) == {"gpu-node-002", "gpu-node-003"}
    assert document["_meta"]["absent"][ONE]["code"] == "KEY001"
    assert document["pool_gpu_node"]["hosts"] == ["gpu-node-002", "gpu-node-003"]


def test_faults_of_one_kind_are_one_message(planned: Hall, capsys: pytest.CaptureFixture[str]) -> None:
    for log in planned.consoles.iterdir():
        log.unlink()
    assert run(["inventory", str(planned.spec_path)]) == 3
    assert capsys.readouterr().err.count("KEY001") == 1


def test_out_names_the_folder(planned: Hall, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inventory", str(planned.spec_path), "--out", str(tmp_path / "here")]) == 0
    assert str(tmp_path / "here") in capsys.readouterr().out
    assert (tmp_path / "here" / "hosts.yml").is_file()
    assert not paths.inventory("atlas").exists()


def test_spec_that_was_not_planned_as_it_stands_is_refused(
    planned: Hall, capsys: pytest.CaptureFixture[str]
) -> None:
    planned.nodes = 4
    planned.write()
    assert run(["inventory", str(planned.spec_path)]) == 1
    assert "PLAN001" in capsys.readouterr().err
    assert not paths.inventory("atlas").exists()


def test_changed_key_is_accepted_by_name_and_reason(
    planned: Hall, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = str(planned.spec_path)
    assert run(["inventory", spec]) == 0
    planned.prints(ONE, seed="another")
    assert run(["inventory", spec]) == 3
    assert f"{ONE}: error KEY007" in capsys.readouterr().err
    assert run(["inventory", spec, "--accept-changed-key", ONE, "--reason", "new disk"]) == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--accept-changed-key", ONE],
        ["--reason", "new disk"],
        ["--accept-changed-key", ONE, "--reason", " "],
        ["--accept-changed-key", ONE, "--reason", "nothing changed"],
        ["--wait", "-1"],
    ],
)
def test_senseless_options_are_2(planned: Hall, options: list[str]) -> None:
    assert run(["inventory", str(planned.spec_path), *options]) == 2


def test_damaged_store_is_2_and_writes_nothing(planned: Hall, capsys: pytest.CaptureFixture[str]) -> None:
    planned.observed_file.parent.mkdir(parents=True, exist_ok=True)
    planned.observed_file.write_text("{")
    assert run(["inventory", str(planned.spec_path)]) == 2
    assert "OBS001" in capsys.readouterr().err
    assert not paths.inventory("atlas").exists()
