"""A stack as it was in a commit, and as it is: what verbs compare that take `--base`."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from inferfleet.cli.source import FleetPlace, Source, locks_by_default, stack_source
from inferfleet.desired.gate import lock_mismatch_problems
from inferfleet.desired.values import Desired
from inferfleet.documents.loading.project import files_of_stack, map_in, stacks_of
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.review.commit import Revision, revision
from inferfleet.review.digest.comparison import Version, stack_digest
from inferfleet.review.digest.update import Side, lock_after
from inferfleet.review.digest.values import StackDigest


def compared(root: Path, stack: str | FleetPlace, base: str) -> tuple[Side, Revision, StackDigest]:
    """Return a stack or Fleet as it would be after the base, the base, and what differs.

    Raises InvalidDocuments for problems of the stack at hand.
    """
    with revision(root, base, also=() if isinstance(stack, str) else stack.read) as before:
        base_side = version(before.root, stack)
        head_side = version(root, stack, base_side)
        if not isinstance(head_side, Side):
            raise InvalidDocuments(head_side or ())
        name = head_side.documents.settings.stack
        return head_side, before, stack_digest(name, base_side, head_side)


def version(root: Path, stack: str | FleetPlace, base: Version = None) -> Version:
    """Return one side of a stack or Fleet, why it is not valid, or None where it is not there.

    A head is planned from what its base leaves behind. Messages name files of the project relative to its
    folder.
    """
    if isinstance(stack, str):
        if stack not in stacks_of(root):
            return None
    elif root != stack.root and not (root / stack.folder).is_dir():
        # A folder that is not there now is a mistake, and no Fleet that somebody removed.
        return None
    try:
        files = files_of_stack(root, stack) if isinstance(stack, str) else stack.files(root)
        source = stack_source(root, stack, base=root)
        lock = lock_after(base if isinstance(base, Side) else None, source.lock)
        desired = replace(source, lock=lock).desired()
        return Side(
            source.documents,
            lock,
            desired,
            tuple(_portable_problems(source.notices, root)),
            day=source.today,
            config=map_in(files.config_file, root),
            lock_refused=_lock_problems(source, desired if lock == source.lock else None),
        )
    except InvalidDocuments as invalid:
        return tuple(_portable_problems(invalid.problems, root))


def _lock_problems(source: Source, planned: Desired | None) -> tuple[Problem, ...]:
    """Return what `plan --locked` says of a stack whose updates are locked: by its settings, or in CI."""
    if not source.documents.settings.is_locked(ci=locks_by_default()):
        return ()
    return tuple(lock_mismatch_problems(planned or source.desired(), source.lock))


def _portable_problems(problems: Iterable[Problem], root: Path) -> Iterable[Problem]:
    """Yield the problems without the folder of the project, which is another one for each side."""
    for problem in problems:
        what, step = (text.replace(f"{root}/", "") for text in (problem.what, problem.next_step))
        yield replace(problem, what=what, next_step=step)
