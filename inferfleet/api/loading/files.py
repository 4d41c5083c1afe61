"""Files: finding and reading those that documents stand in; reading and writing one text file whole."""

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
    """A document as it stands in a file; `shown` is the file's name in messages."""

    text: Text
    file: Path
    shown: str

    def where(self, path: str = "") -> Where:
        """The line of a field, or of its nearest parent that stands in the file."""
        lines = self.text.lines
        return Where(self.shown, lines.get(nearest_parent(path, lines), 1))

    def located(self, problems: Iterable[Problem], *, kind: str = "", key: str = "") -> list[Problem]:
        """The problems with the name of this document, as far as it is known, and with lines."""
        return [
            replace(problem, kind=kind, key=key, where=problem.where or self.where(problem.path))
            for problem in problems
        ]

    def flaws(self) -> Iterator[Problem]:
        """What of the text could not be taken, with the line of the flaw, which may be no field's."""
        for flaw in self.text.flaws:
            yield Problem(flaw.what, flaw.next_step, flaw.path, Where(self.shown, flaw.line))

    def positions(self) -> dict[str, Where]:
        return {path: Where(self.shown, line) for path, line in self.text.lines.items()}


def files_of(paths: Iterable[Path | str]) -> tuple[list[Path], list[Problem]]:
    """Every file named, and every YAML file below the folders named, in order and once.

    In folders, names that start with "." and Pulumi's own files are left out.
    """
    found: dict[Path, None] = {}
    problems: list[Problem] = []
    for path in map(Path, paths):
        # os.path, because pathlib raises on names that no file can have.
        if os.path.isdir(path):
            found.update(dict.fromkeys(_inside(path, problems)))
        elif os.path.isfile(path):
            found[path.absolute()] = None
        elif os.path.exists(path):
            problems.append(Problem(f"{path} is neither a file nor a folder", "Name a YAML file or a folder"))
        else:
            problems.append(Problem(f"{path} does not exist", "Check the path"))
    once: dict[Path, Path] = {}
    for file in found:
        once.setdefault(file.resolve(), file)
    return list(once.values()), problems


def _inside(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    def unseen(error: OSError) -> None:
        problems.append(
            Problem(f"{error.filename} cannot be listed: {error.strerror}", "Check its permissions")
        )

    for here, folders, names in os.walk(folder.absolute(), onerror=unseen):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            pulumis = name == "Pulumi.yaml" or name.startswith("Pulumi.")
            if name.endswith(_ENDINGS) and not name.startswith(".") and not pulumis:
                yield Path(here, name)


def read(file: Path, base: Path) -> tuple[list[Source], list[Problem]]:
    """The documents of a file that can be told apart, and why not all of it could be read."""
    name = str(file.relative_to(base)) if file.is_relative_to(base) else str(file)
    if not file.is_file():  # a broken link, or a pipe that would wait for ever
        return [], [_unread(name, 1, "this is no file that can be read", "Remove it")]
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return [], [_unread(name, 1, f"cannot be read: {error.strerror}", "Check its permissions")]
    if len(raw) > MAX_BYTES:
        return [], [_unread(name, 1, "the file is larger than 5 MiB", "Split it into several files")]
    try:
        content = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return [], [_unread(name, line, "the file is not UTF-8 text", "Save it as UTF-8")]
    found: list[Source] = []
    try:
        found.extend(Source(text, file, name) for text in texts(content))
    except Unreadable as error:
        return found, [_unread(name, error.line, error.what, error.next_step)]
    return found, []


def _unread(file: str, line: int, what: str, next_step: str) -> Problem:
    return Problem(what, next_step, where=Where(file, line))


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
