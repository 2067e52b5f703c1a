"""A supervisor's SIGTERM ends a command as Ctrl-C does, wherever it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(sys.executable).with_name("rackwright")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_ended_says_so_and_how_it_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    spec = tmp_path / "spec.yaml"
    os.mkfifo(spec)
    process = subprocess.Popen(
        [str(SCRIPT), "check", str(spec)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with spec.open("w", encoding="utf-8"):  # returns when the command has opened it, and waits for text
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert err == "error INT001: interrupted: the same command goes on from here\n"
