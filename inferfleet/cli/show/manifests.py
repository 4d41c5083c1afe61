"""Kubernetes objects as text that kubectl reads back exactly, and a folder of such files."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import yaml

from inferfleet.documents.loading.files import border_of, read_text, write_text
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import commands

Format = Literal["yaml", "json"]
# Text that every YAML reader takes for text. kubectl's reads more as numbers and booleans (y, 1e3, 0o17) than
# the one in Python does, so whatever else there is gets quotes.
_PLAIN = re.compile(r"[A-Za-z/][-A-Za-z0-9_./]*(?: [-A-Za-z0-9_./]+)*(?::[-A-Za-z0-9_./]+)*")
_NOT_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
# The file that lists what was rendered into a folder.
LIST = ".inferfleet-rendered"
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_HEAD = "# Files written by `inferfleet render`, which removes those it no longer renders.\n"


def manifest_text(manifest: dict[str, Any], *, as_format: Format) -> str:
    """Return one object as text that ends in a newline, its fields in the order they have."""
    if as_format == "json":
        return json.dumps(manifest, indent=2) + "\n"
    return yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _scalar(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = None
    if not _PLAIN.fullmatch(value) or value.lower() in _NOT_TEXT:
        # Block style keeps files readable, and loses line separators other than the newline.
        readable = "\n" in value and value.replace("\n", "").isprintable() and not commands(value)
        style = "|" if readable else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _scalar)


def write_folder(folder: Path, files: Mapping[str, str]) -> tuple[int, int]:
    """Write the texts by their paths in the folder, and remove the files of an earlier rendering that are not
    among them. Return how many were written and how many removed.

    Nothing is written or removed through a symbolic link. Raises InvalidDocuments for a folder that holds
    other things or has links on the way to a file, and OSError.
    """
    refuse_links(folder, [LIST])
    stale = _listed(folder) - files.keys()
    _refuse_links(part for name in (*files, *sorted(stale)) for part in _parts(folder, name))
    folder.mkdir(parents=True, exist_ok=True)
    # List old and new files first: after a failure half way, the next rendering still knows all of them.
    _write_list(folder, stale | files.keys())
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # A link that appeared since is refused by the kernel, and a pipe is not waited for.
        with os.fdopen(os.open(path, _WRITE, 0o666), "w", encoding="utf-8") as stream:
            stream.write(text)
    for name in sorted(stale):
        _remove(folder, name)
    _write_list(folder, set(files))
    return len(files), len(stale)


def refuse_links(folder: Path, names: Iterable[str]) -> None:
    """Raise InvalidDocuments where the folder, a file in it or a folder above is a symbolic link."""
    _refuse_links([*_on_the_way_to(folder), *(folder / name for name in names)])


def _on_the_way_to(folder: Path) -> Iterator[Path]:
    """The folder itself, and those above it inside the project or the working directory, as they are named.

    Links outside of those are of the machine, such as `/tmp` on macOS, and not of a checkout.
    """
    whole = folder.absolute()
    border = border_of(Path.cwd())
    above = whole.relative_to(border).parents if whole.is_relative_to(border) else ()
    yield from (border / part for part in reversed(above) if part != Path("."))
    yield whole


def _parts(folder: Path, name: str) -> Iterator[Path]:
    """The path of a file in the folder, and those of the folders in between."""
    yield from (folder / part for part in PurePosixPath(name).parents if part != PurePosixPath("."))
    yield folder / name


def _refuse_links(paths: Iterable[Path]) -> None:
    links = dict.fromkeys(path for path in paths if path.is_symlink())
    if links:
        next_step = "Remove the link, or name another folder"
        raise InvalidDocuments(
            [
                Problem(f"{path} is a symbolic link, and nothing is written through links", next_step)
                for path in links
            ]
        )


def _listed(folder: Path) -> set[str]:
    if folder.exists() and not folder.is_dir():
        raise InvalidDocuments(
            [Problem(f"{folder} is not a folder", "Name a folder, or one that does not exist")]
        )
    another = "Name an empty folder, or one that does not exist"
    text = read_text(folder / LIST, root=folder, next_step=another) if folder.is_dir() else None
    if text is None:
        if folder.is_dir() and any(folder.iterdir()):
            what = f"folder {folder} is not empty and holds no earlier rendering (no {LIST} in it)"
            raise InvalidDocuments([Problem(what, another)])
        return set()
    names = {line for line in text.splitlines() if line and not line.startswith("#")}
    return {name for name in names if _is_inside(name)}


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _write_list(folder: Path, names: set[str]) -> None:
    write_text(folder / LIST, _HEAD + "".join(f"{name}\n" for name in sorted(names)))


def _remove(folder: Path, name: str) -> None:
    """Remove a file, and the folders that are empty without it."""
    path = folder / name
    path.unlink(missing_ok=True)
    for parent in path.relative_to(folder).parents:
        directory = folder / parent
        if parent == Path(".") or not directory.is_dir() or any(directory.iterdir()):
            return
        directory.rmdir()
