"""What AWS refuses: its codes, ours, and what to do about each."""

from __future__ import annotations

from dataclasses import dataclass

from botocore import exceptions as boto  # type: ignore[import-untyped]  # (boto3 has no types)

from rackwright.errors import EnvironmentUnfit
from rackwright.provision.notes import FailureNote

NO_CAPACITY = "EC2001"
"""There is none now: another try later may find some."""
QUOTA = "EC2002"
"""The account may not have more."""
REFUSED = "EC2003"
"""EC2 answered with another error."""
UNREACHABLE = "EC2004"
THROTTLED = "EC2005"
STOPPED = "EC2006"
"""Its instance was stopped by hand."""
NOT_ALL = "EC2007"
"""Taken back, because its pool wants all of its slots or none."""
STAYED = "EC2008"
"""An instance that is not gone in its time."""
BUSY = "EC2009"
"""Its slot runs jobs."""
STRANGER = "EC2010"
"""It carries the cluster's tag, and is of no pool that is planned."""
INTERRUPTED = "UP010"
"""Stopped before its turn came."""

WRONG_ACCOUNT = "AWS001"
NO_LOGIN = "AWS002"
"""No credentials, a part of them, or some that AWS does not know."""
EXPIRED = "AWS003"
NOT_ASKED = "AWS004"
"""The account could not be asked for."""

_KINDS = {
    "InsufficientInstanceCapacity": NO_CAPACITY,
    "InsufficientHostCapacity": NO_CAPACITY,
    "InsufficientReservedInstanceCapacity": NO_CAPACITY,
    "InsufficientCapacity": NO_CAPACITY,
    "ReservationCapacityExceeded": NO_CAPACITY,
    "SpotMaxPriceTooLow": NO_CAPACITY,
    "UnfulfillableCapacity": NO_CAPACITY,
    "InstanceLimitExceeded": QUOTA,
    "VcpuLimitExceeded": QUOTA,
    "MaxSpotInstanceCountExceeded": QUOTA,
    "RequestLimitExceeded": THROTTLED,
    "Throttling": THROTTLED,
    "ThrottlingException": THROTTLED,
}
"""AWS's code → ours (EC2 API, error codes); every other is `REFUSED`."""
SPENDING = frozenset({NO_CAPACITY, QUOTA})
"""Reasons that the next slot of the pool would meet too."""
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
_NO_ENTRY = frozenset(
    {"InvalidClientTokenId", "AuthFailure", "SignatureDoesNotMatch", "UnrecognizedClientException"}
)
_AGAIN = "run the same command again; what was launched is adopted"
_HINTS = {
    NO_CAPACITY: "try again later, or take another zone or kind of capacity",
    QUOTA: "ask for a higher quota of the account (Service Quotas, EC2)",
    THROTTLED: _AGAIN,
    REFUSED: _AGAIN,
    UNREACHABLE: f"check the way to EC2, then {_AGAIN}",
    NOT_ALL: "nothing of this pool was kept; run the same command again once there is room for all of it",
    INTERRUPTED: _AGAIN,
}


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a slot has no instance."""

    code: str
    """Ours."""
    says: str

    def note(self, slots: str) -> FailureNote:
        """The note of one slot.

        Args:
            slots: which pool, where, and how many of how many are missing.
        """
        return FailureNote(code=self.code, cause=f"{slots}: {self.says}", hint=_HINTS[self.code])


NOT_BEGUN = Cause(INTERRUPTED, "stopped before its turn came; nothing was launched")


def cause(error: boto.BotoCoreError | boto.ClientError) -> Cause:
    """What EC2 answered, or that it did not."""
    if not isinstance(error, boto.ClientError):
        return Cause(UNREACHABLE, f"EC2 did not answer: {error}")
    theirs, message = code_of(error), error.response.get("Error", {}).get("Message", "")
    return Cause(_KINDS.get(theirs, REFUSED), f"{theirs}: {message}")


def code_of(error: boto.ClientError) -> str:
    """AWS's own code."""
    code: str = error.response.get("Error", {}).get("Code", "")
    return code


def login_error(error: Exception, profile: str, where: str) -> EnvironmentUnfit | None:
    """What is wrong with the credentials; None where it is something else."""
    code = code_of(error) if isinstance(error, boto.ClientError) else ""
    missing = (boto.NoCredentialsError, boto.PartialCredentialsError, boto.ProfileNotFound)
    stale = (boto.TokenRetrievalError, boto.UnauthorizedSSOTokenError, boto.SSOTokenLoadError)
    if isinstance(error, missing) or code in _NO_ENTRY:
        message, ours = "there are no AWS credentials that are accepted", NO_LOGIN
    elif isinstance(error, stale) or code in _EXPIRED:
        message, ours = "the AWS credentials have expired", EXPIRED
    else:
        return None
    return EnvironmentUnfit(
        message,
        code=ours,
        where=where,
        got=f"profile {profile}: {code or error}",
        expected="credentials that AWS lets in",
        hint=f"aws sso login --profile {profile}, or choose another by AWS_PROFILE",
    )
