"""The commands of `python3 -m bootstrap`, one for each target of the Makefile that needs one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from bootstrap import checks, lab, places, stages, steps
from bootstrap.console import complain, tell
from bootstrap.stages import Stage
from rackwright.errors import GOOD, EnvironmentUnfit, Interrupted, RackwrightError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def _setup() -> int:
    steps.run(steps.ALL)
    return GOOD


def _setup_tests() -> int:
    steps.run(steps.FOR_TESTS, quiet=True)
    return GOOD


def _check() -> int:
    steps.run(steps.ENVIRONMENT, quiet=True)
    return stages.run("check", checks.check(), keep_going=True)


def _fix() -> int:
    steps.run(steps.ENVIRONMENT, quiet=True)
    return stages.run("fix", checks.fix(), keep_going=True)


def _lab(spec: str) -> int:
    code = stages.run("lab", lab.up(spec))
    if code == GOOD:
        tell(f"lab: {spec} is up and proven; `make lab-down SPEC={spec}` takes it away again")
    return code


def _lab_down(spec: str = "") -> int:
    return stages.run("lab-down", lab.down(spec))


def _bench() -> int:
    programs = sorted((places.REPOSITORY / "benchmarks").glob("*.py"))
    if not programs:
        tell("bench: benchmarks/ holds no program: nothing was measured")
        return GOOD
    python = str(places.tool("python"))
    return stages.run("bench", [Stage(path.stem, (python, str(path))) for path in programs], keep_going=True)


_GUESTS_TWICE = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
"""A pair of guests leaves a processor idle half of the time: its ssh waits, and much in it is one process."""


def _test_kernel() -> int:
    tests = places.REPOSITORY / "tests" / "kernel"
    if not any(tests.rglob("test_*.py")):
        tell("test-kernel: tests/kernel holds no tests yet: nothing was run")
        return GOOD
    steps.run(steps.FOR_KERNEL_TESTS)
    pytest = (str(places.tool("python")), "-m", "pytest", *_GUESTS_TWICE, "--durations=20", str(tests))
    return stages.run("test-kernel", [Stage("pytest", pytest)])


_COMMANDS: Mapping[str, Callable[..., int]] = {
    "setup": _setup,
    "setup-tests": _setup_tests,
    "check": _check,
    "fix": _fix,
    "lab": _lab,
    "lab-down": _lab_down,
    "bench": _bench,
    "test-kernel": _test_kernel,
}
_SPECS = {"lab": (1,), "lab-down": (0, 1)}
"""Command → how many specs it takes; all others take none."""


def main(arguments: Sequence[str]) -> NoReturn:
    """Run one command; the edge where whatever was raised becomes one error and an exit code."""
    try:
        sys.exit(_call(arguments))
    except RackwrightError as error:
        sys.exit(complain(error))
    except KeyboardInterrupt:
        sys.exit(complain(Interrupted("interrupted", hint="the same command goes on from here")))
    except OSError as error:
        sys.exit(complain(_refused(error)))


def _call(arguments: Sequence[str]) -> int:
    name, *rest = arguments or [""]
    if name not in _COMMANDS or len(rest) not in _SPECS.get(name, (0,)):
        raise UsageError(
            "no such command",
            where="python3 -m bootstrap",
            got=" ".join(arguments),
            expected=", ".join(f"{name} SPEC" if name in _SPECS else name for name in _COMMANDS),
            hint="`make` alone lists what there is",
        )
    return _COMMANDS[name](*rest)


def _refused(error: OSError) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "the machine refused a file",
        code="SET010",
        where=str(error.filename or ""),
        got=error.strerror or type(error).__name__,
        hint="put that right and run the same command again; it goes on from there",
    )
