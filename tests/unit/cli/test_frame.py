"""What all commands have in common: one answer, one form of error, exit codes, and a quick help."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from rackwright import __version__, paths
from rackwright.cli import frame
from rackwright.cli.commands import COMMANDS
from rackwright.cli.frame import run
from rackwright.errors import EnvironmentUnfit, Failure, Incomplete, SpecInvalid, SubjectFailed
from rackwright.findings import Finding, Place, SpecPath
from tests.doubles.command_lines import refusals, simple_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rackwright.cli.output import Console

    Capture = pytest.CaptureFixture[str]

SCRIPT = Path(sys.executable).with_name("rackwright")
SPEC = str(paths.repository() / "clusters/lab.yaml")


def leaves(name: str) -> Iterator[tuple[list[str], click.Command]]:
    """A command of the table, or the commands within it."""
    command = frame.root.get_command(click.Context(frame.root), name)
    assert command is not None
    yield from below([name], command)


def below(words: list[str], command: click.Command) -> Iterator[tuple[list[str], click.Command]]:
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            yield from below([*words, name], one)
    else:
        yield words, command


ALL = [pytest.param(*leaf, id=" ".join(leaf[0])) for name in COMMANDS for leaf in leaves(name)]


@pytest.mark.parametrize(("words", "command"), ALL)
def test_every_command_has_the_common_options_an_example_and_help(
    words: list[str], command: click.Command, capsys: Capture
) -> None:
    options = {option for parameter in command.params for option in parameter.opts}
    assert {"--format", "--quiet", "-q", "--verbose", "-v"} <= options
    assert run([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    example = shown.partition("Example:\n")[2].strip()
    assert example.startswith(("rackwright ", 'eval "$(rackwright ')), "an example that can be pasted"
    assert (command.help or "").strip()


@pytest.mark.parametrize(("words", "command"), ALL)
def test_examples_are_of_their_own_command_and_rackwright_takes_them(
    words: list[str], command: click.Command
) -> None:
    assert isinstance(command, frame.Command)
    for line in command.example.splitlines():
        assert refusals(line) == []
        assert any(said[: len(words) + 1] == ["rackwright", *words] for said in simple_commands(line))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rackwright chek x.yaml", "no command chek"),
        ("rackwright check x.yaml --onlin", "No such option"),
        ('eval "$(rackwright env)" && true', "Missing argument 'SPEC'"),
        ("true; rackwright lab fault slow-rails node-002 > x", "no command lab fault slow-rails"),
        ("rackwright completion csh", "is not one of"),
    ],
)
def test_an_example_that_is_wrong_is_seen(line: str, said: str) -> None:
    (refused,) = refusals(line)
    assert said in refused


def test_every_help_says_what_the_exit_codes_mean(capsys: Capture) -> None:
    assert run(["check", "--help"]) == 0
    shown = capsys.readouterr().out
    assert [line.split()[0] for line in shown.partition("Exit codes:\n")[2].splitlines()[:4]] == list("0123")


def test_the_help_lists_the_table_and_loads_none_of_it() -> None:
    script = (
        "import sys; from rackwright.cli.frame import run; code = run(['--help']);"
        "heavy = {'pydantic', 'pulumi', 'ruamel', 'yaml', 'rich', 'ansible_runner', 'sushy', 'boto3',"
        " 'jinja2', 'numpy'} | {entry for entry in sys.modules if entry.startswith('rackwright.') and"
        " not entry.startswith(('rackwright.cli', 'rackwright.errors', 'rackwright.findings',"
        " 'rackwright.signals', 'rackwright.visible'))};"
        "sys.stderr.write(str(sorted(heavy & set(sys.modules)))); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == "[]"
    for name, entry in COMMANDS.items():
        assert name in done.stdout
        assert entry.summary in " ".join(done.stdout.split())


def test_the_help_takes_at_most_eight_times_an_empty_python() -> None:
    empty = quickest([sys.executable, "-c", "pass"])
    assert quickest([str(SCRIPT), "--help"]) <= 8 * empty


def quickest(command: list[str]) -> float:
    """Seconds of processor time; the least of several runs."""
    taken = []
    for _ in range(7):
        began = _spent()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        taken.append(_spent() - began)
    return min(taken)


def _spent() -> float:
    """Processor time of children that have ended, seconds."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def test_without_arguments_it_prints_its_help(capsys: Capture) -> None:
    assert run([]) == 0
    assert "Commands:" in capsys.readouterr().out


def test_version(capsys: Capture) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"rackwright {__version__}\n"


def test_an_unknown_command_names_the_nearest(capsys: Capture) -> None:
    assert run(["chek", "x"]) == 2
    assert "did you mean `rackwright check`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["chek"], ["check"], ["check", SPEC, "--colour"], ["check", SPEC, "extra"], ["schema", "cables"]],
)
@pytest.mark.parametrize("form", [["--format", "json"], ["--format=json"]])
def test_asking_wrongly_is_one_json_document_too(
    arguments: list[str], form: list[str], capsys: Capture
) -> None:
    assert run([*arguments, *form]) == 2
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["schema"], document["code"]) == ("rackwright/error/1", "USE001")
    assert document["where"].startswith("rackwright")
    assert document["hint"]
    assert err == ""


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Console], int]], None]:
    """Let `rackwright completion bash` do something else."""

    def plant(act: Callable[[Console], int]) -> None:
        @frame.command("completion", example="rackwright completion bash")
        @click.argument("shell")
        def command(console: Console, shell: str) -> int:
            del shell
            return act(console)

        monkeypatch.setattr(frame.CommandTable, "get_command", lambda *_: command)

    return plant


def test_exit_codes_come_from_the_command(planted: Callable[..., None]) -> None:
    planted(lambda _: 3)
    assert run(["completion", "bash"]) == 3


def test_an_error_is_a_block_on_stderr(planted: Callable[..., None], capsys: Capture) -> None:
    def act(_: Console) -> int:
        raise EnvironmentUnfit(
            "no space left", where="/var", got="0 bytes", expected="8 GiB", hint="free some"
        )

    planted(act)
    assert run(["completion", "bash"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "/var: error ENV001: no space left\n  got       0 bytes\n  expected  8 GiB\n  hint      free some\n"
    )


def test_findings_and_failures_are_in_the_document(planted: Callable[..., None], capsys: Capture) -> None:
    finding = Finding("X001", "m", SpecPath(("a", 0)), got="g", expected="e", place=Place(Path("s"), 2, 3))

    def invalid(_: Console) -> int:
        raise SpecInvalid([finding])

    def failed(_: Console) -> int:
        raise SubjectFailed([Failure("node-001", "BMC002", "no answer", "look at its cable")])

    planted(invalid)
    assert run(["completion", "bash", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["message"] == "1 error in the spec"
    assert document["findings"] == [
        {
            "code": "X001", "level": "error", "path": "a.0", "file": "s", "line": 2, "column": 3,
            "message": "m", "got": "g", "expected": "e", "hint": "", "source": "", "suppressed": None,
        }
    ]  # fmt: skip
    planted(failed)
    assert run(["completion", "bash", "--format", "json"]) == 2
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert failure == {
        "subject": "node-001", "code": "BMC002", "cause": "no answer", "hint": "look at its cable",
    }  # fmt: skip


def test_after_the_answer_an_error_goes_to_stderr(planted: Callable[..., None], capsys: Capture) -> None:
    def act(console: Console) -> int:
        console.result({"schema": "x/1", "a": "→"}, "text")
        raise Incomplete("one host did not answer", where="node-001")

    planted(act)
    assert run(["completion", "bash", "--format", "json"]) == 3
    out, err = capsys.readouterr()
    assert json.loads(out) == {"schema": "x/1", "a": "→"}
    assert "node-001: error RUN001: one host did not answer" in err


def test_a_bug_is_one_line_and_its_traceback_is_asked_for(
    planted: Callable[..., None], capsys: Capture
) -> None:
    def act(_: Console) -> int:
        raise KeyError("bmc")

    planted(act)
    assert run(["completion", "bash"]) == 2
    err = capsys.readouterr().err
    assert "internal error: KeyError: 'bmc'" in err
    assert "-v" in err
    assert "Traceback" not in err
    assert run(["completion", "bash", "-v"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_what_the_machine_refuses_is_no_bug(planted: Callable[..., None], capsys: Capture) -> None:
    def act(_: Console) -> int:
        raise OSError(28, "No space left on device", "/var/lib/x")

    planted(act)
    assert run(["completion", "bash", "--format", "json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["code"], document["where"]) == ("ENV001", "/var/lib/x")
    assert document["got"] == "No space left on device"


def test_interrupted(planted: Callable[..., None], capsys: Capture) -> None:
    def act(_: Console) -> int:
        raise KeyboardInterrupt

    planted(act)
    assert run(["completion", "bash"]) == 130
    err = capsys.readouterr().err
    assert "interrupted" in err
    assert "Traceback" not in err


def test_quiet_and_verbose(planted: Callable[..., None], capsys: Capture) -> None:
    def act(console: Console) -> int:
        console.message("progress")
        console.detail("detail")
        return 0

    planted(act)
    for flags, said in ([], "progress\n"), (["-q"], ""), (["-v"], "progress\ndetail\n"):
        run(["completion", "bash", *flags])
        out, err = capsys.readouterr()
        assert (out, err) == ("", said)


def test_ctrl_c_while_modules_are_loaded() -> None:
    script = (
        "import sys\n"
        "class Pressed:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'rackwright.cli.frame': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "from rackwright.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_ctrl_c_after_the_answer_changes_no_exit_code() -> None:
    script = (
        "import atexit, os, signal, sys\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "sys.argv = ['rackwright', 'no-such-command']\n"
        "from rackwright.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "KeyboardInterrupt" not in done.stderr


def test_no_colour_where_there_is_no_terminal_and_some_where_there_is() -> None:
    plain = subprocess.run([str(SCRIPT), "check", SPEC], capture_output=True, text=True, check=True).stdout
    assert "\x1b" not in plain
    command = ["script", "-qec", f"{SCRIPT} check {SPEC}", "/dev/null"]
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    on_terminal = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    assert "\x1b[" in on_terminal
    forbidden = environment | {"NO_COLOR": "1"}
    assert (
        "\x1b["
        not in subprocess.run(command, capture_output=True, text=True, check=True, env=forbidden).stdout
    )
