"""What a hall or an account must have: logins, authorities, controllers that answer, consoles, machines."""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from cryptography import x509

from rackwright import hostlists
from rackwright.doctor.machine import refused
from rackwright.errors import EnvironmentUnfit, Failure, SubjectFailed
from rackwright.inventory.collect import console_logs
from rackwright.lack import Lack
from rackwright.plan.model import OnpremSitePlan
from rackwright.provision.aws.identity import require_account
from rackwright.provision.onprem.failures import NO_LOGIN
from rackwright.provision.onprem.reconcile import WORKERS
from rackwright.provision.onprem.redfish import Access, machine, require_authority
from rackwright.spec.credentials import parse
from rackwright.spec.references import locate, read_secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rackwright.doctor.model import Ground
    from rackwright.plan.model import HostPlan, OnpremStack
    from rackwright.spec.credentials import Credentials

_SOON = timedelta(days=14)
_SHOWN = 3
"""Causes that are repeated of many hosts with one code."""


def planned(ground: Ground) -> Iterator[Lack]:
    """The lock beside the spec is the one its plan needs."""
    if ground.stale is not None:
        yield Lack.of(ground.stale)


def provisionable(ground: Ground) -> Iterator[Lack]:
    """Every part of the spec is one that `up` builds."""
    if ground.plan.not_provisionable:
        yield Lack(
            "UP001",
            "parts of this spec are planned, but cannot be built yet",
            "\n".join(ground.plan.not_provisionable),
            "parts that have a stack",
            "build the parts that can be with --stack, or take these out of the spec",
            blocks=False,
        )


def assets(ground: Ground) -> Iterator[Lack]:
    """Each slot of a hall has the machine that the factory delivered for it."""
    for pool, numbers in ground.plan.undelivered.items():
        yield Lack(
            "DOC010",
            "the asset file has no machine for these slots yet: nothing is powered on for them",
            f"slots {numbers} of {pool} without a row",
            "a row for each, with serial, BMC address and MACs",
            "add the rows when the factory sends them, then plan again",
            blocks=False,
            where=f"pools.{pool}.assets",
        )


def _halls(ground: Ground) -> Iterable[tuple[str, OnpremStack, dict[str, HostPlan]]]:
    """Stack, and the hosts whose controllers may be spoken to: those of which nobody else has hold."""
    for name, stack in ground.plan.stacks.onprem.items():
        hosts = {slot: host for one in stack.host_sets.values() for slot, host in one.hosts.items()}
        yield name, stack, {slot: host for slot, host in hosts.items() if not host.held}


def _remedy(reference: str, where: str, deed: str) -> str:
    """What to do about a file that is not there."""
    if reference.startswith("state:"):
        return "it is rackwright's own: in a lab, `rackwright lab up` makes it"
    deed = f"{deed} into the variable" if reference.startswith("env:") else deed
    return f"{deed}; {where} in the spec says where it is looked for"


def _credentials(ground: Ground, reference: str) -> Credentials:
    text = read_secret(reference, ground.folders.spec, ground.folders.state)
    return parse(text, reference)


def bmc_logins(ground: Ground) -> Iterator[Lack]:
    """The file of BMC logins can be read, and has one for every host."""
    for name, stack, hosts in _halls(ground):
        where = f"sites.{name}.bmc.credentials"
        try:
            known = _credentials(ground, stack.bmc.credentials)
        except EnvironmentUnfit as error:
            yield Lack.of(error, hint=_remedy(stack.bmc.credentials, where, "write it"))
            continue
        if without := [slot for slot in hosts if known.of(slot) is None]:
            yield Lack(
                NO_LOGIN,
                "management controllers have no login",
                f"none for {hostlists.folded(without)}",
                "an entry of each slot, or one of *",
                "add them to the file",
                where=stack.bmc.credentials,
            )


def bmc_authority(ground: Ground) -> Iterator[Lack]:
    """The authority that signed the BMCs' certificates is there, and has not run out."""
    for name, stack, _ in _halls(ground):
        path = locate(stack.bmc.ca, ground.folders.spec, ground.folders.state)
        hint = _remedy(stack.bmc.ca, f"sites.{name}.bmc.ca", "export the certificate of your authority")
        unread = list(refused(partial(require_authority, path, stack.bmc.ca), hint))
        yield from unread or _expiring(path, stack.bmc.ca)


def _expiring(path: Path, where: str) -> Iterator[Lack]:
    now = datetime.now(UTC)
    for one in x509.load_pem_x509_certificates(path.read_bytes()):
        if one.not_valid_after_utc < now + _SOON:
            yield Lack(
                "DOC011",
                "the authority of the BMCs' certificates runs out",
                f"valid until {one.not_valid_after_utc:%Y-%m-%d}",
                "valid for the time of the work",
                "renew the authority and the controllers' certificates",
                blocks=one.not_valid_after_utc < now,
                where=where,
            )


def bmcs(ground: Ground) -> Iterator[Lack]:
    """Every management controller answers, lets us in, and serves the machine of its slot."""
    for _, stack, hosts in _halls(ground):
        access = Access(
            stack.bmc.port,
            locate(stack.bmc.ca, ground.folders.spec, ground.folders.state),
            _credentials(ground, stack.bmc.credentials),
        )
        yield from _grouped(_failures(hosts, access))


def _failures(hosts: dict[str, HostPlan], access: Access) -> list[Failure]:
    with ThreadPoolExecutor(WORKERS, "doctor") as workers:
        found = workers.map(lambda slot: _ask(slot, hosts[slot], access), sorted(hosts))
        return [failure for failures in found for failure in failures]


def _ask(slot: str, host: HostPlan, access: Access) -> tuple[Failure, ...]:
    try:
        with machine(slot, host.bmc_address, host.serial, access):
            return ()
    except SubjectFailed as error:
        return error.failures


def _grouped(failures: Iterable[Failure]) -> Iterator[Lack]:
    """One lack for all hosts with one trouble: a hall with the wrong password is one thing to mend."""
    alike: dict[tuple[str, str], list[Failure]] = defaultdict(list)
    for failure in failures:
        alike[failure.code, failure.hint].append(failure)
    for (code, hint), same in alike.items():
        more = [f"and {len(same) - _SHOWN} more"] if len(same) > _SHOWN else []
        yield Lack(
            code,
            "management controllers cannot be used",
            "\n".join([*(failure.cause for failure in same[:_SHOWN]), *more]),
            "Redfish over TLS that lets us in, and the serial number of the asset file",
            hint,
            where=hostlists.folded(failure.subject for failure in same),
        )


def consoles(ground: Ground) -> Iterator[Lack]:
    """The folder that console servers write to is there: host keys are read from it."""
    folders = {name: logs.folder for name, logs in console_logs(ground.plan, ground.folders.spec).items()}
    for name, site in ground.plan.sites.items():
        if isinstance(site, OnpremSitePlan) and not folders[name].is_dir():
            yield Lack(
                "DOC012",
                "there is no folder of console logs: no host's key can be known",
                "nothing" if not folders[name].exists() else "no folder",
                "a folder in which each host has a file of its name",
                "mount what the console server writes here, before hosts are powered on; "
                "a lab makes it at the first power-on",
                blocks=not site.access.console_logs.startswith("state:"),
                where=f"sites.{name}.access.console_logs: {folders[name]}",
            )


def accounts(ground: Ground) -> Iterator[Lack]:
    """The credentials of AWS are there, and are of the accounts that the spec names."""
    zones = {(one.account, one.region): one.site for one in ground.plan.stacks.aws_network.values()}
    for (account, region), site in zones.items():
        yield from refused(partial(require_account, account, region, f"sites.{site}.account"))
