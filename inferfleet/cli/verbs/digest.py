"""`inferfleet digest`: what a change does for people, for its pull request."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.output import json_text, print_line, print_yaml
from inferfleet.cli.report import reporting
from inferfleet.cli.show.manifests import refuse_links
from inferfleet.cli.sides import version
from inferfleet.cli.source import AsJson, FleetFolder, FleetLock, FleetName, FleetPlace, fleet_place
from inferfleet.cli.verbs.digest_markdown import markdown
from inferfleet.desired.gate import blocking_problems
from inferfleet.documents.loading.files import write_text
from inferfleet.documents.loading.project import files_of_stack, find_root, stacks_of
from inferfleet.documents.problems import Problem, Where, of_severity
from inferfleet.documents.wording import listing
from inferfleet.review.commit import Revision, revision
from inferfleet.review.digest.comparison import Version, file_changes, listed_problems, stack_digest
from inferfleet.review.digest.update import Side
from inferfleet.review.digest.values import Digest, FileChange, StackDigest

Base = Annotated[
    str,
    typer.Option("--base", help="Compare with this commit: a branch such as origin/main, a tag, or a hash."),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write digest.md and digest.json into this folder, and print none.",
    ),
]
OneStack = Annotated[
    str | None, typer.Option("--stack", "-s", help="Work on this stack. Default: all.", show_default=False)
]


def digest(
    base: Base,
    stack: OneStack = None,
    folder: FleetFolder = None,
    fleet: FleetName = None,
    lock_file: FleetLock = None,
    output: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show what changes for people between a commit and the working tree, stack by stack: models that move,
    restart or lose service meanwhile, pools that are replaced, GPUs, cost, quotas, routes, settings, policies
    and new warnings.

    Documents and locks of both sides are read, and nobody is asked: neither clusters nor clouds. Markdown is
    printed, as one comment of a pull request. With --output there is JSON besides, whose schema `inferfleet
    schema --of digest` prints.
    """
    with reporting(as_json=as_json) as report:
        fleet_at = fleet_place(folder, stack, fleet, lock_file)
        root = fleet_at.root if fleet_at else find_root(Path.cwd())
        heads: dict[str, Version] = {}
        bases: dict[str, Version] = {}
        with revision(root, base, also=fleet_at.read if fleet_at else ()) as before:
            stacks = []
            for name, place in _stacks(root, before, stack, fleet_at).items():
                bases[name] = version(before.root, place)
                heads[name] = version(root, place, bases[name])
                stacks.append(stack_digest(name, bases[name], heads[name]))
            files, others = _files(root, before, bases, heads, fleet=fleet_at, whole=stack is None)
            changes = Digest(
                base=before.commit,
                head=before.head,
                merges=before.merges,
                uncommitted=before.uncommitted,
                folder=before.prefix,
                files=files,
                others=others,
                remarks=listed_problems(before.notices, ()),
                stacks=tuple(stacks),
            )
            report.problems += before.notices
        report.problems += [
            Problem(
                problem.what,
                problem.step,
                problem.path,
                Where(problem.file, problem.line) if problem.file else None,
            )
            for each in stacks
            for problem in each.problems
            if problem.severity == "error"
        ]
        values = asdict(changes)
        report.values |= values
        if output is not None:
            texts = {"digest.md": markdown(changes), "digest.json": json_text(values)}
            refuse_links(output, texts)
            output.mkdir(parents=True, exist_ok=True)
            for name, text in texts.items():
                write_text(output / name, text)
            if not as_json:
                print_line(f"{output}: {listing(texts)} are written")
        elif not as_json:
            print_yaml(markdown(changes))
        report.code = _code(stacks, heads)


def _files(
    root: Path,
    before: Revision,
    bases: dict[str, Version],
    heads: dict[str, Version],
    *,
    fleet: FleetPlace | None,
    whole: bool,
) -> tuple[tuple[FileChange, ...], int]:
    """Return the files that differ and no stack reads; `whole`: all stacks are compared."""
    if not before.exists:
        return (), 0
    read: set[str] = set()
    for folder, versions in ((before.root, bases), (root, heads)):
        for name, side in versions.items():
            if isinstance(side, Side):
                read |= set(_read_by(folder, fleet or name, side))
    # Of a side with errors it is not known what it reads, nor of stacks that were not asked for.
    unknown = not whole or any(isinstance(side, tuple) for side in (*bases.values(), *heads.values()))
    return file_changes(before.clone.differing(before.commit), before.prefix, read=read, unknown=unknown)


def _read_by(root: Path, stack: str | FleetPlace, side: Side) -> Iterator[str]:
    """Yield the files of documents, settings and lock. A digest has the outcome of capacity.lock alone."""
    if isinstance(stack, str):
        files = replace(files_of_stack(root, stack), folder=side.documents.settings.documents)
    else:
        files = stack.files(root)
    for file in (*side.documents.sources.values(), files.config_file, files.lock_file):
        if file.is_relative_to(root):
            yield file.relative_to(root).as_posix()


def _stacks(
    root: Path, before: Revision, stack: str | None, fleet: FleetPlace | None
) -> Mapping[str, str | FleetPlace]:
    """Return the stacks of both sides, the one that is named, or the Fleet, by name.

    Raises InvalidDocuments for a stack that there is not.
    """
    if fleet is not None:
        return {fleet.files(root).stack: fleet}
    stack_names = {*stacks_of(root), *stacks_of(before.root)}
    if stack is None:
        return {name: name for name in sorted(stack_names)}
    name = stack if stack in stack_names else files_of_stack(root, stack).stack
    return {name: name}


def _code(stacks: Iterable[StackDigest], heads: dict[str, Version]) -> ExitCode:
    """Return the code of the worst stack: problems of documents, replicas without a place, the lock."""
    codes = [_code_of(stack, heads[stack.stack]) for stack in stacks]
    order = (ExitCode.PROBLEMS, ExitCode.UNPLACED, ExitCode.LOCK_DIFFERS)
    return next((code for code in order if code in codes), ExitCode.FINE)


def _code_of(stack: StackDigest, head: Version) -> ExitCode:
    errors = {problem.what for problem in stack.problems if problem.severity == "error"}
    if not errors or head is None:
        return ExitCode.FINE
    if not isinstance(head, Side):
        return ExitCode.PROBLEMS
    refused = blocking_problems(head.desired, head.documents, head.lock, locked=False, preview=False)
    unplaced = {problem.what for problem in of_severity(refused, "error")}
    if errors - unplaced - {problem.what for problem in head.lock_refused}:
        return ExitCode.PROBLEMS
    return ExitCode.UNPLACED if errors & unplaced else ExitCode.LOCK_DIFFERS
