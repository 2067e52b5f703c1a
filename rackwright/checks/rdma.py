"""Rules on RDMA over Ethernet: interfaces that can be found, and marks that switches know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.checks.registry import Breach, rule
from rackwright.findings import SpecPath
from rackwright.spec.fabrics import Ethernet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.checks.registry import SpecSubject
    from rackwright.spec.rdma import Rdma


def _fabrics(subject: SpecSubject) -> Iterator[tuple[SpecPath, Ethernet, Rdma]]:
    for name, fabric in subject.spec.fabrics.items():
        if isinstance(fabric, Ethernet) and fabric.rdma is not None:
            yield SpecPath() / "fabrics" / name, fabric, fabric.rdma


@rule("RDMA001", remedy="give the fabric a cidr", source="RoCE v2 is carried by IP (InfiniBand Annex A17)")
def rdma_has_addresses(subject: SpecSubject) -> Iterator[Breach]:
    """An Ethernet fabric with RDMA has addresses."""
    for at, fabric, _ in _fabrics(subject):
        if fabric.cidr is None:
            yield Breach(at / "rdma", "its interfaces have no address", got="no cidr", expected="a cidr")


@rule("RDMA002", remedy="one address for each rail, in their order", source="systemd.link(5): Path=")
def pci_addresses_are_one_a_rail(subject: SpecSubject) -> Iterator[Breach]:
    """A pool names as many PCI addresses as it has rails on the fabric, each once."""
    for name, pool in subject.spec.pools.items():
        for fabric, use in pool.fabrics.items():
            wanted = use.nics if use.nics is not None else len(use.pci)
            if use.pci and (len(use.pci) != wanted or len(set(use.pci)) != len(use.pci)):
                yield Breach(
                    SpecPath() / "pools" / name / "fabrics" / fabric / "pci",
                    "some interface would have no PCI address, or that of another",
                    got=", ".join(use.pci),
                    expected=f"{wanted} different ones",
                )


@rule(
    "RDMA003",
    remedy="give both one mark",
    source="IEEE 802.1Qbb: only packets of a priority that is paused are never dropped",
)
def hosts_and_switches_mark_alike(subject: SpecSubject) -> Iterator[Breach]:
    """RDMA packets carry the mark that the fabric's switches sort by."""
    for at, fabric, rdma in _fabrics(subject):
        if fabric.switches is not None and fabric.switches.dscp != rdma.dscp:
            yield Breach(
                at / "rdma" / "dscp",
                "switches would drop what hosts mark as never to be dropped",
                got=f"{rdma.dscp} of hosts, {fabric.switches.dscp} of switches",
                expected=f"{fabric.switches.dscp}",
            )
