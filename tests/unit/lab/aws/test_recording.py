"""What the emulator writes down of calls: no credential of who calls, and whatever else they said."""

from __future__ import annotations

import base64
import gzip
from typing import TYPE_CHECKING

import pytest

from tests.doubles import canary
from tests.doubles.ec2 import served

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRETS = {"secret key": canary.make("key"), "token": canary.make("token").encode().hex()}


def test_no_credential_of_a_caller_is_written_down(tmp_path: Path) -> None:
    search = canary.Search(SECRETS)
    with served(tmp_path, SECRETS["secret key"]) as cloud:
        ec2 = cloud.client(token=SECRETS["token"])
        ec2.create_vpc(CidrBlock="10.64.0.0/16")
        refused = cloud.client(key="STRANGER", token=SECRETS["token"])
        with pytest.raises(Exception, match="AuthFailure"):
            refused.create_vpc(CidrBlock="10.65.0.0/16")
    assert search.recording(cloud.journal) == 1
    search.files(tmp_path)
    assert search.found == set()
    assert "Signature=," not in cloud.journal.read_text()
    assert "Signature=" in cloud.journal.read_text()


@pytest.mark.parametrize(
    "pack",
    [lambda text: text, lambda text: base64.b64encode(gzip.compress(text.encode())).decode()],
    ids=["plain", "packed"],
)
def test_a_leak_in_user_data_or_in_a_tag_is_found(tmp_path: Path, pack: Callable[[str], str]) -> None:
    leaks = {"in user data": canary.make("data"), "in a tag": canary.make("tag")}
    search = canary.Search(leaks)
    with served(tmp_path) as cloud:
        ec2 = cloud.client()
        vpc = ec2.create_vpc(CidrBlock="10.64.0.0/16")["Vpc"]["VpcId"]
        ec2.create_tags(Resources=[vpc], Tags=[{"Key": "note", "Value": leaks["in a tag"]}])
        data = pack(f"#cloud-config\npassword: {leaks['in user data']}")
        if data.startswith("#"):
            data = base64.b64encode(data.encode()).decode()
        ec2.create_launch_template(LaunchTemplateName="t", LaunchTemplateData={"UserData": data})
    search.recording(cloud.journal)
    assert {found.rpartition(": ")[2].partition(",")[0] for found in search.found} == set(leaks)
