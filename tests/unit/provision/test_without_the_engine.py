"""Who asks EC2 without the engine does not load it: the inventory, and a head that fills slots."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["rackwright.inventory.collect", "rackwright.provision.aws.nodeset.reconcile"]
)
def test_pulumi_is_not_imported(module: str) -> None:
    script = f"import sys, {module}; print(sorted(m for m in sys.modules if m.startswith('pulumi')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_components_are_there_when_they_are_named() -> None:
    script = (
        "import rackwright.provision as p, rackwright.provision.aws as a;"
        "print([getattr(a, n).__name__ for n in a.__all__], [getattr(p, n).__name__ for n in p.__all__])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("Cluster") == 3
    assert "load_slice" in done.stdout
