"""`python -m rackwright.provision.server`: the plugin process of package `rackwright`.

Messages of the engine in, `onprem/hostset.py` called in a thread (sushy blocks), answers out. The
SDK's own servicer turns an error into a traceback and knows no partial success; this one sends the
error as it is, and a partly brought-up set with `ErrorResourceInitFailed`, so that the engine keeps
what was done, reports what was not, and tries that again at the next `up`.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar

import grpc  # type: ignore[import-untyped]  # (no types of its own; so are the next three)
from google.protobuf import empty_pb2  # type: ignore[import-untyped]  # (as grpc)
from google.protobuf.json_format import MessageToDict, ParseDict  # type: ignore[import-untyped]  # (as grpc)
from google.protobuf.struct_pb2 import Struct  # type: ignore[import-untyped]  # (as grpc)
from pulumi.provider.experimental.server import ProviderServicer
from pulumi.runtime import proto
from pulumi.runtime.proto import provider_pb2_grpc, status_pb2
from pydantic import ValidationError

from rackwright import __version__
from rackwright.errors import EnvironmentUnfit, Failure, RackwrightError
from rackwright.provision.lifeline import end_with_engine
from rackwright.provision.onprem import busy, hostset
from rackwright.provision.onprem.changes import Change, changes
from rackwright.provision.onprem.model import FoundSet, WantedSet
from rackwright.provision.provider import Provider

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from rackwright.provision.onprem.redfish import Access
    from rackwright.spec.base import Model

_MESSAGE_BYTES = 400 * 1024 * 1024
"""As Pulumi's own plugins."""

_P = ParamSpec("_P")
_R = TypeVar("_R")
_M = TypeVar("_M", bound="Model")


class _Context(Protocol):
    """What is used of a call's context (grpc.aio has no types)."""

    async def abort(
        self, code: grpc.StatusCode, details: str, trailing_metadata: tuple[tuple[str, bytes], ...] = ()
    ) -> NoReturn:
        """End the call with an error."""
        ...


def _plainly(
    method: Callable[Concatenate[Servicer, _P], Awaitable[_R]],
) -> Callable[Concatenate[Servicer, _P], Awaitable[_R]]:
    """Send an error of ours as one line with its hint, instead of the SDK's traceback."""

    @functools.wraps(method)
    async def answered(self: Servicer, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return await method(self, *args, **kwargs)
        except RackwrightError as error:
            context: Any = args[1]
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, line_of(error))
            raise

    return answered


def line_of(error: RackwrightError) -> str:
    """A user error in one line."""
    facts = (("got", error.got), ("expected", error.expected), ("hint", error.hint))
    told = [f"{name} {fact}" for name, fact in facts if fact]
    return "; ".join([f"{error.where}: {error.code} {error.message}", *told])


class Servicer(ProviderServicer):
    """Resource operations of the engine, on our own models."""

    def __init__(self, provider: Provider, engine: str) -> None:
        super().__init__([], __version__, provider, engine)
        self._rackwright = provider

    async def Check(self, request: proto.CheckRequest, context: object) -> proto.CheckResponse:  # noqa: N802 (the protocol's names)
        """Refuse inputs that are not a host set, by their place."""
        del context
        try:
            _model(WantedSet, request.news)
        except ValidationError as error:
            return proto.CheckResponse(inputs=request.news, failures=list(_failures(error)))
        return proto.CheckResponse(inputs=request.news)

    async def Diff(self, request: proto.DiffRequest, context: object) -> proto.DiffResponse:  # noqa: N802
        """Compare hosts as last found with hosts as wanted."""
        del context
        wanted = _model(WantedSet, request.news)
        try:
            found = _model(FoundSet, request.olds)
        except ValidationError:
            # State of another version of ours: an update rewrites it, adopting what runs.
            return proto.DiffResponse(changes=proto.DiffResponse.DIFF_SOME, diffs=["hosts"])
        return _difference(found, wanted)

    @_plainly
    async def Create(self, request: proto.CreateRequest, context: _Context) -> proto.CreateResponse:  # noqa: N802
        """Bring up a new set."""
        wanted = _model(WantedSet, request.properties)
        if request.preview:
            return proto.CreateResponse(properties=_struct(hostset.foreseen(wanted)))
        name = f"{wanted.site}/{request.urn.rpartition('::')[2]}"
        found = await self._bring_up(None, wanted)
        await _keep_what_was_done(context, name, found)
        return proto.CreateResponse(id=name, properties=_struct(found))

    @_plainly
    async def Update(self, request: proto.UpdateRequest, context: _Context) -> proto.UpdateResponse:  # noqa: N802
        """Bring up what is not as wanted; forget what is no longer wanted."""
        wanted = _model(WantedSet, request.news)
        if request.preview:
            return proto.UpdateResponse(properties=_struct(hostset.foreseen(wanted)))
        found = await self._bring_up(_model_or_none(FoundSet, request.olds), wanted)
        await _keep_what_was_done(context, request.id, found)
        return proto.UpdateResponse(properties=_struct(found))

    @_plainly
    async def Read(self, request: proto.ReadRequest, context: object) -> proto.ReadResponse:  # noqa: N802
        """Find every host; what drifted differs in inputs too, or the engine would not see it."""
        del context
        if not request.properties.fields:
            raise _not_importable(request.id)
        wanted, before = _model(WantedSet, request.inputs), _model(FoundSet, request.properties)
        reach = await asyncio.to_thread(self._access, wanted)
        found = await asyncio.to_thread(hostset.read, before, reach, self._rackwright.reconciler)
        drifted = hostset.drifted(wanted, found)
        return proto.ReadResponse(id=request.id, properties=_struct(found), inputs=_struct(drifted))

    async def Delete(self, request: proto.DeleteRequest, context: object) -> empty_pb2.Empty:  # noqa: N802
        """Forget the hosts; nothing is powered off."""
        del request, context
        return empty_pb2.Empty()

    async def _bring_up(self, found: FoundSet | None, wanted: WantedSet) -> FoundSet:
        reach = await asyncio.to_thread(self._access, wanted)
        reconciler = self._rackwright.reconciler
        return await asyncio.to_thread(hostset.brought_up, found, wanted, reach, reconciler, self._busy())

    def _busy(self) -> dict[str, str]:
        folders = self._rackwright.folders
        return busy.read(folders.state) if folders else {}

    def _access(self, wanted: WantedSet) -> Access:
        folders = self._rackwright.folders
        if folders is None:
            raise EnvironmentUnfit("the provider is not configured", hint="run `rackwright stacks init SPEC`")
        return hostset.access(wanted.bmc, folders)


def _model(kind: type[_M], message: Struct) -> _M:
    """Plain JSON of the wire as a model; the engine's own ``__…`` properties are not ours."""
    plain = {name: value for name, value in MessageToDict(message).items() if not name.startswith("__")}
    return kind.model_validate(plain)


def _model_or_none(kind: type[_M], message: Struct) -> _M | None:
    try:
        return _model(kind, message)
    except ValidationError:
        return None


def _struct(model: Model) -> Struct:
    return ParseDict(model.model_dump(mode="json", exclude_none=True), Struct())


def _failures(error: ValidationError) -> Iterator[proto.CheckFailure]:
    for fault in error.errors(include_url=False, include_input=False):
        yield proto.CheckFailure(property=".".join(map(str, fault["loc"])), reason=fault["msg"])


def _difference(found: FoundSet, wanted: WantedSet) -> proto.DiffResponse:
    differing = [_path(change) for change in changes(found.hosts, wanted.hosts)]
    differing += [name for name in ("site", "pool", "bmc") if getattr(found, name) != getattr(wanted, name)]
    return proto.DiffResponse(
        changes=proto.DiffResponse.DIFF_SOME if differing else proto.DiffResponse.DIFF_NONE,
        diffs=sorted({path.partition("[")[0] for path in differing}),
        detailedDiff={path: proto.PropertyDiff(kind=proto.PropertyDiff.UPDATE) for path in differing},
        hasDetailedDiff=True,
    )


def _path(change: Change) -> str:
    host = f'hosts["{change.slot}"]'
    return f"{host}.{change.field}" if change.before else host


async def _keep_what_was_done(context: _Context, name: str, found: FoundSet) -> None:
    """Where hosts failed, end the call so that the engine stores the set and reports each of them."""
    failures = list(hostset.failures_of(found.hosts))
    if failures:
        await context.abort(
            grpc.StatusCode.UNKNOWN,
            f"{len(failures)} of {len(found.hosts)} hosts not brought up",
            (("grpc-status-details-bin", _details(name, found, failures)),),
        )


def _details(name: str, found: FoundSet, failures: Sequence[Failure]) -> bytes:
    reasons = [
        f"{failure.subject}: {failure.code} {failure.cause}; hint {failure.hint}" for failure in failures
    ]
    detail = proto.ErrorResourceInitFailed(id=name, properties=_struct(found), reasons=reasons)
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message="; ".join(reasons))
    status.details.add().Pack(detail)
    serialized: bytes = status.SerializeToString()
    return serialized


def _not_importable(name: str) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "a host set cannot be imported",
        where=name,
        hint="`rackwright up SPEC` adopts hosts that already run; nothing is powered off by it",
    )


async def serve(engine: str) -> None:
    """Serve one engine until it ends; the port is the first line on stdout, as the engine expects."""
    size = [
        ("grpc.max_receive_message_length", _MESSAGE_BYTES),
        ("grpc.max_send_message_length", _MESSAGE_BYTES),
    ]
    server = grpc.aio.server(options=size)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(Provider(), engine), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await server.wait_for_termination()


def main() -> None:
    """The launcher's entry: the engine's address is the first argument."""
    engine = next(argument for argument in sys.argv[1:] if not argument.startswith("-"))
    # The engine ends its plugins by SIGINT, and waits 5 s for one that does not go. Ctrl-C does not
    # come this way: the engine starts each plugin in a process group of its own, and tells it by Cancel.
    signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(0))
    # Sushy and urllib3 log what we report ourselves; stderr would show it as the engine's warnings.
    logging.getLogger().addHandler(logging.NullHandler())
    end_with_engine(engine)
    asyncio.run(serve(engine))


if __name__ == "__main__":
    main()
