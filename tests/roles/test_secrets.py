"""What rackwright made itself is nowhere but where it belongs: state, evidence, journals, command lines."""

from __future__ import annotations

import csv
import subprocess
from typing import TYPE_CHECKING

import pytest

from rackwright.provision.keys import passphrase_file
from tests.doubles import canary
from tests.roles.conftest import HEAD, HOSTS, WITHIN_S

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.roles.conftest import Site

pytestmark = [pytest.mark.lab, pytest.mark.engine, pytest.mark.slow]

PEM_HEADER = b"-----BEGIN"
PART = 48
"""Bytes of a binary key that are searched for; its forms in base64 need no padding."""
AT_HOME = ("etc/munge/munge.key", "etc/rackwright/burst")
"""Where a host holds what it needs."""
FOLDERS = (
    "etc",
    "home",
    "root",
    "tmp",
    "run/rackwright",
    "usr/local",
    "var/log",
    "var/spool",
    "var/lib/slurm",
)


def _needles(file: Path) -> dict[str, str | bytes]:
    """What to search for of a secret's file, by name: each part suffices to know it when it is seen."""
    content = file.read_bytes()
    if content.startswith(PEM_HEADER):
        body = content.splitlines()[1:-1]
        return {file.name: body[len(body) // 2].decode()}
    if file.suffix == ".csv":
        rows = csv.DictReader(content.decode().splitlines())
        return {f"{file.name}, {row['slot']}": row["password"] for row in rows}
    if b"\n" not in content.rstrip(b"\n") and content.isascii():
        return {file.name: content.decode().rstrip("\n")}
    return {f"{file.name}, byte {start}": content[start : start + PART] for start in (0, len(content) // 2)}


def _secrets(site: Site) -> list[Path]:
    folder = site.state / "secrets"
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pub"]


def _on_host(site: Site, host: str, command: str) -> bytes:
    """What root prints there; ssh alone, for a secret must not be on a command line of the test's either."""
    words = ["ssh", "-F", str(site.ssh_config), host, f"sudo {command}"]
    done = subprocess.run(words, capture_output=True, check=False, timeout=WITHIN_S, stdin=subprocess.DEVNULL)
    assert done.stdout, done.stderr
    return done.stdout


def _look_at(search: canary.Search, site: Site, hosts: Iterable[str] = HOSTS) -> None:
    """Journals, and the files of all folders that roles and daemons write to."""
    without = " ".join(f"--exclude={path}" for path in (*AT_HOME, "var/log/journal"))
    folders = " ".join(FOLDERS)
    for host in hosts:
        search.text(_on_host(site, host, "journalctl --no-pager --output=export"), f"journal of {host}")
        archive = f"tar -C / -cf - --ignore-failed-read {without} {folders}"
        search.text(_on_host(site, host, archive), f"files of {host}")


def test_no_secret_is_where_it_does_not_belong(site: Site, tmp_path: Path) -> None:
    site.await_idle()
    passphrase_file(site.state / "secrets")
    kept, lab, spec = _secrets(site), site.lab, str(site.lab.spec)
    assert {"passphrase", "ssh_ed25519", "munge.key", "bmc.csv"} <= {path.name for path in kept}
    search = canary.Search({name: part for file in kept for name, part in _needles(file).items()})
    site.host("node-001").run("rm /etc/munge/munge.key")
    with search.command_lines() as sampling:
        said = [
            lab.rackwright("up", spec, "--yes", "-v"),
            lab.rackwright("preview", spec, "--format", "json"),
        ]
        said.append(lab.rackwright("inventory", spec, "-v"))
        said.append(lab.rackwright("converge", spec, "-v", "--limit", "node-001"))
        nodes = ("--limit", "node-[001-002]", "--out", str(tmp_path / "run"))
        said.append(lab.rackwright("validate", spec, *nodes))
    programs = {name.rpartition("/")[2] for name in sampling.programs}
    assert {"pulumi", "ssh", "python3", "srun", "slurmd"} <= programs, "hosts' processes are seen, too"
    assert site.host("node-001").file("/etc/munge/munge.key").exists, "the key was laid again"
    for done in said:
        search.text(done.stdout + done.stderr, str(done.args))
    disks = [lab.places.disk(host) for host in HOSTS]
    search.files(site.state, without=[*kept, *disks])
    search.files(tmp_path)
    search.files(lab.places.run)
    _look_at(search, site)
    assert search.found == set()


def test_a_leak_on_a_host_is_found(site: Site) -> None:
    leaked = canary.make("leak")
    search = canary.Search({"leak": leaked})
    site.host(HEAD).run("logger %s", f"the key is {leaked}")
    site.host(HEAD).run("printf %%s %s > /usr/local/leak", leaked)
    try:
        _look_at(search, site, (HEAD,))
    finally:
        site.host(HEAD).run("rm /usr/local/leak")
    assert search.found == {f"journal of {HEAD}: leak, raw", f"files of {HEAD}: leak, raw"}


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("ssh_ed25519", b"-----BEGIN X-----\nAAAA\nBBBB\nCCCC\n-----END X-----\n", ["BBBB"]),
        ("bmc.csv", b"slot,user,password\na,u,one\nb,u,two\n", ["one", "two"]),
        ("passphrase", b"words\n", ["words"]),
        ("munge.key", bytes(range(256)), [bytes(range(48)), bytes(range(128, 176))]),
    ],
)
def test_what_is_searched_for_of_each_kind_of_file(
    name: str, content: bytes, found: list[str | bytes], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    assert list(_needles(tmp_path / name).values()) == found
