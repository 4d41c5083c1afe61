"""`inferfleet render`: every manifest and every cloud setting, per cluster."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.output import print_json, print_line, print_yaml, visible
from inferfleet.cli.report import reporting
from inferfleet.cli.show.manifests import Format, manifest_text, write_folder
from inferfleet.cli.source import (
    FleetFolder,
    FleetLock,
    FleetName,
    Paths,
    StackName,
    source_of_options,
)
from inferfleet.cloud.values import CloudResource
from inferfleet.desired.gate import announced_problems, blocking_problems
from inferfleet.desired.values import Desired, KubeObject

Folder = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write files <cluster>/<namespace>/<kind>-<name> into this folder."),
]
AsFormat = Annotated[Format, typer.Option("--format", "-f", help="Format of the manifests.")]
_HELD = "# paused, or on a lost cluster: updates do not write this, and what is there stays"


def render(
    paths: Paths = None,
    stack: StackName = None,
    folder: FleetFolder = None,
    fleet: FleetName = None,
    lock_file: FleetLock = None,
    output: Folder = None,
    as_format: AsFormat = "yaml",
) -> None:
    """Print every Kubernetes object that should exist, per cluster, or write them into a folder.

    For clusters that the stack creates, their cloud settings too. Secrets are rendered without their values.
    What is paused, or on a lost cluster, is marked: it is rendered as documents say, and not written.
    Replicas without a place are told as `plan` tells them, and all others are rendered.
    """
    with reporting() as report:
        source = source_of_options(folder, stack, fleet, lock_file, paths=paths)
        report.documents = source.documents
        report.problems += source.notices
        desired = source.desired()
        documents, lock = source.documents, source.lock
        report.problems += announced_problems(desired, documents, lock, locked=False, preview=False)
        if unplaced := blocking_problems(desired, documents, lock, locked=False, preview=False):
            report.problems += unplaced
            report.code = ExitCode.UNPLACED
        if output is None:
            _print(desired, as_format)
            return
        files = {
            file_name(cluster, kube_object, as_format): _text(kube_object.manifest, as_format)
            for cluster, kube_object, _ in _objects(desired)
        } | {
            cloud_file(cluster, resource, as_format): _text(_settings(resource), as_format)
            for cluster, resource in _cloud(desired)
        }
        written, removed = write_folder(output, files)
        print_line(f"{output}: {written} files written, {removed} stale ones removed")


def file_name(cluster: str, kube_object: KubeObject, as_format: Format) -> str:
    """Return the file of an object. A `:` in the name becomes `_`: not every file system takes it."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", kube_object.kubernetes_name)
    return f"{cluster}/{kube_object.namespace or '_cluster'}/{kube_object.kind.lower()}-{name}.{as_format}"


def cloud_file(cluster: str, resource: CloudResource, as_format: Format) -> str:
    """Return the file of a cloud resource, in a folder whose name no namespace can have."""
    kind = resource.token.rpartition(":")[2].lower()
    folder = f"{cluster}/_cloud" if cluster else "_cloud"
    return f"{folder}/{kind}-{re.sub('[/:]', '_', resource.name)}.{as_format}"


def _cloud(desired: Desired) -> Iterator[tuple[str, CloudResource]]:
    """Yield the resources of clouds, each with its cluster, "" for those of no cluster."""
    for bucket in desired.buckets:
        yield from (("", resource) for resource in bucket.resources)
    for cluster in desired.clusters:
        if cloud := cluster.connection.cloud:
            yield from ((cloud.cluster, resource) for resource in cloud.resources)


def _settings(resource: CloudResource) -> dict[str, Any]:
    return {"type": resource.token, "name": resource.name, "properties": resource.inputs}


def _objects(desired: Desired) -> Iterator[tuple[str, KubeObject, bool]]:
    """Yield the cluster of each object, and whether it is held."""
    for cluster in desired.clusters:
        for component in cluster.components:
            for kube_object in component.objects:
                yield cluster.connection.cluster, kube_object, component.held


def _text(manifest: dict[str, Any], as_format: Format) -> str:
    return visible(manifest_text(manifest, as_format=as_format))


def _print(desired: Desired, as_format: Format) -> None:
    """Print the resources of clouds, then the objects of clusters, each under the name of its cluster."""
    if as_format == "json":
        cloud = [{"cluster": name, "cloud": _settings(resource)} for name, resource in _cloud(desired)]
        objects = [
            {"cluster": name, "manifest": kube_object.manifest, "held": held}
            for name, kube_object, held in _objects(desired)
        ]
        print_json([*cloud, *objects])
        return
    last = None
    for cluster, resource in _cloud(desired):
        print_line("---")
        if cluster != last:
            print_line(f"# cluster {cluster}, Google Cloud" if cluster else "# Google Cloud")
        print_yaml(manifest_text(_settings(resource), as_format="yaml"))
        last = cluster
    last = None
    for cluster, kube_object, held in _objects(desired):
        print_line("---")
        if cluster != last:
            print_line(f"# cluster {cluster}")
        if held:
            print_line(_HELD)
        print_yaml(manifest_text(kube_object.manifest, as_format="yaml"))
        last = cluster
