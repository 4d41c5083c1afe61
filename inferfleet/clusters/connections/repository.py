"""What lies in the repository of a project: a pull request can have written it.

A kubeconfig there may name a program to run, files to send, and where to send them. So it is used only where
the stack says so, in its setting `trustRepositoryKubeconfigs`.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SETTING = "inferfleet:trustRepositoryKubeconfigs"


@dataclass(frozen=True)
class Repository:
    """The project at `root`, and the Git repository that it is in.

    `trusted` says that kubeconfigs of the repository may be used; `keys` are keys of the configuration whose
    values are written in its files, so that they are part of it.
    """

    root: Path
    trusted: bool
    keys: frozenset[str] = frozenset()

    def holds(self, path: Path) -> bool:
        """Return whether the path, as it is named or with all links followed, is inside of the repository."""
        top = _identity(top_of(self.root))
        named = Path(os.path.normpath(path.absolute()))
        return any(
            _identity(folder) == top
            for place in (named, Path(os.path.realpath(path)))
            for folder in place.parents
        )


def top_of(project: Path) -> Path:
    """Return the top of the Git repository that the project is in, without links; without one the project.

    No commit has a file or folder named `.git`: git checks none out.
    """
    root = Path(os.path.realpath(project))
    return next((folder for folder in _upwards(root) if os.path.lexists(folder / ".git")), root)


def _upwards(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.parents


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what is the same under every name of a folder: names differ by links, mounts and letter case."""
    try:
        status = os.stat(folder)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
