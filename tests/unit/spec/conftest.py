"""A spec's text in a folder of its own, and what loading it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.errors import SpecInvalid
from rackwright.spec.load import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rackwright.findings import Finding

LAB = (paths.repository() / "clusters/lab.yaml").read_text(encoding="utf-8")
CSV = (paths.repository() / "clusters/assets/lab.csv").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def lab(tmp_path: Path) -> Callable[..., Path]:
    """The lab's spec with texts replaced, its assets beside it; in files of their own, more texts."""

    def write(replaced: Mapping[str, str] | None = None, *, csv: str = CSV, **files: str) -> Path:
        text = LAB
        for old, new in (replaced or {}).items():
            assert old in text, old
            text = text.replace(old, new, 1)
        (tmp_path / "assets").mkdir(exist_ok=True)
        (tmp_path / "assets/lab.csv").write_text(csv, encoding="utf-8")
        for name, content in files.items():
            (tmp_path / f"{name}.yaml").write_text(content, encoding="utf-8")
        spec = tmp_path / "lab.yaml"
        spec.write_text(text, encoding="utf-8")
        return spec

    return write


@pytest.fixture
def faults() -> Callable[[Path], list[Finding]]:
    """What loading a spec finds wrong."""

    def found(spec: Path) -> list[Finding]:
        with pytest.raises(SpecInvalid) as caught:
            load(spec)
        return list(caught.value.findings)

    return found
