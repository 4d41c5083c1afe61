"""`inferfleet capacity`: what clusters and Google Cloud have for pools now, to be committed."""

from dataclasses import replace
from datetime import date
from typing import Annotated, Any

import typer

from inferfleet.cli.output import print_line
from inferfleet.cli.report import reporting
from inferfleet.cli.show.tables import print_table
from inferfleet.cli.source import (
    AsJson,
    ByFile,
    FleetFolder,
    FleetLock,
    FleetName,
    StackName,
    google,
    shown_path,
    source_of_options,
)
from inferfleet.documents.loading.files import write_text
from inferfleet.documents.loading.project import read_capacity
from inferfleet.fleet.lock.capacity import Amounts, Observation, listed_labels, text
from inferfleet.fleet.placement.space import amount, shortage_problems
from inferfleet.fleet.shapes import PoolKey

# Clusters are far away, and Google is asked about quotas after them.
_SECONDS = 20.0
_COLUMNS = (
    "pool",
    "nodes",
    "missing",
    "cordoned or not ready",
    "GPUs per node",
    "GPUs of others",
    "DaemonSets",
    "other pods",
    "most nodes",
)

Write = Annotated[bool, typer.Option("--write", help="Write capacity.lock, beside placement.lock.")]


def capacity(
    stack: StackName = None,
    folder: FleetFolder = None,
    fleet: FleetName = None,
    lock_file: FleetLock = None,
    kubeconfig: ByFile = None,
    write: Write = False,
    as_json: AsJson = False,
) -> None:
    """Ask clusters, and Google about quotas and reservations, what there is for each pool.

    With --write it is noted with today's date, for plans to read: new replicas are placed by the smaller of
    what documents declare and what was seen. Lines of clusters that do not answer stay.
    """
    with reporting(as_json=as_json) as report:
        source = source_of_options(folder, stack, fleet, lock_file, kubeconfig=kubeconfig)
        files, documents = source.files, source.documents
        report.documents = documents
        report.problems += source.notices
        if files is None:
            return
        # They import clients for clusters and Google Cloud.
        from inferfleet.clusters.connections.git import Repository
        from inferfleet.clusters.connections.kubeconfig import read_files
        from inferfleet.clusters.preflight.nodes import capacity_of_pools

        # What was seen another day does not decide whether clusters are asked today.
        desired = replace(source, lock=replace(source.lock, seen={})).desired()
        connections = [cluster.connection for cluster in desired.clusters]
        repository = Repository(files.root, documents.settings.trust_repository_kubeconfigs)
        kubeconfigs = read_files(connections, repository)
        today = date.today()
        seen, problems = capacity_of_pools(
            desired, documents, kubeconfigs.texts, google=google(), today=today, seconds=_SECONDS
        )
        report.problems += [*kubeconfigs.warnings, *kubeconfigs.problems.values(), *problems]
        report.problems += shortage_problems(documents, seen)
        declared = {
            (name, pool.name)
            for name, cluster in documents.clusters.items()
            for pool in cluster.spec.node_pools
        }
        kept = {key: observation for key, observation in source.lock.seen.items() if key in declared} | seen
        file = shown_path(files.capacity_file)
        new = text(files.stack, kept)
        changed = write and new != read_capacity(files, file)
        if changed:
            write_text(files.capacity_file, new)
        report.values["pools"] = {
            "/".join(key): _as_values(observation) for key, observation in sorted(seen.items())
        }
        report.values["file"] = {"file": file, "written": changed}
        if not as_json:
            print_table(f"pools of stack {files.stack}, seen now", _COLUMNS, map(_row, sorted(seen.items())))
            if write:
                print_line(f"{file} {'written' if changed else 'is as it should be'}")


def _row(item: tuple[PoolKey, Observation]) -> tuple[object, ...]:
    key, observation = item
    other_amounts = Amounts(
        sum(each.cpu for each in observation.others), sum(each.memory for each in observation.others)
    )
    return (
        "/".join(key),
        observation.nodes,
        observation.missing,
        len(observation.held),
        observation.gpus,
        sum(observation.foreign),
        amount(observation.daemons),
        amount(other_amounts),
        observation.most,
    )


def _as_values(observation: Observation) -> dict[str, Any]:
    return {
        "seen": observation.day.isoformat(),
        "nodes": observation.nodes,
        "missing": observation.missing,
        "held": list(observation.held),
        "gpus": observation.gpus,
        "cpuMillis": observation.cpu,
        "memoryBytes": observation.memory,
        "foreign": list(observation.foreign),
        "daemons": _beside(observation.daemons),
        "others": [_beside(each) for each in observation.others],
        "labels": listed_labels(observation.labels),
        "most": observation.most,
    }


def _beside(amounts: Amounts) -> dict[str, int]:
    return {"cpuMillis": amounts.cpu, "memoryBytes": amounts.memory}
