"""`inferfleet validate`: every problem of documents, classes, settings, lock and policies."""

from pathlib import Path
from typing import Annotated

import typer

from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.output import print_line
from inferfleet.cli.report import Report, reporting
from inferfleet.cli.source import (
    AsJson,
    FleetFolder,
    FleetLock,
    FleetName,
    Paths,
    Source,
    StackName,
    source_of_options,
    stack_source,
)
from inferfleet.desired.gate import announced_problems, blocking_problems
from inferfleet.documents.documents import Documents
from inferfleet.documents.loading.project import find_root, stacks_of
from inferfleet.documents.problems import InvalidDocuments, Problem, of_severity

Every = Annotated[bool, typer.Option("--all", help="Check all stacks of the project.")]


def validate(
    paths: Paths = None,
    stack: StackName = None,
    folder: FleetFolder = None,
    fleet: FleetName = None,
    lock_file: FleetLock = None,
    every: Every = False,
    as_json: AsJson = False,
) -> None:
    """Check documents, classes, settings, lock and policies: everything that `pulumi up` would refuse without
    asking a cluster.
    """
    with reporting(as_json=as_json) as report:
        if every:
            if paths or stack is not None or folder is not None:
                raise typer.BadParameter("name nothing else with it", param_hint="--all")
            _check_all(report, as_json=as_json)
            return
        source = source_of_options(folder, stack, fleet, lock_file, paths=paths)
        report.documents = source.documents
        report.problems += source.notices
        counts = _counts(source.documents)
        report.values["documents"] = counts
        problems, code = _checked(source)
        report.problems += problems
        if code is not ExitCode.FINE:
            report.code = code
        elif not as_json:
            print_line(f"valid: {_summary(counts)}")


def _check_all(report: Report, *, as_json: bool) -> None:
    """Check each stack; one that is not valid hides no problem of another."""
    root = find_root(Path.cwd())
    counts = {}
    codes = set()
    for stack in stacks_of(root):
        try:
            source = stack_source(root, stack, base=Path.cwd())
            problems, code = _checked(source)
        except InvalidDocuments as invalid:
            report.problems += invalid.problems
            codes.add(ExitCode.PROBLEMS)
            continue
        counts[stack] = _counts(source.documents)
        report.problems += source.documents.located([*source.notices, *problems])
        codes.add(code)
        if code is ExitCode.FINE and not as_json:
            print_line(f"{stack}: valid: {_summary(counts[stack])}")
    report.values["documents"] = counts
    if ExitCode.UNPLACED in codes and ExitCode.PROBLEMS not in codes:
        report.code = ExitCode.UNPLACED


def _checked(source: Source) -> tuple[list[Problem], ExitCode]:
    """Return what is wrong or to be said of a source, and the exit code that follows."""
    documents, lock = source.documents, source.lock
    desired = source.desired()
    policy_problems = source.policy_problems(desired)
    unplaced = blocking_problems(desired, documents, lock, locked=False, preview=False)
    problems = [
        *announced_problems(desired, documents, lock, locked=False, preview=False),
        *policy_problems,
        *unplaced,
    ]
    if of_severity(policy_problems, "error"):
        return problems, ExitCode.PROBLEMS
    return problems, ExitCode.UNPLACED if unplaced else ExitCode.FINE


def _counts(documents: Documents) -> dict[str, int]:
    return {
        "classes": len(documents.classes),
        "clusters": len(documents.clusters),
        "deployments": len(documents.deployments),
        "services": len(documents.services),
    }


def _summary(counts: dict[str, int]) -> str:
    return ", ".join(f"{kind} {number}" for kind, number in counts.items())
