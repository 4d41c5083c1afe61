"""Files: find and read those with documents; read and write a whole text file."""

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from inferfleet.api.problems import Problem, Where
from inferfleet.api.wording import nearest_parent
from inferfleet.api.yaml.nodes import Unreadable
from inferfleet.api.yaml.text import Text, texts

MAX_BYTES = 5 * 1024 * 1024
_ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True)
class Source:
    """A document in a file; `shown` is the name of the file in messages."""

    text: Text
    file: Path
    shown: str

    def where(self, path: str = "") -> Where:
        """Return the line of a field, or of its nearest parent in the file."""
        lines = self.text.lines
        return Where(self.shown, lines.get(nearest_parent(path, lines), 1))

    def located(self, problems: Iterable[Problem], *, kind: str = "", key: str = "") -> list[Problem]:
        """Return the problems with their lines, and with the name of this document as far as it is known."""
        return [
            replace(problem, kind=kind, key=key, where=problem.where or self.where(problem.path))
            for problem in problems
        ]

    def flaws(self) -> Iterator[Problem]:
        """Yield what in the text could not be read, each with its own line, which may be that of no field."""
        for flaw in self.text.flaws:
            yield Problem(flaw.what, flaw.next_step, flaw.path, Where(self.shown, flaw.line))

    def positions(self) -> dict[str, Where]:
        """Return the line of every field by path."""
        return {path: Where(self.shown, line) for path, line in self.text.lines.items()}


def files_of(paths: Iterable[Path | str]) -> tuple[list[Path], list[Problem]]:
    """Return all files among the paths and all YAML files below folders among them, each once, and problems.

    Names that start with "." and Pulumi's own files are left out of folders.
    """
    files: dict[Path, None] = {}
    problems: list[Problem] = []
    for path in map(Path, paths):
        # os.path, because pathlib raises on names that no file can have.
        if os.path.isdir(path):
            files.update(dict.fromkeys(_inside(path, problems)))
        elif os.path.isfile(path):
            files[path.absolute()] = None
        elif os.path.exists(path):
            problems.append(Problem(f"{path} is neither a file nor a folder", "Name a YAML file or a folder"))
        else:
            problems.append(Problem(f"{path} does not exist", "Check the path"))
    once: dict[Path, Path] = {}
    for file in files:
        once.setdefault(file.resolve(), file)
    return list(once.values()), problems


def _inside(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        what = f"folder {error.filename} cannot be read: {error.strerror}"
        problems.append(Problem(what, "Check its permissions"))

    for here, folders, names in os.walk(folder.absolute(), onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            of_pulumi = name == "Pulumi.yaml" or name.startswith("Pulumi.")
            if name.endswith(_ENDINGS) and not name.startswith(".") and not of_pulumi:
                yield Path(here, name)


def read(file: Path, base: Path) -> tuple[list[Source], list[Problem]]:
    """Return the documents of a file that could be separated, and why the rest of it could not be read."""
    name = str(file.relative_to(base)) if file.is_relative_to(base) else str(file)
    if not file.is_file():  # a broken link, or a pipe that would wait for ever
        what = "this is not a regular file: it is a broken link, a pipe or a device"
        return [], [_unread(name, 1, what, "Remove it, or put a regular file in its place")]
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return [], [_unread(name, 1, f"the file cannot be read: {error.strerror}", "Check its permissions")]
    if len(raw) > MAX_BYTES:
        return [], [_unread(name, 1, "the file is larger than 5 MiB", "Split it into several files")]
    try:
        content = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return [], [_unread(name, line, "the file is not UTF-8 text", "Save it as UTF-8")]
    sources: list[Source] = []
    try:
        sources.extend(Source(text, file, name) for text in texts(content))
    except Unreadable as error:
        return sources, [_unread(name, error.line, error.what, error.next_step)]
    return sources, []


def _unread(file: str, line: int, what: str, next_step: str) -> Problem:
    return Problem(what, next_step, where=Where(file, line))


def read_text(path: Path) -> str | None:
    """Return the text of a file, or None when there is no such file. Raises OSError, UnicodeDecodeError."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None


def write_text(path: Path, text: str) -> None:
    """Write a file so that it has either all of the text or what it had before. Raises OSError.

    A symbolic link stays one.
    """
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
