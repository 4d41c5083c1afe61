"""`inferfleet status`: does what should serve really serve, and if not, what says so."""

import time
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from inferfleet.api.problems import Problem
from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.report import reporting
from inferfleet.cli.show.status import as_values, show, tables
from inferfleet.cli.show.tables import table
from inferfleet.cli.source import AsJson, StackName, google, read_source
from inferfleet.desired.values import Desired
from inferfleet.reach.asked import Asked
from inferfleet.reach.clusters import cluster_problem
from inferfleet.reach.kubeconfig import read_kubeconfigs
from inferfleet.status.read import Seen, read, read_cloud
from inferfleet.status.status import status as status_of
from inferfleet.status.values import Phase, Status

# A cluster that does not answer must not keep the others' answers back for long.
SECONDS = 10.0
# Between two looks with --watch; a start-up shows progress, and an API server does not feel it.
PAUSE = 2.0

Watch = Annotated[bool, typer.Option("--watch", "-w", help="Look again every 2 s, until Ctrl-C.")]


def status(stack: StackName = None, watch: Watch = False, as_json: AsJson = False) -> None:
    """Show the phase of deployments, pods, pickers, pools, routes and gateways, read from the clusters, and
    what somebody changed by hand.
    """
    if watch and as_json:
        raise typer.BadParameter("--watch is for people; call --json again and again", param_hint="--watch")
    with reporting(as_json=as_json) as report:
        source = read_source(None, stack)
        desired = source.desired()
        found = _watch(desired) if watch else look(desired)
        report.values |= as_values(found)
        if not as_json:
            show(found)
        if found.phase != Phase.READY:
            report.code = ExitCode.NOT_READY


def look(desired: Desired) -> Status:
    """The stack's status now. Clusters that do not answer are part of it."""
    connections = [one.connection for one in desired.clusters]
    # Values of configuration keys may be encrypted: only Pulumi can read them.
    texts, unread = read_kubeconfigs([one for one in connections if one.kubeconfig], {})
    seen: dict[str, Seen | Problem] = dict(unread)
    for one in connections:
        if one.config_key:
            what = f"its kubeconfig is the configuration key {one.config_key!r}, which only Pulumi reads"
            seen[one.cluster] = cluster_problem(one.cluster, what, "Name a file, to see its status")
    until = time.monotonic() + SECONDS
    cloud = Asked({"cloud": partial(read_cloud, desired, google=google(), seconds=SECONDS)})
    seen |= read(desired, texts, container_api=google().container, seconds=SECONDS)
    in_cloud = cloud.answers(until=until).get("cloud", {})
    return status_of(desired, seen, datetime.now(UTC), in_cloud=in_cloud)


def _watch(desired: Desired) -> Status:
    """Redraw until Ctrl-C; the last status is what the command ends with."""
    found = look(desired)
    try:
        with Live(_drawn(found), console=Console(), auto_refresh=False, screen=True) as live:
            while True:
                time.sleep(PAUSE)
                found = look(desired)
                live.update(_drawn(found), refresh=True)
    except KeyboardInterrupt:
        return found


def _drawn(found: Status) -> RenderableType:
    parts: list[RenderableType] = []
    for title, columns, rows in tables(found):
        parts += [Text(title, style="bold"), table(columns, rows), Text("")]
    return Group(*parts)
