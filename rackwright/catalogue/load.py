"""A folder of YAML files in, a frozen `Catalogue` with its hash out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import ValidationError

from rackwright import canonical, strict_yaml
from rackwright.catalogue.model import Entry, Platform
from rackwright.catalogue.parts import Accelerator, Nic
from rackwright.catalogue.slurm import Slurm
from rackwright.catalogue.switch import Switch
from rackwright.catalogue.tuning import Kernel, Tuning
from rackwright.errors import CatalogueInvalid
from rackwright.findings import Place, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SHIPPED = Path(__file__).parent / "data"
Section = Literal["platforms", "accelerators", "nics", "switches", "slurm", "tuning", "kernels"]
Kind = TypeVar("Kind", bound=Entry)
_HINT = "see the entries beside it for the form; every figure needs a source that states it"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All that is known of hardware, and of Slurm's releases, by name."""

    platforms: Mapping[str, Platform]
    accelerators: Mapping[str, Accelerator]
    nics: Mapping[str, Nic]
    switches: Mapping[str, Switch]
    slurm: Mapping[str, Slurm]
    tuning: Mapping[str, Tuning]
    kernels: Mapping[str, Kernel]
    sha256: str
    """Of the content; comments and layout do not count."""

    def entries(self) -> Iterator[tuple[Section, Entry]]:
        """Everything, section by section, by name."""
        sections: tuple[tuple[Section, Mapping[str, Entry]], ...] = (
            ("platforms", self.platforms),
            ("accelerators", self.accelerators),
            ("nics", self.nics),
            ("switches", self.switches),
            ("slurm", self.slurm),
            ("tuning", self.tuning),
            ("kernels", self.kernels),
        )
        for section, entries in sections:
            for entry in entries.values():
                yield section, entry


def nearest(name: str, known: Iterable[str]) -> str:
    """``did you mean `x`?`` for the known name nearest to an unknown one, or all known names."""
    names = sorted(known)
    return did_you_mean(name, names) or f"known: {', '.join(names)}"


def load(folder: Path = SHIPPED) -> Catalogue:
    """Read and check a whole catalogue.

    Raises:
        CatalogueInvalid: a file is no YAML, breaks its model, is not named after its entry, or
            names an entry that is not there.
    """
    texts: dict[str, dict[str, object]] = {}
    platforms = _section(folder, "platforms", Platform, texts)
    accelerators = _section(folder, "accelerators", Accelerator, texts)
    nics = _section(folder, "nics", Nic, texts)
    switches = _section(folder, "switches", Switch, texts)
    slurm = _section(folder, "slurm", Slurm, texts)
    tuning = _section(folder, "tuning", Tuning, texts)
    kernels = _section(folder, "kernels", Kernel, texts)
    _check_references(folder, platforms, accelerators, nics, tuning)
    _refuse_shared_names(folder, texts)
    content = json.dumps(texts, sort_keys=True, default=str)
    sha256 = canonical.sha256(content)
    return Catalogue(platforms, accelerators, nics, switches, slurm, tuning, kernels, sha256)


def _section(
    folder: Path, section: Section, model: type[Kind], contents: dict[str, dict[str, object]]
) -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    contents[section] = {}
    for path in sorted((folder / section).glob("*.yaml")):
        plain = _read(path)
        found[path.stem] = _entry(path, model, plain)
        contents[section][path.stem] = plain
    return found


def _read(path: Path) -> object:
    try:
        return strict_yaml.load(path.read_text(encoding="utf-8"))
    except strict_yaml.NotYaml as error:
        raise CatalogueInvalid(
            "a file of the catalogue is no YAML",
            where=Place(path, error.line, error.column),
            got=error.problem,
            expected="one YAML mapping",
        ) from None


def _entry(path: Path, model: type[Kind], plain: object) -> Kind:
    try:
        entry = model.model_validate(plain)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "(entry)"
        raise CatalogueInvalid(
            f"{key} of a catalogue entry is not right",
            where=Place(path),
            got="nothing" if first["type"] == "missing" else repr(first["input"])[:80],
            expected=first["msg"],
            hint=_HINT,
        ) from None
    if entry.name != path.stem:
        raise CatalogueInvalid(
            "name of a catalogue entry is not that of its file",
            where=Place(path),
            got=entry.name,
            expected=path.stem,
        )
    return entry


def _check_references(
    folder: Path,
    platforms: Mapping[str, Platform],
    accelerators: Mapping[str, Accelerator],
    nics: Mapping[str, Nic],
    tuning: Mapping[str, Tuning],
) -> None:
    for platform in platforms.values():
        place = Place(folder / "platforms" / f"{platform.name}.yaml")
        if platform.accelerator is not None and platform.accelerator not in accelerators:
            raise _unknown(place, "accelerator", platform.accelerator, accelerators)
        if platform.tuning is not None and platform.tuning not in tuning:
            raise _unknown(place, "tuning", platform.tuning, tuning)
        for group, ports in platform.ports.items():
            if ports.nic not in nics:
                raise _unknown(place, f"ports.{group}.nic", ports.nic, nics)


def _refuse_shared_names(folder: Path, contents: Mapping[str, Mapping[str, object]]) -> None:
    """`catalogue show NAME` must mean one thing."""
    owner: dict[str, str] = {}
    for section, entries in contents.items():
        for name in entries:
            if owner.setdefault(name, section) != section:
                raise CatalogueInvalid(
                    "a name of the catalogue is used twice",
                    where=Place(folder / section / f"{name}.yaml"),
                    got=name,
                    expected=f"a name that {owner[name]} does not have",
                )


def _unknown(place: Place, key: str, got: str, known: Iterable[str]) -> CatalogueInvalid:
    return CatalogueInvalid(
        f"{key} names an entry that is not there",
        where=place,
        got=got,
        expected="the name of an entry",
        hint=nearest(got, known),
    )
