"""What the action plugin reads and refuses, through ansible-playbook against this machine."""

from __future__ import annotations

import getpass
import grp
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright import paths

if TYPE_CHECKING:
    from collections.abc import Callable

    Play = Callable[[dict[str, object]], subprocess.CompletedProcess[str]]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Run `tree` with these files; all that Ansible prints comes back, at its most talkative."""
    mine = {"owner": getpass.getuser(), "group": grp.getgrgid(os.getgid()).gr_name}

    def run(files: dict[str, object]) -> subprocess.CompletedProcess[str]:
        wanted = {
            str(tmp_path / "host" / name): {**mine, **entry}
            for name, entry in files.items()
            if isinstance(entry, dict)
        }
        tasks = [{"name": "Lay", "tree": {"files": wanted}}]
        plays = [{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]
        (tmp_path / "play.yml").write_text(json.dumps(plays))
        (tmp_path / "ansible.cfg").touch()
        library = paths.repository() / "playbooks"
        environment = os.environ | {
            "ANSIBLE_LIBRARY": str(library / "library"),
            "ANSIBLE_ACTION_PLUGINS": str(library / "action_plugins"),
            "ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg"),
            "ANSIBLE_HOME": str(tmp_path / "ansible"),
        }
        program = Path(sys.executable).with_name("ansible-playbook")
        python = f"ansible_python_interpreter={sys.executable}"
        words = ["-vvvv", "--diff", "-i", "localhost,", "-e", python, str(tmp_path / "play.yml")]
        return subprocess.run(
            [program, *words], env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    return run


def test_sources_texts_folders_and_what_was_not_rendered(play: Play, tmp_path: Path) -> None:
    (tmp_path / "rendered.conf").write_bytes(b"\xff\x00binary\n")
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "gone").write_text("of an earlier plan")
    wanted: dict[str, object] = {
        "a": {"src": str(tmp_path / "rendered.conf")},
        "b": {"content": "text\n"},
        "c": {"mode": "0700"},
        "gone": {"src": str(tmp_path / "nowhere"), "optional": True},
    }
    done = play(wanted)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "host" / "a").read_bytes() == b"\xff\x00binary\n"
    assert (tmp_path / "host" / "b").read_text() == "text\n"
    assert (tmp_path / "host" / "c").is_dir()
    assert not (tmp_path / "host" / "gone").exists()
    assert "changed=0" in play(wanted).stdout


def test_a_secret_is_not_printed_however_talkative_ansible_is(play: Play, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("canary-5d1c")
    done = play({"key": {"src": str(tmp_path / "key"), "secret": True}})
    assert (tmp_path / "host" / "key").read_text() == "canary-5d1c"
    assert "(secret)" in done.stdout
    assert "canary-5d1c" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"contents": "x"}, "got contents, expected one of absent, content,"),
        ({"content": "x", "src": "y"}, "got content and src"),
        ({"src": "/nowhere/at/all"}, "/nowhere/at/all"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(play: Play, entry: dict[str, str], said: str) -> None:
    done = play({"a": entry})
    assert done.returncode != 0
    assert said in done.stdout + done.stderr
