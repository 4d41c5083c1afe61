"""Finds the sandboxes of this user that belong to nobody any more, and ends them.

They are known by their processes and by their reservations of ports and addresses, so no list of checkouts is
needed that could be wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sandbox import clusters
from sandbox.cluster import podnet, ports
from sandbox.orphans.owner import owner_of
from sandbox.places import SANDBOX
from sandbox.processes import end_processes, own_processes, processes_in

# The folders inside a stack's folder that its programs are started from (see sandbox/places.py).
_WITH_PROGRAMS = ("kwok", "cloud", "pulumi-home")


@dataclass(frozen=True)
class Orphan:
    """The folder of a stack's sandbox that belongs to nobody, why, and how many processes run of it."""

    folder: Path
    why: str
    processes: int

    def __str__(self) -> str:
        programs = "1 process" if self.processes == 1 else f"{self.processes} processes"
        return f"{self.folder}: {self.why} ({programs})"


def sweep(*, dry_run: bool, say: Callable[[str], None]) -> tuple[Orphan, ...]:
    """End all orphans and return them; with `dry_run` only return them. Says each before it is ended."""
    found = orphans()
    for orphan in found:
        say(f"{'would end' if dry_run else 'ending'} {orphan}")
        if not dry_run:
            _end(orphan)
    return found


def orphans() -> tuple[Orphan, ...]:
    """Return the sandboxes whose folder is gone, or whose owner has ended."""
    paths = [*(process.program for process in own_processes()), *ports.reserved(), *podnet.reserved()]
    folders = {folder for path in paths if (folder := stack_folder(path)) is not None}
    return tuple(
        Orphan(folder, why, len(processes_in(folder))) for folder in sorted(folders) if (why := _why(folder))
    )


def stack_folder(path: Path) -> Path | None:
    """Return the folder of the stack's sandbox that a path is in, or None when it is in none."""
    for inner, folder in zip(path.parents, path.parents[1:], strict=False):
        if folder.parent.name == SANDBOX and inner.name in _WITH_PROGRAMS:
            return folder
    return None


def _why(folder: Path) -> str:
    """Why the sandbox belongs to nobody, or ""."""
    if not folder.parent.parent.exists():
        return f"its checkout {folder.parent.parent} is gone"
    if not folder.exists():
        return "its folder is gone"
    owner = owner_of(folder)
    return f"process {owner.pid}, which it belonged to, has ended" if owner and owner.ended() else ""


def _end(orphan: Orphan) -> None:
    if orphan.folder.exists():
        clusters.down(orphan.folder.parent.parent, orphan.folder.name)
        return
    end_processes(orphan.folder)
    # This drops the reservations of all folders that are gone.
    ports.release(orphan.folder)
    podnet.release(orphan.folder)
