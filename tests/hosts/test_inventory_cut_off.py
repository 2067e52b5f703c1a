"""An inventory of real hosts, killed at each file it writes: all hosts are reached by the next one's keys.

Where else it is cut off, and by what, is in `tests/unit/inventory/test_cut_off.py`: it only reads logs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.hosts.test_inventory import WITHIN_S, Controller
from tests.unit.inventory.test_cut_off import HOLD

if TYPE_CHECKING:
    from tests.hosts.lab import Lab

pytestmark = [pytest.mark.lab, pytest.mark.slow]

HOSTS = ("head-001", "node-001", "node-002", "node-003")
FILES = 8
"""Of the folder; `hosts.yml` is the last."""


@pytest.fixture
def controller(lab: Lab, tmp_path: Path) -> Controller:
    lab.boot(*HOSTS)
    controller = Controller(lab, tmp_path)
    controller.sees(*HOSTS)
    return controller


def _kill(controller: Controller, hold: Path, number: int) -> None:
    """Begin one, and kill it when it has written that many files, the last of which has no name yet."""
    held = hold / str(number)
    held.mkdir()
    own = {"PYTHONPATH": str(hold), "TEST_HELD": str(held), "TEST_HELD_WRITE": str(number)}
    state = {"XDG_STATE_HOME": str(controller.folder / "state")}
    words = [str(Path(sys.executable).with_name("rackwright")), "inventory", str(controller.spec)]
    ends = time.monotonic() + WITHIN_S
    with subprocess.Popen(words, env=os.environ | state | own, start_new_session=True) as command:
        while len(list(held.iterdir())) < number:
            assert command.poll() is None
            assert time.monotonic() < ends, f"it did not write {number} files"
            time.sleep(0.02)
        os.killpg(command.pid, signal.SIGKILL)


def test_hosts_are_reached_after_an_inventory_that_was_killed_at_any_file(
    controller: Controller, tmp_path: Path
) -> None:
    hold = tmp_path / "hold"
    hold.mkdir()
    (hold / "sitecustomize.py").write_text(HOLD)
    _kill(controller, hold, 1)
    assert not controller.inventory_folder.exists(), "no key is used before it is known"
    for number in range(2, FILES + 1):  # from the second of these on, `observed.json` stands
        _kill(controller, hold, number)
    done = controller.inventory()
    assert done.returncode == 0, done.stderr
    pinged = controller.ping()
    assert pinged.stdout.count('"ping": "pong"') == len(HOSTS), pinged.stdout
