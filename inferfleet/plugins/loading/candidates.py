"""Which plugins there are besides the built-in ones, by name and without importing any.

A module `plugins/topology_spread.py` of the project holds the plugin `topology-spread`. A package has an
entry point of the group `inferfleet.plugins` for each of its plugins, under the plugin's name.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from inferfleet.api.loading.border import is_inside

FOLDER = "plugins"
GROUP = "inferfleet.plugins"
_MODULE = re.compile(r"[a-z0-9]([a-z0-9_]*[a-z0-9])?\.py")


@dataclass(frozen=True)
class Candidate:
    """A plugin that could be imported: a module in the project, or an entry point of an installed package.

    `version` is that of the package; that of a module is known only once it has been imported.
    """

    name: str
    origin: str
    file: Path | None = None
    entry_point: EntryPoint | None = None
    version: str | None = None


def in_folder(root: Path) -> Iterator[Candidate]:
    """Yield the modules in the project's folder `plugins`. Names that begin with `_` or `.` are none."""
    folder = root / FOLDER
    if not folder.is_dir() or not is_inside(folder, root):
        return
    for name in sorted(os.listdir(folder)):
        if _MODULE.fullmatch(name) and not (folder / name).is_dir():
            plugin = name.removesuffix(".py").replace("_", "-")
            yield Candidate(plugin, f"{FOLDER}/{name}", file=folder / name)


def installed() -> Iterator[Candidate]:
    """Yield the entry points of all packages that Python finds, sorted by name."""
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        package = f"{point.dist.name} {point.dist.version}" if point.dist else "a package without metadata"
        origin = f"{package}, {point.value}"
        yield Candidate(
            point.name, origin, entry_point=point, version=point.dist.version if point.dist else None
        )
