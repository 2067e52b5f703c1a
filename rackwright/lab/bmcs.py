"""The management controllers of a lab: their files, their processes, and whether they answer."""

from __future__ import annotations

import http.client
import os
import ssl
import sys
import threading
import time
from http import HTTPStatus
from typing import TYPE_CHECKING

from rackwright.canonical import write_atomic
from rackwright.errors import EnvironmentUnfit
from rackwright.lab import authority, bmc_config, logins, processes
from rackwright.lab.commands import run
from rackwright.lab.netns import Namespace
from rackwright.lab.places import ROUTER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from rackwright.lab.authority import Authority
    from rackwright.lab.model import Host, World
    from rackwright.spec.credentials import Credentials

ANSWER_WITHIN_S = 120.0
"""All start at once, each with 1.5 s of CPU; the machine may be busy."""
_PROBE_S = 5.0
_END_WITHIN_S = 10.0
_POLL_S = 0.1
_LOG_LINES = 3


def configure(world: World, known: Mapping[str, Credentials], signer: Authority) -> None:
    """Write what is missing of each controller's files; what is there stays as it is.

    Args:
        world: the world.
        known: site → logins.
        signer: of their certificates.
    """
    for host in world.hosts:
        folder = world.places.bmc(host.slot)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        authority.certify(folder, host.bmc_address, signer)
        login = known[host.site].of(host.slot)
        if login is not None and not (folder / bmc_config.PASSWORDS).exists():
            write_atomic(folder / bmc_config.PASSWORDS, logins.hashed(login), mode=0o600)
        if not (folder / bmc_config.CONFIG).exists():
            write_atomic(folder / bmc_config.CONFIG, _config(host).dumps(), mode=0o600)


def _config(host: Host) -> bmc_config.Config:
    return bmc_config.Config(
        slot=host.slot,
        address=host.bmc_address,
        port=host.bmc_port,
        serial=host.serial,
        uuid=host.uuid,
        macs=tuple(nic.mac for nic in host.nics),
    )


def restart(world: World, host: Host) -> None:
    """Start one anew with the files it has now, and wait until it listens, whoever can reach it.

    Raises:
        EnvironmentUnfit: the one before does not end, or this one did not come to listen.
    """
    running = _process(world, host)
    if running is not None:
        running.kill()
        if processes.wait_gone([running], _END_WITHIN_S):
            raise _silent(world, host, f"process {running.pid} does not end")
    pid, end = _spawn(world, host), time.monotonic() + ANSWER_WITHIN_S
    threading.Thread(target=os.waitpid, args=(pid, 0), daemon=True).start()
    while not _listens(world, host):
        if processes.Process.of(pid) is None or time.monotonic() > end:
            raise _silent(world, host, _last_words(world, host))
        time.sleep(_POLL_S)


def _listens(world: World, host: Host) -> bool:
    where = f"src {host.bmc_address}:{host.bmc_port}"
    router = Namespace(world.places.netns(ROUTER))
    return bool(run("nsenter", f"--net={router.path}", "ss", "-H", "-l", "-t", "-n", where).strip())


def start(world: World, ca_pem: str, broken: Collection[str] = ()) -> Iterator[str]:
    """Start those that do not run, and wait until all answer; each that was started is named.

    Args:
        world: the world.
        ca_pem: who signed their certificates.
        broken: slots whose BMC answers nothing that could be waited for.

    Raises:
        EnvironmentUnfit: one ended, or did not answer in time.
    """
    stopped = [host for host in world.hosts if _process(world, host) is None]
    pids = {host.slot: _spawn(world, host) for host in stopped}
    end = time.monotonic() + ANSWER_WITHIN_S
    context = ssl.create_default_context(cadata=ca_pem)
    for host in world.hosts:
        if host.slot not in broken:
            _wait(world, host, pids.get(host.slot), context, end)
        if host.slot in pids:
            yield f"BMC {host.bmc_address} ({host.slot})"


def _process(world: World, host: Host) -> processes.Process | None:
    return processes.read_pid_file(world.places.bmc_pid(host.slot))


def _spawn(world: World, host: Host) -> int:
    router = Namespace(world.places.netns(ROUTER))
    python = (sys.executable, "-I", "-m", bmc_config.MODULE)
    options = (*world.places.arguments(), f"--slot={host.slot}")
    log = world.places.logs / f"bmc.{host.slot}.log"
    return processes.spawn(["nsenter", f"--net={router.path}", *python, *options], log)


def _wait(world: World, host: Host, pid: int | None, context: ssl.SSLContext, end: float) -> None:
    """The BMC answers with a certificate of our authority, and asks for a password."""
    while (got := _probe(host, context)) is not None:
        ended = pid is not None and processes.Process.of(pid) is None
        if ended or time.monotonic() > end:
            raise _silent(world, host, _last_words(world, host) if ended else got)
        time.sleep(_POLL_S)


def _probe(host: Host, context: ssl.SSLContext) -> str | None:
    """None where all is well, else what came instead."""
    connection = http.client.HTTPSConnection(
        host.bmc_address, host.bmc_port, timeout=_PROBE_S, context=context
    )
    try:
        connection.request("GET", "/redfish/v1/Systems")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    finally:
        connection.close()
    return None if status == HTTPStatus.UNAUTHORIZED else f"status {status}"


def _last_words(world: World, host: Host) -> str:
    log = world.places.logs / f"bmc.{host.slot}.log"
    return " ".join(log.read_text(errors="replace").split("\n")[-_LOG_LINES:]).strip()


def _silent(world: World, host: Host, got: str) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "a BMC of the lab does not answer",
        code="LAB009",
        where=f"{host.slot}, https://{host.bmc_address}:{host.bmc_port}",
        got=got,
        hint=f"see {world.places.logs / f'bmc.{host.slot}.log'}; `rackwright lab up` tries again",
    )
