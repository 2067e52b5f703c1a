"""`python -m rackwright.lab.aws.emulator`: the process that is AWS for one lab.

It listens on loopback, and on the lab's leg for a controller that fills burst slots; nowhere else.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import moto.ec2.urls
from moto.ec2.responses import EC2Response
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from rackwright.lab import processes
from rackwright.lab.aws import emulation, instances, templates
from rackwright.lab.aws.config import MODULE, Config
from rackwright.lab.aws.faults import standing
from rackwright.lab.aws.gate import Gate
from rackwright.lab.aws.journal import Journal
from rackwright.lab.aws.launches import Launches
from rackwright.lab.aws.machines import LabdMachines
from rackwright.lab.aws.networks import Networks
from rackwright.lab.aws.placement import Placement
from rackwright.lab.aws.templates import Templates
from rackwright.lab.places import Places

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from flask import Flask

    from rackwright.lab.aws.emulation import World

ALREADY_RUNS = 75
_IDLE_S = 60.0
"""A client that says nothing for so long is hung up on."""
_LOG = logging.getLogger("emulator")


class LabEc2(Launches, Placement, Networks, Templates, EC2Response):
    """EC2 as the lab imitates it."""


class _Handler(WSGIRequestHandler):
    timeout = _IDLE_S
    protocol_version = "HTTP/1.1"


def gate(world: World, journal: Path, config: Config) -> Gate:
    """The emulator as an application, with all that its journal holds."""
    emulation.enter(world)
    instances.install()
    templates.install()
    _follow(world)
    moto.ec2.urls.url_paths = {"{0}/": LabEc2.dispatch}
    stock = DomainDispatcherApplication(_application)
    made = Gate(
        stock,
        world,
        Journal(journal),
        frozenset({config.access_key}),
        {"schema": "rackwright/emulator/1", "cluster": config.cluster},
    )
    _LOG.info("%d calls done again", made.replay())
    return made


def _follow(world: World) -> None:
    """Let moto take the time from our clock: what is replayed was made when it was made."""

    def utcnow() -> datetime:
        return world.clock.now()

    for name, module in list(sys.modules.items()):
        if name.startswith("moto.") and hasattr(module, "utcnow"):
            setattr(module, "utcnow", utcnow)  # noqa: B010 (a module has no such attribute for mypy)


def _application(service: Any) -> Flask:  # noqa: ANN401 (moto's literal names of services)
    """One service of moto; what goes wrong in it reaches the gate instead of a page of HTML."""
    made = create_backend_app(service)
    made.config["PROPAGATE_EXCEPTIONS"] = True
    return made


def main(arguments: Sequence[str]) -> NoReturn:
    """Be it until a signal ends it; machines stay."""
    places = Places.parse(arguments)
    if places is None:
        sys.exit(f"usage: {MODULE} --cluster=NAME --state=DIR --run=DIR")
    os.chdir("/")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # a line for each call tells nobody anything
    try:
        processes.claim_pid_file(places.emulator_pid)
        config = Config.read(places.emulator_config)
        sockets = [socket.create_server((address, config.port)) for address in config.addresses]
    except processes.AlreadyRuns:
        sys.exit(ALREADY_RUNS)
    except (OSError, ValueError, TypeError, KeyError) as problem:
        sys.exit(f"emulator of {places.cluster}: {problem}")
    serve(gate(_world(places, config), places.emulator_journal, config), sockets)
    sys.exit(0)


def _world(places: Places, config: Config) -> World:
    return emulation.World(
        machines=LabdMachines(places.socket),
        types=config.instance_types(),
        faults=lambda: standing(places.faults),
        visible_after_s=config.visible_after_s,
        images=frozenset(config.images),
    )


def serve(application: Gate, sockets: Sequence[socket.socket]) -> None:
    """Serve it on all of them."""
    servers = []
    for listening in sockets:
        host, port = listening.getsockname()
        servers.append(ThreadedWSGIServer(host, port, application, _Handler, fd=listening.fileno()))
    threads = [threading.Thread(target=server.serve_forever) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
