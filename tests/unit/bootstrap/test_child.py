"""Commands that set-up runs: all they print is kept, and none hangs for ever."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bootstrap import child, places

WITHIN_S = 120.0
"""The machine may be busy with other tests."""
PARENT = """
import sys
from pathlib import Path
from bootstrap import child
child.run(["sh", "-c", "echo $$ > child.pid; sleep 2; echo done > child.done"], Path(sys.argv[1], "log"),
          cwd=Path(sys.argv[1]), finish=sys.argv[2] == "finish")
"""


def test_the_log_keeps_commands_and_all_they_print(log: Path) -> None:
    child.run(["sh", "-c", "echo out; echo err >&2"], log)
    child.run(["sh", "-c", "echo $WORD"], log, extra={"WORD": "second"})
    assert log.read_text().splitlines()[-1] == "second"
    assert {"out", "err"} <= set(log.read_text().splitlines())


def test_a_failure_carries_status_and_last_lines(log: Path) -> None:
    with pytest.raises(child.ChildFailed) as caught:
        child.run(["sh", "-c", "echo early; seq 20; exit 7"], log)
    assert caught.value.code == 7
    assert caught.value.tail.splitlines()[-1] == "20"
    assert "early" not in caught.value.tail


def test_nothing_is_read_from_standard_input(log: Path) -> None:
    reader = "import sys; from pathlib import Path; from bootstrap import child; "
    reader += "child.run(['sh', '-c', '! read line'], Path(sys.argv[1]))"
    command = [sys.executable, "-c", reader, str(log)]
    subprocess.run(command, cwd=places.REPOSITORY, input="typed ahead\n", text=True, check=True)


def test_a_command_that_hangs_is_ended(log: Path, tmp_path: Path) -> None:
    with pytest.raises(child.ChildFailed) as caught:
        child.run(["sh", "-c", "echo $$ > pid; exec sleep 600"], log, cwd=tmp_path, timeout_s=0.5)
    assert caught.value.code == 124
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


@pytest.mark.parametrize(("how", "survives"), [("tied", False), ("finish", True)])
def test_a_killed_set_up_takes_its_child_with_it_unless_it_must_finish(
    tmp_path: Path, how: str, *, survives: bool
) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path), how]
    with subprocess.Popen(command, cwd=places.REPOSITORY) as parent:
        pid = tmp_path / "child.pid"
        while not (pid.exists() and pid.read_text().endswith("\n")):
            time.sleep(0.02)
        parent.send_signal(signal.SIGKILL)
    process = Path("/proc", pid.read_text().strip())
    ends = time.monotonic() + WITHIN_S
    while process.exists():
        assert time.monotonic() < ends
        time.sleep(0.02)
    assert (tmp_path / "child.done").exists() == survives


def test_an_answer_is_the_first_line_and_empty_without_one() -> None:
    assert child.answer(["printf", "one\ntwo\n"]) == "one"
    assert child.answer(["false"]) == ""
    assert child.answer(["/no/such/program"]) == ""
