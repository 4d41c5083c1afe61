"""Whether the zones of a cluster's pools exist, and whether Google has their machine types there."""

from collections.abc import Iterator
from dataclasses import dataclass

from inferfleet.cloud.gke.values import SYSTEM_POOL, CloudCluster
from inferfleet.clusters.connections.google_apis import ComputeApi
from inferfleet.clusters.connections.refusals import CloudError
from inferfleet.clusters.doctor.values import Check, unseen
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing

ZONES = "zones and machine types"
_GKE = "spec.cluster.gke"


@dataclass(frozen=True)
class _Machines:
    """Machines of one type that a pool asks for. Without `zones` Google chooses some of the region.

    `zones_path` and `type_path` are the fields of the cluster's document that decide on both.
    """

    pool: str
    type: str
    zones: tuple[str, ...]
    zones_path: str
    type_path: str


def zone_checks(cluster: CloudCluster, compute: ComputeApi) -> tuple[Check, ...]:
    """Ask for the zones of the cluster's region and for machine types in each, and return what came of it."""
    of = f"cluster {cluster.cluster}"
    try:
        problems = tuple(dict.fromkeys(_problems(cluster, compute)))
    except CloudError as error:
        return (unseen(of, ZONES, error.what, error.next_step),)
    return tuple(Check(of, ZONES, "wrong", problem) for problem in problems) or (Check(of, ZONES),)


def _problems(cluster: CloudCluster, compute: ComputeApi) -> Iterator[Problem]:
    region, there = compute.zones(cluster.project, cluster.region), dict[tuple[str, str], bool]()
    for wanted in _machines(cluster):
        for zone in wanted.zones:
            if zone not in region:
                what = f"there is no zone {zone}, which {wanted.pool} of cluster {cluster.cluster} names"
                step = f"Name others: {cluster.region} has {listing(region)}"
                yield _problem(cluster, what, step, wanted.zones_path)
        zones = [zone for zone in wanted.zones or region if zone in region]
        for zone in zones:
            if (zone, wanted.type) not in there:
                there[zone, wanted.type] = compute.has_machine_type(cluster.project, zone, wanted.type)
        missing = [zone for zone in zones if not there[zone, wanted.type]]
        # Where Google chooses the zones, one that has the machines is enough.
        if missing and (wanted.zones or missing == zones):
            what = (
                f"Google has no {wanted.type} in {listing(missing)}, which {wanted.pool} of cluster "
                f"{cluster.cluster} asks for"
            )
            step = (
                f"Look with `gcloud compute machine-types list --project {cluster.project} --filter "
                f"name={wanted.type}`; name zones that have it, or use another machine type"
            )
            yield _problem(cluster, what, step, wanted.zones_path if wanted.zones else wanted.type_path)


def _machines(cluster: CloudCluster) -> Iterator[_Machines]:
    for component in cluster.components:
        for resource in component.resources:
            if resource.key == cluster.pool_key(SYSTEM_POOL):
                yield _Machines(
                    "the system pool",
                    resource.inputs["nodeConfig"]["machineType"],
                    tuple(resource.inputs.get("nodeLocations", ())),
                    f"{_GKE}.zones",
                    f"{_GKE}.systemPool.machineType",
                )
    for name, made in cluster.gpu_pools.items():
        pool = made.pool
        zones = pool.path("zones") if pool.document.zones else f"{_GKE}.zones"
        yield _Machines(f"pool {name}", pool.machine.type, pool.zones, zones, pool.path("className"))


def _problem(cluster: CloudCluster, what: str, step: str, path: str) -> Problem:
    return Problem(what, step, path, kind="InferenceCluster", key=cluster.cluster)
