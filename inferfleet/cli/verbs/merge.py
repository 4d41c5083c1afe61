"""`inferfleet merge`: the merge driver of git for placement.lock."""

from pathlib import Path
from typing import Annotated

import typer

from inferfleet.api.loading.files import read_text, write_text
from inferfleet.api.loading.stack_files import MAX_LOCK_BYTES
from inferfleet.api.problems import InvalidDocuments, Problem
from inferfleet.cli.report import reporting
from inferfleet.fleet.lock.merging import merge as merged

Base = Annotated[Path, typer.Argument(help="The lock with which both branches began: `%O` of git.")]
Ours = Annotated[Path, typer.Argument(help="The lock of this branch, which gets the merge: `%A` of git.")]
Theirs = Annotated[Path, typer.Argument(help="The lock of the other branch: `%B` of git.")]
Named = Annotated[str, typer.Argument(metavar="NAME", help="How messages name the lock: `%P` of git.")]


def merge(base: Base, ours: Ours, theirs: Theirs, name: Named = "placement.lock") -> None:
    """Merge the placement.lock of two branches entry by entry; git calls it as a merge driver.

    What the branches changed in two ways is left between markers of a conflict, and ends with exit code 1.
    docs/explanation/placement-lock.md says how git learns of it.
    """
    with reporting() as report:
        made = merged(*map(_read, (base, ours, theirs)), file=name)
        write_text(ours, made.text)
        report.problems += made.problems
        if made.noted and not made.problems:
            what = f"{name} has notes of how many replicas its lines had before the two branches"
            step = "Run inferfleet plan --write, and read what it moves; it removes the notes"
            report.add([Problem(what, step)], "notice")


def _read(file: Path) -> str:
    text = read_text(file, root=file.absolute().parent, limit=MAX_LOCK_BYTES)
    if text is None:
        raise InvalidDocuments([Problem(f"there is no file {file}", "Name three files, as git does")])
    return text
