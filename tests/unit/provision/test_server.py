"""The provider over its wire: what the engine sends, and what it gets, as messages of the protocol."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc  # type: ignore[import-untyped]
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict  # type: ignore[import-untyped]
from google.protobuf.struct_pb2 import Struct  # type: ignore[import-untyped]
from pulumi.runtime import proto
from pulumi.runtime.proto import provider_pb2_grpc, status_pb2

from rackwright import __version__
from rackwright.provision.provider import Provider
from rackwright.provision.server import Servicer
from tests.doubles.redfish import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.unit.provision.conftest import Ground

URN = "urn:pulumi:t-hall::onprem::rackwright:onprem:Hall$rackwright:onprem:HostSet::node-u01"


class Engine:
    """Talks to a provider as the engine does."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.provider = Provider(ground.folders)
        self.loop = asyncio.new_event_loop()
        self.server, port = self.loop.run_until_complete(self._serve())
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.stub = provider_pb2_grpc.ResourceProviderStub(self.channel)

    async def _serve(self) -> tuple[Any, int]:
        server = grpc.aio.server()
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(
            Servicer(self.provider, "127.0.0.1:1"), server
        )
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        return server, port

    def ask(self, method: str, message: object) -> Any:  # noqa: ANN401 (whatever the method answers)
        """One call, while the provider's loop runs."""
        call = self.loop.run_in_executor(None, getattr(self.stub, method), message)
        return self.loop.run_until_complete(call)

    def configure(self) -> None:
        self.ask("Configure", proto.ConfigureRequest(args=_struct({})))

    def close(self) -> None:
        self.channel.close()
        self.loop.run_until_complete(self.server.stop(None))
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


def _struct(plain: object) -> Struct:
    return ParseDict(plain, Struct())


@pytest.fixture
def engine(ground: Ground) -> Iterator[Engine]:
    made = Engine(ground)
    made.configure()
    yield made
    made.close()


def _inputs(engine: Engine, **held: str) -> Struct:
    return _struct(engine.ground.wanted_set(**held).model_dump(mode="json"))


def _created(engine: Engine) -> Struct:
    created = engine.ask("Create", proto.CreateRequest(urn=URN, properties=_inputs(engine)))
    assert created.id == "hall/node-u01"
    return created.properties


def test_it_tells_its_version_and_needs_no_configuration(engine: Engine) -> None:
    assert engine.ask("GetPluginInfo", proto.PluginInfo()).version == __version__
    assert '"rackwright:onprem:HostSet"' in engine.ask("GetSchema", proto.GetSchemaRequest()).schema
    assert not engine.ask("CheckConfig", proto.CheckRequest(news=_struct({}))).failures


def test_inputs_that_are_no_host_set_are_refused_by_their_place(engine: Engine) -> None:
    assert not engine.ask("Check", proto.CheckRequest(urn=URN, news=_inputs(engine))).failures
    plain = MessageToDict(_inputs(engine))
    del plain["hosts"]["node-001"]["serial"]
    refused = engine.ask("Check", proto.CheckRequest(urn=URN, news=_struct(plain)))
    assert [failure.property for failure in refused.failures] == ["hosts.node-001.serial"]


def test_a_preview_of_a_new_set_looks_and_touches_nothing(engine: Engine) -> None:
    engine.ground.bmc("node-002").fault = Fault.UNAVAILABLE
    request = proto.CreateRequest(urn=URN, properties=_inputs(engine), preview=True)
    foreseen = MessageToDict(engine.ask("Create", request).properties)["hosts"]
    assert {slot: host["power"] for slot, host in foreseen.items()} == {
        "node-001": "on",
        "node-002": "unknown",
    }
    assert foreseen["node-002"]["failure"]["code"] == "BMC005"
    assert {kind for bmc in engine.ground.hall.bmcs.values() for kind in bmc.asked} == {"GET"}


def test_a_preview_of_an_update_speaks_to_new_hosts_only(engine: Engine) -> None:
    inputs = MessageToDict(_inputs(engine))
    del inputs["hosts"]["node-002"]
    request = proto.CreateRequest(urn=URN, properties=_struct(inputs))
    state = engine.ask("Create", request).properties
    for bmc in engine.ground.hall.bmcs.values():
        bmc.asked.clear()
    update = proto.UpdateRequest(id="x", urn=URN, olds=state, news=_inputs(engine), preview=True)
    engine.ask("Update", update)
    assert [slot for slot, bmc in engine.ground.hall.bmcs.items() if bmc.asked] == ["node-002"]


def test_create_then_no_difference(engine: Engine) -> None:
    state = _created(engine)
    assert engine.ground.hall.asked("On") == {"node-001": 1, "node-002": 1}
    diff = engine.ask("Diff", proto.DiffRequest(urn=URN, olds=state, news=_inputs(engine)))
    assert diff.changes == proto.DiffResponse.DIFF_NONE


def test_what_drifted_is_read_and_differs_in_state_and_in_inputs(engine: Engine) -> None:
    state = _created(engine)
    engine.ground.bmc("node-002").power = "Off"
    request = proto.ReadRequest(id="hall/node-u01", urn=URN, properties=state, inputs=_inputs(engine))
    read = engine.ask("Read", request)
    assert MessageToDict(read.properties)["hosts"]["node-002"]["power"] == "off"
    assert MessageToDict(read.inputs)["hosts"]["node-002"]["power"] == "off"
    diff = engine.ask("Diff", proto.DiffRequest(urn=URN, olds=read.properties, news=_inputs(engine)))
    assert diff.changes == proto.DiffResponse.DIFF_SOME
    assert list(diff.detailedDiff) == ['hosts["node-002"].power']
    assert not diff.replaces


@pytest.mark.parametrize("method", ["Create", "Update"])
def test_a_partly_brought_up_set_is_handed_over_with_what_was_done(engine: Engine, method: str) -> None:
    engine.ground.bmc("node-002").fault = Fault.UNAVAILABLE
    request = (
        proto.CreateRequest(urn=URN, properties=_inputs(engine))
        if method == "Create"
        else proto.UpdateRequest(id="hall/node-u01", urn=URN, olds=Struct(), news=_inputs(engine))
    )
    with pytest.raises(grpc.RpcError) as raised:
        engine.ask(method, request)
    detail = _initialisation_failed(raised.value)
    assert detail.id == "hall/node-u01"
    assert len(detail.reasons) == 1
    assert detail.reasons[0].startswith("node-002: BMC005 BMC 127.78.0.2: got HTTP 503")
    hosts = MessageToDict(detail.properties)["hosts"]
    assert (hosts["node-001"]["power"], hosts["node-002"]["power"]) == ("on", "unknown")
    engine.ground.bmc("node-002").fault = None
    again = proto.UpdateRequest(id="hall/node-u01", urn=URN, olds=detail.properties, news=_inputs(engine))
    assert "failure" not in MessageToDict(engine.ask("Update", again).properties)["hosts"]["node-002"]
    assert engine.ground.hall.asked("On") == {"node-001": 1, "node-002": 1}


def _initialisation_failed(error: Any) -> Any:  # noqa: ANN401 (messages without types)
    [(_, raw)] = [pair for pair in error.trailing_metadata() if pair[0] == "grpc-status-details-bin"]
    detail = proto.ErrorResourceInitFailed()
    assert status_pb2.Status.FromString(raw).details[0].Unpack(detail)
    return detail


def test_an_error_of_the_machine_is_one_line_and_no_traceback(engine: Engine) -> None:
    (engine.ground.folders.spec / "bmc.csv").unlink()
    with pytest.raises(grpc.RpcError) as raised:
        engine.ask("Create", proto.CreateRequest(urn=URN, properties=_inputs(engine)))
    said = raised.value.details()
    assert said.startswith("file:bmc.csv: ENV002 a secret cannot be read; got No such file")
    assert "Traceback" not in said
    assert "\n" not in said


def test_state_of_another_version_is_rewritten_not_refused(engine: Engine) -> None:
    olds = _struct({"hosts": {"node-001": {"colour": "red"}}})
    diff = engine.ask("Diff", proto.DiffRequest(urn=URN, olds=olds, news=_inputs(engine)))
    assert diff.changes == proto.DiffResponse.DIFF_SOME
    updated = engine.ask("Update", proto.UpdateRequest(id="x", urn=URN, olds=olds, news=_inputs(engine)))
    assert set(MessageToDict(updated.properties)["hosts"]) == {"node-001", "node-002"}


def test_delete_asks_nobody_and_import_is_refused_with_the_way_to_do_it(engine: Engine) -> None:
    state = _created(engine)
    asked = engine.ground.hall.asked("GET")
    engine.ask("Delete", proto.DeleteRequest(id="hall/node-u01", urn=URN, properties=state))
    assert engine.ground.hall.asked("GET") == asked
    assert {bmc.power for bmc in engine.ground.hall.bmcs.values()} == {"On"}
    with pytest.raises(grpc.RpcError, match="cannot be imported"):
        engine.ask("Read", proto.ReadRequest(id="hall/node-u01", urn=URN))


def test_cancel_begins_no_further_host(make_ground: Callable[..., Ground]) -> None:
    engine = Engine(make_ground())
    engine.configure()
    engine.provider.process.stop()
    with pytest.raises(grpc.RpcError) as raised:
        engine.ask("Create", proto.CreateRequest(urn=URN, properties=_inputs(engine)))
    assert len(_initialisation_failed(raised.value).reasons) == 2
    assert not any(bmc.asked for bmc in engine.ground.hall.bmcs.values())
    engine.close()
