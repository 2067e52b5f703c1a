"""The command line of set-up, which any Python can start."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bootstrap import checks, commands, places
from rackwright import paths

if TYPE_CHECKING:
    from pathlib import Path

OLD_PYTHON = """
import runpy, sys
sys.version_info = (3, 9, 2)
runpy.run_module("bootstrap", run_name="__main__", alter_sys=True)
"""


def status(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        commands.main(arguments)
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("lab",), ("setup", "too", "much")])
def test_a_wrong_call_lists_what_there_is(
    arguments: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    assert status(*arguments) == 2
    told = capfd.readouterr().err
    assert "error USE001" in told
    assert "lab SPEC" in told


def test_an_older_python_is_told_what_is_wrong() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OLD_PYTHON], cwd=places.REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "error SET001: this Python is too old" in done.stderr
    assert "expected  3.11 or newer" in done.stderr


def test_an_older_python_can_parse_what_tells_it() -> None:
    for name in ("__init__.py", "__main__.py"):
        ast.parse((places.DATA / name).read_text(), feature_version=(3, 6))


def test_it_runs_without_any_installed_library() -> None:
    command = [sys.executable, "-S", "-c", "import bootstrap.commands"]
    subprocess.run(command, cwd=places.REPOSITORY, check=True, env={"PYTHONPATH": ""})


def test_a_machine_without_python_says_so_to_a_user(tmp_path: Path) -> None:
    for name in ("dirname", "id"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    (tmp_path / "id").unlink()
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
    (tmp_path / "id").chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", places.DATA / "run.sh", "setup"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "there is no Python on this machine" in done.stderr


def test_the_cache_is_where_the_product_looks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (str(tmp_path), "", " "):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert places.cache() == paths.cache()
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert places.cache() == paths.cache()


def test_a_refused_file_is_an_error_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "rackwright"
    blocked.mkdir()
    (blocked / "setup.lock").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert status("setup") == 2
    assert f"{blocked / 'setup.lock'}: error SET010" in capfd.readouterr().err


def test_a_lab_goes_where_the_environment_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(places, "environment", lambda: tmp_path / ".venv")
    monkeypatch.setenv("RACKWRIGHT_RUN", str(tmp_path / "run"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "some.yaml").write_text("cluster: {name: never-up}")
    assert status("lab-down", str(tmp_path / "some.yaml")) == 0
    assert "no lab of" in capfd.readouterr().out
    assert status("lab-down") == 0
    assert "no lab of clusters/lab-hybrid.yaml is here" in capfd.readouterr().out
    (tmp_path / "run" / "never-up").mkdir(parents=True)
    assert status("lab-down", str(tmp_path / "some.yaml")) == (0 if places.is_root() else 2)


def test_kernel_tests_that_do_not_exist_are_not_said_to_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(places, "REPOSITORY", tmp_path)
    assert status("test-kernel") == 0
    assert "nothing was run" in capfd.readouterr().err


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(places, "REPOSITORY", tmp_path)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def test_shell_scripts_are_found_by_name_and_by_first_line(checkout: Path) -> None:
    (checkout / ".gitignore").write_text("ignored.sh\n")
    for name, first in (
        ("by-name.sh", "set -e"),
        ("by-line", "#!/usr/bin/env bash"),
        ("ignored.sh", "#!/bin/sh"),
        ("program", "#!/usr/bin/env python3"),
        ("fish", "#!/usr/bin/fish"),
    ):
        (checkout / name).write_text(first + "\n")
    (checkout / "link.sh").symlink_to("by-name.sh")
    assert [path.name for path in checks.shell_files(checkout)] == ["by-line", "by-name.sh"]


def test_roles_are_linted_as_soon_as_there_are_some(checkout: Path) -> None:
    (checkout / "roles").mkdir()
    assert checks.check()[-1].skip == "roles/ and playbooks/ hold nothing yet"
    (checkout / "roles" / "main.yml").write_text("---\n")
    assert checks.check()[-1].skip == ""
    assert checks.check()[-1].command[-1] == "roles"


def test_a_missing_shellcheck_is_told(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to("/usr/bin/git")
    assert checkout.exists()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert "shellcheck is not installed" in next(s for s in checks.check() if s.name == "shellcheck").skip


def test_a_folder_that_is_no_checkout_is_told_and_the_other_checks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "REPOSITORY", tmp_path)
    [shellcheck] = [stage for stage in checks.check() if stage.name == "shellcheck"]
    assert shellcheck.skip.startswith("git does not list the files here")


def test_types_are_checked_wherever_there_is_python(checkout: Path) -> None:
    (checkout / "rackwright").mkdir()
    (checkout / "rackwright" / "x.py").write_text("")
    (checkout / "stacks").mkdir()
    mypy = next(stage for stage in checks.check() if stage.name == "mypy")
    assert mypy.command[1:] == ("rackwright",)
