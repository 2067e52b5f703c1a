"""Secrets that must turn up nowhere, and the search for them: in files, in texts, on command lines."""

from __future__ import annotations

import base64
import gzip
import json
import secrets
import threading
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qs, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SAMPLE_S = 0.05


def make(name: str) -> str:
    """A fresh secret that each encoding changes."""
    return f"{name}-{secrets.token_hex(12)}/+ä"


def forms(secret: str | bytes) -> dict[bytes, str]:
    """Every way in which a secret could be written down."""
    raw = secret.encode() if isinstance(secret, str) else secret
    found = {
        raw: "raw",
        raw.hex().encode(): "hex",
        raw.hex().upper().encode(): "hex",
        quote(secret, safe="").encode(): "URL-encoded",
        quote(secret).encode(): "URL-encoded",
    }
    if isinstance(secret, str):
        found[secret.encode("unicode_escape")] = "escaped"
    for before in range(3):
        found |= dict.fromkeys(_within_base64(raw, before), "base64")
    return found


def _within_base64(raw: bytes, before: int) -> Iterable[bytes]:
    """What base64 makes of it behind that many other bytes, without what depends on its neighbours."""
    encoded = base64.b64encode(b"\0" * before + raw)
    inner = encoded[4 if before else 0 : -4]
    return (inner, inner.translate(bytes.maketrans(b"+/", b"-_")))


class Search:
    """Where secrets turned up.

    Args:
        wanted: name of each secret → its text, or a part of it that no other file has.
    """

    def __init__(self, wanted: Mapping[str, str | bytes]) -> None:
        self._forms = {
            form: f"{name}, {how}" for name, text in wanted.items() for form, how in forms(text).items()
        }
        self.found: set[str] = set()

    def text(self, content: str | bytes, where: str) -> None:
        """Look through what was printed."""
        raw = content.encode() if isinstance(content, str) else content
        self.found |= {f"{where}: {name}" for form, name in self._forms.items() if form in raw}

    def files(self, folder: Path, without: Iterable[Path] = ()) -> None:
        """Look through every file below a folder, and at its name."""
        known = set(without)
        for path in folder.rglob("*"):
            self.text(str(path), "a name")
            if path.is_file() and path not in known:
                self.text(path.read_bytes(), str(path))

    def recording(self, journal: Path) -> int:
        """Look through the calls that an emulator of AWS has written down, opened up; returns how many."""
        calls = [json.loads(line) for line in journal.read_text().splitlines()]
        bodies = [base64.b64decode(call["body"]) for call in calls if "body" in call]
        for body in bodies:
            self.text(body, f"{journal}, a call")
            for name, values in parse_qs(body.decode(errors="replace")).items():
                self._value(values[0], f"{journal}, {name}")
        return len(bodies)

    def _value(self, value: str, where: str) -> None:
        """A value as it is, and what it stands for: user data goes in base64, and may be packed, too."""
        self.text(value, where)
        with suppress(ValueError):
            raw = base64.b64decode(value, validate=True)
            self.text(raw, where)
            with suppress(OSError, EOFError, zlib.error):
                self.text(gzip.decompress(raw), where)

    def command_lines(self) -> Sampling:
        """Look at every command line of the machine, again and again while it is entered."""
        return Sampling(self)


class Sampling:
    """Reads /proc in a thread."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._over = threading.Event()
        self._seen: set[bytes] = set()
        self._thread = threading.Thread(target=self._sample)

    @property
    def programs(self) -> set[str]:
        """Programs that were seen."""
        return {line.split(b"\0")[0].decode() for line in self._seen if line}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for line in self._seen:
            self._search.text(line, f"command line of {line.split(bytes(1))[0].decode()}")

    def _sample(self) -> None:
        while not self._over.wait(SAMPLE_S):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    self._seen.add((process / "cmdline").read_bytes())
                except OSError:
                    continue
