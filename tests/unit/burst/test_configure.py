"""What a controller lays out for the instances that it configures: all that their roles read, and no less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import paths
from rackwright.burst.configure import Configurer, Places
from rackwright.burst.model import Setting
from rackwright.cli.cluster import open_cluster
from rackwright.render.files import SLURM, SUBNETS, for_roles

if TYPE_CHECKING:
    from pathlib import Path


def test_all_that_a_converge_renders_for_the_roles_of_nodes_is_there(tmp_path: Path) -> None:
    plan = open_cluster(paths.repository() / "clusters" / "lab-hybrid.yaml").plan
    setting = Setting(scheduler="main", grounds={}, authorized_keys=(), controllers={})
    Configurer(plan, setting, Places(tmp_path, tmp_path, tmp_path / "work", tmp_path)).lay_files()
    laid = {path.relative_to(tmp_path / "work").as_posix() for path in (tmp_path / "work").rglob("*.*")}
    laid |= {path.name for path in (tmp_path / "work").iterdir() if path.is_file()}
    others = (f"{SLURM}/", f"{SUBNETS}/")
    wanted = {file.path for file in for_roles(plan) if not file.path.startswith(others)}
    assert laid == wanted
    assert "tuning/cnode/kernel-tuning.json" in laid
