"""Stages of `make lab` on this machine: seconds, and each as a part of the whole.

    .venv/bin/python benchmarks/lab_stages.py

A lab of its own name, range and state is made, verified by a second `make lab`, and taken away.
Seconds depend on the machine; the parts are what can be compared. Set-up is not in it: its steps
print their own times, and after the first time they are cached.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from tests.hosts.lab import write_spec  # noqa: E402 (found by the line above)

NAME, RANGE = "lab-bench", "10.99"
SETTINGS = REPOSITORY / "stacks" / "onprem" / f"Pulumi.{NAME}-hall.yaml"
"""What `up` writes into the checkout for a plain `pulumi`."""
STAGE = re.compile(r"^lab(?:-down)?: (?P<name>\S.*?) {2,}(?:done)? +(?:(?P<min>\d+) min )?(?P<s>[\d.]+) s$")


def stages(target: str, spec: Path, environment: dict[str, str]) -> dict[str, float]:
    """Stage → seconds of one `make`, in order; the last is the total.

    Raises:
        SystemExit: it failed; what it printed is shown.
    """
    ran = subprocess.run(
        ["make", target, f"SPEC={spec}"],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        sys.exit(f"make {target} failed\n{ran.stdout}{ran.stderr}")
    found = (STAGE.match(line) for line in ran.stderr.splitlines())
    return {one["name"]: int(one["min"] or 0) * 60 + float(one["s"]) for one in found if one}


def show(title: str, times: dict[str, float]) -> None:
    """Print a table of one `make`."""
    print(f"{title:24} seconds   part")
    for name, seconds in times.items():
        print(f"  {name:22} {seconds:7.1f} {seconds / times['total']:6.0%}")


def main() -> None:
    """Make a lab, verify it, take it away."""
    if os.geteuid() != 0:
        print("not run: a lab needs root")
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"XDG_STATE_HOME": f"{folder}/state"}
        spec = write_spec(Path(folder) / "clusters", NAME, RANGE)
        try:
            show("make lab", stages("lab", spec, environment))
            show("make lab, again", stages("lab", spec, environment))
        finally:
            show("make lab-down", stages("lab-down", spec, environment))
            SETTINGS.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
