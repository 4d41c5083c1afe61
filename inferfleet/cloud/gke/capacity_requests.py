"""What GKE's autoscaler is asked for workloads on queued pools: nodes, by a ProvisioningRequest for each.

Nodes of such a pool start for ProvisioningRequests alone: all of one request at once, in one zone, and for
seven days at most. Kueue makes one for each pod that it admits. For pods that no Kueue admits there is one
per workload, with a PodTemplate that says what a pod needs; one per workload, because GKE takes one set of
pods in a request. (https://docs.cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest,
2026-04-08. That a Deployment takes what a request has brought is in kubernetes/autoscaler,
cluster-autoscaler/FAQ.md, commit 55c37cd5.)

A request is for once. Its name is made of what a pod needs of its node, so an image or a flag that changes
restarts pods on the nodes they have, and other needs are another request. The number of pods is no part of
the name: the annotations of all pods would change with it, and what serves would leave its nodes for others
that may take days. It is written when the request is made and never changed, since requests are immutable.
So fewer pods need nothing, and more find no node.

Whoever names a request in a pod template makes it, and nothing is made here. What replicas on a queued pool
lose in silence may be what somebody wants, so all of it are warnings.
"""

import copy
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from inferfleet.cloud.gke.described import flex_start
from inferfleet.cloud.values import CloudPool, Manifest, NodeRequest
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import NodePool
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.roles import path_of_role
from inferfleet.fleet.scheduling import Scheduling, scheduling_of
from inferfleet.fleet.shapes import PoolKey, fit, node, requests
from inferfleet.fleet.spot import Spot
from inferfleet.serving.metadata import metadata
from inferfleet.serving.workload import pods_of, templates_of
from inferfleet.tables import gke

# The finished pod templates of each spot, with their roles.
Finished = Mapping[Spot, Collection[tuple[str, Mapping[str, Any]]]]
# Changes of these are never applied: the API refuses them.
_IMMUTABLE = ("spec",)
# No pod is made from the template; the API wants an image.
_IMAGE = "registry.k8s.io/pause:3.10"
# Of a pod, beside its containers, what says on which nodes it can be.
_PLACED_BY = (
    "affinity",
    "nodeSelector",
    "overhead",
    "resourceClaims",
    "resources",
    "runtimeClassName",
    "schedulerName",
    "tolerations",
    "topologySpreadConstraints",
)


def node_request(
    manifest: Manifest,
    pool: CloudPool,
    document: NodePool,
    scheduling: Scheduling | None,
    *,
    spot: Spot,
    stack: str,
) -> NodeRequest:
    """Return the workload of a role of the spot, with what it asks nodes by. The given one stays.

    Nothing is asked for where its pool is not queued, where Kueue asks, where pods name a request themselves,
    and for no pods.
    """
    has_request_name = any(names_a_request(template) for template in templates_of(manifest))
    if not asks(document, scheduling) or has_request_name or not pods_of(manifest):
        return NodeRequest(manifest)
    template = _template(max(templates_of(manifest), key=_size), pool, document)
    longest = document.capacity.max_run_duration
    parameters = {"parameters": {"maxRunDurationSeconds": str(longest)}} if longest else {}
    digest = names.short_hash(6, json.dumps([template, parameters], sort_keys=True))
    name = names.by_contents(manifest["metadata"]["name"], digest)
    asking = copy.deepcopy(manifest)
    for of_pods in templates_of(asking):
        annotations = {gke.CONSUMED_REQUEST: name, gke.CONSUMED_CLASS: gke.QUEUED_CLASS}
        of_metadata = of_pods.setdefault("metadata", {})
        of_metadata["annotations"] = {**of_metadata.get("annotations", {}), **annotations}
    workload_labels = manifest["metadata"]["labels"]
    of_request = metadata(
        name, namespace=spot.namespace, stack=stack, deployment=spot.deployment, labels=workload_labels
    )
    of_template = {**of_request, "labels": {**of_request["labels"], gke.WARDEN_POLICIES: "true"}}
    api_version, kind = gke.CAPACITY_REQUEST
    return NodeRequest(
        asking,
        (
            {
                "apiVersion": "v1",
                "kind": "PodTemplate",
                "metadata": of_template,
                "template": template,
            },
            {
                "apiVersion": api_version,
                "kind": kind,
                "metadata": of_request,
                "spec": {
                    "provisioningClassName": gke.QUEUED_CLASS,
                    **parameters,
                    "podSets": [{"count": pods_of(manifest), "podTemplateRef": {"name": name}}],
                },
            },
        ),
        immutable={kind: _IMMUTABLE},
    )


def asks(pool: NodePool, scheduling: Scheduling | None) -> bool:
    """Return whether nodes of a pool are asked for by the workloads that are scheduled so."""
    return pool.capacity.model == "Queued" and not (scheduling and scheduling.type == "Kueue")


def names_a_request(template: Mapping[str, Any]) -> bool:
    """Return whether pods of the template take nodes of a request that somebody else makes."""
    return gke.CONSUMED_REQUEST in (template.get("metadata", {}).get("annotations") or {})


def _template(of_pods: Mapping[str, Any], pool: CloudPool, document: NodePool) -> Manifest:
    """Return what a pod needs of its node: what it runs is none of it, and must not change the request."""
    spec = of_pods["spec"]
    needs: Manifest = {field: spec[field] for field in _PLACED_BY if spec.get(field)}
    needs["nodeSelector"] = {**needs.get("nodeSelector", {}), gke.NODE_POOL_LABEL: pool.name}
    if flex_start(document):
        needs["nodeSelector"][gke.FLEX_START_LABEL] = "true"
    for kind in ("initContainers", "containers"):
        if containers := spec.get(kind):
            needs[kind] = [_container(container) for container in containers]
    # A claim of a volume may be bound to a zone.
    if volumes := [volume for volume in spec.get("volumes", ()) if "persistentVolumeClaim" in volume]:
        needs["volumes"] = volumes
    labels = of_pods.get("metadata", {}).get("labels", {})
    return copy.deepcopy({**({"metadata": {"labels": labels}} if labels else {}), "spec": needs})


def _container(container: Mapping[str, Any]) -> Manifest:
    kept = {field: container[field] for field in ("resources", "restartPolicy") if container.get(field)}
    return {"name": container["name"], "image": _IMAGE, **kept}


def _size(template: Mapping[str, Any]) -> tuple[int, ...]:
    """Return how much of a node a pod takes, GPUs first: of two templates GKE is told the larger one."""
    spec = template["spec"]
    return tuple(requests(spec, resource) for resource in (gke.GPU_TAINT, "cpu", "memory"))


def queued_problems(documents: Documents, planned: Plan, finished: Finished, lock: Lock) -> Iterator[Problem]:
    """Yield warnings of replicas that end before others have nodes, and of those that never get any."""
    needed: Counter[PoolKey] = Counter()
    for placement in planned.placements:
        spot = placement.spot
        deployment, cluster = documents.deployments[spot.deployment], documents.clusters[spot.cluster]
        roles_with_request = {role for role, template in finished[spot] if names_a_request(template)}
        for role, name in spot.pools:
            pool = cluster.spec.pool(name)
            if role in roles_with_request or not asks(pool, scheduling_of(deployment, cluster)):
                continue
            needed[spot.cluster, name] += _nodes(documents, planned, placement, role)
            for what, next_step in _lost(planned, placement, lock):
                yield Problem(
                    f"pods of deployment {spot.deployment}, role {role}, on queued pool {name!r} of cluster "
                    f"{spot.cluster!r} {what}",
                    next_step,
                    f"{path_of_role(role)}.workers",
                    kind="ModelDeployment",
                    key=spot.deployment,
                    severity="warning",
                )
    for (cluster_name, name), nodes in sorted(needed.items()):
        pools = documents.clusters[cluster_name].spec.node_pools
        at, pool = next((at, pool) for at, pool in enumerate(pools) if pool.name == name)
        if nodes > pool.size:
            yield cluster_problem(
                cluster_name,
                f"requests for nodes of queued pool {name!r} of cluster {cluster_name!r} are for {nodes}, "
                f"because each has nodes of its own, and the pool has at most {pool.size}",
                f"Write maxNodeCount: {nodes}, or give each deployment a queued pool of its own",
                f"spec.nodePools[{at}].maxNodeCount",
                severity="warning",
            )


def _lost(planned: Plan, placement: Placement, lock: Lock) -> Iterator[tuple[str, str]]:
    """Yield what a placement whose nodes are asked for loses, and the next step."""
    spot, before = placement.spot, lock.placements.get(placement.spot, 0)
    if 0 < before < placement.replicas:
        yield (
            f"have nodes for {before} replicas, and the request for them cannot be changed: "
            f"{placement.replicas - before} more find none",
            "Add a queued pool for them; or, with a gap, write replicas: 0, run `pulumi up`, and write the "
            "new number",
        )
    staying = {placement_.spot for placement_ in planned.placements}
    leaving_spots = [
        placement_.place
        for placement_ in sorted(lock.placements)
        if placement_.deployment == spot.deployment and placement_ not in staying
    ]
    if leaving_spots and not before:
        yield (
            f"take the place of those on {listing(leaving_spots)}, which end with this update, before the "
            "new ones have nodes",
            "Write a deployment of another name for the queued pool, let services select both, and remove "
            "this one once the other serves",
        )


def _nodes(documents: Documents, planned: Plan, placement: Placement, role: str) -> int:
    """Return how many nodes the request of a role is for, 0 where the plan has a problem with them."""
    key = placement.spot.cluster, placement.spot.pool(role)
    empty = node(documents.classes[documents.clusters[key[0]].spec.pool(key[1]).class_name])
    needs = planned.demands.of(placement.spot.deployment, role, key)
    on_each = min(fit(empty, pod) for pod in (needs.pod, needs.follower or needs.pod)) if empty else 0
    workers = placement.replicas * needs.workers
    if not on_each or not workers:
        return 0
    # No two pods of one worker share a node.
    return max(needs.gang, -(-workers * needs.gang // on_each))
