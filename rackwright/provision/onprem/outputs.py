"""Outputs of an on-prem stack: one typed, versioned object, by slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from rackwright.provision.notes import FailureNote
from rackwright.provision.onprem.model import FoundHost, Power
from rackwright.spec.base import Model

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA: Literal["rackwright/stack-outputs/onprem/1"] = "rackwright/stack-outputs/onprem/1"


class HostOutput(Model):
    """One slot."""

    state: Power
    """As last found; ``unknown`` goes with `failed`."""
    bmc_address: str
    serial: str
    held: str
    """Why it is not touched; empty when it is."""
    failed: FailureNote | None


class OnpremOutputs(Model):
    """All slots of a site."""

    schema_: Annotated[Literal["rackwright/stack-outputs/onprem/1"], Field(alias="schema")] = SCHEMA
    site: str
    hosts: dict[str, HostOutput]


def outputs(site: str, hosts: Mapping[str, FoundHost]) -> OnpremOutputs:
    """The outputs of hosts as found."""
    return OnpremOutputs(site=site, hosts={slot: _of(hosts[slot]) for slot in sorted(hosts)})


def _of(host: FoundHost) -> HostOutput:
    return HostOutput(
        state=host.power,
        bmc_address=host.bmc_address,
        serial=host.serial,
        held=host.held,
        failed=host.failure,
    )
