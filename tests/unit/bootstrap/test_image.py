"""The root image of hosts: made once, with the packages of all roles, and without an identity."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bootstrap import image, places
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.bootstrap.conftest import Program

MMDEBSTRAP = """
says="E: cannot fetch $RACKWRIGHT_MIRROR/InRelease: no route to mirror.example"
[ -e {broken} ] && {{ echo "$says"; exit 1; }}
while [ "$1" != trixie ]; do shift; done
mkdir -p "$2/etc/ssh" "$2/etc/munge" "$2/etc/systemd"
for name in munge/munge.key ssh/ssh_host_ed25519_key ssh/ssh_host_ed25519_key.pub ssh/sshd_config \\
    hostname machine-id; do
    echo outer > "$2/etc/$name"
done
ln -sf /run/resolv.conf "$2/etc/resolv.conf"
echo "mirror=$3" >> {calls}
echo "$include" > {included}
"""
ROLES = {"munge": "munge\n", "slurm_node": "slurmd # the daemon\nmunge\n"}
UNSHARE = """
while [ "$1" != -- ]; do shift; done
shift
for word in "$@"; do
    case $word in --include=*) export include=${word#--include=} ;; esac
done
exec "$@"
"""
CHROOT = 'cp "$1/etc/systemd/system-preset/20-rackwright.preset" {presets}; shift; echo "$@" >> {presets}'


@pytest.fixture
def recipe(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Program) -> Path:
    """Folder of a small recipe; the file `broken` in it makes mmdebstrap fail."""
    folder = tmp_path / "recipe"
    preset = folder / "overlay" / "etc" / "systemd" / "system-preset" / "20-rackwright.preset"
    preset.parent.mkdir(parents=True)
    preset.write_text("# none starts by itself\ndisable slurmd.service\ndisable munge.service\n")
    for role, names in ROLES.items():
        (folder / "roles" / role / "files").mkdir(parents=True)
        (folder / "roles" / role / "files" / "packages.debian-13.txt").write_text(names)
    (folder / "overlay" / "etc" / "systemd" / "unit").write_text("unit\n")
    (folder / "overlay" / "etc" / "hosts.link").symlink_to("/run/hosts")
    (folder / "packages.txt").write_text("systemd\n")
    monkeypatch.setattr(image, "PACKAGES", folder / "packages.txt")
    monkeypatch.setattr(image, "OVERLAY", folder / "overlay")
    monkeypatch.setattr(image, "ROLES", folder / "roles")
    monkeypatch.setattr(places, "is_root", lambda: True)
    monkeypatch.delenv("RACKWRIGHT_MIRROR", raising=False)
    program("unshare", UNSHARE)
    program(
        "mmdebstrap",
        MMDEBSTRAP.format(broken=folder / "broken", calls=cache / "calls", included=cache / "included"),
    )
    program("chroot", CHROOT.format(presets=cache / "presets"))
    return folder


def current(cache: Path) -> Path:
    return (cache / "image" / "current").resolve()


def test_it_is_made_once(cache: Path, recipe: Path, log: Path) -> None:
    assert recipe.exists()
    assert image.install(log).word == "done"
    assert image.install(log).word == "cached"
    assert (cache / "calls").read_text() == "mirror=\n"


def test_it_holds_the_packages_of_all_roles_each_once(cache: Path, recipe: Path, log: Path) -> None:
    (recipe / "roles" / "munge" / "files" / "packages.debian-12.txt").write_text("of-another-system\n")
    image.install(log)
    assert (cache / "included").read_text() == "munge,slurmd,systemd\n"


def test_no_daemon_of_a_role_starts_by_itself(cache: Path, recipe: Path, log: Path) -> None:
    assert recipe.exists()
    image.install(log)
    words = (cache / "presets").read_text().splitlines()
    assert words[-1] == "systemctl preset slurmd.service munge.service"
    assert "disable slurmd.service" in words, "the preset must lie there before it is applied"


def test_two_hosts_of_it_share_no_identity(cache: Path, recipe: Path, log: Path) -> None:
    assert recipe.exists()
    image.install(log)
    etc = current(cache) / "etc"
    assert [path.name for path in (etc / "ssh").iterdir()] == ["sshd_config"]
    assert not (etc / "hostname").exists()
    assert not (etc / "munge" / "munge.key").exists()
    assert (etc / "machine-id").read_text() == ""
    assert (etc / "resolv.conf").read_text() == ""


def test_the_overlay_has_modes_of_its_own_whatever_the_umask_was(
    cache: Path, recipe: Path, log: Path
) -> None:
    unit = recipe / "overlay" / "etc" / "systemd" / "unit"
    program = recipe / "overlay" / "etc" / "program"
    program.write_text("#!/bin/sh\n")
    (recipe / "overlay" / "etc" / "new.d").mkdir()
    unit.chmod(0o600)
    program.chmod(0o700)
    before = os.umask(0o077)
    try:
        image.install(log)
    finally:
        os.umask(before)
    etc = current(cache) / "etc"
    assert (etc / "systemd" / "unit").stat().st_mode & 0o777 == 0o644
    assert (etc / "program").stat().st_mode & 0o777 == 0o755
    assert (etc / "new.d").stat().st_mode & 0o777 == 0o755
    assert (etc / "resolv.conf").stat().st_mode & 0o777 == 0o644
    assert (etc / "machine-id").stat().st_mode & 0o777 == 0o644
    assert (etc / "hosts.link").readlink().as_posix() == "/run/hosts"


def test_another_package_or_overlay_is_another_image(cache: Path, recipe: Path, log: Path) -> None:
    folders = {image.folder()}
    (recipe / "packages.txt").write_text("systemd\ndbus\n")
    folders.add(image.folder())
    (recipe / "overlay" / "etc" / "systemd" / "unit").write_text("other\n")
    folders.add(image.folder())
    (recipe / "roles" / "slurm_node" / "files" / "packages.debian-13.txt").write_text("slurmd\nhwloc\n")
    folders.add(image.folder())
    assert len(folders) == 4
    image.install(log)
    assert current(cache).parent == image.folder()


def test_the_mirror_is_where_packages_come_from_and_no_other_image(
    cache: Path, recipe: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recipe.exists()
    before = image.folder()
    monkeypatch.setenv("RACKWRIGHT_MIRROR", "http://mirror.example/debian")
    assert image.folder() == before
    image.install(log)
    assert (cache / "calls").read_text() == "mirror=http://mirror.example/debian\n"


def test_a_failure_names_the_mirrors_variable_not_its_address_and_leaves_nothing(
    cache: Path, recipe: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (recipe / "broken").touch()
    monkeypatch.setenv("RACKWRIGHT_MIRROR", "http://user:secret@mirror.example/debian")
    with pytest.raises(EnvironmentUnfit) as caught:
        image.install(log)
    assert "E: cannot fetch RACKWRIGHT_MIRROR/InRelease: no route to RACKWRIGHT_MIRROR" in caught.value.got
    assert "RACKWRIGHT_MIRROR" in caught.value.expected
    assert "mirror.example" not in str(vars(caught.value))
    assert list((cache / "image").iterdir()) == []


def test_only_root_is_asked_to_make_it(
    cache: Path, recipe: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recipe.exists()
    monkeypatch.setattr(places, "is_root", lambda: False)
    with pytest.raises(EnvironmentUnfit) as caught:
        image.install(log)
    assert caught.value.expected == "root"
    assert not (cache / "image").exists()
    monkeypatch.setattr(places, "is_root", lambda: True)
    image.install(log)
    monkeypatch.setattr(places, "is_root", lambda: False)
    assert image.install(log).word == "cached"
