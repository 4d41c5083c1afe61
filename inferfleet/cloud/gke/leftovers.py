"""What of Google Cloud belongs to the clusters of a stack, by names, networks and labels. Pure.

A network of the stack's own holds all that its clusters made: nodes, load balancers, their addresses. Disks
are in no network and found by the label that GKE gives to what a cluster makes. Clusters have the stack's
labels.

What GKE's controllers made for a cluster may stay when it is deleted: load balancers and volumes "not always
guaranteed", https://docs.cloud.google.com/sdk/gcloud/reference/container/clusters/delete (2026-11-24). Of
endpoint groups (https://github.com/murphye/cheap-gke-cluster/issues/8, 2022-01-19) and firewalls (https://
github.com/hashicorp/terraform-provider-google/issues/5948, 2020-03-23) reports say that their network cannot
be deleted then. So they come before it, as its subnetworks do.

The label `goog-k8s-cluster-name` is on disks of volumes as people's own clean-ups use it, and was not found
on a page of Google's about disks.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inferfleet.cloud.gke import names as cloud_names
from inferfleet.cloud.gke.facts.schema import NETWORK, ROUTER
from inferfleet.cloud.values import CloudCluster

# What is looked at, as the Compute API calls it, and what it is in words.
COLLECTIONS = {
    "instances": "instances",
    "disks": "disks",
    "forwardingRules": "load balancers",
    "addresses": "addresses",
    "routers": "routers with NAT",
    "networkEndpointGroups": "endpoint groups",
    "firewalls": "firewalls",
    "subnetworks": "subnetworks",
}
# Those that have no place, so that Google lists them as they are.
GLOBAL = ("firewalls",)
CLUSTERS, NETWORKS = "clusters", "networks"
_LABEL = "goog-k8s-cluster-name"
_COMMANDS = {
    "instances": "compute instances",
    "disks": "compute disks",
    "forwardingRules": "compute forwarding-rules",
    "addresses": "compute addresses",
    "routers": "compute routers",
    "networkEndpointGroups": "compute network-endpoint-groups",
    "firewalls": "compute firewall-rules",
    "subnetworks": "compute networks subnets",
}


@dataclass(frozen=True)
class Footprint:
    """By what things of a stack in a project are known: names of its clusters, networks and routers, labels.

    `shared` are its clusters in networks of others, whose load balancers and addresses are not told apart.
    """

    project: str
    clusters: frozenset[str]
    networks: frozenset[str]
    routers: frozenset[str]
    labels: Mapping[str, str] = field(default_factory=dict)
    shared: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leftover:
    """Something that is there: its name, where it is, and the command that deletes it."""

    name: str
    location: str
    command: str


def footprints(stack: str, clusters: Iterable[CloudCluster]) -> tuple[Footprint, ...]:
    """Return the footprint of the stack in each project in which it has clusters."""
    by_project: dict[str, list[CloudCluster]] = {}
    for cluster in clusters:
        by_project.setdefault(cluster.project, []).append(cluster)
    labels = cloud_names.cloud_labels(stack, cluster="")
    of_stack = {label: value for label, value in labels.items() if value}
    return tuple(
        Footprint(
            project,
            frozenset(cluster.cloud_name for cluster in of),
            frozenset(_made(of, NETWORK)),
            frozenset(_made(of, ROUTER)),
            of_stack,
            tuple(cluster.cluster for cluster in of if not set(_made([cluster], ROUTER))),
        )
        for project, of in sorted(by_project.items())
    )


def clusters_left(footprint: Footprint, clusters: Iterable[Mapping[str, Any]]) -> Iterator[Leftover]:
    """Yield those of the project's clusters that are the stack's, also of documents that are gone."""
    for cluster in clusters:
        labels = cluster.get("resourceLabels") or {}
        if cluster.get("name") in footprint.clusters or footprint.labels.items() <= labels.items():
            name, location = str(cluster.get("name")), str(cluster.get("location"))
            command = (
                f"gcloud container clusters delete {name} --project {footprint.project} --location {location}"
            )
            yield Leftover(name, location, command)


def networks_left(footprint: Footprint, networks: Iterable[Mapping[str, Any]]) -> Iterator[Leftover]:
    """Yield those of the project's networks that are the stack's. They cost nothing, and there are few."""
    for network in networks:
        if (name := network.get("name")) in footprint.networks:
            command = f"gcloud compute networks delete {name} --project {footprint.project}"
            yield Leftover(str(name), "global", command)


def resources_left(
    footprint: Footprint, collection: str, resources: Iterable[tuple[str, Mapping[str, Any]]]
) -> Iterator[Leftover]:
    """Yield the stack's resources in one of the COLLECTIONS. Resources come with their scope, such as
    `zones/us-central1-a`.
    """
    for scope, resource in resources:
        if not _ours(footprint, collection, resource):
            continue
        kind, _, place = scope.partition("/")
        flag = {"zones": f" --zone {place}", "regions": f" --region {place}"}.get(kind, " --global")
        # Of these gcloud knows no other place.
        flag = "" if collection in GLOBAL else flag
        name = str(resource.get("name"))
        command = f"gcloud {_COMMANDS[collection]} delete {name} --project {footprint.project}{flag}"
        yield Leftover(name, place or "global", command)


def _ours(footprint: Footprint, collection: str, resource: Mapping[str, Any]) -> bool:
    if collection == "routers":
        return resource.get("name") in footprint.routers
    if (resource.get("labels") or {}).get(_LABEL) in footprint.clusters:
        return True
    links = [
        resource.get("network"),
        *(interface.get("network") for interface in resource.get("networkInterfaces") or ()),
    ]
    # Addresses inside of a network name a subnetwork, which is called after its cluster.
    inside = _name(resource.get("subnetwork"))
    return any(_name(link) in footprint.networks for link in links) or any(
        inside.startswith(f"{cluster}-") for cluster in footprint.clusters
    )


def _name(link: Any) -> str:
    return str(link or "").rpartition("/")[2]


def _made(clusters: Iterable[CloudCluster], token: str) -> Iterator[str]:
    return (
        resource.inputs["name"]
        for cluster in clusters
        for resource in cluster.resources
        if resource.token == token
    )
