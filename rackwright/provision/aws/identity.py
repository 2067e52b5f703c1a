"""Which account the credentials are of, compared with the spec's before anything is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3  # type: ignore[import-untyped]  # (boto3 has no types)
from botocore.config import Config  # type: ignore[import-untyped]  # (boto3 has no types)
from botocore.exceptions import (  # type: ignore[import-untyped]  # (boto3 has no types)
    BotoCoreError,
    ClientError,
)

from rackwright.errors import EnvironmentUnfit
from rackwright.provision.aws import failures

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwright.plan.aws_model import ZoneStack

ATTEMPTS = 10
"""Tries of one call, with rising pauses: EC2 throttles by refusing."""
CONNECT_S, ANSWER_S = 10, 60
CONFIG = Config(
    connect_timeout=CONNECT_S,
    read_timeout=ANSWER_S,
    retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
)


def require_accounts(zones: Iterable[ZoneStack]) -> None:
    """Ask, once for each account and region, who we are.

    Raises:
        EnvironmentUnfit: another account, no credentials, expired ones, or no answer.
    """
    for (account, region), site in {(zone.account, zone.region): zone.site for zone in zones}.items():
        require_account(account, region, f"sites.{site}.account")


def require_account(account: str, region: str, where: str) -> None:
    """Compare one account with GetCallerIdentity.

    Raises:
        EnvironmentUnfit: see `require_accounts`.
    """
    found = _account(region, where)
    if found != account:
        raise EnvironmentUnfit(
            "these credentials are of another AWS account",
            code=failures.WRONG_ACCOUNT,
            where=where,
            got=found,
            expected=account,
            hint="take a profile of the account (AWS_PROFILE=…), or correct the spec",
        )


def _account(region: str, where: str) -> str:
    name = "default"
    try:
        session = boto3.Session()
        name = session.profile_name
        identity = session.client("sts", region_name=region, config=CONFIG).get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        raise failures.login_error(error, name, where) or EnvironmentUnfit(
            "AWS does not tell which account this is",
            code=failures.NOT_ASKED,
            where=where,
            got=str(error),
            expected="an answer of sts:GetCallerIdentity",
            hint="check the way to AWS, and AWS_ENDPOINT_URL if it is set",
        ) from None
    account: str = identity["Account"]
    return account
