"""Refusals that do not come from moto, in the form in which each service sends its errors."""

from __future__ import annotations

from http import HTTPStatus
from xml.sax.saxutils import escape

from werkzeug.wrappers import Response

_EC2 = (
    "<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
    "<RequestID>rackwright-lab</RequestID></Response>"
)
_OTHERS = (
    "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
    "<RequestId>rackwright-lab</RequestId></ErrorResponse>"
)
_CODES = {
    "stranger": {"ec2": "AuthFailure", "": "InvalidClientTokenId"},
    "throttled": {"ec2": "RequestLimitExceeded", "": "Throttling"},
    "unsupported": {"ec2": "UnsupportedOperation", "": "UnsupportedOperation"},
    "unavailable": {"ec2": "Unavailable", "": "ServiceUnavailable"},
}
"""What happened → service → its code; EC2 has its own (EC2 API reference, error codes)."""


def _refused(what: str, service: str, message: str, status: HTTPStatus) -> Response:
    codes = _CODES[what]
    form = _EC2 if service == "ec2" else _OTHERS
    text = form.format(code=codes.get(service, codes[""]), message=escape(message))
    return Response(text, status, content_type="text/xml")


def stranger(service: str) -> Response:
    """Credentials of nobody: EC2 answers 401, the others 403."""
    if service == "ec2":
        words = "AWS was not able to validate the provided access credentials"
        return _refused("stranger", service, words, HTTPStatus.UNAUTHORIZED)
    words = "The security token included in the request is invalid."
    return _refused("stranger", service, words, HTTPStatus.FORBIDDEN)


def throttled(service: str) -> Response:
    """Too many calls: clients wait and try again."""
    if service == "ec2":
        return _refused("throttled", service, "Request limit exceeded.", HTTPStatus.SERVICE_UNAVAILABLE)
    return _refused("throttled", service, "Rate exceeded", HTTPStatus.BAD_REQUEST)


def unsupported(service: str, call: str) -> Response:
    """A call that is not imitated, by its name; never a friendly guess."""
    words = f"The emulator of the lab does not imitate {service or 'an unsigned call'}: {call}"
    return _refused("unsupported", service, words, HTTPStatus.BAD_REQUEST)


def unavailable(service: str, why: str) -> Response:
    """The lab's daemon is silent: clients try again."""
    return _refused("unavailable", service, why, HTTPStatus.SERVICE_UNAVAILABLE)
