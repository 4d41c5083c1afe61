"""Edits a copy of a module's source, where a program has no option for what the sandbox needs of it."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from sandbox.problem import SandboxProblem
from sandbox.toolchain.edits import Edit

# The folder of each copy begins so, inside the folder that a part is built in.
COPY = "edited"


def copy_source(module: Path, into: Path, *, without: Iterable[str] = ()) -> None:
    """Copy what Go compiles and embeds of a module, but for the files and folders `without`.

    The original is write-protected, so its permissions are not kept.
    """
    left_out = [module / path for path in without]
    for file in (module / "go.mod", *module.rglob("*.go"), *module.rglob("*.yaml")):
        if file.name.endswith("_test.go") or any(file.is_relative_to(path) for path in left_out):
            continue
        copy = into / file.relative_to(module)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)


def edit(folder: Path, edits: Iterable[Edit]) -> None:
    """Make all edits. Raises SandboxProblem where a file does not have the old text exactly once."""
    for change in edits:
        file = folder / change.file
        text = file.read_text() if file.exists() else ""
        times = text.count(change.old)
        if times != 1:
            what = f"{change.file} has {change.old.strip()!r} {times} times and not once"
            raise SandboxProblem(f"{what}. Fix the edits in parts.py.")
        file.write_text(text.replace(change.old, change.new))
