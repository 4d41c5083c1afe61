"""Reading and writing a whole text file, such as placement.lock, so that it is never seen half written."""

import contextlib
import os
import tempfile
from pathlib import Path


def read_text(path: Path) -> str | None:
    """The text, or None when there is no such file. Raises OSError and UnicodeDecodeError."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None


def write_text(path: Path, text: str) -> None:
    """The file holds the text, whole, or what it held before. A symbolic link stays one. Raises OSError."""
    target = path.resolve()
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
