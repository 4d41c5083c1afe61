"""Files: which have documents, how they are read without leaving the project, and how a text is written.

Only regular files inside of a project are read, and each is opened once. A pull request can hold any file
that git can, also symbolic links. A link is followed where it leads to a regular file inside the project that
could be read under its own name: with the same ending, and not hidden. So nothing of `.git`, of `.env`, or of
another folder of the machine comes into a message.
"""

import contextlib
import fcntl
import glob
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from inferfleet.documents.problems import InvalidDocuments, Problem, Where
from inferfleet.documents.wording import nearest_parent
from inferfleet.documents.yaml import Budget, Text, Unreadable, texts

MAX_BYTES = 5 * 1024 * 1024
# Links are resolved before these flags are used, so one that appears in between is refused by the kernel. The
# last one keeps a pipe without a writer from waiting for ever.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
# Folders on the way may be closed for reading and open for passing through: Linux alone can open those.
_PASS = getattr(os, "O_PATH", 0) | os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY
PROJECT_FILE = "Pulumi.yaml"
_STEP = "Put a regular file in its place, or remove it"
_KINDS = {
    stat.S_IFDIR: "folder",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


class UnreadableFile(Exception):  # noqa: N818 (it says what happened to the file)
    """Raised in place of reading a file; `why` completes a sentence that begins with the file."""

    def __init__(self, why: str, next_step: str) -> None:
        self.why, self.next_step = why, next_step
        super().__init__(f"{why}. {next_step}")


def border_of(path: Path) -> Path:
    """Return the folder that everything read for a path must be inside of.

    It is the project that the path is in, and outside of any project the folder itself, or that of the file.
    """
    here = Path(os.path.normpath(path.absolute()))
    folder = here if here.is_dir() else here.parent
    return next((above for above in (folder, *folder.parents) if (above / PROJECT_FILE).is_file()), folder)


def is_inside(path: Path, root: Path) -> bool:
    """Return True when a path, with all links followed, is the folder `root` or below it."""
    try:
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
    except ValueError:  # such as for a NUL in a name
        return False


def read_regular(file: Path, root: Path, *, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a regular file inside `root` of at most `limit` bytes. Raises UnreadableFile."""
    path_below_root = _path_below(file, root)
    try:
        with ExitStack() as opened:
            here = _opened(opened, os.path.realpath(root), _PASS)
            for folder in path_below_root.parts[:-1]:
                here = _opened(opened, folder, _PASS, here)
            descriptor = _opened(opened, path_below_root.name or ".", _OPEN, here)
            kind = _KINDS.get(stat.S_IFMT(os.fstat(descriptor).st_mode))
            if kind:
                raise UnreadableFile(f"is a {kind}, not a regular file", _STEP)
            with open(descriptor, "rb", closefd=False) as stream:
                content = stream.read(limit + 1)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and file.is_symlink():
            raise UnreadableFile("is a broken symbolic link", _STEP) from None
        step = "Check its permissions" if isinstance(error, PermissionError) else _STEP
        raise UnreadableFile(f"cannot be read ({error.strerror})", step) from None
    if len(content) > limit:
        raise UnreadableFile(f"is larger than {_size(limit)}", "Split it into several files")
    return content


def _opened(opened: ExitStack, name: str, flags: int, folder: int | None = None) -> int:
    descriptor = os.open(name, flags, dir_fd=folder)
    opened.callback(os.close, descriptor)
    return descriptor


def _path_below(file: Path, root: Path) -> Path:
    """Return the path of the file below the root, without links. Raises UnreadableFile."""
    real, top = Path(os.path.realpath(file)), os.path.realpath(root)
    if not real.is_relative_to(top):
        raise UnreadableFile(f"is outside of {root}, where a symbolic link leads", _STEP)
    path_below_root = real.relative_to(top)
    path_in_name = os.path.relpath(os.path.normpath(file.absolute()), os.path.normpath(root.absolute()))
    if str(path_below_root) == path_in_name:
        return path_below_root
    if path_below_root.suffix != file.suffix:
        raise UnreadableFile("is a symbolic link to a file whose name ends differently", _STEP)
    if any(part.startswith(".") for part in path_below_root.parts):
        raise UnreadableFile("is a symbolic link to a hidden file or into a hidden folder", _STEP)
    return path_below_root


def _size(limit: int) -> str:
    return f"{limit // 1024 // 1024} MiB"


# Files of documents, found and read.

_ENDINGS = (".yaml", ".yml")
# The folder in that of documents with manifests of add-ons, which `loading/installed.py` reads.
INSTALLED = "installed"
# Before the name of a class whose file is in no project.
PACKAGED = "catalogue: "
# Opening a file costs a third of a millisecond, whatever is in it.
MAX_FILES = 2_000


@dataclass(frozen=True)
class Source:
    """A document in a file, or one that a program wrote."""

    text: Text
    file: Path
    shown: str
    """The name of the file in messages."""
    packaged: bool = False
    """Whether `shown` is a name alone and no lines are told: a class that comes with inferfleet, and what a
    program wrote.
    """

    def as_packaged(self) -> "Source":
        """Return the class as one of the catalogue that comes with inferfleet: by its name."""
        metadata = self.text.data.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return replace(self, shown=f"{PACKAGED}{name or self.file.name}", packaged=True)

    def where(self, path: str = "") -> Where:
        """Return the line of a field, or of its nearest parent in the file."""
        lines = self.text.lines
        return self.at(lines.get(nearest_parent(path, lines), 1))

    def at(self, line: int) -> Where:
        """Return a line of the file."""
        return Where(self.shown, 0 if self.packaged else line)

    def located(self, problems: Iterable[Problem], *, kind: str = "", key: str = "") -> list[Problem]:
        """Return the problems with their lines, and with the name of this document as far as it is known."""
        return [
            replace(problem, kind=kind, key=key, where=problem.where or self.where(problem.path))
            for problem in problems
        ]

    def problems(self) -> Iterator[Problem]:
        """Yield what in the text could not be read, each with its own line, which may be that of no field."""
        for mistake in self.text.mistakes:
            yield Problem(mistake.what, mistake.next_step, mistake.path, self.at(mistake.line))

    def positions(self) -> dict[str, Where]:
        """Return the line of every field by path."""
        positions = {path: self.at(line) for path, line in self.text.lines.items()}
        for path, text in self.text.written.items():
            positions[path] = replace(positions[path], text=text)
        return positions


def files_of(
    paths: Iterable[Path | str], *, root: Path | None = None, base: Path | None = None
) -> tuple[dict[Path, Path], list[Problem]]:
    """Return all files among the paths and all YAML files below folders among them, each once, and problems.

    Each file comes with the folder that it must be inside of: `root`, or without it the project of its path.
    Names that start with ".", Pulumi's own files and manifests of add-ons are left out of folders. What looks
    like documents and is not read is a warning, which names the file relative to `base` where it is below it.
    """
    files: dict[Path, Path] = {}
    problems: list[Problem] = []
    for path in map(Path, paths):
        # os.path, because pathlib raises on names that no file can have.
        if os.path.isdir(path):
            border = root or border_of(path)
            if is_inside(path, border):
                below = islice(_inside(path, base or Path.cwd(), problems), MAX_FILES + 1)
                files.update(dict.fromkeys(below, border))
            else:
                what = f"folder {path} is outside of {border}, where a symbolic link leads"
                problems.append(Problem(what, "Put a folder in its place"))
        elif os.path.isfile(path):
            files[path.absolute()] = root or border_of(path)
        elif os.path.exists(path):
            problems.append(Problem(f"{path} is neither a file nor a folder", "Name a YAML file or a folder"))
        else:
            problems.append(Problem(f"{path} does not exist", "Check the path"))
    if len(files) > MAX_FILES:
        what = f"there are more than {MAX_FILES:,} files of documents"
        problems.append(Problem(what, "Put several documents into one file, or use several stacks"))
        files = {}
    once: dict[str, Path] = {}
    for file in files:
        once.setdefault(os.path.realpath(file), file)
    return {file: files[file] for file in once.values()}, problems


def _inside(folder: Path, base: Path, problems: list[Problem]) -> Iterator[Path]:
    """Yield the documents' files below a folder, and add to `problems` what is not read there."""

    def unreadable(error: OSError) -> None:
        what = f"folder {error.filename} cannot be read: {error.strerror}"
        problems.append(Problem(what, "Check its permissions"))

    def ignored(path: Path, why: str, next_step: str) -> None:
        problems.append(Problem(why, next_step, where=Where(_shown(path, base), 1), severity="warning"))

    for here, folders, names in os.walk(folder.absolute(), onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if here == str(folder.absolute()) and INSTALLED in folders:
            folders.remove(INSTALLED)
        for name in folders:
            if os.path.islink(os.path.join(here, name)):
                why = "this folder is not read, because it is a symbolic link"
                ignored(Path(here, name), why, "Put a folder in its place, or link its files one by one")
        for name in sorted(names):
            of_pulumi = name == "Pulumi.yaml" or name.startswith("Pulumi.")
            if of_pulumi and name != "Pulumi.yaml" and name.endswith(_ENDINGS):
                why = "this file is not read, because settings of a stack are in stacks/Pulumi.<stack>.yaml"
                ignored(Path(here, name), why, "Move or rename it")
            if name.startswith(".") or of_pulumi:
                continue
            if name.endswith(_ENDINGS):
                yield Path(here, name)
            elif name.lower().endswith(_ENDINGS):
                why = "this file is not read, because its name does not end in .yaml or .yml, in lowercase"
                ignored(Path(here, name), why, "Rename it")
            elif name.lower().endswith(tuple(f"{ending}.txt" for ending in _ENDINGS)):
                ignored(Path(here, name), "this file is not read, because its name ends in .txt", "Rename it")


def _shown(file: Path, base: Path) -> str:
    return str(file.relative_to(base)) if file.is_relative_to(base) else str(file)


def read(
    file: Path, base: Path, root: Path | None = None, budget: Budget | None = None
) -> tuple[list[Source], list[Problem]]:
    """Return the documents of a file that could be separated, and why the rest of it could not be read.

    The file must be inside of `root`, or without it inside the project of its path. Files that are read with
    the same budget share it.
    """
    budget = budget or Budget()
    name = _shown(file, base)
    try:
        raw = read_regular(file, root or border_of(file))
    except UnreadableFile as unreadable:
        return [], [_unread(name, 1, f"the file {unreadable.why}", unreadable.next_step)]
    try:
        content = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return [], [_unread(name, line, "the file is not UTF-8 text", "Save it as UTF-8")]
    sources: list[Source] = []
    try:
        budget.file(len(raw))
        sources.extend(Source(text, file, name) for text in texts(content, budget))
    except Unreadable as error:
        return sources, [_unread(name, error.line, error.what, error.next_step)]
    return sources, []


def of_program(documents: Iterable[Mapping[str, Any]], root: Path, budget: Budget) -> Iterator[Source]:
    """Yield documents that a program wrote, in place of files. Paths in them are relative to `root`.

    They are read as text, so that they mean what they would mean in a file. Raises InvalidDocuments.
    """
    for index, document in enumerate(documents):
        name = f"documents[{index}]"
        try:
            for text in texts(json.dumps(document), budget):
                yield Source(text, root / name, name, packaged=True)
        except (TypeError, Unreadable) as error:
            what = f"{name} is no document: {error.what if isinstance(error, Unreadable) else error}"
            raise InvalidDocuments([Problem(what, "Give a map of texts, numbers, lists and maps")]) from None


def _unread(file: str, line: int, what: str, next_step: str) -> Problem:
    return Problem(what, next_step, where=Where(file, line))


# Files that inferfleet writes.

RESTORE = "Restore it from version control"


def read_text(
    path: Path,
    *,
    root: Path | None = None,
    shown: str | None = None,
    next_step: str = RESTORE,
    limit: int = MAX_BYTES,
) -> str | None:
    """Return the text of a file that inferfleet writes, or None when there is no such file.

    It must be inside of `root`, or without it inside the project of its path, and no symbolic link, because
    it is written again. Raises InvalidDocuments, which names the file as `shown`.
    """
    if not os.path.lexists(path):
        return None
    try:
        if path.is_symlink():
            raise UnreadableFile("is a symbolic link, which is neither read nor written", next_step)
        return read_regular(path, root or border_of(path), limit=limit).decode()
    except UnicodeDecodeError:
        why = "is not UTF-8 text"
    except UnreadableFile as unreadable:
        why = unreadable.why
    raise InvalidDocuments([Problem(f"{shown or path} {why}", next_step)])


def write_text(path: Path, text: str) -> None:
    """Write a file so that it has either all of the text or what it had before.

    Raises OSError, and InvalidDocuments for a symbolic link: nothing is written through one.
    """
    if path.is_symlink():
        what = f"{path} is a symbolic link, and nothing is written through links"
        raise InvalidDocuments([Problem(what, "Remove the link, or put a regular file in its place")])
    try:
        _write(path, text)
    except OSError as error:
        # It names the file beside it that the text goes to first, which nobody knows.
        raise OSError(error.errno, error.strerror, str(path)) from error


def _remove_killed(path: Path) -> None:
    """Remove what writes that were killed have left beside a file."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.????????"):
        with contextlib.suppress(OSError):
            descriptor = os.open(leftover, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Who begins to write has an empty file before it is locked.
                if os.fstat(descriptor).st_size:
                    os.unlink(leftover)
            finally:
                os.close(descriptor)


def _write(path: Path, text: str) -> None:
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    _remove_killed(path)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            # As long as somebody writes it, nobody else takes it for what a killed write has left.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            stream.write(text.encode())
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
