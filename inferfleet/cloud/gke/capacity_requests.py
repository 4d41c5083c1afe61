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

Whoever names a request in a pod template makes it, and nothing is made here.
"""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.cloud.gke.values import CloudPool
from inferfleet.documents.kinds.inference_cluster import NodePool
from inferfleet.fleet import names
from inferfleet.fleet.scheduling import Scheduling
from inferfleet.fleet.shapes import requests
from inferfleet.fleet.spot import Spot
from inferfleet.serving.metadata import metadata
from inferfleet.serving.schedulers import Manifest
from inferfleet.serving.workload import pods_of, templates_of
from inferfleet.tables import gke

# Changes of these are never applied: the API refuses them.
IMMUTABLE = ("spec",)
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


@dataclass(frozen=True)
class Asking:
    """A workload whose pods take the nodes of a request, and the objects of the request in their order."""

    workload: Manifest
    objects: tuple[Manifest, ...] = ()


def asking(
    manifest: Manifest, pool: CloudPool | None, scheduling: Scheduling | None, *, spot: Spot, stack: str
) -> Asking:
    """Return the workload of a role of the spot, with what it asks nodes by. The given one stays.

    `pool` is the workload's in Google Cloud. Nothing is asked for where that is not queued, where Kueue asks,
    where pods name a request themselves, and for no pods.
    """
    named = any(names_a_request(template) for template in templates_of(manifest))
    if pool is None or not asks(pool.pool.document, scheduling) or named or not pods_of(manifest):
        return Asking(manifest)
    template = _template(max(templates_of(manifest), key=_size), pool)
    longest = pool.pool.document.capacity.max_run_duration
    parameters = {"parameters": {"maxRunDurationSeconds": str(longest)}} if longest else {}
    digest = names.short_hash(6, json.dumps([template, parameters], sort_keys=True))
    name = names.by_contents(manifest["metadata"]["name"], digest)
    made = copy.deepcopy(manifest)
    for of_pods in templates_of(made):
        annotations = {gke.CONSUMED_REQUEST: name, gke.CONSUMED_CLASS: gke.QUEUED_CLASS}
        of_metadata = of_pods.setdefault("metadata", {})
        of_metadata["annotations"] = {**of_metadata.get("annotations", {}), **annotations}
    own = manifest["metadata"]["labels"]
    of_request = metadata(name, namespace=spot.namespace, stack=stack, deployment=spot.deployment, labels=own)
    of_template = {**of_request, "labels": {**of_request["labels"], gke.WARDEN_POLICIES: "true"}}
    api_version, kind = gke.CAPACITY_REQUEST
    return Asking(
        made,
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
    )


def asks(pool: NodePool, scheduling: Scheduling | None) -> bool:
    """Return whether nodes of a pool are asked for by the workloads that are scheduled so."""
    return pool.capacity.model == "Queued" and not (scheduling and scheduling.type == "Kueue")


def names_a_request(template: Mapping[str, Any]) -> bool:
    """Return whether pods of the template take nodes of a request that somebody else makes."""
    return gke.CONSUMED_REQUEST in (template.get("metadata", {}).get("annotations") or {})


def _template(of_pods: Mapping[str, Any], pool: CloudPool) -> Manifest:
    """Return what a pod needs of its node: what it runs is none of it, and must not change the request."""
    spec = of_pods["spec"]
    needs: Manifest = {field: spec[field] for field in _PLACED_BY if spec.get(field)}
    needs["nodeSelector"] = {**needs.get("nodeSelector", {}), gke.NODE_POOL_LABEL: pool.name}
    if pool.pool.flex_start:
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
