"""`rackwright parse`: status, readings and exit code of one output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright.cli.frame import run

if TYPE_CHECKING:
    Capture = pytest.CaptureFixture[str]

CASES = Path(__file__).parents[2] / "cases"


@pytest.mark.parametrize(
    ("tool", "case", "status", "code"),
    [
        ("fio", "good", "complete", 0),
        ("fio", "no-folder", "not_run", 3),
        ("iperf3", "cut-off", "incomplete", 3),
        ("iperf3", "unknown-version", "corrupt", 1),
        ("collectives", "row-missing", "incomplete", 3),
    ],
)
def test_status_is_told_and_is_the_exit_code(
    tool: str, case: str, status: str, code: int, capsys: Capture
) -> None:
    assert run(["parse", tool, str(CASES / tool / case / "input.txt"), "--format", "json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["tool"], document["status"]) == ("rackwright/parse/1", tool, status)
    assert bool(document["measurements"]) is (status == "complete")
    assert bool(document["problem"]) is (status != "complete")


OF_ISSUE_8 = {
    "nccl-tests": ("good", "json-3"),
    "rccl-tests": ("good",),
    "nccom-test": ("documented",),
    "collectives": ("good",),
    "perftest": ("good", "json"),
    "dcgm-diag": ("good-3", "good-4", "mndiag"),
    "nvidia-smi": ("good", "old-names"),
    "nvbandwidth": ("good", "json"),
    "gpu-burn": ("good",),
    "fio": ("good",),
    "iperf3": ("good",),
    "stress-ng": ("good",),
    "ibdiagnet": ("good",),
    "iblinkinfo": ("good",),
    "ethtool": ("good",),
    "lspci": ("good", "acs-on"),
    "dmesg": ("good", "events"),
    "counters": ("good", "efa", "lnet"),
    "nccl-log": ("efa", "algorithms"),
}
"""Every tool by its name, with a case of each of its forms: text and JSON are told apart by themselves."""


@pytest.mark.parametrize(
    ("tool", "case"), [(tool, case) for tool, cases in OF_ISSUE_8.items() for case in cases]
)
def test_each_tool_is_read_in_each_of_its_forms(tool: str, case: str, capsys: Capture) -> None:
    assert run(["parse", tool, str(CASES / tool / case / "input.txt"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "complete"


def test_a_log_longer_than_any_output_is_read_from_a_pipe() -> None:
    line = b"[  100.000000] mlx5_core 0000:1a:00.0 ibp24s0: Link up\n"
    text = line * (17 * 2**20 // len(line)) + b"[  200.000000] NVRM: Xid (PCI:0000:1b:00): 79, pid=1\n"
    command = [sys.executable, "-c", "from rackwright.cli import main; main()", "parse", "dmesg", "-"]
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    assert done.returncode == 0
    assert b"xid              79" in done.stdout


def test_readings_have_name_value_unit_and_context(capsys: Capture) -> None:
    assert run(["parse", "iperf3", str(CASES / "iperf3" / "reverse" / "input.txt"), "--format", "json"]) == 0
    (reading,) = json.loads(capsys.readouterr().out)["measurements"]
    assert (reading["name"], reading["unit"]) == ("bandwidth", "mbit_s")
    assert reading["context"]["direction"] == "reverse"


def test_text_says_what_was_measured(capsys: Capture) -> None:
    assert run(["parse", "links", str(CASES / "links" / "no-carrier" / "input.txt")]) == 0
    assert "carrier          no  (node=node-001, interface=r1)" in capsys.readouterr().out


def test_unknown_tool_gets_the_nearest_name(capsys: Capture) -> None:
    assert run(["parse", "iperf", "x"]) == 2
    error = capsys.readouterr().err
    assert "PARSE001" in error
    assert "did you mean `iperf3`?" in error


def test_unreadable_file_is_a_usage_error(tmp_path: Path, capsys: Capture) -> None:
    assert run(["parse", "fio", str(tmp_path / "nothing")]) == 2
    assert "PARSE002" in capsys.readouterr().err
    assert run(["parse", "fio", str(tmp_path)]) == 2


def test_bytes_that_are_no_text_are_corrupt(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00{")
    assert run(["parse", "collectives", str(tmp_path / "x")]) in (1, 3)
    assert "cut off" in capsys.readouterr().out


def test_output_comes_from_a_pipe_too() -> None:
    with (CASES / "iperf3" / "good" / "input.txt").open("rb") as text:
        done = subprocess.run(
            [sys.executable, "-c", "from rackwright.cli import main; main()", "parse", "iperf3", "-"],
            stdin=text,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert "complete output of iperf3" in done.stdout
