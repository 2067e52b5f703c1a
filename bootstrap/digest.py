"""Content hashes: of words, of files, of a tree with its modes and links."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LENGTH = 20
"""Hexadecimal digits kept: 80 bits, far from any collision among a few dozen folders."""


def of_words(words: Iterable[str]) -> str:
    """Hash of a sequence of words; each is preceded by its length, so that borders count."""
    total = hashlib.sha256()
    for word in words:
        total.update(f"{len(word.encode())}:".encode() + word.encode())
    return total.hexdigest()[:LENGTH]


def of_file(path: Path) -> str:
    """Hash of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def of_tree(root: Path) -> str:
    """Hash of a tree: relative names, bytes, executable bits and where links point."""
    return of_words(word for path in sorted(root.rglob("*")) for word in _entry(root, path))


def _entry(root: Path, path: Path) -> Iterator[str]:
    yield str(path.relative_to(root))
    if path.is_symlink():
        yield f"link {path.readlink()}"
    elif path.is_dir():
        yield "folder"
    else:
        yield f"{'program' if os.access(path, os.X_OK) else 'file'} {of_file(path)}"
