"""`inferfleet recover`: mends what an update left behind that was killed in the middle."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from inferfleet.api.loading.stack import find_root
from inferfleet.api.loading.stack_files import files_of_stack
from inferfleet.api.problems import InvalidDocuments
from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.report import Report, reporting
from inferfleet.cli.show.recovery import as_values, notices, show
from inferfleet.cli.source import AsJson, StackName, container_api, only_stack, read_source
from inferfleet.desired.values import Desired
from inferfleet.recovery.pulumi_command import Pulumi
from inferfleet.recovery.survey import Survey, survey
from inferfleet.recovery.work import carry_out, commands

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
ForceLock = Annotated[
    bool,
    typer.Option("--force-lock", help="Remove a lock whose process may live. You know that it does not."),
]


def recover(
    stack: StackName = None, yes: Yes = False, force_lock: ForceLock = False, as_json: AsJson = False
) -> None:
    """Find what an update left that was killed, and mend it: locks, operations, node pools."""
    with reporting(as_json=as_json) as report:
        root = find_root(Path.cwd())
        files = files_of_stack(root, stack if stack is not None else only_stack(root))
        pulumi = Pulumi(root, files.stack)
        desired = _desired(files.stack, report)
        report.values["found"] = []
        found = _round(pulumi, desired, report, yes=yes, force_lock=force_lock, as_json=as_json)
        if found.files and report.code is ExitCode.FINE:
            # Only now the state can be read, and what it tells be asked about.
            _round(pulumi, desired, report, yes=yes, force_lock=force_lock, as_json=as_json)


def _desired(stack: str, report: Report) -> Desired | None:
    """Without it locks are removed all the same; what needs to know clusters is left as it is."""
    try:
        return read_source(None, stack).desired()
    except InvalidDocuments as invalid:
        report.add(invalid.problems, "warning")
        return None


def _round(
    pulumi: Pulumi,
    desired: Desired | None,
    report: Report,
    *,
    yes: bool,
    force_lock: bool,
    as_json: bool,
) -> Survey:
    """Look, tell, ask, mend; `report.code` is FINE when all that was found is mended."""
    found = survey(pulumi, desired, container_api=container_api())
    planned = commands(found, pulumi.stack, force_lock=force_lock)
    report.values["found"].append(as_values(found, planned))
    report.add(notices(found, force_lock=force_lock), "notice")
    report.code = ExitCode.UNFINISHED if found.unfinished else ExitCode.FINE
    if not as_json:
        show(found, planned)
    if not planned or not (yes or _agreed(as_json)):
        return found

    def tell(command: str) -> None:
        if not as_json:
            print(f"$ {command}", flush=True)

    report.problems += carry_out(found, pulumi, force_lock=force_lock, tell=tell)
    if found.files:
        report.code = ExitCode.FINE
        return found
    left = survey(pulumi, desired, container_api=container_api())
    mended = not (left.unfinished or report.failed)
    report.code = ExitCode.FINE if mended else ExitCode.UNFINISHED
    if not as_json:
        print("Mended: `pulumi up` goes on." if mended else "Not all of it is mended: run this again.")
    return found


def _agreed(as_json: bool) -> bool:
    # Nobody is there to answer: telling is all that is done.
    return not as_json and sys.stdin.isatty() and typer.confirm("Run these commands?")
