"""Tab, in real shells: the script is sourced as its help says, and a line is completed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from rackwright import paths
from rackwright.cli import frame
from rackwright.cli.commands import COMMANDS
from rackwright.cli.frame import run

SHELLS = ("bash", "zsh", "fish")
_BASH = """
eval "$(rackwright completion bash)"
COMP_WORDS=({line}) COMP_CWORD={last}
compopt() {{ echo "compopt $1 $2"; }}
_rackwright_completion rackwright
printf '%s\\n' "${{COMPREPLY[@]}}"
complete -p rackwright >&2
"""
_ZSH = """
autoload -U compinit && compinit -u -d {dump}
eval "$(rackwright completion zsh)"
echo $_comps[rackwright]
words=({line}) CURRENT={current}
_describe() {{ print -rl -- "${{completions_with_descriptions[@]}}"; }}
compadd() {{ print -rl -- "${{completions[@]}}"; }}
_path_files() {{ echo "files $*"; }}
_rackwright_completion
"""
_FISH = 'rackwright completion fish | source; complete --do-complete "{line}"'


def _said(shell: str, script: str, home: Path) -> list[str]:
    """What a shell prints that knows nothing but rackwright."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine: `make test` brings it")
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
    }
    plain = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *plain, "-c", script],
        cwd=paths.repository(),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [line.split("\t")[0].partition(":")[0] for line in done.stdout.splitlines()]


def _completed(shell: str, line: str, home: Path) -> list[str]:
    words = f"{line}|".split()
    words[-1] = words[-1].removesuffix("|")
    quoted = " ".join(word or "''" for word in words)
    if shell == "bash":
        return _said(shell, _BASH.format(line=quoted, last=len(words) - 1), home)
    if shell == "zsh":
        script = _ZSH.format(line=quoted, current=len(words), dump=home / "dump")
        ours, *said = _said(shell, script, home)
        assert ours == "_rackwright_completion"
        return said
    return _said(shell, _FISH.format(line=line), home)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "completion"),
    [
        ("rackwright lab st", "status"),
        ("rackwright check --for", "--format"),
        ("rackwright parse iper", "iperf3"),
    ],
)
def test_a_word_that_was_begun_is_completed(shell: str, line: str, completion: str, tmp_path: Path) -> None:
    assert _completed(shell, line, tmp_path) == [completion]


@pytest.mark.parametrize(
    ("words", "begun", "offered"),
    [
        (["lab", "fault"], "cut", ["cut-rail"]),
        (["check", "--format"], "j", ["json"]),
        (["completion"], "z", ["zsh"]),
        (["catalogue", "show"], "dgx-h100", ["dgx-h100"]),
        (["nics"], "p5en", ["p5en.48xlarge"]),
        (["nics"], "dgx", []),
        (["parse"], "stress", ["stress-ng"]),
    ],
)
def test_commands_choices_and_names_are_known(words: list[str], begun: str, offered: list[str]) -> None:
    shell = ShellComplete(frame.root, {}, "rackwright", frame.COMPLETION_VARIABLE)
    assert [item.value for item in shell.get_completions(words, begun)] == offered


def _offered(words: list[str], begun: str) -> list[str]:
    shell = ShellComplete(frame.root, {}, "rackwright", frame.COMPLETION_VARIABLE)
    return [item.value for item in shell.get_completions(words, begun)]


@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("he", ["head", "head-001"]),
        ("node-00", ["node-001", "node-002", "node-003"]),
        ("head-001,node-003", ["head-001,node-003"]),
        ("node!node-002", ["node!node-002"]),
        ("node-[001,0", []),
    ],
)
@pytest.mark.parametrize("command", ["converge", "drift", "reboot", "validate"])
def test_hosts_and_pools_of_the_spec_are_known(command: str, begun: str, offered: list[str]) -> None:
    spec = str(paths.repository() / "clusters" / "lab.yaml")
    assert _offered([command, spec, "--limit"], begun) == offered


def test_a_spec_without_a_lock_has_no_hosts_to_offer(tmp_path: Path) -> None:
    assert _offered(["converge", str(tmp_path / "none.yaml"), "--limit"], "he") == []
    spoiled = tmp_path / "spoiled.yaml"
    spoiled.with_name("spoiled.lock.yaml").write_text("pools: {}\n")
    assert _offered(["converge", str(spoiled), "--limit"], "he") == []
    assert _offered(["converge", "--limit"], "he") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_all_commands_are_offered(shell: str, tmp_path: Path) -> None:
    assert sorted(_completed(shell, "rackwright ", tmp_path)) == sorted(COMMANDS)


@pytest.mark.parametrize(
    ("shell", "offered"),
    [("bash", "compopt -o default"), ("zsh", "files -f"), ("fish", "clusters/lab.yaml")],
)
def test_a_spec_is_completed_as_a_file(shell: str, offered: str, tmp_path: Path) -> None:
    assert offered in _completed(shell, "rackwright check clusters/lab.y", tmp_path)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_help_says_where_the_line_goes(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "--help"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    (told,) = (line for line in lines if line.startswith(f"{shell}, in ~/"))
    assert f"rackwright completion {shell}" in told
    assert run(["completion", shell]) == 0
    assert frame.COMPLETION_VARIABLE in capsys.readouterr().out
