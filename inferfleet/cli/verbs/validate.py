"""`inferfleet validate`: every problem of documents, classes, settings and lock."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from inferfleet.api.documents import Documents
from inferfleet.api.loading.stack import find_root, stacks_of
from inferfleet.api.problems import InvalidDocuments, Problem
from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.output import print_line
from inferfleet.cli.report import Report, reporting
from inferfleet.cli.source import AsJson, Paths, Source, StackName, read_source, stack_source
from inferfleet.desired.gate import announcements, refusals

Every = Annotated[bool, typer.Option("--all", help="Check all stacks of the project.")]


def validate(
    paths: Paths = None, stack: StackName = None, every: Every = False, as_json: AsJson = False
) -> None:
    """Check documents, classes, settings and lock: everything that `pulumi up` would refuse without asking
    a cluster.
    """
    with reporting(as_json=as_json) as report:
        if every:
            if paths or stack is not None:
                raise typer.BadParameter("name nothing else with it", param_hint="--all")
            _every(report, as_json=as_json)
            return
        source = read_source(paths, stack)
        report.documents = source.documents
        report.problems += source.notices
        counts = _counts(source.documents)
        report.values["documents"] = counts
        problems, unplaced = _checked(source)
        report.problems += problems
        if unplaced:
            report.code = ExitCode.UNPLACED
        elif not as_json:
            print_line(f"valid: {_told(counts)}")


def _every(report: Report, *, as_json: bool) -> None:
    """Check each stack; one that is not valid hides no problem of another."""
    root = find_root(Path.cwd())
    counts = {}
    unplaced = False
    for stack in stacks_of(root):
        try:
            source = stack_source(root, stack, base=Path.cwd())
            problems, without_place = _checked(source)
        except InvalidDocuments as invalid:
            report.problems += invalid.problems
            continue
        counts[stack] = _counts(source.documents)
        report.problems += source.documents.located([*source.notices, *problems])
        unplaced |= without_place
        if not without_place and not as_json:
            print_line(f"{stack}: valid: {_told(counts[stack])}")
    report.values["documents"] = counts
    if unplaced and len(counts) == len(stacks_of(root)):
        report.code = ExitCode.UNPLACED


def _checked(source: Source) -> tuple[list[Problem], bool]:
    """Return what is wrong or to be said of a source, and whether replicas without a place stop an update."""
    documents, lock = source.documents, source.lock
    desired = source.desired()
    said: Iterable[Problem] = announcements(desired, documents, lock, locked=False, preview=False)
    unplaced = refusals(desired, documents, lock, locked=False, preview=False)
    return [*said, *unplaced], bool(unplaced)


def _counts(documents: Documents) -> dict[str, int]:
    return {
        "classes": len(documents.classes),
        "clusters": len(documents.clusters),
        "deployments": len(documents.deployments),
        "services": len(documents.services),
    }


def _told(counts: dict[str, int]) -> str:
    return ", ".join(f"{kind} {number}" for kind, number in counts.items())
