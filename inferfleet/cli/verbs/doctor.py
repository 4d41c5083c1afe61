"""`inferfleet doctor`: is there all that an update needs, before it costs money?"""

from typing import Annotated, Any

import typer

from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.report import Report, reporting
from inferfleet.cli.report import as_values as problem_values
from inferfleet.cli.show.tables import print_table
from inferfleet.cli.source import (
    AsJson,
    ByFile,
    FleetFolder,
    FleetLock,
    FleetName,
    StackName,
    google,
    source_of_options,
)
from inferfleet.clusters.connections.git import Repository
from inferfleet.clusters.connections.kubeconfig import read_files
from inferfleet.clusters.connections.pulumi_command import Pulumi
from inferfleet.clusters.preflight.check import Check, problems
from inferfleet.clusters.preflight.doctor import Subject, look
from inferfleet.clusters.preflight.projects import leftovers as leftovers_of
from inferfleet.documents.problems import Problem

# Seconds for all that is asked. Nobody waits for an update meanwhile, and clusters may be far away.
SECONDS = 25.0


_NO_CLOUD = Problem(
    "no document of the stack has a cluster in Google Cloud, so nothing is looked for there",
    "Look before documents of clusters are removed",
    severity="notice",
)
Leftovers = Annotated[
    bool,
    typer.Option(
        "--leftovers",
        help="Look instead for what the stack's clusters have in Google Cloud: after `pulumi destroy`.",
    ),
]


def doctor(
    stack: StackName = None,
    folder: FleetFolder = None,
    fleet: FleetName = None,
    lock_file: FleetLock = None,
    kubeconfig: ByFile = None,
    leftovers: Leftovers = False,
    as_json: AsJson = False,
) -> None:
    """Look whether an update has what it needs, and change nothing: programs, the state, APIs, permissions
    and room in Google Cloud, and on clusters kinds, controllers, nodes and rights.

    With --leftovers it looks for clusters, nodes, disks, load balancers, addresses, NAT and networks of the
    stack that are there, and ends with 0 only where it could look at all of them.
    """
    with reporting(as_json=as_json) as report:
        source = source_of_options(folder, stack, fleet, lock_file, kubeconfig=kubeconfig)
        report.documents = source.documents
        report.problems += source.notices
        desired = source.desired()
        if leftovers:
            if not any(cluster.connection.cloud for cluster in desired.clusters):
                report.problems.append(_NO_CLOUD)
            checks = leftovers_of(desired, google(), seconds=SECONDS)
            _report(report, checks, as_json=as_json)
            # Whoever reads 0 deletes the state next, so what was not looked at is no "nothing is left".
            if any(check.verdict == "unseen" for check in checks):
                report.code = ExitCode.NOT_READY
            return
        root = source.root
        trusted = source.documents.settings.trust_repository_kubeconfigs
        connections = [cluster.connection for cluster in desired.clusters]
        kubeconfigs = read_files(connections, Repository(root, trusted))
        report.problems += kubeconfigs.warnings
        subject = Subject(desired, source.documents, source.lock, kubeconfigs)
        pulumi = Pulumi(root, source.files.pulumi_stack if source.files else source.documents.settings.stack)
        _report(report, look(subject, pulumi, google(), seconds=SECONDS), as_json=as_json)


def _report(report: Report, checks: tuple[Check, ...], *, as_json: bool) -> None:
    """Add the checks to the report and print them; its code says NOT_READY where one has an error."""
    report.problems += problems(checks)
    report.values["checks"] = [_as_values(check) for check in checks]
    if not as_json:
        print_table("what was looked at", ("of", "what", "verdict"), map(_row, checks))
    if report.failed:
        report.code = ExitCode.NOT_READY


def _row(check: Check) -> tuple[object, ...]:
    return check.of, check.what, check.verdict


def _as_values(check: Check) -> dict[str, Any]:
    problem = problem_values(check.problem) if check.problem else None
    return {"of": check.of, "what": check.what, "verdict": check.verdict, "problem": problem}
