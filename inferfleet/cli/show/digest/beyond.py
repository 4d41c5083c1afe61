"""Files that a digest does not read, above all stacks: what may change what an update runs comes first.

It has a bound of its own for each kind, so that neither files with other names nor large stacks hide any.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from inferfleet.cli.show.digest.words import code
from inferfleet.documents.wording import one_line
from inferfleet.review.digest.values import FileChange, FileKind, Presence

# Files of a kind, and characters of a name: all of it is less than half of a comment.
_MOST, _LONGEST = 10, 100
_TITLES: dict[FileKind, str] = {
    "program": "programs",
    "packages": "packages",
    "plugin": "plugins",
    "policy": "policies and waivers",
    "workflow": "workflows and other hidden files",
    "submodule": "submodules",
    "stack": "files of stacks that are no documents",
}
_TITLE = "Files that may change what an update runs, with which access, and by which rules"
_CHANGES: dict[Presence, str] = {"added": "new: ", "removed": "gone: ", "changed": ""}


def beyond(files: tuple[FileChange, ...], others: int) -> Iterator[str]:
    """Yield the lines about files that are told by name, and how many others differ."""
    if files:
        yield ""
        yield f"<details open><summary>{_TITLE} ({len(files):,})</summary>"
        yield ""
        for kind, of_kind in groupby(files, key=lambda file: file.kind):
            yield f"- {_TITLES[kind]}: {_names(of_kind)}"
        yield ""
        yield "Read their diff: a digest tells the outcome of some of them, and nothing of the others."
        yield ""
        yield "</details>"
    if others:
        yield ""
        yield f"{others:,} other {'file differs' if others == 1 else 'files differ'}, which no digest reads."


def _names(files: Iterable[FileChange]) -> str:
    every = list(files)
    named = [f"{_CHANGES[file.change]}{code(_short(one_line(file.path)))}" for file in every[:_MOST]]
    more = [f"and {len(every) - _MOST:,} more"] if len(every) > _MOST else []
    return ", ".join([*named, *more])


def _short(path: str) -> str:
    half = _LONGEST // 2
    return path if len(path) <= _LONGEST else f"{path[: half - 1]}…{path[-half:]}"
