"""The lock's text: written short, read whole or not at all."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright.errors import LockCorrupt
from rackwright.plan.fabric.frame import Demand, frame
from rackwright.plan.fabric.locked import FabricSeats, Stand
from rackwright.plan.lock import Lock, PoolSeats, Seat, parse, render

PATH = Path("clusters/small.lock.yaml")
LOCK = Lock(
    cluster="small",
    catalogue_sha256="0" * 64,
    rails={"compute": 2},
    pools={
        "node": PoolSeats(
            "hall",
            {
                1: Seat(0, "r01p01", 1),
                2: Seat(1, "r01p01", 9),
                3: Seat(2, "r01p01", 17),
                5: Seat(7, "r01p02", 1),
            },
        ),
        "cloud": PoolSeats("use2", {1: Seat(0), 2: Seat(1)}),
        "on": PoolSeats("yes", {1: Seat(1)}),
    },
    fabrics={
        "compute": FabricSeats(places={"node": {1: 0, 2: 1, 3: 2, 5: 3}}),
        "tree": FabricSeats(
            tree=frame(Demand(endpoints=15, ports=8, unit_nodes=4, manager_uplinks=1)),
            places={"node": {1: 0, 2: 1, 3: 3}, "on": {1: 2}},
            manager={1: 15},
            switches={"leaf": {1: Stand("r01p01", 40), 2: Stand("r01p01", 41), 3: Stand("r01p02", 40)}},
        ),
    },
)


def test_the_text_is_short_and_sorted() -> None:
    body = render(LOCK).splitlines()[1:-1]
    assert "\n".join(body) == (
        f"""\
rackwright-lock: 1
cluster: small
catalogue: "{"0" * 64}"
fabrics:
  compute:
    rails: 2
    places:
      node: {{1-3: 0-2, 5: 3}}
  tree:
    tree: {{attach: rail, units: 4, unit_nodes: 4, rails: 1, planes: 1, breakout: 1, ports: 8, uplinks: 4, \
spines: 2, pod_leaves: 4, spine_uplinks: 0, cores: 0}}
    places:
      node: {{1-2: 0-1, 3: 3}}
      "on": {{1: 2}}
    manager: {{1: 15}}
    switches:
      leaf:
        r01p01: {{1-2: 40-41}}
        r01p02: {{3: 40}}
pools:
  cloud:
    site: use2
    indexes:
      1-2: 0-1
  node:
    site: hall
    indexes:
      1-3: 0-2
      5: 7
    racks:
      r01p01: {{1-3: 1-17/8}}
      r01p02: {{5: 1}}
  "on":
    site: "yes"
    indexes:
      1: 1"""
    )


def test_a_lock_from_before_fabrics_had_places_is_read() -> None:
    before = Lock(LOCK.cluster, LOCK.catalogue_sha256, LOCK.rails, LOCK.pools)
    assert "  compute: {rails: 2}\n" in render(before)
    assert parse(render(before), PATH) == before


def test_it_reads_back_what_it_wrote() -> None:
    assert parse(render(LOCK), PATH) == LOCK


names = st.from_regex(r"[a-z]([a-z0-9-]{0,5}[a-z0-9])?", fullmatch=True)


@st.composite
def fabrics(draw: st.DrawFn) -> FabricSeats:
    """Any fabric of which something is kept: no two slots share a place."""
    places = iter(draw(st.permutations(range(40))))
    pools = draw(
        st.dictionaries(names, st.sets(st.integers(1, 20), min_size=1, max_size=6), min_size=1, max_size=3)
    )
    stands = st.builds(Stand, st.sampled_from(["r01p01", "r02p11"]), st.integers(1, 48))
    tree = frame(Demand(endpoints=40, ports=8, unit_nodes=4, partial=True))
    return FabricSeats(
        tree=draw(st.sampled_from([None, tree])),
        places={pool: {slot: next(places) for slot in sorted(taken)} for pool, taken in pools.items()},
        manager={n + 1: next(places) for n in range(draw(st.integers(0, 3)))},
        switches={"leaf": switches} if (switches := draw(st.dictionaries(st.integers(1, 9), stands))) else {},
        site=draw(st.none() | names),
    )


@st.composite
def locks(draw: st.DrawFn) -> Lock:
    """Any lock without contradictions: no two slots of a site share an index."""
    pools: dict[str, PoolSeats] = {}
    free = draw(st.permutations(range(60)))
    for name in draw(st.sets(names, max_size=4)):
        numbers = sorted(draw(st.sets(st.integers(1, 40), min_size=1, max_size=12)))
        indexes, free = free[: len(numbers)], free[len(numbers) :]
        racks = draw(st.sampled_from([(None,), ("r01p01",), ("r01p01", "r02p11")]))
        seats = {
            number: Seat(index, racks[unit % len(racks)], None if racks[0] is None else unit)
            for unit, (number, index) in enumerate(zip(numbers, indexes, strict=True), 1)
        }
        pools[name] = PoolSeats(draw(st.sampled_from(["hall", "off", "use2"])), seats)
    rails = draw(st.dictionaries(names, st.integers(1, 8)))
    return Lock("any", "f" * 64, rails, pools, draw(st.dictionaries(names, fabrics())))


@given(locks())
def test_any_lock_survives_its_text(lock: Lock) -> None:
    text = render(lock)
    assert parse(text, PATH) == lock
    assert render(parse(text, PATH)) == text


def resealed(text: str) -> str:
    """The text as a careful forger leaves it: what matters is found even with a fitting hash."""
    body = text[: text.rindex("sha256:")]
    return f'{body}sha256: "{hashlib.sha256(body.encode()).hexdigest()}"\n'


@pytest.mark.parametrize(
    ("old", "new", "got"),
    [
        ("      1-3: 0-2\n", "      1-3: 0-1\n", "1-3: 0-1"),
        ("      1-3: 0-2\n", "      1-3: 0-2\n      3: 9\n", "slot 3 twice"),
        ("      5: 7\n", "      5: 2\n", "index 2 for slot 5"),
        ("      5: 7\n", "      5: x\n", "'x' is no span"),
        ("      5: 7\n", "      5: 7\n      6: 8\n", "no rack for slot 6"),
        ("      r01p02: {5: 1}\n", "      r01p02: {4: 1}\n", "slot 4"),
        ("      r01p02: {5: 1}\n", "      r01p02: {3: 1, 5: 2}\n", "slot 3"),
        ("      r01p02: {5: 1}\n", "      r01p02: {5: 1}\n      r01p03: {5: 1}\n", "slot 5"),
        ("      r01p02: {5: 1}\n", "      rack2: {5: 1}\n", "'rack2'"),
        ("    site: hall\n", "    site: hall\n    colour: blue\n", "'blue'"),
        ("    site: hall\n", "", "nothing"),
        ("    site: hall\n", "    site: hall\n    site: hall\n", "stands twice"),
        ("rackwright-lock: 1", "rackwright-lock: 2", "2"),
        ("manager: {1: 15}", "manager: {1: 3}", "place 3 for slot 3"),
        ("manager: {1: 15}", "manager: {1: 16}", "place 16 of 16"),
        ("{1-3: 0-2, 5: 3}", "{1-3: 0-2, 5: 1}", "place 1 for slot 5"),
        ("{1-3: 0-2, 5: 3}", "{1-3: 0-2, 3: 7}", "slot 3 twice"),
        ("r01p02: {3: 40}", "r01p02: {2: 40}", "switch 2 twice"),
        ("spines: 2", "spines: 3", "shared out"),
        ("cores: 0", "cores: 2, blue: 1", "1"),
        ("rails: 2", "rails: 0", "0"),
        ("      5: 7\n", "      5-99999999: 7-100000001\n", "5-99999999"),
    ],
)
def test_a_contradiction_is_found_and_said(old: str, new: str, got: str) -> None:
    text = render(LOCK)
    assert old in text
    with pytest.raises(LockCorrupt) as error:
        parse(resealed(text.replace(old, new, 1)), PATH)
    assert got in error.value.got
    assert str(PATH) in error.value.where
    assert "version control" in error.value.hint
    assert error.value.exit_code == 2


def test_a_lock_cut_at_any_line_is_found() -> None:
    lines = render(LOCK).splitlines(keepends=True)
    for kept in range(len(lines)):
        with pytest.raises(LockCorrupt):
            parse("".join(lines[:kept]), PATH)


def test_an_edit_by_hand_is_found() -> None:
    with pytest.raises(LockCorrupt) as error:
        parse(render(LOCK).replace("r01p02: {5: 1}", "r01p02: {5: 2}"), PATH)
    assert "sha256" in error.value.message


def test_two_pools_merged_onto_one_index_are_found() -> None:
    text = render(LOCK).replace('    site: "yes"', "    site: hall")
    with pytest.raises(LockCorrupt) as error:
        parse(resealed(text), PATH)
    assert error.value.got == "index 1 for slot 1"


@pytest.mark.parametrize("text", ["", "[", "a: b: c", "- 1", "\t", "pools: {}", "\x00"])
def test_what_is_no_lock_is_said_to_be_none(text: str) -> None:
    with pytest.raises(LockCorrupt):
        parse(text, PATH)


def test_comments_and_line_ends_do_not_matter() -> None:
    assert parse(render(LOCK).replace("\n", "\r\n") + "# seen by me\n", PATH) == LOCK
