"""`make setup`: the steps in their order, each named with how it ended and how long it took."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bootstrap import golang, guest, image, packages, places, pulumi, venv
from bootstrap.console import duration, tell
from bootstrap.lock import only_run
from bootstrap.outcome import NOT_NEEDED
from rackwright.errors import EnvironmentUnfit, Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bootstrap.outcome import Outcome

    Step = Callable[[Path], Outcome]


def _go(log: Path) -> Outcome:
    """Go is for building Pulumi only."""
    return NOT_NEEDED if pulumi.present() else golang.install(log)


def _no_pulumi_to_build() -> Outcome | None:
    return NOT_NEEDED if pulumi.present() else None


ENVIRONMENT: Mapping[str, Step] = {"Python environment": venv.install}
"""All that `make check` and `make fix` need."""

ALL: Mapping[str, Step] = {
    "Debian packages": packages.install,
    **ENVIRONMENT,
    "Pulumi, ready-made": pulumi.ready_made,
    "Go": _go,
    "Pulumi, built": pulumi.built,
    "Root image": image.install,
}

FOR_TESTS: Mapping[str, Step] = {"Packages of tests": packages.install_for_tests}
"""What `make test` needs beyond set-up; who only wants a lab is spared it."""

FOR_KERNEL_TESTS: Mapping[str, Step] = {
    "Debian packages": packages.install,
    **ENVIRONMENT,
    "Packages of guests": packages.install_for_kernel_tests,
    "Guest image": guest.install,
}
"""What `make test-kernel` needs: neither the engine nor the lab's image."""


FOUND: Mapping[Step, Callable[[], Outcome | None]] = {
    packages.install: lambda: packages.found(packages.LIST),
    packages.install_for_tests: lambda: packages.found(packages.TEST_LIST, packages.for_tests()),
    packages.install_for_kernel_tests: lambda: packages.found(packages.KERNEL_LIST),
    venv.install: venv.found,
    pulumi.ready_made: pulumi.found,
    _go: lambda: _no_pulumi_to_build() or golang.found(),
    pulumi.built: _no_pulumi_to_build,
    image.install: image.found,
    guest.install: guest.found,
}
"""Step → tells that there is nothing to do, and changes nothing; so who has all waits for nobody's lock."""

_WORTH_TELLING = frozenset({"done", "not run"})


def run(steps: Mapping[str, Step], *, quiet: bool = False) -> None:
    """Run steps one after the other; one that has something to do is alone on this cache.

    Args:
        steps: by name.
        quiet: say nothing of a step that had nothing to do.

    Raises:
        EnvironmentUnfit: a step could not be done.
        Interrupted: Ctrl-C; what is complete is kept.
    """
    started = time.monotonic()
    cache = _cache()
    words = {_step(name, step, cache, quiet=quiet) for name, step in steps.items()}
    if not quiet:
        state = "nothing to do" if words <= {"cached", "not needed"} else "ready"
        tell(f"setup: {state}, {duration(time.monotonic() - started)} in all")


def _cache() -> Path:
    folder = places.cache()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentUnfit(
            "the cache folder cannot be made",
            code="SET010",
            where=str(folder),
            got=error.strerror or "",
            expected="a folder this user may write",
            hint="let XDG_CACHE_HOME name another place",
        ) from None
    return folder


def _step(name: str, step: Step, cache: Path, *, quiet: bool) -> str:
    started = time.monotonic()
    log = cache / "log" / (name.lower().replace(",", "").replace(" ", "-") + ".log")
    try:
        outcome = FOUND.get(step, lambda: None)() or _alone(step, cache, log)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted in the set-up step {name!r} after {duration(time.monotonic() - started)}",
            hint="the same command goes on from here",
        ) from None
    if not quiet or outcome.word in _WORTH_TELLING:
        seconds = duration(time.monotonic() - started)
        tell(f"setup: {name:<20} {outcome.word:<11}{seconds:>12}  {outcome.detail}".rstrip())
    return outcome.word


def _alone(step: Step, cache: Path, log: Path) -> Outcome:
    """Do it; another run that waited for it then finds it done."""
    with only_run(venv.lock() if step == venv.install else cache / "setup.lock", tell):
        log.parent.mkdir(exist_ok=True)
        log.unlink(missing_ok=True)
        return step(log)
