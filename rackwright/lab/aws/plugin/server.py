"""`python -m rackwright.lab.aws.plugin.server`: the plugin process of package `aws` in a lab.

Messages of the engine in, `lives` called in a thread (boto3 blocks), answers out. The SDK's own servicer
drops old inputs and turns an error into a traceback; this one does neither.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar

import boto3  # type: ignore[import-untyped]  # (no types of its own; so are the next six)
import grpc  # type: ignore[import-untyped]  # (as boto3)
from botocore.config import Config  # type: ignore[import-untyped]  # (as boto3)
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]  # (as boto3)
from google.protobuf import empty_pb2  # type: ignore[import-untyped]  # (as boto3)
from google.protobuf.json_format import MessageToDict, ParseDict  # type: ignore[import-untyped]  # (as boto3)
from google.protobuf.struct_pb2 import Struct  # type: ignore[import-untyped]  # (as boto3)
from pulumi._types import input_type_types
from pulumi.provider.experimental import provider
from pulumi.provider.experimental.server import ProviderServicer
from pulumi.runtime import proto
from pulumi.runtime.proto import provider_pb2_grpc
from pulumi_aws.provider import ProviderArgs

from rackwright.errors import RackwrightError, UsageError
from rackwright.lab.aws.plugin import lives
from rackwright.lab.aws.plugin.inputs import faults
from rackwright.lab.aws.plugin.install import ENDPOINT_OPTION, version
from rackwright.lab.aws.plugin.resource import Clients

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from rackwright.lab.aws.plugin.inputs import Fault
    from rackwright.lab.aws.plugin.resource import Props

_MESSAGE_BYTES = 400 * 1024 * 1024
"""As Pulumi's own plugins."""
_ATTEMPTS = 10
_CONFIGURED = frozenset({"region", "allowedAccountIds"})
"""Inputs of the provider that are imitated."""
_SDK_DEFAULTS = {"skipCredentialsValidation": False, "skipRegionValidation": True}
"""What `pulumi_aws` sends where the program says nothing; with other values they are refused."""
_ENDPOINT = "AWS_ENDPOINT_URL"
_PARENT_POLL_S = 0.1

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Context(Protocol):
    """What is used of a call's context (grpc.aio has no types)."""

    async def abort(self, code: grpc.StatusCode, details: str) -> NoReturn:
        """End the call with an error."""
        ...


def _plainly(
    method: Callable[Concatenate[Servicer, _P], Awaitable[_R]],
) -> Callable[Concatenate[Servicer, _P], Awaitable[_R]]:
    """Send an error as one line instead of the SDK's traceback."""

    @functools.wraps(method)
    async def answered(self: Servicer, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        context: Any = args[1]
        try:
            return await method(self, *args, **kwargs)
        except RackwrightError as error:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, line_of(error))
            raise
        except (ClientError, BotoCoreError) as error:
            await context.abort(grpc.StatusCode.UNKNOWN, str(error))
            raise

    return answered


def line_of(error: RackwrightError) -> str:
    """A user error in one line."""
    facts = (("got", error.got), ("expected", error.expected), ("hint", error.hint))
    told = [f"{name} {fact}" for name, fact in facts if fact]
    return "; ".join([f"{error.where}: {error.code} {error.message}", *told])


class Provider(provider.Provider):
    """Nothing of its own: all is in `Servicer`."""


class Servicer(ProviderServicer):
    """What the engine asks.

    Args:
        engine: its address.
        endpoints: of the lab's emulator; no other is ever asked.
    """

    def __init__(self, engine: str, endpoints: frozenset[str]) -> None:
        super().__init__([], version(), Provider(), engine)
        self._endpoints = endpoints
        self._clients: Clients | None = None

    async def GetSchema(self, request: object, context: object) -> proto.GetSchemaResponse:  # noqa: N802 (the protocol's names)
        """Name and version; forms are `pulumi_aws`'s."""
        del request, context
        return proto.GetSchemaResponse(schema=json.dumps({"name": "aws", "version": version()}))

    async def CheckConfig(self, request: proto.CheckRequest, context: object) -> proto.CheckResponse:  # noqa: N802
        """Inputs of the provider itself."""
        del context
        return proto.CheckResponse(
            inputs=request.news, failures=_failures(_wrong_config(_plain(request.news)))
        )

    async def DiffConfig(self, request: proto.DiffRequest, context: object) -> proto.DiffResponse:  # noqa: N802
        """A change of region or account is another provider; the SDK (3.272) sends its own answer wrongly."""
        del context
        old, new = _plain(request.old_inputs or request.olds), _plain(request.news)
        names = sorted(name for name in _CONFIGURED if old.get(name) != new.get(name))
        changes = proto.DiffResponse.DIFF_SOME if names else proto.DiffResponse.DIFF_NONE
        return proto.DiffResponse(changes=changes, diffs=names, replaces=names)

    @_plainly
    async def Configure(self, request: proto.ConfigureRequest, context: _Context) -> proto.ConfigureResponse:  # noqa: N802
        """Take region and account; the endpoint is the environment's, and one of the lab's."""
        del context
        given = _decoded(_plain(request.args))
        self._clients = await asyncio.to_thread(clients, given, os.environ, self._endpoints)
        # Without secrets: the engine then sends plain values, and there are none in these resources.
        return proto.ConfigureResponse(acceptSecrets=False, supportsPreview=True, acceptOutputs=False)

    @_plainly
    async def Check(self, request: proto.CheckRequest, context: _Context) -> proto.CheckResponse:  # noqa: N802
        """Inputs of a resource."""
        del context
        wanted, wrong = lives.checked(
            request.urn, _plain(request.olds), _plain(request.news), request.randomSeed
        )
        return proto.CheckResponse(inputs=_struct(wanted), failures=_failures(wrong))

    @_plainly
    async def Diff(self, request: proto.DiffRequest, context: _Context) -> proto.DiffResponse:  # noqa: N802
        """Compare inputs as last found with inputs as wanted."""
        del context
        before = _plain(request.old_inputs) or _plain(request.olds).get("__inputs", {})
        found = lives.difference(request.urn, before, _plain(request.news))
        return proto.DiffResponse(
            changes=proto.DiffResponse.DIFF_SOME if found.changed else proto.DiffResponse.DIFF_NONE,
            diffs=list(found.changed),
            replaces=list(found.replacing),
            # Names are the program's own or fixed: two of a name cannot be at once.
            deleteBeforeReplace=bool(found.replacing),
        )

    @_plainly
    async def Create(self, request: proto.CreateRequest, context: _Context) -> proto.CreateResponse:  # noqa: N802
        """Make it, or foresee it."""
        del context
        wanted = _plain(request.properties)
        if request.preview:
            return proto.CreateResponse(properties=_struct({**wanted, "__inputs": wanted}))
        name, state = await asyncio.to_thread(lives.create, self._known(), request.urn, wanted)
        return proto.CreateResponse(id=name, properties=_struct(state))

    @_plainly
    async def Read(self, request: proto.ReadRequest, context: _Context) -> proto.ReadResponse:  # noqa: N802
        """As it is now; what drifted differs in inputs too."""
        del context
        inputs = _plain(request.inputs)
        found = await asyncio.to_thread(lives.read, self._known(), request.urn, request.id, inputs)
        if found is None:
            return proto.ReadResponse(id="")
        state, drifted = found
        return proto.ReadResponse(id=request.id, properties=_struct(state), inputs=_struct(drifted))

    @_plainly
    async def Update(self, request: proto.UpdateRequest, context: _Context) -> proto.UpdateResponse:  # noqa: N802
        """Change it in place, or foresee it."""
        del context
        before, wanted = _plain(request.olds), _plain(request.news)
        if request.preview:
            return proto.UpdateResponse(properties=_struct(lives.foreseen(request.urn, before, wanted)))
        inputs = _plain(request.old_inputs) or before.get("__inputs", {})
        state = await asyncio.to_thread(lives.update, self._known(), request.urn, request.id, inputs, wanted)
        return proto.UpdateResponse(properties=_struct(state))

    @_plainly
    async def Delete(self, request: proto.DeleteRequest, context: _Context) -> empty_pb2.Empty:  # noqa: N802
        """Remove it."""
        del context
        await asyncio.to_thread(lives.delete, self._known(), request.urn, request.id)
        return empty_pb2.Empty()

    @_plainly
    async def Invoke(self, request: proto.InvokeRequest, context: _Context) -> proto.InvokeResponse:  # noqa: N802
        """No function of the package is imitated."""
        del context
        raise lives.NotImitated("the lab's plugin does not imitate this function", where=request.tok)

    def _known(self) -> Clients:
        if self._clients is None:
            raise UsageError("the provider is not configured", where="package aws")
        return self._clients


def clients(given: Mapping[str, Any], environment: Mapping[str, str], endpoints: frozenset[str]) -> Clients:
    """Clients of the lab's emulator, and of nobody else.

    Raises:
        UsageError: another endpoint, or an account that the program does not allow.
    """
    url = environment.get(_ENDPOINT, "")
    if url not in endpoints:
        raise UsageError(
            "this plugin talks to the lab's own emulator alone",
            code="LAB031",
            where=_ENDPOINT,
            got=url or "not set",
            expected=" or ".join(sorted(endpoints)),
            hint='eval "$(rackwright env SPEC)" sets it',
        )
    region = str(given.get("region") or environment.get("AWS_REGION") or "")
    config = Config(retries={"mode": "standard", "total_max_attempts": _ATTEMPTS}, max_pool_connections=32)
    session = boto3.Session(region_name=region)
    made = {name: session.client(name, endpoint_url=url, config=config) for name in ("ec2", "iam")}
    account = session.client("sts", endpoint_url=url, config=config).get_caller_identity()["Account"]
    allowed = given.get("allowedAccountIds")
    if allowed and account not in allowed:
        raise UsageError(
            "AWS account ID not allowed",
            code="LAB032",
            where="allowed_account_ids",
            got=account,
            expected=", ".join(allowed),
        )
    return Clients(ec2=made["ec2"], iam=made["iam"], region=region, account=account)


def _decoded(config: Props) -> Props:
    """The engine sends a provider's own inputs as texts, those that are no texts as JSON."""
    known = input_type_types(ProviderArgs)
    return {
        name: json.loads(value) if isinstance(value, str) and known.get(name) not in (str, None) else value
        for name, value in lives.plain(config).items()
        if name != "version"
    }


def _wrong_config(config: Props) -> Iterator[Fault]:
    given = _decoded(config)
    yield from faults(ProviderArgs, given)
    for name, value in sorted(given.items()):
        if name not in _CONFIGURED and _SDK_DEFAULTS.get(name) != value:
            yield name, f"the lab's plugin does not imitate the provider's {name}"


def _plain(message: Struct) -> Props:
    found: Props = MessageToDict(message)
    return found


def _struct(properties: Mapping[str, Any]) -> Struct:
    return ParseDict({name: one for name, one in properties.items() if one is not None}, Struct())


def _failures(wrong: Iterable[Fault]) -> list[proto.CheckFailure]:
    return [proto.CheckFailure(property=path, reason=reason) for path, reason in wrong]


async def serve(engine: str, endpoints: frozenset[str]) -> None:
    """Serve one engine until it ends; the port is the first line on stdout, as the engine expects."""
    size = [
        ("grpc.max_receive_message_length", _MESSAGE_BYTES),
        ("grpc.max_send_message_length", _MESSAGE_BYTES),
    ]
    server = grpc.aio.server(options=size)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(engine, endpoints), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await server.wait_for_termination()


def _end_with(parent: int) -> None:
    """An engine that was killed leaves its plugins behind."""
    while os.getppid() == parent:
        time.sleep(_PARENT_POLL_S)
    os._exit(1)


def main() -> None:
    """The launcher's entry: endpoints as options, then the engine's address."""
    options = [word for word in sys.argv[1:] if word.startswith(ENDPOINT_OPTION)]
    engine = next(word for word in sys.argv[1:] if not word.startswith("-"))
    signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(0))
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    asyncio.run(serve(engine, frozenset(word.removeprefix(ENDPOINT_OPTION) for word in options)))


if __name__ == "__main__":
    main()
