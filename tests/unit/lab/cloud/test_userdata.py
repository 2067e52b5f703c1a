"""Exactly the documented part of #cloud-config becomes files; all else is refused, with its name."""

from __future__ import annotations

import base64
import gzip
from pathlib import PurePosixPath

import pytest

from rackwright.lab.cloud.userdata import HOSTNAME, MOST_BYTES, NotUnderstood, files
from rackwright.lab.rootfs import Content

HEAD = "#cloud-config\nhostname: cnode-001\n"
ROOT = (0, 0)
RAW = b"\x00\xff"


def encoded(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def test_the_name_and_every_file_with_its_mode() -> None:
    text = HEAD + (
        "fqdn: cnode-001.lab.internal\n"
        "manage_etc_hosts: false\n"
        "users: []\n"
        "write_files:\n"
        "  - {path: /etc/motd, content: hi}\n"
        "  - {path: /etc/sudoers.d/x, content: 'x ALL', permissions: '0440', owner: 'root:root'}\n"
        f"  - {{path: /srv/raw, content: {encoded(RAW)}, encoding: b64}}\n"
        f"  - {{path: /srv/packed, content: {encoded(gzip.compress(b'much'))}, encoding: gz+b64}}\n"
        "runcmd:\n  - [networkctl, reload]\n"
    )
    assert files(encoded(text)) == {
        HOSTNAME: Content(b"cnode-001\n", 0o644, ROOT),
        PurePosixPath("etc/motd"): Content(b"hi", 0o644, ROOT),
        PurePosixPath("etc/sudoers.d/x"): Content(b"x ALL", 0o440, ROOT),
        PurePosixPath("srv/raw"): Content(RAW, 0o644, ROOT),
        PurePosixPath("srv/packed"): Content(b"much", 0o644, ROOT),
    }


def test_json_is_yaml_and_gzip_is_taken() -> None:
    text = '#cloud-config\n{"hostname": "a", "write_files": [{"path": "/b", "content": "c"}]}\n'
    assert files(encoded(gzip.compress(text.encode()))) == files(encoded(text))
    assert files(encoded(text))[PurePosixPath("b")].raw == b"c"


def test_no_user_data_is_no_files() -> None:
    assert files("") == {}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("#!/bin/sh\nreboot\n", "#cloud-config"),
        ("hostname: a\n", "#cloud-config"),
        ("#cloud-config\n", "#cloud-config"),
        ("#cloud-config\n- hostname\n", "#cloud-config"),
        ("#cloud-config\nhostname: [\n", "line 3"),
        ("#cloud-config\nwrite_files: []\n", "hostname"),
        ("#cloud-config\nhostname: Node_1\n", "hostname"),
        (HEAD + "hostname: again\n", "twice"),
        (HEAD + "packages: [nginx]\n", "packages"),
        (HEAD + "users: [root]\n", "users"),
        (HEAD + "manage_etc_hosts: true\n", "manage_etc_hosts"),
        (HEAD + "fqdn: other.lab.internal\n", "other.lab.internal"),
        (HEAD + "runcmd: [[rm, -r, /]]\n", "rm -r /"),
        (HEAD + "runcmd: ['networkctl reload']\n", "runcmd"),
        (HEAD + "write_files: [{path: etc/motd, content: x}]\n", "path"),
        (HEAD + "write_files: [{path: /etc/../../x, content: x}]\n", "path"),
        (HEAD + "write_files: [{path: //etc/motd, content: x}]\n", "path"),
        (HEAD + "write_files: [{path: /, content: x}]\n", "path"),
        (HEAD + "write_files: [{path: /a, content: x, append: true}]\n", "append"),
        (HEAD + "write_files: [{path: /a, content: x, defer: true}]\n", "defer"),
        (HEAD + "write_files: [{path: /a, content: x, permissions: 0644}]\n", "permissions"),
        (HEAD + "write_files: [{path: /a, content: x, permissions: '4755'}]\n", "permissions"),
        (HEAD + "write_files: [{path: /a, content: x, owner: 'slurm:slurm'}]\n", "owner"),
        (HEAD + "write_files: [{path: /a, content: x, encoding: b32}]\n", "encoding"),
        (HEAD + "write_files: [{path: /a, content: '*', encoding: b64}]\n", "/a"),
        (HEAD + "write_files: [{path: /a, content: eA==, encoding: gz+b64}]\n", "/a"),
        (HEAD + "write_files: [{path: /a, content: x}, {path: /a, content: y}]\n", "/a is written twice"),
        (HEAD + "write_files: [{path: /etc/hostname, content: x}]\n", "twice"),
        (HEAD + "# " + "x" * MOST_BYTES + "\n", str(MOST_BYTES)),
    ],
)
def test_anything_else_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(NotUnderstood) as refused:
        files(encoded(text))
    assert named in str(refused.value)


@pytest.mark.parametrize(
    "user_data",
    [
        "!",
        encoded(b"\xff\xfe#cloud-config"),
        encoded(gzip.compress(HEAD.encode())[:-9]),
        encoded(gzip.compress(b"#" * (1 << 21))),
        encoded(b"\x1f\x8bnothing"),
    ],
    ids=["no base64", "no text", "cut off", "too large", "nothing packed"],
)
def test_what_cannot_be_unpacked_is_refused(user_data: str) -> None:
    with pytest.raises(NotUnderstood):
        files(user_data)
