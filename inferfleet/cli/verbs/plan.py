"""`inferfleet plan`: what runs where, what would move, what has no place."""

from dataclasses import replace
from typing import Annotated

import typer

from inferfleet.api.documents import Documents
from inferfleet.api.loading.files import read_text, write_text
from inferfleet.api.problems import Problem
from inferfleet.cli.report import ExitCode, Report, reporting
from inferfleet.cli.show.plan import as_values, show
from inferfleet.cli.source import AsJson, Paths, Source, StackName, container_api, read_source, shown_path
from inferfleet.desired.gate import announcements, refusals
from inferfleet.desired.values import Desired
from inferfleet.fleet.lock.lock import Lock, matches, text
from inferfleet.preflight.observe import identify
from inferfleet.reach.gke import path_of
from inferfleet.reach.kubeconfig import GIVEN_UP, read_kubeconfigs
from inferfleet.reach.lines import located
from inferfleet.run import remade, with_uids

# Writing a lock on a train must not take long; `pulumi up` records what is missed here.
SECONDS = 4.0


def with_reachable_uids(desired: Desired, documents: Documents, before: Lock) -> tuple[Lock, list[Problem]]:
    """The plan's lock with the UIDs of clusters that answer at once, and a warning for each that does not.

    `before` is the lock that the plan was made from: clusters that are made anew get their UID later.
    """
    lock = desired.plan.lock
    unknown = {name for name, cluster in lock.clusters.items() if cluster.uid is None} - remade(before, lock)
    clusters = tuple(
        one
        for one in desired.clusters
        if one.connection.cluster in unknown and one.connection.state not in GIVEN_UP
    )
    connections = [one.connection for one in clusters]
    if not connections:
        return lock, []
    # Values of configuration keys may be encrypted: only Pulumi can read them.
    texts, unread = read_kubeconfigs([one for one in connections if one.kubeconfig], {})
    uids, silent = identify(
        replace(desired, clusters=clusters), texts, container_api=container_api(), seconds=SECONDS
    )
    reasons = {name: problem.what for name, problem in (unread | silent).items()} | {
        one.cluster: f"the kubeconfig of cluster {one.cluster!r} is in the configuration, which Pulumi reads"
        for one in connections
        if one.config_key
    }
    step = "`pulumi up` records it, or run this again where the cluster answers"
    paths = {one.cluster: path_of(one) for one in connections}
    return with_uids(lock, uids), [
        located(Problem(f"no UID recorded: {what}", step, paths[name]), name, documents)
        for name, what in sorted(reasons.items())
    ]


Write = Annotated[bool, typer.Option("--write", help="Write placement.lock.")]
Locked = Annotated[bool, typer.Option("--locked", help="Fail when placement.lock does not match.")]


def plan(
    paths: Paths = None,
    stack: StackName = None,
    write: Write = False,
    locked: Locked = False,
    as_json: AsJson = False,
) -> None:
    """Show placements, what moves against placement.lock, and replicas without a place, with reasons.

    With --write the lock is updated, and UIDs of existing clusters that can be reached are recorded.
    """
    if write and locked:
        raise typer.BadParameter("--write and --locked contradict each other", param_hint="--write")
    if paths and (write or locked):
        raise typer.BadParameter(
            "documents named by path have no placement.lock; name a --stack",
            param_hint="--write" if write else "--locked",
        )
    with reporting(as_json=as_json) as report:
        source = read_source(paths, stack)
        documents, lock = source.documents, source.lock
        report.notices += documents.notices
        desired = source.desired()
        report.values |= as_values(desired, documents)
        report.values["lock"] = source.files and {
            "file": shown_path(source.files.lock_file),
            "matches": matches(lock, desired.plan.lock),
            "written": False,
        }
        if not as_json:
            show(desired, documents, remembered=source.files is not None)
        report.warnings += announcements(desired, documents, lock, locked=False, preview=False)
        unplaced = refusals(desired, documents, lock, locked=False, preview=False)
        if unplaced:
            report.problems += unplaced
            report.code = ExitCode.UNPLACED
        if locked:
            mismatch = [
                one
                for one in refusals(desired, documents, lock, locked=True, preview=False)
                if one not in unplaced
            ]
            if mismatch:
                report.problems += mismatch
                report.code = ExitCode.LOCK_DIFFERS
        if write and not unplaced:
            _write(source, desired, report, as_json=as_json)


def _write(source: Source, desired: Desired, report: Report, *, as_json: bool) -> None:
    if source.files is None:
        return
    new, unknown = with_reachable_uids(desired, source.documents, source.lock)
    report.warnings += unknown
    file = source.files.lock_file
    changed = text(new) != read_text(file)
    if changed:
        write_text(file, text(new))
    report.values["lock"] |= {"matches": True, "written": changed}
    if not as_json:
        print(f"\n{shown_path(file)} {'written' if changed else 'is as it should be'}")
