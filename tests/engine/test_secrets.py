"""No secret passes through the engine: fresh canaries are searched in all that a run leaves and shows."""

from __future__ import annotations

import base64
import json
import subprocess
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from rackwright.paths import LOGIN_KEY
from rackwright.provision.keys import PASSPHRASE, login_public_key
from tests.doubles import canary
from tests.doubles.ec2 import served
from tests.doubles.redfish import Fault
from tests.doubles.zone import Zone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.doubles.site import Site

_SECRETS = {
    "password": canary.make("password").replace("ä", "a"),
    "passphrase": canary.make("passphrase"),
}
"""HTTP's basic authentication says nothing of what is no ASCII: a controller would let nobody in."""


@pytest.mark.engine
def test_no_secret_is_in_state_logs_settings_output_or_on_a_command_line(
    make_site: Callable[..., Site],
) -> None:
    site = make_site(password=_SECRETS["password"])
    kept = site.state / "secrets" / PASSPHRASE
    kept.parent.mkdir(mode=0o700, parents=True)
    kept.write_text(_SECRETS["passphrase"])
    site.bmc("node-002").fault = Fault.UNAVAILABLE
    site.bmc("node-003").password = "another"  # noqa: S105 (the double's)
    search = canary.Search(_SECRETS)
    with search.command_lines() as sampling:
        said = [site.run(*words, code=code) for words, code in _COMMANDS]
        said.append(site.pulumi("up", "--yes", "-v=9", "--logtostderr"))
    assert {"pulumi", "python", "pulumi-language-python"} <= {
        name.rpartition("/")[2] for name in sampling.programs
    }
    assert site.hall.asked("On")["node-001"] == 1, "the password was of use"
    for done in said:
        search.text(done.stdout + done.stderr, str(done.args))
    search.text(site.settings.read_text(), "stack settings")
    search.files(site.folder, without=(kept, site.credentials))
    assert search.found == set()
    assert kept.read_text() == _SECRETS["passphrase"]


@pytest.mark.engine
@pytest.mark.slow
def test_no_secret_of_a_zone_is_in_the_emulators_recording_or_anywhere_else(
    make_site: Callable[..., Site], tmp_path: Path
) -> None:
    """A cloud keeps what it is told: templates, tags and user data."""
    secrets = {**_SECRETS, "secret key": canary.make("key")}
    hall = make_site(1, password=secrets["password"])
    kept = [hall.state / "secrets" / name for name in (PASSPHRASE, LOGIN_KEY)]
    kept[0].parent.mkdir(mode=0o700, parents=True)
    kept[0].write_text(secrets["passphrase"])
    login_public_key(hall.state / "secrets")
    secrets["login key"] = kept[1].read_text().splitlines()[2]
    spec = json.loads(hall.spec.read_text())
    beside = {part: spec[part] for part in ("sites", "pools", "images")}
    search = canary.Search(secrets)
    with (
        served(tmp_path, secrets["secret key"]) as cloud,
        Zone(hall.folder, hall.name, cloud, {"static": 1}, beside) as zone,
    ):
        with search.command_lines() as sampling:
            said = [zone.run(*words, code=code) for words, code in _OF_A_ZONE]
        assert list(zone.instances()) == ["cnode-001"]
    assert {"pulumi", "python", "pulumi-language-python"} <= {
        name.rpartition("/")[2] for name in sampling.programs
    }
    assert search.recording(cloud.journal) > 0
    for done in said:
        search.text(done.stdout + done.stderr, str(done.args))
    search.files(tmp_path)
    search.files(hall.folder, without=(*kept, hall.credentials))
    assert search.found == set()


_OF_A_ZONE = (
    (("up", "--yes", "-v"), 0),
    (("preview", "--format", "json"), 0),
    (("env",), 0),
    (("inventory", "-v"), 3),
    (("destroy", "--yes", "-v"), 0),
    (("up", "--yes"), 0),
)


_COMMANDS = (
    (("up", "--yes", "-v"), 2),
    (("preview", "--format", "json"), 3),
    (("refresh", "-v"), 2),
    (("env",), 0),
    (("plan",), 0),
    (("inventory", "-v"), 3),
)


@pytest.mark.parametrize(
    "leak",
    [
        lambda secret: secret,
        lambda secret: base64.b64encode(f"admin:{secret}".encode()).decode(),
        lambda secret: base64.urlsafe_b64encode(f"a:{secret}!".encode()).decode(),
        lambda secret: f"00{secret.encode().hex()}00",
        lambda secret: quote(f"https://admin:{secret}@bmc", safe=""),
    ],
    ids=["raw", "base64", "urlsafe base64", "hex", "URL-encoded"],
)
def test_a_planted_leak_is_found(leak: Callable[[str], str], tmp_path: Path) -> None:
    planted = leak(_SECRETS["password"])
    search = canary.Search(_SECRETS)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "state.json").write_bytes(b"\xff" + planted.encode())
    search.files(tmp_path)
    assert len(search.found) == 1
    with search.command_lines():
        subprocess.run(["sh", "-c", 'sleep 0.3; : "$1"', "sh", planted], check=True)
    assert len(search.found) == 2


def test_what_is_no_secret_is_not_found(tmp_path: Path) -> None:
    search = canary.Search(_SECRETS)
    (tmp_path / "state.json").write_text(canary.make("password"))
    search.files(tmp_path)
    assert search.found == set()
