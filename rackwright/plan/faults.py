"""Codes of everything that keeps a spec from being planned; the spec's own are in `spec.faults`."""

from __future__ import annotations

DANGLING = "REF001"
PLATFORM_ELSEWHERE = "PLAT002"
FIGURE_UNKNOWN = "PLAT003"
PORTS_UNCLEAR = "PORT001"
PORTS_TOO_FEW = "PORT002"
PORTS_SPEAK_OTHERWISE = "PORT003"
NO_NIC_PLAN = "NIC001"
FABRIC_IN_TWO_SITES = "FAB001"
NO_SUCH_TREE = "FAB004"
TREE_MOVES = "FAB005"
NO_SWITCH_RACK = "FAB006"
SWITCH_LOST = "FAB007"
NETWORK_MISSING = "NET003"
TOO_MANY_NODES = "ADDR001"
ADDRESS_OUTSIDE = "ADDR002"
FABRIC_TOO_SMALL = "ADDR003"
MORE_RAILS = "ADDR004"
NO_RACK = "RACK001"
SEAT_LOST = "RACK002"
SITE_CHANGED = "SLOT001"
BMC_ADDRESS = "ASSET010"
SLURM_UNKNOWN = "SLURM005"
SLURMS_DIFFER = "SLURM006"
HOSTS_DIFFER = "SLURM007"
BLOCK_SHORT = "SLURM018"
BLOCK_SIZES = "SLURM019"

CODES = {
    DANGLING: "a pool names a site, platform or fabric that is not there",
    PLATFORM_ELSEWHERE: "a platform in a site of a kind where it does not come up",
    FIGURE_UNKNOWN: "the plan needs a figure that no source states",
    PORTS_UNCLEAR: "it is not clear which ports of a platform go to a fabric",
    PORTS_TOO_FEW: "a platform has fewer ports than a fabric is given",
    PORTS_SPEAK_OTHERWISE: "a platform's ports do not speak a fabric's kind",
    NO_NIC_PLAN: "network cards of an EC2 type that do not take a scheme, or are not known well enough",
    FABRIC_IN_TWO_SITES: "a fabric with cables is used in several sites",
    NO_SUCH_TREE: "no fat tree of these switches carries the endpoints as asked",
    TREE_MOVES: "a fat tree whose switches are already cabled otherwise",
    NO_SWITCH_RACK: "switches that find no rack with units and power",
    SWITCH_LOST: "a switch that can no longer stand where the lock has put it",
    NETWORK_MISSING: "a site lacks a network that every host needs",
    TOO_MANY_NODES: "more nodes than a site has addresses",
    ADDRESS_OUTSIDE: "a slot's address lies outside its network, which was made smaller",
    FABRIC_TOO_SMALL: "a fabric's address range is too small for its slots and rails",
    MORE_RAILS: "more rails than a fabric's addresses were laid out for",
    NO_RACK: "nodes that find no rack with units and power",
    SEAT_LOST: "a slot that can no longer stand where the lock has put it",
    SITE_CHANGED: "a pool that would change its site",
    BMC_ADDRESS: "an asset row whose BMC has another address than the planned one",
    SLURM_UNKNOWN: "an image that does not say which Slurm it has",
    SLURMS_DIFFER: "a scheduler whose hosts have different releases of Slurm",
    BLOCK_SHORT: "a block that has fewer nodes than the smallest block size",
    BLOCK_SIZES: "block sizes that are not the first of them, doubled",
    HOSTS_DIFFER: "a scheduler whose platforms confine jobs in different ways",
}
"""Stable: scripts and suppressions name them. A number is never used again."""
