"""Files that differ and that a digest does not read: programs, versions, workflows, kubeconfigs."""

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

from inferfleet.api.problems import Problem
from inferfleet.api.wording import listing

# Read for people alone.
_PROSE = (".md", ".rst")
_MOST = 20


def beyond(differing: Iterable[str], *, read: Collection[str], folders: Iterable[str] = ()) -> list[Problem]:
    """Return the notice about files of which the digest says nothing, or none.

    Those that were `read` are told as documents, settings and locks. What is in `folders` is left out too: it
    was not asked for, or cannot be read, which is told.
    """
    beside = tuple(f"{folder}/" for folder in folders)
    left = [
        file
        for file in differing
        if file not in read and not file.endswith(_PROSE) and not file.startswith(beside)
    ]
    if not left:
        return []
    tops = Counter(PurePosixPath(file).parts[0] for file in left)
    names = [
        file if tops[top] == 1 or top == file else f"{top}/ ({tops[top]} files)"
        for file in left
        for top in PurePosixPath(file).parts[:1]
    ]
    return [
        Problem(
            "files differ of which a digest tells nothing or the outcome alone: "
            f"{listing(dict.fromkeys(names), _MOST)}",
            "Read their diff: they may decide which programs an update runs, and with which access",
            severity="notice",
        )
    ]
