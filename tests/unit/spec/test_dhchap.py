"""DH-CHAP keys: what `nvme gen-dhchap-key` prints is taken, all else is refused, and no key is ever shown."""

from __future__ import annotations

import base64
import zlib

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.spec.dhchap import parse

HEAD = "slot,host_key,controller_key\n"


def key(seed: int, size: int = 32) -> str:
    raw = bytes([seed] * size)
    return f"DHHC-1:01:{base64.b64encode(raw + zlib.crc32(raw).to_bytes(4, 'little')).decode()}:"


def test_keys_are_read_and_their_text_shows_none() -> None:
    keys = parse(f"{HEAD}node-001,{key(1)},{key(2, 64)}\nnode-002,{key(3)},\n", "state:x")
    assert keys["node-001"].host == key(1)
    assert keys["node-001"].controller == key(2, 64)
    assert keys["node-002"].controller == ""
    assert "DHHC" not in repr(keys)


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("", "another first line"),
        ("slot,key\n", "another first line"),
        (f"{HEAD}node-001,{key(1)}\n", "2 fields in entry 1"),
        (f"{HEAD}node-001,{key(1)},\nnode-001,{key(2)},\n", "slot node-001 twice"),
        (f"{HEAD}node-001,secret,\n", "a key of node-001 that is none, or whose checksum is wrong"),
        (f"{HEAD}node-001,{key(1)[:-3]}x=:,\n", "a key of node-001 that is none, or whose checksum is wrong"),
        (f"{HEAD}node-001,{key(1, 20)},\n", "a key of node-001 that is none, or whose checksum is wrong"),
        (f'{HEAD}node-001,"{key(1)},\n', "a broken quotation"),
    ],
)
def test_what_is_no_list_of_keys_is_refused_without_a_value(text: str, got: str) -> None:
    with pytest.raises(EnvironmentUnfit) as refused:
        parse(text, "state:secrets/dhchap.csv")
    error = refused.value
    assert (error.code, error.where, error.got) == ("NVME012", "state:secrets/dhchap.csv", got)
    assert "DHHC-1:01" not in f"{error}{error.got}{error.expected}{error.hint}"
