"""The whole spec as one frozen value: `ClusterSpec`."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from rackwright.spec.base import Model, Name, forbidden, form, in_place, rolling
from rackwright.spec.fabrics import Fabric
from rackwright.spec.pools import Image, Pool
from rackwright.spec.schedulers import Slurm
from rackwright.spec.sites import Link, Site
from rackwright.spec.storage import Storage

_OWN = "by its own fields"


class Identity(Model):
    """Who the cluster is."""

    name: Annotated[Name, forbidden("the state folder and every stack are named after it")]
    domain: Annotated[
        str, form(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", "a DNS domain: `atlas.example`"), rolling("host names")
    ]


class State(Model):
    """Where the engine keeps its state, and what encrypts it."""

    backend: Annotated[
        str,
        form(r"^(local|(s3|gs|azblob|file)://.+)$", "`local`, or the URL of a bucket: `s3://atlas-state`"),
        forbidden("moved by hand"),
    ] = "local"
    """``local`` is a folder under the cluster's state; for more than one operator use a bucket."""
    secrets: Annotated[
        str,
        form(
            r"^(passphrase|(awskms|gcpkms|azurekeyvault|hashivault)://.+)$",
            "`passphrase`, or the URL of a key: `awskms://alias/atlas`",
        ),
        forbidden("pulumi stack change-secrets-provider"),
    ] = "passphrase"


class Validation(Model):
    """What is proven by default."""

    suite: Annotated[Name, in_place("read at each validation")] = "acceptance"
    on_demand: Annotated[bool, in_place("read at each validation")] = False
    """Whether slots on demand are asked for too: Slurm launches them for the job, which costs money."""


class Suppression(Model):
    """A rule's finding that is tolerated: visible, dated, with its reason."""

    rule: Annotated[
        str, form(r"^[A-Z]{2,6}[0-9]{3}$", "the code of a rule: `EFA003`"), in_place("read by the checks")
    ]
    path: Annotated[str, in_place("read by the checks")]
    """Dotted path; it covers all below it."""
    reason: Annotated[
        str, StringConstraints(min_length=1, strip_whitespace=True), in_place("read by the checks")
    ]
    until: Annotated[date, in_place("read by the checks")]
    """Last day on which it holds."""


class ClusterSpec(Model):
    """A cluster as its owner wants it."""

    rackwright: Annotated[Literal[1], forbidden("schema version")]
    """Version of the spec's schema."""
    include: Annotated[list[str], in_place("read when the spec is loaded")] = []
    """Files whose maps are merged with this one's, relative to this file."""
    cluster: Annotated[Identity, forbidden(_OWN)]
    state: Annotated[State, forbidden(_OWN)] = State()
    images: Annotated[dict[Name, Image], rolling(_OWN)]
    sites: Annotated[dict[Name, Site], Field(min_length=1), in_place(_OWN)]
    links: Annotated[dict[Name, Link], in_place(_OWN)] = {}
    pools: Annotated[dict[Name, Pool], Field(min_length=1), in_place(_OWN)]
    fabrics: Annotated[dict[Name, Fabric], in_place(_OWN)] = {}
    storage: Annotated[dict[Name, Storage], in_place(_OWN)] = {}
    schedulers: Annotated[dict[Name, Slurm], in_place(_OWN)] = {}
    validation: Annotated[Validation, in_place(_OWN)] = Validation()
    suppress: Annotated[list[Suppression], in_place(_OWN)] = []
