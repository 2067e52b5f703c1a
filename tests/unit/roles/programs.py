"""Programs of roles as modules, and doubles of the programs that they run on a host."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

from rackwright import paths

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


def load(role: str, name: str) -> ModuleType:
    """A program, with the module that it shares with the others as new as itself."""
    folder = paths.repository() / "roles" / role / "files"
    if name != "on_host":
        sys.modules["on_host"] = load(role, "on_host")
    path = folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"program_{name}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Host:
    """Doubles of the host's programs, in a folder that is first on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def program(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.folder}/calls\n{text}\n')
        path.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().replace(f"{self.folder}/", "").splitlines() if path.exists() else []
