"""The programs that run on hosts, as far as they go without MPI: what they print, and what they notice."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rackwright import paths
from rackwright.validate.model import Completeness, Tool
from rackwright.validate.parsers import links, matrix
from rackwright.validate.parsers.lines import sealed
from rackwright.validate.parsers.sealing import body_of
from rackwright.validate.parsers.table import parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

BURN_IN = paths.repository() / "roles" / "burn_in" / "files"
ORDER = 64


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """matrix.py as a module."""
    monkeypatch.syspath_prepend(str(BURN_IN))
    import matrix as loaded  # type: ignore[import-not-found]  # noqa: PLC0415 (a program of a host)

    module: ModuleType = loaded
    return module


def run(*words: str, path: Path | str = "/nonexistent") -> str:
    """What a program prints; it finds no sudo but one in `path`."""
    done = subprocess.run(
        [sys.executable, BURN_IN / words[0], *words[1:]],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"PATH": str(path), "SLURMD_NODENAME": "node-001", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return done.stdout


def test_numbers_are_whole_and_the_same_for_ever(program: ModuleType) -> None:
    numbers = program.numbers(3, 7)
    assert numbers.dtype == np.int64
    assert numbers.min() >= 0
    assert numbers.max() < 2**program.BITS
    assert numbers.tolist()[0] == FIRST_ROW


FIRST_ROW = [1512240, 334830, 930528]
"""Of seed 7; other numbers would make other hashes, and old runs could not be compared with new ones."""


def test_every_product_up_to_the_largest_order_is_exact(program: ModuleType) -> None:
    largest = program.LARGEST * (2**program.BITS - 1) ** 2
    assert largest <= 2**53, "a double holds all whole numbers up to there"


def test_a_right_product_passes_and_one_wrong_bit_does_not(program: ModuleType) -> None:
    a, b = program.numbers(ORDER, 7), program.numbers(ORDER, 8)
    product = a.astype(np.float64) @ b.astype(np.float64)
    random = np.random.default_rng(1)
    assert program.is_right(a, b, product, random)
    spoiled = product.copy()
    spoiled[3, 5] += 1
    assert not program.is_right(a, b, spoiled, random)
    spoiled[3, 5] -= 0.5
    assert not program.is_right(a, b, spoiled, random)


def test_verification_does_not_go_through_the_library_under_test(program: ModuleType) -> None:
    a, b = program.numbers(ORDER, 7), program.numbers(ORDER, 8)
    assert a.dtype == b.dtype == np.int64, "numpy hands only floating-point products to its library"
    exact = [[sum(int(x) * int(y) for x, y in zip(row, column, strict=True)) for column in b.T] for row in a]
    assert (a @ b).tolist() == exact


def test_the_matrix_program_prints_what_its_parser_reads() -> None:
    parsed = matrix.parse(run("matrix.py", "--order", str(ORDER), "--seconds", "0"))
    assert parsed.status is Completeness.COMPLETE, parsed.problem
    assert {reading.name: reading.value for reading in parsed.readings if reading.unit == "count"} == {
        "wrong": 0,
        "mismatches": 0,
    }


def test_the_links_program_tells_of_every_interface_asked_for() -> None:
    parsed = links.parse(run("links.py", "lo", "nothing9"))
    assert parsed.status is Completeness.COMPLETE, parsed.problem
    assert [reading.context.parameters["interface"] for reading in parsed.readings] == ["lo", "nothing9"]
    assert parsed.readings[1].value is False


def test_lines_are_sealed_as_the_parsers_expect() -> None:
    text = run("links.py", "lo")
    assert sealed(text, "rackwright/links/1")
    assert json.loads(text)["host"] == "node-001"


@pytest.fixture
def ports(tmp_path: Path) -> Path:
    """A /sys with one port of InfiniBand, one interface and LNet."""
    port, lan = tmp_path / "sys/class/infiniband/mlx5_0/ports/1", tmp_path / "sys/class/net/r0"
    files = {
        port / "counters/symbol_error": "5",
        port / "hw_counters/rnr_nak_retry_err": "7",
        port / "hw_counters/odd": "N/A (no PMA)",
        lan / "statistics/rx_errors": "1",
        lan / "carrier_down_count": "2",
        tmp_path / "sys/module/lnet/version": "2.15",
        tmp_path / "sys/kernel/debug/lnet/stats": " ".join(map(str, range(11))),
    }
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return tmp_path / "sys"


def _counted(text: str) -> dict[tuple[object, object], object]:
    found = parse(Tool.COUNTERS, text)
    assert found.status is Completeness.COMPLETE, found.problem
    return {
        (one.context.parameters["device"], one.context.parameters["counter"]): one.value
        for one in found.readings
        if one.name == "growth"
    }


def test_counters_of_ports_interfaces_and_lnet_are_told_by_how_much_they_grew(
    ports: Path, tmp_path: Path
) -> None:
    begun = run("counters.py", "--sys", str(ports), "--before", str(tmp_path / "kept"), "r0")
    assert [(one.name, one.value) for one in parse(Tool.COUNTERS, begun).readings] == [("ports", 3)]
    (ports / "class/infiniband/mlx5_0/ports/1/counters/symbol_error").write_text("9\n")
    (ports / "class/net/r0/carrier_down_count").write_text("3\n")
    grown = _counted(run("counters.py", "--sys", str(ports), "--after", str(tmp_path / "kept"), "r0"))
    changed = {place: value for place, value in grown.items() if value}
    assert changed == {("mlx5_0", "symbol_error"): 4, ("r0", "carrier_down_count"): 1}
    assert ("mlx5_0", "odd") not in grown
    assert {name for device, name in grown if device == "lnet"} >= {"drop_count", "errors", "send_length"}


def test_who_asks_again_what_grew_is_told_the_same_and_of_no_other_run(ports: Path, tmp_path: Path) -> None:
    """The output of a step that was cut off is nobody's; nothing of that may be lost, or be another's."""
    words = ("counters.py", "--sys", str(ports), "--run", "2026-11-28T08:00:00Z")
    run(*words, "--before", str(tmp_path / "kept"), "r0")
    first = run(*words, "--after", str(tmp_path / "kept"), "r0")
    (ports / "class/net/r0/carrier_down_count").write_text("9\n")
    assert run(*words, "--after", str(tmp_path / "kept"), "r0") == first
    other = run(*words[:-1], "2026-11-28T09:00:00Z", "--after", str(tmp_path / "kept"), "r0")
    assert parse(Tool.COUNTERS, other).problem.endswith("the first sample is of another run")


def test_counters_that_were_not_read_before_are_not_measured(ports: Path, tmp_path: Path) -> None:
    found = parse(Tool.COUNTERS, run("counters.py", "--sys", str(ports), "--after", str(tmp_path / "kept")))
    assert found.status is Completeness.NOT_RUN
    assert "no first sample" in found.problem


def test_a_host_without_ports_says_so(tmp_path: Path) -> None:
    found = parse(
        Tool.COUNTERS, run("counters.py", "--sys", str(tmp_path), "--before", str(tmp_path / "kept"))
    )
    assert found.status is Completeness.NOT_RUN
    assert "no port" in found.problem


@pytest.mark.parametrize("text", ["", "one", "one\n", "é\n\ntwo\n"])
def test_what_is_collected_is_passed_on_as_it_is_and_sealed(text: str) -> None:
    printed = run("collect.py", "printf", "%s", text, path="/usr/bin:/bin")
    assert printed.startswith(text)
    body = body_of(printed)
    assert (body.lines, body.sealed) == (text.splitlines(), True)


def test_what_fails_is_not_sealed_and_keeps_its_status() -> None:
    done = subprocess.run(
        [sys.executable, BURN_IN / "collect.py", "sh", "-c", "echo half; exit 7"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (7, "half\n")
    assert run("collect.py", "no-such-program") == ""


SYSTEMD = """#!/bin/sh
# As `sudo -n systemd-run OPTION… PROGRAM ARGUMENT…` of a unit that outlives who asks for it.
while [ "${1#-}" != "$1" ] || [ "$1" = systemd-run ]; do shift; done
"$@" > /dev/null 2>&1 < /dev/null &
"""


@pytest.fixture
def systemd(tmp_path: Path) -> Path:
    """A PATH on which sudo starts units."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sudo").write_text(SYSTEMD)
    (tmp_path / "bin" / "sudo").chmod(0o755)
    return tmp_path / "bin"


@pytest.fixture
def watcher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModuleType]:
    """watch.py as a module; whatever still watches in the end is told to go."""
    monkeypatch.syspath_prepend(str(BURN_IN))
    import watch as loaded  # type: ignore[import-not-found]  # noqa: PLC0415 (a program of a host)

    module: ModuleType = loaded
    yield module
    module.ask(str(tmp_path / "kept"))


def _down(text: str) -> dict[object, object]:
    found = parse(Tool.COUNTERS, text)
    assert found.status is Completeness.COMPLETE, found.problem
    return {one.context.parameters["device"]: one.value for one in found.readings if one.name == "down"}


def _begin(ports: Path, kept: Path, systemd: Path, watcher: ModuleType) -> None:
    """Both ports have a link, are counted for the first time, and are watched."""
    (ports / "class/net/r0/carrier").write_text("1\n")
    (ports / "class/infiniband/mlx5_0/ports/1/state").write_text("4: ACTIVE\n")
    began = run("counters.py", "--sys", str(ports), "--before", str(kept), "r0", path=systemd)
    assert parse(Tool.COUNTERS, began).status is Completeness.COMPLETE
    address, ends = watcher.address(str(kept)).replace("\0", "@"), time.monotonic() + 120
    while address not in Path("/proc/net/unix").read_text():
        assert time.monotonic() < ends
        time.sleep(0.05)


@pytest.mark.parametrize("down", [(), ("r0",), ("r0", "mlx5_0")])
def test_time_without_a_link_is_added_up_while_the_load_runs(
    down: tuple[str, ...], ports: Path, tmp_path: Path, systemd: Path, watcher: ModuleType
) -> None:
    _begin(ports, tmp_path / "kept", systemd, watcher)
    if "r0" in down:
        (ports / "class/net/r0/carrier").write_text("0\n")
    if "mlx5_0" in down:
        (ports / "class/infiniband/mlx5_0/ports/1/state").write_text("1: DOWN\n")
    found = _down(run("counters.py", "--sys", str(ports), "--after", str(tmp_path / "kept"), "r0"))
    assert {port for port, seconds in found.items() if seconds} == set(down)
    assert found.keys() == {"r0", "mlx5_0"}


def test_ports_that_nobody_can_watch_have_no_time(ports: Path, tmp_path: Path) -> None:
    words = ("counters.py", "--sys", str(ports))
    run(*words, "--before", str(tmp_path / "kept"), "r0")
    assert _down(run(*words, "--after", str(tmp_path / "kept"), "r0")) == {}


def test_a_watch_that_was_ended_is_told_and_no_port_passes_by_it(
    ports: Path, tmp_path: Path, systemd: Path, watcher: ModuleType
) -> None:
    _begin(ports, tmp_path / "kept", systemd, watcher)
    assert watcher.ask(str(tmp_path / "kept"))
    found = parse(
        Tool.COUNTERS, run("counters.py", "--sys", str(ports), "--after", str(tmp_path / "kept"), "r0")
    )
    assert found.status is Completeness.NOT_RUN
    assert "the watch was ended" in found.problem


def test_who_is_cut_off_before_it_has_kept_what_it_was_told_may_ask_again(
    ports: Path, tmp_path: Path, systemd: Path, watcher: ModuleType
) -> None:
    _begin(ports, tmp_path / "kept", systemd, watcher)
    (ports / "class/net/r0/carrier").write_text("0\n")
    with suppress(SystemExit), watcher.asked(str(tmp_path / "kept")) as told:
        assert told
        raise SystemExit
    words = ("counters.py", "--sys", str(ports), "--after", str(tmp_path / "kept"), "r0")
    found = run(*words)
    assert {port for port, seconds in _down(found).items() if seconds} == {"r0"}
    assert run(*words) == found, "though nobody watches any more"
    assert watcher.ask(str(tmp_path / "kept")) == {}


def test_a_state_of_efa_is_no_evidence_of_a_link(tmp_path: Path, watcher: ModuleType) -> None:
    for device, driver in (("rdmap0s6", "efa"), ("mlx5_0", "mlx5_core")):
        folder = tmp_path / "class/infiniband" / device
        (folder / "ports/1").mkdir(parents=True)
        (folder / "ports/1/state").write_text("4: ACTIVE\n")
        (folder / "device").mkdir()
        (folder / "device/driver").symlink_to(tmp_path / "drivers" / driver)
    assert list(watcher.ports(tmp_path, [])) == ["mlx5_0/1"]
