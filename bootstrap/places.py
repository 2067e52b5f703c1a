"""Where set-up reads and puts things; the environment is read here and nowhere deeper.

`cache` is `rackwright.paths.cache` without its library, which set-up cannot have yet; a test holds
the two together.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
DATA = Path(__file__).resolve().parent


def cache() -> Path:
    """Engine, toolchain and images, by content hash; may be deleted while no lab is up."""
    base = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(base) if base else Path.home() / ".cache") / "rackwright"


def environment() -> Path:
    """The virtual environment of this checkout."""
    return REPOSITORY / ".venv"


def tool(name: str) -> Path:
    """A console script of the virtual environment."""
    return environment() / "bin" / name


def search_path() -> str:
    """PATH with the virtual environment first, then the engine."""
    return os.pathsep.join(
        [str(environment() / "bin"), str(cache() / "engine" / "current"), os.environ.get("PATH", os.defpath)]
    )


def mirror() -> str:
    """Where Debian packages of the root image come from; empty for the suite's usual place."""
    return os.environ.get("RACKWRIGHT_MIRROR", "")


def pulumi_installer() -> str:
    """Pulumi's official installer, or a copy of it inside a closed network."""
    return os.environ.get("RACKWRIGHT_PULUMI_INSTALLER", "https://get.pulumi.com/install.sh")


def is_root() -> bool:
    """Whether this process may install packages and make file systems."""
    return os.geteuid() == 0


def python() -> str:
    """The Python set-up runs with, which the virtual environment is made from."""
    return sys.executable
