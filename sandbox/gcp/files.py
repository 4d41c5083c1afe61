"""Writes the files of the cloud, whole or not at all, because other processes read them meanwhile."""

import os
from pathlib import Path

# Keys and tokens lie in the cloud's folder, so that by default nobody else may read what is written.
_OWNER_ONLY = 0o600


def write_file(path: Path, text: str, *, mode: int = _OWNER_ONLY) -> None:
    """Replace the file by one with this text and mode, and make the folders that are missing."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
    with open(descriptor, "w") as file:
        os.fchmod(descriptor, mode)
        file.write(text)
    temporary.replace(path)
