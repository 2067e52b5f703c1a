"""HTTP to one management controller: every request bounded as a whole, none sent twice.

Sushy alone repeats a request that got no answer three times, a power-on too, and a read timeout
of `requests` starts anew with every byte. Here a request that is not done in its time has its
connection cut, and no failure is retried: the next `up` is the retry, and reads the state first.
"""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import requests
import urllib3
from requests.adapters import HTTPAdapter
from sushy import connector  # type: ignore[import-untyped]  # (sushy has no types)

from rackwright.provision.onprem import failures
from rackwright.provision.onprem.failures import failed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rackwright.errors import SubjectFailed

_E = TypeVar("_E", bound=BaseException)
_CLOSINGS = (
    ConnectionAbortedError,
    ConnectionResetError,
    BrokenPipeError,
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
)
"""Ways to see that the other side has gone; which of them is a matter of when a packet came."""
_CLOSED = "a connection that was closed"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a controller may take, seconds."""

    connect_s: float = 4
    """Until TCP is up, and then until TLS is."""
    silence_s: float = 6
    """Without a byte of an answer."""
    request_s: float = 8
    """For one whole answer, however it trickles."""
    power_s: float = 30
    """From a power-on it accepted until it reports it."""
    poll_s: float = 0.5


LIMITS = Limits()
"""A dead or silent controller is known within 10 s; a slow one may take as long as it answers."""


class _Adapter(HTTPAdapter):
    """Keeps hold of the session's connections, to cut one that takes too long."""

    def __init__(self) -> None:
        self.live: set[urllib3.connection.HTTPSConnection] = set()
        self.was_cut = False
        super().__init__(max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 (handed through)
        """As requests, with connections that tell us of themselves."""
        super().init_poolmanager(*args, **kwargs)
        live = self.live

        class Connection(urllib3.connection.HTTPSConnection):
            def connect(self) -> None:
                live.add(self)
                super().connect()

        class Pool(urllib3.HTTPSConnectionPool):
            ConnectionCls = Connection

        self.poolmanager.pool_classes_by_scheme = {"https": Pool}

    def cut(self) -> None:
        """Make every read of every connection return at once."""
        self.was_cut = True
        for connection in tuple(self.live):
            if connection.sock is not None:
                with suppress(OSError):
                    socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)


class Session(requests.Session):
    """A `requests` session to the controller of one host, HTTPS only."""

    def __init__(self, slot: str, address: str, limits: Limits) -> None:
        super().__init__()
        self.slot = slot
        self.address = address
        self.limits = limits
        # Neither a proxy nor a netrc of the environment has a say in how a BMC is reached.
        self.trust_env = False
        self._adapter = _Adapter()
        self.adapters.clear()
        self.mount("https://", self._adapter)

    def request(self, method: str, url: str | bytes, *args: Any, **kwargs: Any) -> requests.Response:  # noqa: ANN401 (handed through)
        """As requests, in `Limits.request_s` at most.

        Raises:
            SubjectFailed: no answer, no whole one, no trusted one, or one that is not JSON.
        """
        kwargs["timeout"] = (self.limits.connect_s, self.limits.silence_s)
        timer = threading.Timer(self.limits.request_s, self._adapter.cut)
        timer.daemon = True
        timer.start()
        try:
            response = super().request(method, url, *args, **kwargs)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise self._failure(error) from None
        finally:
            timer.cancel()
        return self._understood(response)

    def _understood(self, response: requests.Response) -> requests.Response:
        """Sushy takes for granted that an answer is a JSON object; a login page is not."""
        if not response.ok or not response.content:
            return response
        try:
            document: object = response.json()
        except requests.JSONDecodeError:
            document = None
        if isinstance(document, dict):
            return response
        raise failed(
            self.slot,
            failures.UNCLEAR,
            f"BMC {self.address}: got {len(response.content)} bytes that are no JSON, expected Redfish",
            "is this address a BMC, and its Redfish service switched on?",
        )

    def _failure(self, error: Exception) -> SubjectFailed:
        """What a request's failure means for whoever has to mend it."""
        chain = tuple(_causes(error))
        if verification := _first(chain, ssl.SSLCertVerificationError):
            return self._foreign(verification)
        silences = (requests.ReadTimeout, urllib3.exceptions.ReadTimeoutError)
        if self._adapter.was_cut or any(isinstance(cause, silences) for cause in chain):
            return self._silent()
        if _first(chain, requests.ConnectTimeout):
            return self._unreachable(f"no connection within {self.limits.connect_s:g} s")
        if any(isinstance(cause, _CLOSINGS) for cause in chain):
            return self._unreachable(_CLOSED)
        if _first(chain, ssl.SSLError):
            return self._unreachable("a connection that is no TLS")
        system = next((cause for cause in chain if isinstance(cause, OSError) and cause.strerror), None)
        return self._unreachable((system.strerror or "").lower() if system else _CLOSED)

    def _foreign(self, error: ssl.SSLCertVerificationError) -> SubjectFailed:
        cause = f"BMC {self.address}: got a certificate that is not trusted ({error.verify_message})"
        hint = "install the site's BMC certificate on it, or is another machine at this address?"
        return failed(self.slot, failures.FOREIGN, cause, hint)

    def _silent(self) -> SubjectFailed:
        limits = self.limits
        bounds = f"{limits.silence_s:g} s of silence, or {limits.request_s:g} s without a whole answer"
        cause = f"BMC {self.address}: got {bounds}"
        hint = "reset the BMC; it accepts connections and does not serve them"
        return failed(self.slot, failures.SILENT, cause, hint)

    def _unreachable(self, got: str) -> SubjectFailed:
        cause = f"BMC {self.address}: got {got}, expected an answer"
        hint = "check power and cable of the BMC, its address in the asset file and the route to it"
        return failed(self.slot, failures.UNREACHABLE, cause, hint)


class Connector(connector.Connector):  # type: ignore[misc]  # (sushy has no types)
    """Sushy's connector over a bounded session that serves several requests by one connection."""

    def __init__(self, slot: str, address: str, port: int, ca: Path, limits: Limits) -> None:
        super().__init__(f"https://{address}:{port}", verify=str(ca), server_side_retries=1)
        self._session: requests.Session = Session(slot, f"{address}:{port}", limits)

    def _op(self, method: str, path: str = "", **options: object) -> requests.Response:
        options.setdefault("server_side_retries_left", 0)
        response: requests.Response = super()._op(method, path, **options)
        return response


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and all that led to it, as `requests` and urllib3 wrap them."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        cause = waiting.pop(0)
        if isinstance(cause, BaseException) and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            waiting += [getattr(cause, "reason", None), *cause.args, cause.__cause__, cause.__context__]


def _first(chain: Iterable[BaseException], kind: type[_E]) -> _E | None:
    return next((cause for cause in chain if isinstance(cause, kind)), None)
