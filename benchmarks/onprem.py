"""Time of the onprem stack by the real engine against controllers on loopback: up, up again, one host off.

    python benchmarks/onprem.py [HOSTS]

Engine, provider and controllers share the machine's cores; a controller answers at once, as none
in the field does. The ratios tell how the engine's part and the hosts' part grow.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.doubles.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable

FEW, MANY = 32, 3072


def main() -> None:
    """Print seconds and milliseconds a host for a small and a big stack."""
    many = int(sys.argv[1]) if len(sys.argv) > 1 else MANY
    with tempfile.TemporaryDirectory() as folder:
        small, big = (_measure(Path(folder) / f"b{hosts}", hosts) for hosts in (FEW, many))
    for what in small:
        grown = (big[what] - small[what]) / (many - FEW) * 1000
        print(
            f"{what:<14} {FEW} hosts {small[what]:6.1f} s   {many} hosts {big[what]:6.1f} s"
            f"   {grown:5.1f} ms a host   ratio {big[what] / small[what]:.1f}"
        )


def _measure(folder: Path, hosts: int) -> dict[str, float]:
    folder.mkdir()
    with Site(folder, f"bench{hosts}", hosts) as site:
        seconds = {"up": _timed(lambda: site.run("up", "--yes"))}
        seconds["up again"] = _timed(lambda: site.run("up", "--yes"))
        site.bmc("node-001").power = "Off"
        seconds["preview"] = _timed(lambda: site.run("preview"))
        seconds["one came back"] = _timed(lambda: site.run("up", "--yes"))
        seconds["destroy"] = _timed(lambda: site.run("destroy", "--yes"))
    return seconds


def _timed(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


if __name__ == "__main__":
    main()
