"""The spec's account against the credentials', before anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import (  # type: ignore[import-untyped]  # (boto3 has no types)
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    ProfileNotFound,
    UnauthorizedSSOTokenError,
)

from rackwright.errors import EnvironmentUnfit
from rackwright.provision.aws import identity
from tests.doubles.ec2 import ACCOUNT, REGION

if TYPE_CHECKING:
    from tests.doubles.ec2 import Cloud

WHERE = "sites.use1.account"


@pytest.fixture
def login(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    for name, value in cloud.environment().items():
        monkeypatch.setenv(name, value)
    return cloud


@pytest.mark.usefixtures("login")
def test_the_account_of_the_spec_is_let_through_and_another_is_refused_with_both_named() -> None:
    identity.require_account(ACCOUNT, REGION, WHERE)
    with pytest.raises(EnvironmentUnfit) as refused:
        identity.require_account("210987654321", REGION, WHERE)
    error = refused.value
    assert (error.code, error.where, error.got, error.expected) == (
        "AWS001",
        WHERE,
        ACCOUNT,
        "210987654321",
    )


def _said(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "GetCallerIdentity")


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (NoCredentialsError(), "AWS002"),
        (ProfileNotFound(profile="bring-up"), "AWS002"),
        (_said("InvalidClientTokenId"), "AWS002"),
        (_said("ExpiredToken"), "AWS003"),
        (UnauthorizedSSOTokenError(), "AWS003"),
        (_said("AccessDenied"), "AWS004"),
        (EndpointConnectionError(endpoint_url="https://sts"), "AWS004"),
    ],
)
def test_each_way_to_be_nobody_has_its_code_and_the_profile_with_the_remedy(
    raised: Exception, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Session:
        profile_name = "bring-up"

        def client(self, *_: object, **__: object) -> None:
            raise raised

    monkeypatch.setattr("boto3.Session", Session)
    with pytest.raises(EnvironmentUnfit) as refused:
        identity.require_account(ACCOUNT, REGION, WHERE)
    assert refused.value.code == code
    assert refused.value.exit_code == 2
    if code != "AWS004":
        assert "profile bring-up" in refused.value.got
        assert "aws sso login --profile bring-up" in refused.value.hint
