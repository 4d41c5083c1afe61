"""Subnetworks for the proxies of gateways, which networks that somebody else keeps may lack.

https://docs.cloud.google.com/compute/docs/reference/rest/v1/subnetworks/list
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.cloud.gke.facts.gateway_classes import PROXY_ONLY, TAKES_POOLS
from inferfleet.cloud.values import CloudCluster
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem

PURPOSE = "REGIONAL_MANAGED_PROXY"


@dataclass(frozen=True)
class Proxied:
    """A cluster whose gateway needs a proxy-only subnetwork in `network` of `project`, in its region."""

    cluster: str
    project: str
    region: str
    network: str


def proxied(documents: Documents, clusters: Collection[CloudCluster]) -> tuple[Proxied, ...]:
    """Return the clusters in existing networks whose gateway is of a regional class of Google's.

    In a network that the stack creates it makes the subnetwork too.
    """
    found = []
    for cloud in clusters:
        cluster = documents.clusters[cloud.cluster].spec
        existing = cluster.cluster.gke.network.existing if cluster.cluster.gke else None
        if existing and TAKES_POOLS.get(cluster.serving.gateway.class_name or "") == "yes":
            project = existing.project or cloud.project
            found.append(Proxied(cloud.cluster, project, cloud.region, existing.name))
    return tuple(found)


def proxy_problems(need: Proxied, answer: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a warning where Google's answer lists no active subnetwork of the network for proxies."""
    subnetworks = answer.get("items") or ()
    if any(
        subnetwork.get("purpose") == PURPOSE
        # Google leaves out a role that is the only one there is.
        and subnetwork.get("role", "ACTIVE") == "ACTIVE"
        and str(subnetwork.get("network")).endswith(f"/{need.project}/global/networks/{need.network}")
        for subnetwork in subnetworks
    ):
        return
    what = (
        f"network {need.network} of project {need.project} has no active proxy-only subnetwork in "
        f"{need.region}, without which the gateway of cluster {need.cluster} is never programmed "
        f"({PROXY_ONLY})"
    )
    command = (
        f"gcloud compute networks subnets create proxies --project={need.project} --region={need.region} "
        f"--network={need.network} --purpose={PURPOSE} --role=ACTIVE --range=<a free /26 or larger>"
    )
    yield Problem(
        what,
        f"Create one: {command}",
        "spec.cluster.gke.network.existing",
        kind="InferenceCluster",
        key=need.cluster,
        severity="warning",
    )
