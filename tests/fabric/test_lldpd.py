"""Real lldpd on both ends of real links: what lldpctl prints there is read, and compares as the plan says."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright.lab.up import image
from rackwright.plan.build import build
from rackwright.plan.fabric.cables import cables
from rackwright.render.fabric import lldp
from rackwright.render.fabric.network import network
from rackwright.validate.fabric.compare import Kind, compare
from tests.doubles import superpod

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

    Link = tuple[str, str, str, str]

pytestmark = [pytest.mark.lab, pytest.mark.slow]

WORLD = """
set -e
mount -t proc proc /proc
image=$1 folder=$2 hosts=$3
mount -t tmpfs tmpfs "$folder"
host() {
    mkdir -p "$folder/$1/up" "$folder/$1/work" "$folder/$1/root"
    mount -t overlay overlay \\
        -o "lowerdir=$image,upperdir=$folder/$1/up,workdir=$folder/$1/work" "$folder/$1/root"
    mount -t proc proc "$folder/$1/root/proc"
    mount -t tmpfs tmpfs "$folder/$1/root/run"
    mkdir "$folder/$1/root/run/lldpd"
    unshare --net --uts sh -c "hostname $1; ip link set lo up; : >$folder/$1/there; exec sleep infinity" &
    eval "pid_$(echo $1 | tr - _)=$!"
    until test -e "$folder/$1/there"; do sleep 0.1; done
}
pid() { eval "echo \\$pid_$(echo $1 | tr - _)"; }
within() { name=$1; shift; nsenter -t "$(pid $name)" -n -u chroot "$folder/$name/root" "$@"; }
for one in $hosts; do host "$one"; done
while read -r a a_port z z_port; do
    ip link add "$a_port" netns "$(pid $a)" type veth peer name "$z_port" netns "$(pid $z)"
    nsenter -t "$(pid $a)" -n ip link set "$a_port" up
    nsenter -t "$(pid $z)" -n ip link set "$z_port" up
done
for one in $hosts; do within "$one" /usr/sbin/lldpd -d >"$folder/$one/log" 2>&1 & done
for one in $hosts; do
    until within "$one" lldpcli configure lldp tx-hold 100 >/dev/null 2>&1; do sleep 0.2; done
    within "$one" lldpcli configure lldp tx-interval 1 >/dev/null
done
heard() {
    for one in $hosts; do
        within "$one" lldpctl -f keyvalue | sed -n "s/^lldp\\.\\([^.]*\\)\\.chassis\\.name=.*/$one \\1/p"
    done | sort -u | wc -l
}
for _ in $(seq 300); do test "$(heard)" -ge "$4" && break; sleep 1; done
if test "$(heard)" -lt "$4"; then
    for one in $hosts; do echo "--- $one"; within "$one" ip -br link; tail -n 40 "$folder/$one/log"; done >&2
    exit 1
fi
for one in $hosts; do echo "=== $one"; within "$one" lldpctl -f json; done
"""
"""A neighbour is forgotten after tx-interval times tx-hold seconds: with the default of 4 after 4 s, which a
lldpd on a busy machine does not always keep. It was heard, and gone again when it was asked for."""
NAMESPACES = ("unshare", "--mount", "--uts", "--net", "--ipc", "--pid", "--fork", "--kill-child")
WITHIN_S = 600


@pytest.fixture
def plan(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue) -> Plan:
    """One node with two NICs, on a leaf each, and their spine."""
    values = superpod.values(1, unit_nodes=1)
    values["pools"]["gpu"]["fabrics"] = {"compute": {"nics": 2}}
    values["fabrics"]["compute"] = {
        "kind": "ethernet",
        "speed": "400g",
        "topology": values["fabrics"]["compute"]["topology"],
    }
    qm9700 = catalogue.switches["qm9700"].model_copy(update={"kinds": ("ethernet",)})
    return build(make_loaded(values), replace(catalogue, switches={"qm9700": qm9700}), None)[0]


def planned(plan: Plan) -> list[Link]:
    """Cables, with switches' ports as Cumulus Linux calls them."""
    return [
        (one.a.device, port(one.a.device, one.a.port), one.z.device, port(one.z.device, one.z.port))
        for one in cables(plan, "compute")
    ]


def port(device: str, name: str) -> str:
    return name if device.startswith("gpu-") else f"swp{name}"


def told(links: list[Link], folder: Path) -> dict[str, str]:
    """What lldpctl prints on each host and switch of some links."""
    if os.geteuid() != 0:
        pytest.skip("namespaces and mounts need root")
    if not (image() / "usr/sbin/lldpd").exists():
        pytest.skip(f"no lldpd in the image at {image()}; `make setup` makes it")
    hosts = sorted({host for a, _, z, _ in links for host in (a, z)})
    ran = subprocess.run(
        [
            *NAMESPACES,
            "sh",
            "-c",
            WORLD,
            "world",
            image().resolve(),
            folder,
            " ".join(hosts),
            str(2 * len(links)),
        ],
        input="".join(f"{' '.join(link)}\n" for link in links),
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )
    assert ran.returncode == 0, ran.stderr
    parts = (part.partition("\n") for part in ran.stdout.split("=== ")[1:])
    return {name: text for name, _, text in parts}


def test_links_as_planned_have_no_difference(plan: Plan, tmp_path: Path) -> None:
    intended = network(plan, "compute")
    found = compare(intended, lldp.read(told(planned(plan), tmp_path), plan, "compute", intended))
    assert found.differences == ()
    assert found.agreed == 4


def test_crossed_rails_are_found(plan: Plan, tmp_path: Path) -> None:
    one, other, *rest = planned(plan)
    crossed = [(*one[:2], *other[2:]), (*other[:2], *one[2:]), *rest]
    intended = network(plan, "compute")
    (difference,) = compare(
        intended, lldp.read(told(crossed, tmp_path), plan, "compute", intended)
    ).differences
    assert difference.kind is Kind.CROSSED_RAILS
