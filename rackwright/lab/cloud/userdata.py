"""User data in, the files of a boot seed out: what the lab's image does where a cloud's has cloud-init.

Exactly this of `#cloud-config` is understood, and everything else is refused, so that nothing is
passed over in a lab that would matter to cloud-init::

    #cloud-config
    hostname: cnode-001
    fqdn: cnode-001.lab.internal    # may be left out; begins with the hostname
    manage_etc_hosts: false         # no other; may be left out
    users: []                       # no other; may be left out
    write_files:
      - path: /etc/systemd/network/10-management.network
        content: |
          …
        permissions: "0644"         # that, where it is left out
        owner: root:root            # no other; may be left out
        encoding: text/plain        # or b64, gz+b64; may be left out
    runcmd:                         # may be left out
      - [systemctl, daemon-reload]  # or another of `NEEDLESS`

The whole may be compressed by gzip, as cloud-init takes it too: EC2 takes 16 KiB. cloud-init writes
once, on an instance's first boot; here the files are laid before each boot.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from rackwright.lab.rootfs import Content
from rackwright.spec.base import Model
from rackwright.strict_yaml import NotYaml, load

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = "#cloud-config"
HOSTNAME = PurePosixPath("etc/hostname")
MOST_BYTES = 16384
"""EC2 API, RunInstances: user data before it is encoded, and as it is, compressed or not."""
NEEDLESS = frozenset(
    {
        ("systemctl", "daemon-reload"),
        ("systemd-sysusers", "/etc/sysusers.d/rackwright.conf"),
        ("systemd-tmpfiles", "--create", "/etc/tmpfiles.d/rackwright.conf"),
        ("networkctl", "reload"),
        ("systemctl", "try-reload-or-restart", "ssh.service"),
    }
)
"""Commands that make files count which cloud-init wrote when the system was up already. A host of the lab
has them before it boots, so it does what they say anyway; no other command is known to be so."""
_UNPACKED_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
_ROOT = (0, 0)


class NotUnderstood(Exception):
    """User data that a host of the lab cannot boot with; the message says what of it."""


def _absolute(path: str) -> str:
    """A file's place on a host, in its one spelling."""
    pure = PurePosixPath(path)
    if (
        path.startswith("//")
        or not pure.is_absolute()
        or ".." in pure.parts
        or str(pure) != path
        or path == "/"
    ):
        msg = "an absolute path in its plain form is needed"
        raise ValueError(msg)
    return path


class _WriteFile(Model):
    path: Annotated[str, AfterValidator(_absolute)]
    content: str
    permissions: Annotated[str, Field(pattern=r"^0[0-7]{3}$")] = "0644"
    owner: Literal["root:root"] = "root:root"
    encoding: Literal["text/plain", "b64", "gz+b64"] = "text/plain"

    def read(self) -> Content:
        raw = _DECODERS[self.encoding](self.content)
        return Content(raw, int(self.permissions, 8), _ROOT)


def _needless(command: tuple[str, ...]) -> tuple[str, ...]:
    if command not in NEEDLESS:
        msg = f"a host of the lab does not run `{' '.join(command)}`"
        raise ValueError(msg)
    return command


class _CloudConfig(Model):
    hostname: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
    fqdn: str = ""
    manage_etc_hosts: Literal[False] = False
    users: Annotated[tuple[str, ...], Field(max_length=0)] = ()
    write_files: tuple[_WriteFile, ...] = ()
    runcmd: tuple[Annotated[tuple[str, ...], AfterValidator(_needless)], ...] = ()

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if self.fqdn and self.fqdn.partition(".")[0] != self.hostname:
            msg = f"fqdn {self.fqdn} does not begin with hostname {self.hostname}"
            raise ValueError(msg)
        return self


def files(user_data: str) -> dict[PurePosixPath, Content]:
    """What a host finds in its root, by path below it.

    Args:
        user_data: in base64, as EC2 keeps it; empty where a host is launched without.

    Raises:
        NotUnderstood: anything but the above.
    """
    if not user_data:
        return {}
    config = _config(_text(user_data))
    found = {HOSTNAME: Content(f"{config.hostname}\n".encode(), owner=_ROOT)}
    for file in config.write_files:
        path = PurePosixPath(file.path).relative_to("/")
        if path in found:
            raise NotUnderstood(f"{file.path} is written twice")
        found[path] = _read(file)
    return found


def _text(user_data: str) -> str:
    raw = _unbase64(user_data)
    if len(raw) > MOST_BYTES:
        raise NotUnderstood(f"{len(raw)} bytes, where EC2 takes {MOST_BYTES}")
    try:
        return (_gunzip(raw) if raw.startswith(_GZIP) else raw).decode()
    except UnicodeDecodeError as error:
        raise NotUnderstood(f"no text in UTF-8: {error}") from None


def _config(text: str) -> _CloudConfig:
    if text.split("\n", 1)[0].rstrip() != HEADER:
        raise NotUnderstood(f"the first line is not {HEADER}")
    try:
        return _CloudConfig.model_validate(load(text))
    except NotYaml as error:
        raise NotUnderstood(str(error)) from None
    except ValidationError as error:
        raise NotUnderstood("; ".join(map(_about, error.errors()))) from None


def _about(problem: object) -> str:
    match problem:
        case {"loc": tuple(place), "msg": str(message)}:
            return f"{'.'.join(map(str, place)) or HEADER}: {message}"
        case _:
            return str(problem)


def _read(file: _WriteFile) -> Content:
    try:
        return file.read()
    except NotUnderstood as error:
        raise NotUnderstood(f"{file.path}: {error}") from None


def _unbase64(text: str) -> bytes:
    try:
        return base64.b64decode(re.sub(r"\s", "", text), validate=True)
    except binascii.Error as error:
        raise NotUnderstood(f"no base64: {error}") from None


def _gunzip(raw: bytes) -> bytes:
    """Unpack, but never more than a seed can be.

    Raises:
        NotUnderstood: it cannot be unpacked, or is larger.
    """
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        unpacked = unpacking.decompress(raw, _UNPACKED_BYTES)
    except zlib.error as error:
        raise NotUnderstood(f"no gzip: {error}") from None
    if not unpacking.eof:
        raise NotUnderstood(f"gzip that is cut off, or holds more than {_UNPACKED_BYTES} bytes")
    return unpacked


_DECODERS: dict[str, Callable[[str], bytes]] = {
    "text/plain": str.encode,
    "b64": _unbase64,
    "gz+b64": lambda text: _gunzip(_unbase64(text)),
}
