"""Workloads that run on a cluster: which are no longer desired, which are scaled, and which have an
annotation of before.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inferfleet.cloud.gke.values import CloudCluster
from inferfleet.clusters.connections.api import Api
from inferfleet.clusters.connections.resources import ApiKind, known
from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.fleet.decisions import Leaving
from inferfleet.fleet.names import (
    CLAIMED_GPUS,
    DEPLOYMENT,
    MANAGED_BY,
    MANAGER,
    PLACEMENT,
    POOL,
    REPLICAS,
    REVISION,
    ROLE,
    STACK,
    pool_of,
)
from inferfleet.fleet.shapes import pod_of
from inferfleet.serving.scaler import target_of
from inferfleet.serving.workload import PATCH_FORCE, WORKER_SET, WORKER_SET_API, bounds, pods_of, templates_of
from inferfleet.tables.devices import RESOURCE_BY_DRIVER

_ACCELERATORS = frozenset(RESOURCE_BY_DRIVER.values())
_HASH = re.compile("-[0-9a-f]{6}$")
_DEPLOYMENT: ApiKind = ("apps/v1", "Deployment")
_WORKER_SET: ApiKind = (WORKER_SET_API, WORKER_SET)


def running(api: Api, stack: str) -> Iterator[dict[str, Any]]:
    """Yield this stack's Deployments and LeaderWorkerSets on a cluster, of engines and others.

    Items of a list have no kind of their own, and get one here.
    """
    query = {"labelSelector": f"{MANAGED_BY}={MANAGER},{STACK}={stack}"}
    paths = {_DEPLOYMENT: "/apis/apps/v1/deployments"}
    paths |= {kind: resource.path() for kind, resource in known(api, [_WORKER_SET]).items()}
    for (version, kind), path in paths.items():
        for item in api.items(path, query=query):
            yield {**item, "apiVersion": version, "kind": kind}


def scaled(cluster: str, workloads: Iterable[dict[str, Any]]) -> frozenset[tuple[str, str, str]]:
    """Return the workloads whose replicas were somebody else's, by cluster, namespace and name.

    They tell it by their annotation until their number is an update's again, and from then on by that of the
    update.
    """
    return frozenset(
        (cluster, item["metadata"]["namespace"], item["metadata"]["name"])
        for item in workloads
        if {REPLICAS, PATCH_FORCE} & (item["metadata"].get("annotations") or {}).keys()
    )


def scaled_otherwise(cluster: DesiredCluster, workloads: Iterable[dict[str, Any]]) -> Iterator[Problem]:
    """Yield the workloads that will no longer be scaled, and those of which more run than the plan has room
    for while nothing of the stack ends any.
    """
    name = cluster.connection.cluster
    desired = {(made.kind, made.namespace, made.kubernetes_name): made for made in cluster.objects}
    targets = {(made.namespace, target_of(made.manifest)) for made in cluster.objects}
    for item in workloads:
        space, called = item["metadata"]["namespace"], item["metadata"]["name"]
        wanted = desired.get((item["kind"], space, called))
        if wanted is None or not (before := bounds(item)):
            continue
        now, runs = bounds(wanted.manifest), int(item["spec"].get("replicas", 1))
        if now is None:
            number = wanted.manifest["spec"]["replicas"]
            if before == (number, number):
                continue
            yield cluster_problem(
                name,
                f"{item['kind']} {space}/{called} on cluster {name!r} was scaled from {before[0]} to "
                f"{before[1]}, and has {number} from now on; a scaler of this stack ends last and may set "
                "another number until then",
                f"Write replicas: {{min: {number}, max: {number}}} for one update first, or run `pulumi up "
                "--refresh` after this one",
                severity="warning",
            )
        elif runs > now[1] and (space, (item["kind"], called)) not in targets:
            yield cluster_problem(
                name,
                f"{runs} replicas of {item['kind']} {space}/{called} run on cluster {name!r}, and the plan "
                f"has room for {now[1]}: no update ends any, because somebody else scales it",
                f"Have its scaler keep to {now[0]} to {now[1]}, or raise replicas.max",
                severity="warning",
            )


def leaving(cluster: DesiredCluster, workloads: Iterable[dict[str, Any]]) -> Iterator[Leaving]:
    """Yield the running workloads that hold accelerators or cores until the update deletes them, at its end.

    One of the other kind leaves too, though what takes its place has its name.
    """
    desired = {(wanted.kind, wanted.namespace, wanted.kubernetes_name) for wanted in cluster.objects}
    for item in workloads:
        metadata, template = item["metadata"], templates_of(item)[0]
        labels = (template.get("metadata") or {}).get("labels") or {}
        # The pods of an endpoint picker have the label of their deployment too, but none of a role.
        is_engine = DEPLOYMENT in labels and ROLE in labels
        if is_engine and (item["kind"], metadata["namespace"], metadata["name"]) not in desired:
            gpus = gpus_of_pod(template)
            yield Leaving(
                cluster=cluster.connection.cluster,
                namespace=metadata["namespace"],
                name=metadata["name"],
                pool=_pool(metadata["name"], labels, template["spec"], cluster.connection.cloud),
                pods=pods_of(item),
                gpus_per_pod=gpus,
                requests=None if gpus else pod_of(template["spec"], gpus=0),
                deployment=f"{metadata['namespace']}/{labels[DEPLOYMENT]}",
                revision=labels.get(REVISION, ""),
            )


def _pool(name: str, labels: dict[str, str], pod: dict[str, Any], cloud: CloudCluster | None) -> str:
    """Return the pool of a workload from its node selector; for a pool with a selector of its own, from the
    label of its pods.
    """
    if label := (pod.get("nodeSelector") or {}).get(POOL):
        return _pool_in_document(str(label), cloud) if cloud else str(label)
    return pool_of(labels.get(PLACEMENT, "")) or name.removeprefix(f"{labels[DEPLOYMENT]}-{labels[ROLE]}-")


def _pool_in_document(label: str, cloud: CloudCluster) -> str:
    """Return the pool's name in its document: nodes carry `<pool>-<hash>`, and another hash once the pool is
    replaced.
    """
    current = {in_cloud: pool for pool, in_cloud in cloud.pools.items()}
    return current.get(label) or _HASH.sub("", label)


def gpus_of_pod(template: Mapping[str, Any]) -> int:
    """Return the accelerators that a pod of a template requests or claims."""
    claimed = ((template.get("metadata") or {}).get("annotations") or {}).get(CLAIMED_GPUS, "")
    if claimed.isdecimal():
        return int(claimed)
    containers = template["spec"].get("containers") or []
    limits = [(container.get("resources") or {}).get("limits") or {} for container in containers]
    return sum(int(count) for limit in limits for name, count in limit.items() if name in _ACCELERATORS)
