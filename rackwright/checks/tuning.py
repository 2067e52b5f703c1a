"""Rules on what a pool's kernels are set to: known settings, each said once, none against another."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rackwright.catalogue.load import nearest
from rackwright.checks.registry import Breach, rule
from rackwright.findings import SpecPath, did_you_mean
from rackwright.plan import tuning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.catalogue.tuning import Settings
    from rackwright.checks.registry import SpecSubject
    from rackwright.spec.pools import Pool

_PARAMETERS = "Linux, Documentation/admin-guide/kernel-parameters.txt"


class Way(NamedTuple):
    """One way to set something: a field of the settings and, where it is a map, a key of it."""

    field: str
    key: str = ""

    def found(self, settings: Settings) -> object:
        """What is set this way; None is nothing."""
        value = getattr(settings, self.field)
        if isinstance(value, Mapping) and self.key:
            return value.get(self.key)
        return None if value in ({}, ()) else value

    def __str__(self) -> str:
        return f"{self.field}.{self.key}" if self.key else self.field


WAYS: Mapping[str, tuple[Way, ...]] = {
    "transparent huge pages": (Way("transparent_hugepages"), Way("cmdline", "transparent_hugepage")),
    "reserved huge pages": (
        Way("hugepages"),
        Way("cmdline", "hugepages"),
        Way("sysctl", "vm.nr_hugepages"),
    ),
    "NUMA balancing": (Way("sysctl", "kernel.numa_balancing"), Way("cmdline", "numa_balancing")),
    "idle states": (
        Way("cstate_latency_us"),
        Way("cmdline", "intel_idle.max_cstate"),
        Way("cmdline", "cpuidle.off"),
    ),
    "clock source": (Way("clocksource"), Way("cmdline", "clocksource")),
    "governor": (Way("governor"), Way("cmdline", "cpufreq.default_governor")),
    "cgroups": (Way("cgroup"), Way("cmdline", "systemd.unified_cgroup_hierarchy")),
}
"""What is set in one way or another; two of them at once, and the later one in the boot wins silently."""
_OFF = {"iommu": "off", "intel_iommu": "off", "amd_iommu": "off"}
_PASSTHROUGH = {"iommu": "pt", "iommu.passthrough": "1"}


def _pools(subject: SpecSubject) -> Iterator[tuple[SpecPath, str, Pool, Settings]]:
    for name, pool in subject.spec.pools.items():
        yield SpecPath() / "pools" / name / "tuning", name, pool, tuning.settings(subject.catalogue, pool)


@rule(
    "TUNE001",
    remedy="see `sysctl -a` on a host; one that only another module brings may be suppressed with a reason",
    source="the kernel's entry in the catalogue; sysctl(8) fails on what is not there",
)
def sysctls_are_known(subject: SpecSubject) -> Iterator[Breach]:
    """Every sysctl that a pool sets is one that the kernel has."""
    patterns = [pattern for one in subject.catalogue.kernels.values() for pattern in one.sysctls]
    for path, name, pool, _ in _pools(subject):
        for key in pool.tuning.sysctl:
            if not any(fnmatch.fnmatchcase(key, pattern) for pattern in patterns):
                yield Breach(
                    path / "sysctl" / key,
                    f"pool {name} sets a sysctl that no kernel of the catalogue has",
                    got=key,
                    expected="a sysctl of " + " or ".join(sorted(subject.catalogue.kernels)),
                    hint=did_you_mean(key, patterns),
                )


@rule(
    "TUNE002",
    remedy="take the one or the other away; passthrough needs the IOMMU on",
    source=f"{_PARAMETERS}, iommu=, intel_iommu=, iommu.passthrough=",
)
def passthrough_needs_an_iommu(subject: SpecSubject) -> Iterator[Breach]:
    """An IOMMU that is switched off passes nothing through."""
    for path, name, _, settings in _pools(subject):
        words = {key: str(value) for key, value in settings.cmdline.items()}
        off = [key for key, value in _OFF.items() if words.get(key) == value]
        through = [key for key, value in _PASSTHROUGH.items() if words.get(key) == value]
        if off and through:
            yield Breach(
                path / "cmdline",
                f"the IOMMU of pool {name} is both off and passing through",
                got=" ".join(f"{key}={words[key]}" for key in (*off, *through)),
                expected="one of the two",
            )


@rule(
    "TUNE003",
    remedy="keep one; `without` takes the platform's away",
    source=f"{_PARAMETERS}; sysctls are set after the command line and win (seen in a guest)",
)
def nothing_is_set_in_two_ways(subject: SpecSubject) -> Iterator[Breach]:
    """A property of the kernel is set in one way."""
    for path, name, pool, settings in _pools(subject):
        for what, ways in WAYS.items():
            found = [way for way in ways if way.found(settings) is not None]
            if len(found) > 1:
                yield Breach(
                    path / _stated(pool, found).field,
                    f"{what} of pool {name} are set in {len(found)} ways",
                    got=", ".join(f"{way} {way.found(settings)}" for way in found),
                    expected="one of them",
                )


def _stated(pool: Pool, found: list[Way]) -> Way:
    """The one that the spec itself states, which is where its reader looks."""
    stated = tuning.stated(pool.tuning)
    return next((way for way in found if way.field in stated), found[0])


@rule(
    "TUNE004",
    remedy="see `rackwright catalogue show` for what the platform has",
    source="the platform's entry in the catalogue",
)
def what_is_asked_for_is_there(subject: SpecSubject) -> Iterator[Breach]:
    """Hypotheses and settings that a spec names are the platform's."""
    for path, name, pool, _ in _pools(subject):
        platform = tuning.known(subject.catalogue, pool)
        known = {
            "hypotheses": sorted(platform.hypotheses) if platform else [],
            "without": tuning.platform_names(platform),
        }
        for field, there in known.items():
            for one in getattr(pool.tuning, field):
                if one not in there:
                    yield Breach(
                        path / field,
                        f"{pool.platform} of pool {name} has no such setting",
                        got=one,
                        expected="one of the platform's" if there else "none: the platform has none",
                        hint=nearest(one, there) if there else "",
                    )


@rule(
    "TUNE005",
    remedy="keep one of them",
    source="modprobe.d(5): a module that is blocked is never loaded",
)
def no_module_is_loaded_and_blocked(subject: SpecSubject) -> Iterator[Breach]:
    """A module that is loaded at boot, or has options, is not blocked."""
    for path, name, _, settings in _pools(subject):
        wanted = {*settings.load_modules, *settings.module_options}
        for module in sorted(wanted & set(settings.block_modules)):
            yield Breach(
                path / "block_modules",
                f"pool {name} both uses and blocks module {module}",
                got=module,
                expected="one of the two",
            )


@rule(
    "TUNE006",
    remedy="ask for one of them",
    source="two settings of one thing: the later one would win silently",
)
def hypotheses_do_not_contradict(subject: SpecSubject) -> Iterator[Breach]:
    """Hypotheses that are used together set nothing to two values."""
    for path, name, pool, _ in _pools(subject):
        platform = tuning.known(subject.catalogue, pool)
        seen: dict[str, tuple[object, str]] = {}
        for one in pool.tuning.hypotheses:
            for figure, value in tuning.hypothesis(platform, one):
                if seen.setdefault(figure, (value, one))[0] != value:
                    yield Breach(
                        path / "hypotheses",
                        f"pool {name} uses hypotheses that contradict one another",
                        got=f"{figure} {value} of {one}, {seen[figure][0]} of {seen[figure][1]}",
                        expected="one value",
                    )
