"""Plays of ours that Ansible runs on this machine in check mode, and what it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from rackwright import paths

Play = dict[str, object]
_ANSIBLE = str(Path(sys.executable).with_name("ansible-playbook"))
_TASK = r"TASK \[(.*?)\] \**\n((?:[^\n]+\n)*)"
"""Of Ansible's own output: a task's name, and its lines."""


def load(name: str) -> list[Play]:
    """Plays of a playbook."""
    plays: list[Play] = yaml.safe_load((paths.repository() / "playbooks" / f"{name}.yml").read_text())
    return plays


def check(
    plays: list[Play], *groups: str, known: dict[str, object], library: Path | None = None
) -> dict[str, str]:
    """Tasks that have run on one host, each with what was said of it.

    Args:
        plays: without imported ones.
        groups: that the host is in.
        known: variables.
        library: modules that stand for those of ours.
    """
    values = {**known, "ansible_become": False, "ansible_python_interpreter": sys.executable}
    hosts = {group: {"hosts": {"one": {"ansible_connection": "local"}}} for group in ("all", *groups)}
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1"}
    if library:
        environment |= {"ANSIBLE_LIBRARY": str(library), "ANSIBLE_ACTION_PLUGINS": str(library / "none")}
    with TemporaryDirectory() as folder:
        Path(folder, "plays.yml").write_text(yaml.safe_dump(plays))
        Path(folder, "hosts.yml").write_text(yaml.safe_dump(hosts))
        words = ["-v", "--check", "-i", f"{folder}/hosts.yml", "--extra-vars", json.dumps(values)]
        done = subprocess.run(
            [_ANSIBLE, *words, f"{folder}/plays.yml"],
            cwd=paths.repository(),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return {task: said for task, said in re.findall(_TASK, done.stdout) if f"\n{said}".count("\nok: ")}
