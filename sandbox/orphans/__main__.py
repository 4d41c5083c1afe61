"""Ends a sandbox when its owner ends: `python -m sandbox.orphans <stack folder>`."""

import sys
import time
from pathlib import Path

from sandbox.orphans.owner import owner_of

# Seconds between two looks.
PAUSE = 1.0


def main(folder: Path) -> None:
    """Return when the sandbox is gone, or is somebody else's."""
    owner = owner_of(folder)
    while owner is not None and owner == owner_of(folder):
        if owner.ended():
            from sandbox import clusters

            clusters.down(folder.parent.parent, folder.name)
            return
        time.sleep(PAUSE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
