"""`inferfleet status`: does everything serve that should, and if not, why?"""

import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.report import reporting
from inferfleet.cli.show.status import as_values, show, tables
from inferfleet.cli.show.tables import table
from inferfleet.cli.source import AsJson, StackName, google, read_source
from inferfleet.clusters.connections.git import Repository
from inferfleet.clusters.connections.kubeconfig import read_kubeconfigs
from inferfleet.clusters.connections.questions import Questions
from inferfleet.clusters.status.read import LiveCluster, read, read_cloud
from inferfleet.clusters.status.status import status as status_of
from inferfleet.clusters.status.values import Phase, Status
from inferfleet.desired.values import Desired
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import one_line

# Seconds: a cluster that does not answer must not delay the answers of the others for long.
SECONDS = 10.0
# Seconds between two looks with --watch: often enough to show progress, and no load for an API server.
PAUSE = 2.0

Watch = Annotated[bool, typer.Option("--watch", "-w", help="Look again every 2 s, until Ctrl-C.")]


def status(stack: StackName = None, watch: Watch = False, as_json: AsJson = False) -> None:
    """Show what serves and what does not, and why: the phase of deployments, pods, pickers, pools, routes and
    gateways, read from the clusters, and what somebody changed by hand.
    """
    with reporting(as_json=as_json) as report:
        if watch and as_json:
            why = "--watch is for people; for machines call --json repeatedly"
            raise typer.BadParameter(why, param_hint="--watch")
        source = read_source(None, stack)
        report.documents = source.documents
        desired = source.desired()
        trusted = source.documents.settings.trust_repository_kubeconfigs
        repository = Repository(source.files.root if source.files else Path.cwd(), trusted)
        current = _watch(desired, repository) if watch else look(desired, repository)
        report.values |= as_values(current)
        if not as_json:
            show(current)
        if current.phase != Phase.READY:
            report.code = ExitCode.NOT_READY


def look(desired: Desired, repository: Repository) -> Status:
    """Return the status of the stack now. Clusters that do not answer are part of it."""
    connections = [cluster.connection for cluster in desired.clusters]
    # Values of configuration keys may be encrypted: only Pulumi can read them.
    by_path = [known for known in connections if known.kubeconfig]
    kubeconfigs = read_kubeconfigs(by_path, {}, repository)
    seen: dict[str, LiveCluster | Problem] = dict(kubeconfigs.problems)
    for connection in connections:
        if key := connection.config_key:
            what = f"its kubeconfig is the configuration key {key!r}, which only Pulumi reads"
            step = "Name a file, to see its status"
            seen[connection.cluster] = cluster_problem(connection.cluster, what, step)
    until = time.monotonic() + SECONDS
    cloud = Questions({"cloud": partial(read_cloud, desired, google=google(), seconds=SECONDS)})
    seen |= read(desired, kubeconfigs.texts, container_api=google().container, seconds=SECONDS)
    in_cloud = cloud.answers(until=until).get("cloud", {})
    return status_of(desired, seen, datetime.now(UTC), in_cloud=in_cloud)


def _watch(desired: Desired, repository: Repository) -> Status:
    """Redraw until Ctrl-C; the last status is what the command ends with."""
    current = look(desired, repository)
    try:
        with Live(_drawn(current), console=Console(), auto_refresh=False, screen=True) as live:
            while True:
                time.sleep(PAUSE)
                current = look(desired, repository)
                live.update(_drawn(current), refresh=True)
    except KeyboardInterrupt:
        return current


def _drawn(status: Status) -> RenderableType:
    parts: list[RenderableType] = []
    for title, columns, rows in tables(status):
        parts += [Text(one_line(title), style="bold"), table(columns, rows), Text("")]
    return Group(*parts)
