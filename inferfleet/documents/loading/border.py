"""The border of a project: only regular files inside of it are read, and each is opened once.

A pull request can hold any file that git can, also symbolic links. A link is followed where it leads to a
regular file inside the project that could be read under its own name: with the same ending, and not hidden.
So nothing of `.git`, of `.env`, or of another folder of the machine comes into a message.
"""

import os
import stat
from contextlib import ExitStack
from pathlib import Path

MAX_BYTES = 5 * 1024 * 1024
# Links are resolved before these flags are used, so one that appears in between is refused by the kernel. The
# last one keeps a pipe without a writer from waiting for ever.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
# Folders on the way may be closed for reading and open for passing through: Linux alone can open those.
_PASS = getattr(os, "O_PATH", 0) | os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY
_PROJECT_FILE = "Pulumi.yaml"
_STEP = "Put a regular file in its place, or remove it"
_KINDS = {
    stat.S_IFDIR: "folder",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


class Refused(Exception):  # noqa: N818 (it says what happened to the file)
    """Raised instead of reading a file. `why` completes a sentence that begins with the file."""

    def __init__(self, why: str, next_step: str) -> None:
        self.why, self.next_step = why, next_step
        super().__init__(f"{why}. {next_step}")


def border_of(path: Path) -> Path:
    """Return the folder that everything read for a path must be inside of.

    It is the project that the path is in, and outside of any project the folder itself, or that of the file.
    """
    here = Path(os.path.normpath(path.absolute()))
    folder = here if here.is_dir() else here.parent
    return next((above for above in (folder, *folder.parents) if (above / _PROJECT_FILE).is_file()), folder)


def is_inside(path: Path, root: Path) -> bool:
    """Return True when a path, with all links followed, is the folder `root` or below it."""
    try:
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
    except ValueError:  # such as for a NUL in a name
        return False


def read_regular(file: Path, root: Path, *, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a regular file inside `root` of at most `limit` bytes. Raises Refused."""
    place = _place(file, root)
    try:
        with ExitStack() as opened:
            here = _opened(opened, os.path.realpath(root), _PASS)
            for folder in place.parts[:-1]:
                here = _opened(opened, folder, _PASS, here)
            descriptor = _opened(opened, place.name or ".", _OPEN, here)
            kind = _KINDS.get(stat.S_IFMT(os.fstat(descriptor).st_mode))
            if kind:
                raise Refused(f"is a {kind}, not a regular file", _STEP)
            with open(descriptor, "rb", closefd=False) as stream:
                content = stream.read(limit + 1)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and file.is_symlink():
            raise Refused("is a broken symbolic link", _STEP) from None
        step = "Check its permissions" if isinstance(error, PermissionError) else _STEP
        raise Refused(f"cannot be read ({error.strerror})", step) from None
    if len(content) > limit:
        raise Refused(f"is larger than {_size(limit)}", "Split it into several files")
    return content


def _opened(opened: ExitStack, name: str, flags: int, folder: int | None = None) -> int:
    descriptor = os.open(name, flags, dir_fd=folder)
    opened.callback(os.close, descriptor)
    return descriptor


def _place(file: Path, root: Path) -> Path:
    """The path of the file below the root, without links. Raises Refused where a link leads elsewhere."""
    real, top = Path(os.path.realpath(file)), os.path.realpath(root)
    if not real.is_relative_to(top):
        raise Refused(f"is outside of {root}, where a symbolic link leads", _STEP)
    place = real.relative_to(top)
    written = os.path.relpath(os.path.normpath(file.absolute()), os.path.normpath(root.absolute()))
    if str(place) == written:
        return place
    if place.suffix != file.suffix:
        raise Refused("is a symbolic link to a file whose name ends differently", _STEP)
    if any(part.startswith(".") for part in place.parts):
        raise Refused("is a symbolic link to a hidden file or into a hidden folder", _STEP)
    return place


def _size(limit: int) -> str:
    return f"{limit // 1024 // 1024} MiB"
