"""An emulated AWS in this process, with machines that are values: tests switch them on and break them."""

from __future__ import annotations

import io
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import boto3  # type: ignore[import-untyped]  # (no types of its own, nor has botocore)
from botocore.config import Config as ClientConfig  # type: ignore[import-untyped]  # (as boto3)
from moto.iam.models import iam_backends
from moto.moto_api._internal.models import moto_api_backend
from werkzeug.serving import make_server

from rackwright.lab.aws.config import Config
from rackwright.lab.aws.emulation import Faults, InstanceType, Machine, MachineRefused, World
from rackwright.lab.aws.emulator import gate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from rackwright.lab.aws.gate import Gate

Client = Any
"""One of boto3's, which have no types."""
KEY = "LABKEY"
REGION = "us-east-1"
ZONE = "use1-az1"
ACCOUNT = "123456789012"
RAIL = InstanceType("lab1.2rail", cards=(2,), efa_cards=frozenset(), efa_interfaces=0)
WIDE = InstanceType("wide.8efa", cards=(2, 2, 1), efa_cards=frozenset({0, 1}), efa_interfaces=2)
BOUGHT = InstanceType("p5.test", (2,), frozenset({0}), 1, launchable=False)
_SESSION = boto3.Session(region_name=REGION, aws_secret_access_key="secret", aws_access_key_id=KEY)  # noqa: S106 (a double's)


class Boxes:
    """Machines of a test."""

    def __init__(self) -> None:
        self.launched: list[Machine] = []
        self.terminated: list[str] = []
        self.state: dict[str, str] = {}
        self.printed: dict[str, str] = {}
        self.refuse: MachineRefused | None = None
        self.on_launch: Callable[[], object] | None = None
        """Called while a launch is under way."""

    def launch(self, machine: Machine) -> None:
        if self.refuse:
            raise self.refuse
        self.launched.append(machine)
        self.state[machine.instance] = "booting"
        if self.on_launch:
            self.on_launch()

    def terminate(self, instance: str) -> None:
        self.terminated.append(instance)
        self.state.pop(instance, None)

    def states(self) -> Mapping[str, str]:
        return self.state

    def console(self, instance: str) -> str:
        return self.printed.get(instance, "")

    def all_on(self) -> None:
        self.state = dict.fromkeys(self.state, "on")


class Cloud:
    """The emulator, its machines and faults, and clients of it."""

    def __init__(self, journal: Path, secret: str = "secret") -> None:  # noqa: S107 (a double's)
        self.boxes = Boxes()
        self.secret = secret
        """Secret key of whoever calls it."""
        self.faults = Faults()
        self.journal = journal
        self.world = self._world()
        self.gate: Gate | None = None
        self.url = ""
        self.on_answer: Callable[[str], object] | None = None
        """Called with a call's name once it is done, before its caller hears of it."""

    def _world(self) -> World:
        return World(
            machines=self.boxes,
            types={kind.name: kind for kind in (RAIL, WIDE, BOUGHT)},
            faults=lambda: self.faults,
        )

    def begin(self) -> None:
        """Start as a new process does: with nothing but its journal."""
        moto_api_backend.reset()
        self.world = self._world()
        self.gate = gate(
            self.world, self.journal, Config("test", ("127.0.0.1",), 0, REGION, KEY, self.secret, ())
        )

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:  # noqa: ANN401 (WSGI)
        assert self.gate is not None
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        answer = self.gate({**environ, "wsgi.input": io.BytesIO(body)}, start_response)
        if self.on_answer:
            self.on_answer(parse_qs(body.decode()).get("Action", [""])[0])
        return answer

    def client(
        self, service: str = "ec2", key: str = KEY, attempts: int = 1, token: str | None = None
    ) -> Client:
        """One that tries so many times."""
        return _SESSION.client(
            service,
            endpoint_url=self.url,
            aws_access_key_id=key,
            aws_secret_access_key=self.secret,
            aws_session_token=token,
            config=ClientConfig(retries={"mode": "standard", "total_max_attempts": attempts}),
        )

    def there(self) -> dict[str, set[str]]:
        """All that it has, whoever made it: what nobody has taken away again."""
        ec2, iam = self.client(), iam_backends[ACCOUNT]["aws"]
        endpoints = ec2.describe_vpc_endpoints()["VpcEndpoints"]
        listed = {
            "VpcId": ec2.describe_vpcs()["Vpcs"],
            "SubnetId": ec2.describe_subnets()["Subnets"],
            "GroupId": ec2.describe_security_groups()["SecurityGroups"],
            "SecurityGroupRuleId": ec2.describe_security_group_rules()["SecurityGroupRules"],
            "RouteTableId": ec2.describe_route_tables()["RouteTables"],
            "VpcEndpointId": [one for one in endpoints if one["State"] != "deleted"],
            "NetworkInterfaceId": ec2.describe_network_interfaces()["NetworkInterfaces"],
            "LaunchTemplateId": ec2.describe_launch_templates()["LaunchTemplates"],
            "GroupName": ec2.describe_placement_groups()["PlacementGroups"],
        }
        there = {name: {one[name] for one in found} for name, found in listed.items()}
        named = {"roles": set(iam.roles), "profiles": set(iam.instance_profiles)}
        return there | named | {"machines": set(self.boxes.state)}

    def environment(self) -> dict[str, str]:
        """What a program needs to reach it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }


@contextmanager
def served(folder: Path, secret: str = "secret") -> Iterator[Cloud]:  # noqa: S107 (a double's)
    """An emulator on a free port, until the block ends."""
    cloud = Cloud(folder / "journal.jsonl", secret)
    cloud.begin()
    server = make_server("127.0.0.1", 0, cloud, threaded=True)
    cloud.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield cloud
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        moto_api_backend.reset()
