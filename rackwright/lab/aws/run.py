"""The emulated AWS of a lab: its configuration, its process, and how programs find it."""

from __future__ import annotations

import json
import secrets
import socket
import sys
import time
import urllib.request
from typing import TYPE_CHECKING

from rackwright.canonical import write_atomic
from rackwright.errors import EnvironmentUnfit
from rackwright.lab import kept, processes
from rackwright.lab.aws.config import GREETING, MODULE, Config
from rackwright.lab.aws.plugin import install

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from rackwright.lab.aws.emulation import InstanceType
    from rackwright.lab.model import World
    from rackwright.lab.places import Places
    from rackwright.plan.model import Plan

LOOPBACK = "127.0.0.1"
CREDENTIALS = "burst-aws.ini"
"""In the cluster's secrets: where the product looks for those of its controller."""
_ANSWER_WITHIN_S = 120.0
"""Its imports take 3 s of CPU, its journal 10 ms a call; the machine may be busy."""
_PROBE_S = 5.0
_POLL_S = 0.1
_LOG_BYTES = 500


def start(world: World, plan: Plan, types: Mapping[str, InstanceType]) -> Iterator[str]:
    """Bring it up where the lab has a cloud, and its plugin; each thing that was made is named.

    Raises:
        EnvironmentUnfit: it ended, or did not answer in time.
    """
    if not world.cloud:
        return
    places = world.places
    config = configure(world, plan, types)
    if install.install(places.state / "pulumi", config.urls):
        yield "plugin of package aws"
    process = processes.read_pid_file(places.emulator_pid)
    pid = _spawn(places) if process is None else None
    _wait(places, config, pid)
    if pid is not None:
        yield f"AWS emulator at {' and '.join(config.urls)}"


def configure(world: World, plan: Plan, types: Mapping[str, InstanceType]) -> Config:
    """Write what it is; port and credentials stay what they were."""
    path = world.places.emulator_config
    before = _read(path) if path.exists() else None
    zones = [plan.sites[site.site] for site in world.cloud]
    regions = [zone.region for zone in zones if zone.kind == "aws"]
    images = {
        pool.template.ami for zone in plan.stacks.aws_compute.values() for pool in zone.node_sets.values()
    }
    config = Config(
        cluster=world.cluster,
        addresses=(LOOPBACK, world.leg.address.partition("/")[0]),
        port=before.port if before else _free_port(),
        region=regions[0],
        access_key=before.access_key if before else f"LAB{secrets.token_hex(8).upper()}",
        secret_key=before.secret_key if before else secrets.token_hex(20),
        types=tuple(types[name] for name in sorted(types)),
        images=tuple(sorted(images)),
    )
    _write_credentials(world.places, config)
    if config != before:
        _end(world.places)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(path, config.dumps(), mode=0o600)
    return config


def _read(path: Path) -> Config:
    with kept.read_from(path):
        return Config.read(path)


def _write_credentials(places: Places, config: Config) -> None:
    """A profile for a controller that fills slots on demand, which reaches the lab's leg and no loopback."""
    lines = [
        "[default]",
        f"region = {config.region}",
        f"endpoint_url = {config.urls[-1]}",
        f"aws_access_key_id = {config.access_key}",
        f"aws_secret_access_key = {config.secret_key}",
    ]
    write_atomic(places.state / "secrets" / CREDENTIALS, "\n".join([*lines, ""]), mode=0o600)


def _end(places: Places) -> None:
    """One that runs by another configuration; its journal outlives it."""
    process = processes.read_pid_file(places.emulator_pid)
    if process is not None and process.kill():
        processes.wait_gone([process], _PROBE_S)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        return int(taken.getsockname()[1])


def _spawn(places: Places) -> int:
    command = [sys.executable, "-I", "-W", "ignore", "-m", MODULE, *places.arguments()]
    return processes.spawn(command, _log(places))


def _log(places: Places) -> Path:
    return places.logs / "emulator.log"


def _wait(places: Places, config: Config, pid: int | None) -> None:
    """It answers, and is this lab's."""
    end = time.monotonic() + _ANSWER_WITHIN_S
    for url in config.urls:
        while (got := _probe(url, config.cluster)) is not None:
            ended = pid is not None and processes.Process.of(pid) is None
            if ended or time.monotonic() > end:
                raise _silent(places, url, got)
            time.sleep(_POLL_S)


def _probe(url: str, cluster: str) -> str | None:
    """None where all is well, else what came instead."""
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{url}{GREETING}", timeout=_PROBE_S) as answer:
            found = json.load(answer).get("cluster")
    except (OSError, ValueError, AttributeError) as error:
        return str(error) or type(error).__name__
    return None if found == cluster else f"the emulator of {found}"


def _silent(places: Places, url: str, got: str) -> EnvironmentUnfit:
    log = _log(places)
    said = log.read_text(errors="replace")[-_LOG_BYTES:].strip() if log.exists() else ""
    return EnvironmentUnfit(
        "the lab's AWS emulator does not answer",
        code="LAB033",
        where=url,
        got=said or got,
        hint=f"see {log}; `rackwright lab up` tries again",
    )


def alive(places: Places) -> bool | None:
    """Whether it runs; None where the lab has no cloud."""
    if not places.emulator_config.exists():
        return None
    return processes.read_pid_file(places.emulator_pid) is not None


def environment(places: Places) -> dict[str, str]:
    """What programs need to talk to it and to nobody else; nothing where the lab has none."""
    if not alive(places):
        return {}
    config = _read(places.emulator_config)
    return {
        "AWS_ENDPOINT_URL": config.urls[0],
        "AWS_ACCESS_KEY_ID": config.access_key,
        "AWS_SECRET_ACCESS_KEY": config.secret_key,
        "AWS_REGION": config.region,
        "AWS_DEFAULT_REGION": config.region,  # boto3 reads this one, Pulumi's provider the other
        "AWS_EC2_METADATA_DISABLED": "true",
    }
