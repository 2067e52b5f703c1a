"""Modules of playbooks/library, run in this process as Ansible runs them on a host."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from ansible.module_utils.testing import patch_module_args  # type: ignore[import-untyped]

from rackwright import paths

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType


def load(name: str) -> ModuleType:
    """A module of playbooks/library."""
    path = paths.repository() / "playbooks" / "library" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"library_{name}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there for their own module
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Library:
    """The modules, by name."""

    def run(self, name: str, *, check: bool = False, **arguments: object) -> dict[str, object]:
        """What a module says."""
        return self.call(load(name), check=check, **arguments)

    def call(self, module: ModuleType, *, check: bool = False, **arguments: object) -> dict[str, object]:
        said = io.StringIO()
        values: Mapping[str, object] = {**arguments, "_ansible_check_mode": check, "_ansible_diff": True}
        with patch_module_args(values), redirect_stdout(said), pytest.raises(SystemExit):
            module.main()
        answer = json.loads(said.getvalue())
        assert isinstance(answer, dict)
        return answer


@pytest.fixture
def library() -> Library:
    return Library()
