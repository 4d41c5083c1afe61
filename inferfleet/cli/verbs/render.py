"""`inferfleet render`: every manifest and every cloud setting, per cluster."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from inferfleet.cli.report import reporting
from inferfleet.cli.show.manifests import Format, manifest_text, write_folder
from inferfleet.cli.source import Paths, StackName, read_source
from inferfleet.desired.values import Desired, KubeObject
from inferfleet.gke.values import CloudResource

Folder = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write <cluster>/<namespace>/<kind>-<name> files into this folder."),
]
AsFormat = Annotated[Format, typer.Option("--format", "-f", help="How manifests are written.")]


def render(
    paths: Paths = None, stack: StackName = None, output: Folder = None, as_format: AsFormat = "yaml"
) -> None:
    """Print every Kubernetes object that should exist, per cluster, or write them into a folder.

    Of clusters that the stack creates, their cloud settings too. Secrets are rendered without their values.
    """
    with reporting() as report:
        source = read_source(paths, stack)
        report.documents = source.documents
        report.add(source.documents.notices, "notice")
        desired = source.desired()
        report.add(desired.warnings, "warning")
        if output is None:
            _print(desired, as_format)
            return
        files = {
            file_name(cluster, one, as_format): manifest_text(one.manifest, as_format=as_format)
            for cluster, one in _objects(desired)
        } | {
            cloud_file(cluster, one, as_format): manifest_text(_settings(one), as_format=as_format)
            for cluster, one in _cloud(desired)
        }
        written, removed = write_folder(output, files)
        print(f"{output}: {written} files written, {removed} stale ones removed")


def file_name(cluster: str, one: KubeObject, as_format: Format) -> str:
    """Names of cluster-scoped objects may hold `:`, which not every file system takes."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", one.kubernetes_name)
    return f"{cluster}/{one.namespace or '_cluster'}/{one.kind.lower()}-{name}.{as_format}"


def cloud_file(cluster: str, one: CloudResource, as_format: Format) -> str:
    """Beside the namespaces of the cluster, in a folder that no namespace can be named like."""
    kind = one.token.rpartition(":")[2].lower()
    return f"{cluster}/_cloud/{kind}-{one.name.replace('/', '_')}.{as_format}"


def _cloud(desired: Desired) -> Iterator[tuple[str, CloudResource]]:
    for cluster in desired.clusters:
        if cloud := cluster.connection.cloud:
            for component in cloud.components:
                yield from ((cloud.cluster, one) for one in component.resources)


def _settings(one: CloudResource) -> dict[str, Any]:
    return {"type": one.token, "name": one.name, "properties": one.inputs}


def _objects(desired: Desired) -> Iterator[tuple[str, KubeObject]]:
    return ((cluster.connection.cluster, one) for cluster in desired.clusters for one in cluster.objects)


def _print(desired: Desired, as_format: Format) -> None:
    if as_format == "json":
        cloud = [{"cluster": cluster, "cloud": _settings(one)} for cluster, one in _cloud(desired)]
        found = [{"cluster": cluster, "manifest": one.manifest} for cluster, one in _objects(desired)]
        print(json.dumps([*cloud, *found], indent=2))
        return
    last = None
    for cluster, resource in _cloud(desired):
        print("---" if cluster == last else f"---\n# cluster {cluster}, Google Cloud")
        print(manifest_text(_settings(resource), as_format="yaml"), end="")
        last = cluster
    last = None
    for cluster, one in _objects(desired):
        print("---" if cluster == last else f"---\n# cluster {cluster}")
        print(manifest_text(one.manifest, as_format="yaml"), end="")
        last = cluster
