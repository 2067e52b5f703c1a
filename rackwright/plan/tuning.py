"""A platform's settings and a pool's wishes in, what the kernels of its hosts are set to out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.catalogue.model import leaves
from rackwright.catalogue.tuning import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.catalogue.load import Catalogue
    from rackwright.catalogue.tuning import Tuning
    from rackwright.spec.pools import Pool
    from rackwright.spec.tuning import Tuning as Wishes

_ASKED = frozenset({"hypotheses", "without"})
"""Fields of a spec's tuning that choose among the platform's settings, and set nothing themselves."""

Tree = dict[str, object]


def known(catalogue: Catalogue, pool: Pool) -> Tuning | None:
    """What the catalogue has for a pool's platform; None where it leaves the kernel as it is."""
    platform = catalogue.platforms.get(pool.platform)
    return catalogue.tuning[platform.tuning] if platform and platform.tuning else None


def settings(catalogue: Catalogue, pool: Pool) -> Settings:
    """All that is set on a pool's hosts: the platform's, the hypotheses that are asked for, the spec's."""
    platform, wishes = known(catalogue, pool), pool.tuning
    tree: Tree = _set(platform.settings) if platform else {}
    for name in wishes.hypotheses:
        if platform and name in platform.hypotheses:
            tree = merged(tree, _set(platform.hypotheses[name]))
    for name in wishes.without:
        tree = without(tree, name)
    return Settings.model_validate(merged(tree, stated(wishes)))


def _set(one: Settings) -> Tree:
    return one.model_dump(exclude_defaults=True)


def stated(wishes: Wishes) -> Tree:
    """What a spec sets itself."""
    return wishes.model_dump(exclude_defaults=True, exclude=set(_ASKED))


def merged(below: Mapping[str, object], above: Mapping[str, object]) -> Tree:
    """Maps key by key, lists one behind the other, of all else the upper one."""
    return {**below, **{key: _merged(below.get(key), value) for key, value in above.items()}}


def _merged(below: object, above: object) -> object:
    if isinstance(below, dict) and isinstance(above, dict):
        return merged(below, above)
    if isinstance(below, list | tuple) and isinstance(above, list | tuple):
        return [*below, *(one for one in above if one not in below)]
    return above


def without(tree: Mapping[str, object], name: str) -> Tree:
    """A tree less what a dotted name leads to; keys may hold dots themselves."""
    kept = {key: value for key, value in tree.items() if key != name}
    for key, value in kept.items():
        if isinstance(value, dict) and name.startswith(f"{key}."):
            kept[key] = without(value, name.removeprefix(f"{key}."))
    return {key: value for key, value in kept.items() if value != {}}


def names(tree: Mapping[str, object], path: str = "") -> Iterator[str]:
    """Dotted names that `without` takes."""
    for key, value in tree.items():
        yield f"{path}{key}"
        if isinstance(value, dict):
            yield from names(value, f"{path}{key}.")


def hypothesis(platform: Tuning | None, name: str) -> Iterator[tuple[str, object]]:
    """Dotted names and values of what a hypothesis sets; nothing where there is none of that name."""
    if platform is not None and name in platform.hypotheses:
        yield from leaves(_set(platform.hypotheses[name]))


def platform_names(platform: Tuning | None) -> list[str]:
    """Names of what a platform sets, hypotheses included."""
    if platform is None:
        return []
    trees = [platform.settings, *platform.hypotheses.values()]
    return sorted({name for one in trees for name in names(_set(one))})
