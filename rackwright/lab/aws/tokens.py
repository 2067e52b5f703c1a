"""Client tokens of RunInstances as EC2 has them.

The same token with the same parameters answers with the same instances; with others it is an error;
once an instance of it is gone it is IdempotentInstanceTerminated. A token holds for a zone: in another
zone it launches again (EC2 API, ensuring idempotency).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from moto.ec2.exceptions import EC2ClientError

from rackwright.lab.aws.instances import TERMINATED

if TYPE_CHECKING:
    from rackwright.lab.aws.wanted import Params, Wanted

_LONGEST = 64


def earlier(backend: Any, request: Params, wanted: Wanted) -> Any | None:  # noqa: ANN401 (moto's own)
    """The reservation that the request's token has made already; None where it has made none.

    Raises:
        EC2ClientError: it was used for something else, or its instances are gone.
    """
    token = request.get("ClientToken")
    if token is None:
        return None
    if not token.isascii() or len(token) > _LONGEST:
        raise EC2ClientError(
            "InvalidParameterValue", f"Client token must be at most {_LONGEST} ASCII characters."
        )
    known = _known(backend).get((token, wanted.zone))
    if known is None:
        return None
    parameters, reservation = known
    if parameters != _fingerprint(request):
        raise EC2ClientError(
            "IdempotentParameterMismatch",
            "Client token already used before with different request parameters.",
        )
    if any(instance.state == TERMINATED for instance in backend.reservations[reservation].instances):
        raise EC2ClientError(
            "IdempotentInstanceTerminated",
            "The request cannot be completed because the client token is associated "
            "with an instance that has been terminated.",
        )
    return backend.reservations[reservation]


def remember(backend: Any, request: Params, wanted: Wanted, reservation: str) -> None:  # noqa: ANN401
    """Note what a token made."""
    token = request.get("ClientToken")
    if token is not None:
        _known(backend)[token, wanted.zone] = (_fingerprint(request), reservation)


def _known(backend: Any) -> dict[tuple[str, str], tuple[str, str]]:  # noqa: ANN401
    """(token, zone) → parameters, reservation; kept in the backend, with which it begins and ends."""
    known: dict[tuple[str, str], tuple[str, str]] = backend.__dict__.setdefault("lab_tokens", {})
    return known


def _fingerprint(request: Params) -> str:
    plain = {name: value for name, value in request.items() if name not in ("ClientToken", "DryRun")}
    return json.dumps(plain, sort_keys=True, default=str)
