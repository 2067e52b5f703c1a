"""Answers and errors that cannot be written: a full disk, or a reader that went away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(sys.executable).with_name("rackwright")


def test_a_reader_that_goes_away_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [str(SCRIPT), "schema"], stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_answer_that_cannot_be_written_is_an_error(form: str) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [str(SCRIPT), "schema", "--format", form],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "error ENV003: the answer could not be written" in done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


ERROR = [str(SCRIPT), "check", "no-such-file.yaml", "--format"]
"""A command that has an error to tell."""


def test_an_error_that_stdout_does_not_take_is_told_on_stderr_with_the_reason() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run([*ERROR, "json"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "error SPEC001: no such file" in done.stderr
    assert "error ENV003: the answer could not be written" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_error_that_nothing_takes_is_told_by_the_exit_code(form: str) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        assert subprocess.run([*ERROR, form], stdout=full, stderr=full, check=False).returncode == 2


@pytest.mark.parametrize(("form", "stream"), [("json", "stdout"), ("text", "stderr")])
def test_an_error_whose_reader_went_away_is_none(form: str, stream: str) -> None:
    read, write = os.pipe()
    os.close(read)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {stream: write}
    done = subprocess.run([*ERROR, form], text=True, check=False, **streams)  # type: ignore[call-overload]  # (two streams)
    os.close(write)
    assert (done.returncode, done.stdout or "", done.stderr or "") == (141, "", "")
