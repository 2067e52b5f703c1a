"""Which expectation a measurement has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rackwright.validate.expectations import Expectation, Key
from rackwright.validate.measure import common_versions, one_of, platforms, pools
from rackwright.validate.model import Measurement, Run


class Bounds:
    """Expectations of a run, by what they are for."""

    def __init__(self, run: Run, expectations: Iterable[Expectation]) -> None:
        self._checks: Mapping[str, str] = {step.name: step.check for step in run.steps}
        ports = {(rail.fabric, rail.rail) for rail in run.rails}
        self._rails = {fabric: sum(1 for other, _ in ports if other == fabric) for fabric, _ in ports}
        self._platform_of = platforms(run)
        self._pool_of = pools(run)
        self.versions = common_versions(run)
        self._by_name: dict[tuple[str, str], list[Expectation]] = {}
        for expectation in expectations:
            self._by_name.setdefault((expectation.key.check, expectation.key.name), []).append(expectation)

    def check(self, measurement: Measurement) -> str:
        """Check of the suite that it was made for."""
        return self._checks.get(measurement.step, "")

    def of(self, measurement: Measurement) -> Expectation | None:
        """The expectation that says most about it, if there is one in its unit."""
        return max(self.fitting(measurement), key=_weight, default=None)

    def fitting(self, measurement: Measurement) -> list[Expectation]:
        """All expectations that are about it, in its unit."""
        known = self._by_name.get((self.check(measurement), measurement.name), [])
        return [one for one in known if one.unit is measurement.unit and self.fits(one.key, measurement)]

    def fits(self, key: Key, measurement: Measurement) -> bool:
        """Whether a key is about a measurement of its name and check."""
        context = measurement.context
        asked = (
            (key.platform, self.platform(measurement)),
            (key.pool, self.pool(measurement)),
            (key.collective, context.collective or ""),
            (key.algorithm, context.algorithm or ""),
            (key.size_bytes, context.size_bytes),
            (key.fabric, context.fabric or ""),
            (key.rails, self.rails(measurement)),
            (key.ranks, context.ranks),
            (key.link, context.link or ""),
            (key.pattern, context.pattern or ""),
            *((value, context.parameters.get(name)) for name, value in key.parameters.items()),
        )
        versions = (self.versions.get(name) == version for name, version in key.versions.items())
        return all(wanted is None or wanted == got for wanted, got in asked) and all(versions)

    def rails(self, measurement: Measurement) -> int | None:
        """How many rails a measurement went over; None where it is about no fabric."""
        context = measurement.context
        return self._rails.get(context.fabric or "") if context.rail is None else 1

    def platform(self, measurement: Measurement) -> str:
        """The one platform that a measurement is about; empty where there are several, or nobody knows."""
        return one_of(self._platform_of, measurement.context)

    def pool(self, measurement: Measurement) -> str:
        """The one pool that it is about; empty where there are several, or nobody knows."""
        return one_of(self._pool_of, measurement.context)

    def are_kind_of(self, key: Key, measurements: Iterable[Measurement]) -> bool:
        """Whether one of them is of the platform and pool that a key is for, whatever else it says."""
        return any(
            key.platform in (None, self.platform(one)) and key.pool in (None, self.pool(one))
            for one in measurements
        )


def _weight(expectation: Expectation) -> tuple[int, tuple[float, float, int]]:
    """The most specific comes first; of equals the strictest."""
    said = expectation.key.model_dump(exclude={"name", "check", "parameters", "versions"}, exclude_none=True)
    key = expectation.key
    return len(said) + len(key.parameters) + len(key.versions), strictness(expectation)


def strictness(expectation: Expectation) -> tuple[float, float, int]:
    """Greater for what lets less pass: a higher least, a lower most, fewer words."""
    least, most = expectation.at_least, expectation.at_most
    return (
        float("-inf") if least is None else least,
        float("-inf") if most is None else -most,
        -len(expectation.one_of),
    )


def within(measurement: Measurement, expectation: Expectation) -> bool:
    """Whether a value is within its bound; of a value on both sides of nought, its distance from it."""
    value = measurement.value
    if measurement.unit is not expectation.unit:
        return False
    if isinstance(value, str) or expectation.one_of:
        return value in expectation.one_of
    least, most = expectation.at_least, expectation.at_most
    return (least is None or value >= least) and (most is None or abs(value) <= most)


def beyond(measurement: Measurement, expectation: Expectation) -> float:
    """How far a value lies on the wrong side of its bound; below nought on the right one.

    A word that is right counts as nought, one that is not as further than any number.
    """
    value, least, most = amount(measurement), expectation.at_least, expectation.at_most
    if expectation.one_of:
        return 0.0 if within(measurement, expectation) else float("inf")
    sides = (None if least is None else least - value, None if most is None else abs(value) - most)
    return max(side for side in sides if side is not None)


def amount(measurement: Measurement) -> float:
    """A value as a number; a text, which no bandwidth is, counts as less than any."""
    return float("-inf") if isinstance(measurement.value, str) else float(measurement.value)
