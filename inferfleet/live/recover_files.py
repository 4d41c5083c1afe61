"""Files beside the state in a backend of files that a killed engine left half-written.

The state itself is replaced in one step. What stands beside it (`<file>.attrs`: content type and checksum,
which the engine does not compare) is written in place, and a half-written one makes every command fail with
"failed to load checkpoint: EOF", though the state is whole. Without the file all is well.
https://github.com/google/go-cloud/blob/master/blob/fileblob/attrs.go
"""

import json
from pathlib import Path

_PLACES = (
    "stacks/{project}/{stack}.json*.attrs",
    "locks/organization/{project}/{stack}/*.attrs",
    "history/{project}/{stack}/*.attrs",
    "backups/{project}/{stack}/*.attrs",
)


def half_written(folder: Path, *, project: str, stack: str) -> tuple[Path, ...]:
    """The files of the stack that hold no attributes, sorted."""
    return tuple(
        file
        for place in _PLACES
        for file in sorted((folder / ".pulumi").glob(place.format(project=project, stack=stack)))
        if not _whole(file)
    )


def _whole(file: Path) -> bool:
    try:
        return isinstance(json.loads(file.read_text()), dict)
    except FileNotFoundError:
        return True
    except ValueError:
        return False
