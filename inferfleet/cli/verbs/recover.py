"""`inferfleet recover`: fix what a killed update left behind."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.output import print_line
from inferfleet.cli.report import Report, reporting
from inferfleet.cli.show.recovery import as_values, notices, show
from inferfleet.cli.source import AsJson, StackName, container_api, only_stack, read_source
from inferfleet.clusters.connections.pulumi_command import Pulumi
from inferfleet.desired.values import Desired
from inferfleet.documents.loading.project import files_of_stack, find_root
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.recovery.survey import Survey, survey
from inferfleet.recovery.work import carry_out, commands

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Run the commands without asking.")]
ForceLock = Annotated[
    bool,
    typer.Option(
        "--force-lock",
        help="Remove a lock whose process may still run. Use it when you know that the process is gone.",
    ),
]


def recover(
    stack: StackName = None, yes: Yes = False, force_lock: ForceLock = False, as_json: AsJson = False
) -> None:
    """Find what a killed update left behind, and fix it: locks, unfinished operations, broken node pools."""
    with reporting(as_json=as_json) as report:
        root = find_root(Path.cwd())
        files = files_of_stack(root, stack if stack is not None else only_stack(root))
        pulumi = Pulumi(root, files.stack)
        desired, trusted = _desired(files.stack, report)
        report.values["found"] = []
        ask = partial(survey, pulumi, desired, trusted=trusted, container_api=container_api())
        left = _round(pulumi, ask, report, yes=yes, force_lock=force_lock, as_json=as_json)
        if left.files and report.code is ExitCode.FINE:
            # The state can be read only now, and with it what is to be asked about.
            _round(pulumi, ask, report, yes=yes, force_lock=force_lock, as_json=as_json)


def _desired(stack: str, report: Report) -> tuple[Desired | None, bool]:
    """Return what the documents ask for, None where they have problems, and whether kubeconfigs of the
    repository are trusted. Locks are removed all the same; what cannot be decided without knowing the
    clusters stays as it is.
    """
    try:
        source = read_source(None, stack)
        report.documents = source.documents
        return source.desired(), source.documents.settings.trust_repository_kubeconfigs
    except InvalidDocuments as invalid:
        report.add(invalid.problems, "warning")
        return None, False


def _round(
    pulumi: Pulumi,
    ask: Callable[[], Survey],
    report: Report,
    *,
    yes: bool,
    force_lock: bool,
    as_json: bool,
) -> Survey:
    """Look, print, ask and fix; `report.code` is FINE when everything is fixed. Return what there was."""
    before = ask()
    planned = commands(before, pulumi.stack, force_lock=force_lock)
    report.values["found"].append(as_values(before, planned))
    report.problems += notices(before, force_lock=force_lock)
    report.code = ExitCode.UNFINISHED if before.unfinished else ExitCode.FINE
    if not as_json:
        show(before, planned)
    if not planned or not (yes or _agreed(as_json)):
        return before

    def tell(command: str) -> None:
        if not as_json:
            print_line(f"$ {command}", flush=True)

    report.problems += carry_out(before, pulumi, force_lock=force_lock, tell=tell)
    if before.files:
        report.code = ExitCode.FINE
        return before
    after = ask()
    fixed = not (after.unfinished or report.failed)
    report.code = ExitCode.FINE if fixed else ExitCode.UNFINISHED
    if not as_json:
        print_line("Fixed: `pulumi up` goes on." if fixed else "Not everything is fixed: run this again.")
    return before


def _agreed(as_json: bool) -> bool:
    # Without a terminal there is nobody to answer: then the commands are only shown.
    return not as_json and sys.stdin.isatty() and typer.confirm("Run these commands?")
