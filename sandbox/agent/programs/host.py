"""What the programs of one cluster share."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from sandbox.cluster.watching import Api
from sandbox.places import StackPlaces


@dataclass(frozen=True)
class ProgramHost:
    """The API server of a cluster, and the folders of its stack and of its own."""

    api: Api
    places: StackPlaces
    cluster_folder: Path

    def find(self, name: str) -> Path | None:
        """Return the file of a program, which may have been built since this process began."""
        found = shutil.which(name)
        return Path(found).resolve() if found else None
