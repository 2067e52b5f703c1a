"""`python -m rackwright.provision.server`: the plugin process of package `rackwright`.

Messages of the engine in, a `Kind` called in a thread (sushy and boto3 block), answers out. The
SDK's own servicer turns an error into a traceback and knows no partial success; this one sends the
error as it is, and a partly brought-up set with `ErrorResourceInitFailed`, so that the engine keeps
what was done, reports what was not, and tries that again at the next `up`.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import logging
import os
import signal
import sys
from pathlib import Path
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
from rackwright.errors import EnvironmentUnfit, RackwrightError
from rackwright.provision.engine_errors import line_of, line_of_failure
from rackwright.provision.kinds import KINDS, model, model_or_none
from rackwright.provision.lifeline import end_with_engine
from rackwright.provision.places import Folders
from rackwright.provision.provider import Provider

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from rackwright.errors import Failure
    from rackwright.provision.kind import Kind
    from rackwright.provision.notes import Change
    from rackwright.spec.base import Model

_MESSAGE_BYTES = 400 * 1024 * 1024
"""As Pulumi's own plugins."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


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


class Servicer(ProviderServicer):
    """Resource operations of the engine, on our own models."""

    def __init__(self, provider: Provider, engine: str) -> None:
        super().__init__([], __version__, provider, engine)
        self._process = provider.process

    async def Check(self, request: proto.CheckRequest, context: object) -> proto.CheckResponse:  # noqa: N802 (the protocol's names)
        """Refuse inputs that are not a set of its kind, by their place."""
        del context
        try:
            model(_kind(request.urn).wanted, MessageToDict(request.news))
        except ValidationError as error:
            return proto.CheckResponse(inputs=request.news, failures=list(_failures(error)))
        return proto.CheckResponse(inputs=request.news)

    async def Diff(self, request: proto.DiffRequest, context: object) -> proto.DiffResponse:  # noqa: N802
        """Compare slots as last found with slots as wanted."""
        del context
        kind = _kind(request.urn)
        wanted = model(kind.wanted, MessageToDict(request.news))
        try:
            found = model(kind.found, MessageToDict(request.olds))
        except ValidationError:
            # State of another version of ours: an update rewrites it, adopting what runs.
            return proto.DiffResponse(changes=proto.DiffResponse.DIFF_SOME, diffs=[kind.slots])
        return _difference(kind, found, wanted)

    @_plainly
    async def Create(self, request: proto.CreateRequest, context: _Context) -> proto.CreateResponse:  # noqa: N802
        """Bring up a new set."""
        kind = _kind(request.urn)
        wanted = model(kind.wanted, MessageToDict(request.properties))
        if request.preview:
            foreseen = await asyncio.to_thread(kind.previewed, self._process, None, wanted)
            return proto.CreateResponse(properties=_struct(foreseen))
        name = f"{wanted.site}/{request.urn.rpartition('::')[2]}"
        found = await asyncio.to_thread(kind.bring_up, self._process, None, wanted)
        await _keep_what_was_done(context, name, kind, found)
        return proto.CreateResponse(id=name, properties=_struct(found))

    @_plainly
    async def Update(self, request: proto.UpdateRequest, context: _Context) -> proto.UpdateResponse:  # noqa: N802
        """Bring up what is not as wanted; let go of what is no longer wanted."""
        kind = _kind(request.urn)
        wanted = model(kind.wanted, MessageToDict(request.news))
        before = model_or_none(kind.found, MessageToDict(request.olds))
        if request.preview:
            foreseen = await asyncio.to_thread(kind.previewed, self._process, before, wanted)
            return proto.UpdateResponse(properties=_struct(foreseen))
        found = await asyncio.to_thread(kind.bring_up, self._process, before, wanted)
        await _keep_what_was_done(context, request.id, kind, found)
        return proto.UpdateResponse(properties=_struct(found))

    @_plainly
    async def Read(self, request: proto.ReadRequest, context: object) -> proto.ReadResponse:  # noqa: N802
        """Find every slot; what drifted differs in inputs too, or the engine would not see it."""
        del context
        if not request.properties.fields:
            raise _not_importable(request.id)
        kind = _kind(request.urn)
        wanted = model(kind.wanted, MessageToDict(request.inputs))
        before = model(kind.found, MessageToDict(request.properties))
        found = await asyncio.to_thread(kind.read, self._process, before, wanted)
        drifted = kind.drifted(wanted, found)
        return proto.ReadResponse(id=request.id, properties=_struct(found), inputs=_struct(drifted))

    @_plainly
    async def Delete(self, request: proto.DeleteRequest, context: object) -> empty_pb2.Empty:  # noqa: N802
        """Let go of the set, as its kind does; state of another version of ours names nothing."""
        del context
        kind = _kind(request.urn)
        found = model_or_none(kind.found, MessageToDict(request.properties))
        if found is not None:
            await asyncio.to_thread(kind.remove, self._process, found)
        return empty_pb2.Empty()


def _kind(urn: str) -> Kind[Any, Any]:
    """Of a resource; the engine sends no type that the schema does not have."""
    return KINDS[urn.split("::")[2].rpartition("$")[2]]


def _struct(value: Model) -> Struct:
    return ParseDict(value.model_dump(mode="json", exclude_none=True), Struct())


def _failures(error: ValidationError) -> Iterator[proto.CheckFailure]:
    for fault in error.errors(include_url=False, include_input=False):
        yield proto.CheckFailure(property=".".join(map(str, fault["loc"])), reason=fault["msg"])


def _difference(kind: Kind[Any, Any], found: Model, wanted: Model) -> proto.DiffResponse:
    differing = [_path(kind.slots, change) for change in kind.changes(found, wanted)]
    differing += kind.ground(found, wanted)
    return proto.DiffResponse(
        changes=proto.DiffResponse.DIFF_SOME if differing else proto.DiffResponse.DIFF_NONE,
        diffs=sorted({path.partition("[")[0] for path in differing}),
        detailedDiff={path: proto.PropertyDiff(kind=proto.PropertyDiff.UPDATE) for path in differing},
        hasDetailedDiff=True,
    )


def _path(slots: str, change: Change) -> str:
    slot = f'{slots}["{change.slot}"]'
    return f"{slot}.{change.field}" if change.before else slot


async def _keep_what_was_done(context: _Context, name: str, kind: Kind[Any, Any], found: Model) -> None:
    """Where slots failed, end the call so that the engine stores the set and reports each of them."""
    failures = list(kind.failures(found))
    if failures:
        await context.abort(
            grpc.StatusCode.UNKNOWN,
            f"{len(failures)} of {kind.standing(found)[1]} {kind.noun}s not brought up",
            (("grpc-status-details-bin", _details(name, found, failures)),),
        )


def _details(name: str, found: Model, failures: Sequence[Failure]) -> bytes:
    reasons = list(map(line_of_failure, failures))
    detail = proto.ErrorResourceInitFailed(id=name, properties=_struct(found), reasons=reasons)
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message="; ".join(reasons))
    status.details.add().Pack(detail)
    serialized: bytes = status.SerializeToString()
    return serialized


def _not_importable(name: str) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "a node set cannot be imported",
        where=name,
        hint="`rackwright up SPEC` adopts what already runs; nothing is switched off by it",
    )


async def serve(engine: str, folders: Folders) -> None:
    """Serve one engine until it ends; the port is the first line on stdout, as the engine expects."""
    size = [
        ("grpc.max_receive_message_length", _MESSAGE_BYTES),
        ("grpc.max_send_message_length", _MESSAGE_BYTES),
    ]
    server = grpc.aio.server(options=size)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(Provider(folders), engine), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await server.wait_for_termination()


def _arguments(words: Sequence[str]) -> tuple[str, Folders]:
    """The launcher's options, and the engine's address; the engine adds options, which come and go."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--spec-folder", type=Path, required=True)
    parser.add_argument("--state-folder", type=Path, required=True)
    parser.add_argument("engine")
    told, _ = parser.parse_known_args(words)
    return told.engine, Folders(spec=told.spec_folder, state=told.state_folder)


def main() -> None:
    """The launcher's entry."""
    engine, folders = _arguments(sys.argv[1:])
    # The engine ends its plugins by SIGINT, and waits 5 s for one that does not go. Ctrl-C does not
    # come this way: the engine starts each plugin in a process group of its own, and tells it by Cancel.
    signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(0))
    # Sushy and urllib3 log what we report ourselves; stderr would show it as the engine's warnings.
    logging.getLogger().addHandler(logging.NullHandler())
    end_with_engine(engine)
    asyncio.run(serve(engine, folders))


if __name__ == "__main__":
    main()
