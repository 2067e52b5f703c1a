"""What stands before moto: one call at a time, known callers, known calls, faults, and the journal.

A WSGI application around moto's. Reads and changes alike take one lock: moto is not made for several
at once, and ids depend on the order of calls.
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.moto_api._internal import mock_random
from werkzeug.test import EnvironBuilder, run_wsgi_app
from werkzeug.wrappers import Response

from rackwright.lab.aws import refusals
from rackwright.lab.aws.calls import answered, changes, dry_runs
from rackwright.lab.aws.config import GREETING
from rackwright.lab.aws.emulation import WorldSilent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwright.lab.aws.emulation import World
    from rackwright.lab.aws.journal import Call, Journal

    Wsgi = Any
    """A WSGI application; werkzeug's own types for one are not at hand without it."""

_SCOPE = re.compile(r"Credential=([^/]+)/\d{8}/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request")
_GLOBAL = {"iam": "aws", "sts": "aws"}
"""Services without regions, and moto's word for where they are."""
_KEPT_HEADERS = ("HTTP_AUTHORIZATION", "CONTENT_TYPE", "HTTP_USER_AGENT", "HTTP_HOST")
_SIGNATURE = re.compile(r"Signature=[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call before it is answered."""

    key: str
    region: str
    service: str
    name: str
    dry: bool
    body: bytes

    @classmethod
    def of(cls, environ: Mapping[str, Any], body: bytes) -> _Asked:
        scope = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
        form = parse_qs(body.decode(errors="replace"))
        target = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
        path = f"{environ.get('REQUEST_METHOD')} {environ.get('PATH_INFO')}"
        return cls(
            key=scope[1] if scope else "",
            region=scope[2] if scope else "",
            service=scope[3] if scope else "",
            name=form.get("Action", [target or path])[0],
            dry=form.get("DryRun") == ["true"],
            body=body,
        )


class Gate:
    """The emulator as one WSGI application.

    Args:
        moto: moto's.
        world: outside moto.
        journal: of calls that change something.
        keys: access key ids of its account.
        greeting: what it says of itself.
    """

    def __init__(
        self, moto: Wsgi, world: World, journal: Journal, keys: frozenset[str], greeting: Mapping[str, str]
    ) -> None:
        self._moto = moto
        self._world = world
        self._journal = journal
        self._keys = keys
        self._greeting = json.dumps(greeting, sort_keys=True)
        self._one_at_a_time = Lock()
        self._calls = 0

    def replay(self) -> int:
        """Do again what the journal holds; returns how many calls that were."""
        done = 0
        for call in self._journal.read():
            self._replay(call)
            done += 1
        return done

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:  # noqa: ANN401 (WSGI)
        """Answer one request."""
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        return self._response(environ, body)(environ, start_response)

    def _response(self, environ: dict[str, Any], body: bytes) -> Response:
        if environ.get("PATH_INFO") == GREETING:
            return Response(self._greeting, content_type="application/json")
        asked = _Asked.of(environ, body)
        if asked.key not in self._keys:
            return refusals.stranger(asked.service)
        with self._one_at_a_time:
            self._calls += 1
            every = self._world.faults().throttled_every
            if every and self._calls % every == 0:
                return refusals.throttled(asked.service)
            if not answered(asked.service, asked.name):
                return refusals.unsupported(asked.service, asked.name)
            if asked.dry and not dry_runs(asked.name):
                return refusals.unsupported(asked.service, f"{asked.name} with DryRun")
            return self._answer(environ, asked)

    def _answer(self, environ: dict[str, Any], asked: _Asked) -> Response:
        keep = changes(asked.name) and not asked.dry
        self._make_ready(asked)
        self._world.begin_call(None, {})
        if not keep:
            return self._ask_moto(environ, asked.service)
        now = self._world.clock.now()
        headers = {name: _unsigned(environ[name]) for name in _KEPT_HEADERS if name in environ}
        number = self._journal.begin(now, headers, asked.body)
        self._world.begin_call(now, {})
        mock_random.seed(number)
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        try:
            response = self._ask_moto(environ, asked.service)
            status = HTTPStatus(response.status_code)
        finally:  # a call that breaks the emulator must not break its replay too
            self._journal.end(number, status, self._world.refused)
        return response

    def _make_ready(self, asked: _Asked) -> None:
        """An account begins with a default VPC: its ids must not depend on which call came first."""
        where = _GLOBAL.get(asked.service, asked.region)
        mock_random.seed(f"{asked.service} {where}")
        get_backend(asked.service)[DEFAULT_ACCOUNT_ID][where]  # type: ignore[call-overload]  # (literal names)

    def _ask_moto(self, environ: dict[str, Any], service: str) -> Response:
        try:
            content, status, headers = run_wsgi_app(self._moto, environ, buffered=True)
        except WorldSilent as silent:
            return refusals.unavailable(service, str(silent))
        except NotImplementedError as missing:
            return refusals.unsupported(service, str(missing))
        return Response(b"".join(content), status, headers)

    def _replay(self, call: Call) -> None:
        """With machines left alone where the answer was given; one that was cut off is done anew."""
        environ = EnvironBuilder("/", method="POST", data=call.body).get_environ()
        environ |= call.headers
        asked = _Asked.of(environ, call.body)
        self._world.silent = call.status != 0
        self._make_ready(asked)
        self._world.begin_call(call.at, call.refused)
        mock_random.seed(call.number)
        response = self._ask_moto(environ, asked.service)
        if call.status == 0:
            self._journal.end(call.number, response.status_code, self._world.refused)
        self._world.silent = False


def _unsigned(header: str) -> str:
    """A signature is of no use later."""
    return _SIGNATURE.sub("Signature=", header)
