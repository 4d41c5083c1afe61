"""Which plugins there are besides the built-in ones, by name and without importing any.

A module `plugins/topology_spread.py` of the project holds the plugin `topology-spread`. A package has an
entry point of the group `inferfleet.plugins` for each of its plugins, under the plugin's name.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, distributions
from pathlib import Path

from inferfleet.api.loading.border import is_inside

FOLDER = "plugins"
GROUP = "inferfleet.plugins"
_NAME = r"[a-z0-9]([a-z0-9_]*[a-z0-9])?"
_MODULE = re.compile(_NAME + r"\.py")
_PACKAGE = re.compile(_NAME)


@dataclass(frozen=True)
class Candidate:
    """A plugin that could be imported: a module in the project, or an entry point of an installed package.

    `version` is that of the package; that of a module is known only once it has been imported. `is_package`
    says that it is a folder of modules, which is not imported.
    """

    name: str
    origin: str
    file: Path | None = None
    entry_point: EntryPoint | None = None
    version: str | None = None
    is_package: bool = False


def in_folder(root: Path) -> Iterator[Candidate]:
    """Yield modules and folders of modules in `plugins`. Names that begin with `_` or `.` are none."""
    folder = root / FOLDER
    if not folder.is_dir() or leads_outside(root):
        return
    for name in sorted(os.listdir(folder)):
        if _PACKAGE.fullmatch(name) and (folder / name / "__init__.py").is_file():
            yield Candidate(name.replace("_", "-"), f"{FOLDER}/{name}", is_package=True)
        if _MODULE.fullmatch(name) and not (folder / name).is_dir():
            plugin = name.removesuffix(".py").replace("_", "-")
            yield Candidate(plugin, f"{FOLDER}/{name}", file=folder / name)


def leads_outside(root: Path) -> bool:
    """Return whether the folder `plugins` is a link to somewhere outside of the project, and so not read."""
    return (root / FOLDER).exists() and not is_inside(root / FOLDER, root)


def installed() -> Iterator[Candidate]:
    """Yield the entry points of all packages that Python finds, sorted by name.

    A package whose metadata cannot be read has none; of two of one name the first on the path counts.
    """
    packages: dict[str, tuple[str, list[EntryPoint]]] = {}
    for package in distributions():
        try:
            name, version = package.metadata["Name"], package.metadata["Version"]
            points = list(package.entry_points.select(group=GROUP))
        except Exception:  # noqa: BLE001 (files of others: what is broken in them may be anything)
            continue
        if name and version:
            packages.setdefault(name.lower().replace("_", "-"), (f"{name} {version}", points))
    for title, point in sorted(
        ((title, point) for title, points in packages.values() for point in points),
        key=lambda named: (named[1].name, named[1].value),
    ):
        origin = f"{title}, {point.value}"
        yield Candidate(point.name, origin, entry_point=point, version=title.rpartition(" ")[2])
