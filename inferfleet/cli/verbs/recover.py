"""`inferfleet recover`: fix what a killed update left behind."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.output import print_line
from inferfleet.cli.report import Report, reporting
from inferfleet.cli.show.tables import print_table
from inferfleet.cli.source import (
    AsJson,
    ByFile,
    FleetFolder,
    FleetLock,
    FleetName,
    FleetPlace,
    StackName,
    container_api,
    edits_by_file,
    fleet_place,
    only_stack,
    read_source,
)
from inferfleet.clusters.connections.pulumi_command import Pulumi
from inferfleet.desired.values import Desired
from inferfleet.documents.loading.edits import Edit
from inferfleet.documents.loading.project import files_of_stack, find_root
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.recovery.locks import Holder
from inferfleet.recovery.state import LOST, Action
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
_HOLDERS = {
    Holder.GONE: "that process is gone",
    Holder.ALIVE: "that process is running",
    Holder.UNKNOWN: "whether that process is running cannot be seen from this machine",
}


LostState = Annotated[
    bool,
    typer.Option(
        "--lost-state",
        help="Take over what exists of that which an update would create. Use it when the state was lost.",
    ),
]


def recover(
    stack: StackName = None,
    folder: FleetFolder = None,
    fleet: FleetName = None,
    lock_file: FleetLock = None,
    kubeconfig: ByFile = None,
    yes: Yes = False,
    force_lock: ForceLock = False,
    lost_state: LostState = False,
    as_json: AsJson = False,
) -> None:
    """Find what a killed update left behind, and fix it: locks, unfinished operations, broken node pools.

    With --lost-state objects that carry this stack's label, and resources in Google Cloud that have the names
    of the documents, are put into a state that lacks them. Nothing of them is changed. It goes step by step:
    run it again until it says that nothing is left.
    """
    with reporting(as_json=as_json) as report:
        place = fleet_place(folder, stack, fleet, lock_file)
        if place is not None:
            files = place.files(place.root)
        else:
            root = find_root(Path.cwd())
            files = files_of_stack(root, stack if stack is not None else only_stack(root))
        pulumi = Pulumi(files.root, files.pulumi_stack)
        desired, trusted = _desired(files.stack, place, edits_by_file(kubeconfig), report)
        report.values["found"] = []
        ask = partial(
            survey,
            pulumi,
            files,
            desired,
            trusted=trusted,
            container_api=container_api(),
            lost_state=lost_state,
        )
        remaining = _round(pulumi, ask, report, yes=yes, force_lock=force_lock, as_json=as_json)
        if remaining.files and report.code is ExitCode.FINE:
            # The state can be read only now, and with it what is to be asked about.
            _round(pulumi, ask, report, yes=yes, force_lock=force_lock, as_json=as_json)


def _desired(
    stack: str, place: FleetPlace | None, edits: tuple[Edit, ...], report: Report
) -> tuple[Desired | None, bool]:
    """Return what the documents ask for, None where they have problems, and whether kubeconfigs of the
    repository are trusted. Locks are removed all the same; what cannot be decided without knowing the
    clusters stays as it is.
    """
    try:
        source = read_source(None, stack, fleet=place, edits=edits)
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
    report.problems += survey_problems(before, force_lock=force_lock)
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


def show(survey: Survey, planned: tuple[str, ...]) -> None:
    """Print tables of what an update left behind, then the commands that fix it."""
    if survey.nothing and survey.passed_over:
        print_line("Nothing to fix, apart from what is paused or lost: that was not looked at.")
    elif survey.nothing:
        print_line("Nothing to fix: no lock, no operation that did not finish, no broken node pool.")
    if survey.files:
        print_line("Half-written files, which keep the engine from reading the state beside them:")
        _print(str(file) for file in survey.files)
        print_line()
    if survey.locked:
        print_table("Locks", ("lock", "what is known"), _locks(survey))
        print_line()
    if survey.decisions:
        print_table(
            "Operations that did not finish",
            ("resource", "interrupted while", "found", "what to do"),
            (
                (
                    decision.resource.title,
                    "its state was lost" if decision.kind == LOST else decision.kind,
                    decision.why,
                    decision.action,
                )
                for decision in survey.decisions
            ),
        )
        print_line()
    if survey.providers:
        print_line("Providers that the state lacks, without which nothing can be read:")
        _print(urn for urn in survey.providers if ":providers:" in urn)
        print_line()
    if survey.pools:
        print_table(
            "Node pools in status ERROR",
            ("cluster", "pool", "in the state", "what Google says"),
            ((pool.cluster, pool.name, "yes" if pool.known else "no", pool.message) for pool in survey.pools),
        )
        print_line(
            "The next update refreshes those in the state. If one stays as it is, or is not in the state,"
        )
        print_line("delete it by hand, and the update after that creates it again:")
        _print(command for pool in survey.pools for command in pool.commands)
        print_line()
    if planned:
        print_line("To fix it:")
        _print(planned)
    if any("state.json" in command for command in planned):
        print_line("  (state.json: what `pulumi stack export` prints, with these changes in it)")


def as_values(survey: Survey, planned: tuple[str, ...]) -> dict[str, Any]:
    """Return the same facts as values for JSON."""
    return {
        "files": [str(file) for file in survey.files],
        "locks": [
            {
                "host": lock.host,
                "user": lock.user,
                "process": lock.process,
                "since": lock.since,
                "holder": holder,
            }
            for lock, holder in survey.locks
        ],
        "busy": survey.busy,
        "operations": [
            {
                "urn": decision.resource.urn,
                "kind": decision.kind,
                "found": decision.why,
                "action": decision.action.name.lower(),
                "id": decision.id,
            }
            for decision in survey.decisions
        ],
        "pools": [
            {
                "cluster": pool.cluster,
                "name": pool.name,
                "known": pool.known,
                "message": pool.message,
                "commands": list(pool.commands),
            }
            for pool in survey.pools
        ],
        "providers": list(survey.providers),
        "commands": list(planned),
    }


def survey_problems(survey: Survey, *, force_lock: bool) -> list[Problem]:
    """Return what could not be found out, and what is not touched because of it."""
    problems = [
        *survey.unknown,
        *(decision.problem for decision in survey.decisions if decision.problem),
        *survey.passed_over,
    ]
    if any(decision.action is Action.LEAVE for decision in survey.decisions):
        what = "some operations cannot be decided on and stay in the state, and all others with them"
        problems.append(Problem(what, "Fix what keeps them from being decided on, then run this again"))
    if survey.in_use and not force_lock:
        what = "an update of this stack may be running, so nothing is touched"
        step = "Wait for it, or add --force-lock when you know that its process is gone"
        problems.append(Problem(what, step))
    if survey.hidden and not force_lock:
        what = "only the engine can read the locks of this backend"
        step = "If `pulumi up` names a lock whose process is gone, add --force-lock"
        problems.append(Problem(what, step))
    return [replace(problem, severity="notice") for problem in problems]


def _locks(survey: Survey) -> Iterable[tuple[str, str]]:
    yield from ((str(lock), _HOLDERS[holder]) for lock, holder in survey.locks)
    if survey.busy:
        yield "the backend's own", "it says that an update is running"


def _print(commands: Iterable[str]) -> None:
    for command in commands:
        print_line(f"  {command}")
