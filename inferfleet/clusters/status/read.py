"""What `status` reads: objects and pods of the clusters, and settings of the clusters in Google Cloud."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from inferfleet.cloud.values import CloudCluster
from inferfleet.clusters.connections.api import Api, ApiKind, ApiResource, RefusedError, newest, served_kinds
from inferfleet.clusters.connections.ask import ask
from inferfleet.clusters.connections.gke import GKE, NotThere
from inferfleet.clusters.connections.google import (
    GOOGLE,
    Addresses,
    CloudError,
    ComputeApi,
    ContainerApi,
    GoogleLogin,
    preload,
)
from inferfleet.clusters.connections.questions import Questions
from inferfleet.clusters.preflight import ownership, prerequisites
from inferfleet.clusters.preflight.prerequisites import unknown_kinds
from inferfleet.clusters.preflight.workloads import last_words
from inferfleet.clusters.status.pods import admissions
from inferfleet.desired.values import Connection, Desired, DesiredCluster, KubeObject
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.fleet.names import DEPLOYMENT, MANAGED_BY, MANAGER, STACK
from inferfleet.tables.schedulers import KUEUE_WORKLOAD

Key = tuple[str, str, str]  # (kind, namespace, name)
# The values of Secrets are not ours to read, and definitions are long and not ours to change.
METADATA_ONLY = frozenset({"Secret", "CustomResourceDefinition"})
# Selectors of the pods of engines and of those of pickers, which have no label of a role.
_PODS = (DEPLOYMENT, f"{MANAGED_BY}={MANAGER}")
# .../projects/<project>/zones/<zone>/instanceGroupManagers/<name>


def key_of(wanted: KubeObject) -> Key:
    """Return the key of a desired object."""
    return wanted.kind, wanted.namespace or "", wanted.kubernetes_name


@dataclass(frozen=True)
class LiveCluster:
    """What one cluster has: objects with this stack's label, the Gateway that is somebody else's, pods.

    `unknown` are kinds of monitoring that it does not know. `admissions` is why Kueue has not admitted pods,
    by kind, namespace and name of what owns its Workload.
    """

    objects: Mapping[Key, dict[str, Any]] = field(default_factory=dict)
    pods: tuple[dict[str, Any], ...] = ()
    admissions: Mapping[Key, str] = field(default_factory=dict)
    unknown: frozenset[ApiKind] = frozenset()
    words: Mapping[str, str] = field(default_factory=dict)
    """By name of a pod that fetches weights, or loads adapters, the last line of what does."""


@dataclass(frozen=True)
class LiveCloudCluster:
    """One cluster in Google Cloud: the answer of clusters.get, and the number of nodes of pools of fixed size
    by their name in the cloud.
    """

    cluster: Mapping[str, Any]
    sizes: Mapping[str, int] = field(default_factory=dict)


def read(
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    *,
    container_api: str = GOOGLE.container,
    seconds: float,
) -> dict[str, LiveCluster | Problem]:
    """Return by cluster what it has, or why that is unknown, within `seconds`. All are asked at once.

    `kubeconfigs` holds texts by cluster; existing clusters without one are left out. The Container API at the
    address `container_api` says where the others are.
    """
    clusters = {cluster.connection.cluster: cluster for cluster in desired.clusters}

    def look(connection: Connection, api: Api) -> LiveCluster | Problem:
        return _look(api, clusters[connection.cluster], desired.stack)

    answers = ask(desired, kubeconfigs, look, container_api=container_api, seconds=seconds)
    return {name: _seen(name, answer) for name, answer in answers.items()}


def _seen(cluster: str, answer: LiveCluster | Problem | NotThere) -> LiveCluster | Problem:
    if isinstance(answer, NotThere):
        return cluster_problem(cluster, f"not there yet: {answer.why}", "`pulumi up` creates it", GKE)
    return answer


def _look(api: Api, cluster: DesiredCluster, stack: str) -> LiveCluster | Problem:
    for swapped in ownership.cluster_identity_problems(cluster, ownership.identity(api)):
        return swapped
    pods = {
        (item["metadata"]["namespace"], item["metadata"]["name"]): item
        for selector in _PODS
        for item in api.items("/api/v1/pods", query={"labelSelector": selector})
    }
    resources = served_kinds(api, prerequisites.kinds_needed(cluster))
    return LiveCluster(
        dict(_objects(api, cluster, stack, resources)),
        tuple(pods[name] for name in sorted(pods)),
        dict(admissions(_workloads_of_kueue(api, cluster))),
        unknown_kinds(cluster, resources),
        dict(last_words(api, pods.values())),
    )


def _workloads_of_kueue(api: Api, cluster: DesiredCluster) -> Iterator[dict[str, Any]]:
    """Yield the Workloads in namespaces whose pods wait in queues of Kueue, where we may read them."""
    namespaces = {need.namespace for need in cluster.scheduler_needs if need.scheduler == "Kueue"} - {None}
    resource = newest(api, *KUEUE_WORKLOAD) if namespaces else None
    for namespace in sorted(filter(None, namespaces)) if resource else ():
        try:
            yield from api.items(resource.path(namespace)) if resource else ()
        except RefusedError as refused:
            if refused.status != 403:
                raise


def _objects(
    api: Api, cluster: DesiredCluster, stack: str, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[tuple[Key, dict[str, Any]]]:
    for (_, kind), resource in sorted(resources.items(), key=lambda item: item[0]):
        if kind == "GatewayClass":
            continue
        query = {"labelSelector": f"{STACK}={stack}"}
        for item in api.items(resource.path(), metadata_only=kind in METADATA_ONLY, query=query):
            yield (kind, item["metadata"].get("namespace") or "", item["metadata"]["name"]), item
        if kind == "Gateway" and cluster.gateway_ref:
            try:
                yield (kind, *cluster.gateway_ref), api.get(resource.path(*cluster.gateway_ref))
            except RefusedError as refused:
                if refused.status != 404:
                    raise


def read_cloud(desired: Desired, *, google: Addresses, seconds: float) -> dict[str, LiveCloudCluster]:
    """Return by name the clusters that the stack creates, as far as Google answered within `seconds`.

    Why it did not answer is part of what `read` returns; sizes that may not be read are left out.
    """
    plans = {
        cluster.connection.cluster: cluster.connection.cloud
        for cluster in desired.clusters
        if cluster.connection.cloud and cluster.connection.state not in GIVEN_UP
    }
    if not plans:
        return {}
    preload()
    until = time.monotonic() + seconds
    login = GoogleLogin()
    container = ContainerApi(google.container, login)
    compute = ComputeApi(google, login, seconds=seconds)

    def look(plan: CloudCluster) -> LiveCloudCluster | None:
        try:
            cluster = container.cluster(plan, seconds=max(until - time.monotonic(), 0.1))
        except CloudError:
            return None
        return LiveCloudCluster(cluster, _sizes(plan, cluster, compute)) if cluster else None

    answers = Questions({name: partial(look, plan) for name, plan in plans.items()}).answers(until=until)
    return {name: in_cloud for name, in_cloud in sorted(answers.items()) if in_cloud}


def _sizes(plan: CloudCluster, cluster: Mapping[str, Any], compute: ComputeApi) -> dict[str, int]:
    fixed = {pool.name for pool in plan.pools.values() if pool.fixed_size is not None}
    sizes: dict[str, int] = {}
    for pool in cluster.get("nodePools") or ():
        if pool.get("name") not in fixed:
            continue
        try:
            size = compute.pool_size(pool)
        except CloudError:
            return {}
        if size is not None:
            sizes[pool["name"]] = size
    return sizes
