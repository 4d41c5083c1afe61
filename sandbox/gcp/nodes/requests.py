"""What becomes of ProvisioningRequests: nodes of queued pools, all at once in one zone, and conditions.

Pools with queued provisioning start nodes for these alone, and never for pods that wait. Conditions are those
of https://docs.cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest, 2026-04-08: Accepted, then
Provisioned, which is False as long as there is no capacity; Failed is for ever. Simplified: a request is for
nodes of one pool, and always for new ones; which pods they are bound to is not enforced.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.tables.gke import CAPACITY_REQUEST, CONSUMED_REQUEST, QUEUED_CLASS
from sandbox.cluster.objects import now
from sandbox.gcp.nodes.fitting import fits, free_of, requests, take
from sandbox.gcp.nodes.pool_nodes import pool_node
from sandbox.gcp.nodes.scaling import AutoscaledPool
from sandbox.gcp.store import Record

Object = dict[str, Any]
COLLECTION = "/apis/autoscaling.x-k8s.io/v1/provisioningrequests"
# Why a zone cannot have so many more nodes of a pool; "" when it can.
Shortage = Callable[[Record, str, int], str]


@dataclass(frozen=True)
class Answer:
    """What a request comes to: its conditions, and `more` nodes of a pool in a zone where there are some."""

    conditions: tuple[Object, ...]
    pool: AutoscaledPool | None = None
    zone: str = ""
    more: int = 0


def is_queued(pool: AutoscaledPool) -> bool:
    """Return whether nodes of the pool start for requests alone."""
    return bool((pool.record.state.get("queuedProvisioning") or {}).get("enabled"))


def consumes(pod: Object) -> bool:
    """Return whether the pod takes nodes of a request, so that no pool grows for it."""
    return CONSUMED_REQUEST in (pod["metadata"].get("annotations") or {})


def path_of(request: Object) -> str:
    """Return where the API server has the status of the request."""
    metadata = request["metadata"]
    group, plural = CAPACITY_REQUEST[0], COLLECTION.rpartition("/")[2]
    return f"/apis/{group}/namespaces/{metadata['namespace']}/{plural}/{metadata['name']}/status"


def is_open(request: Object) -> bool:
    """Return whether the request is for queued nodes, and has neither got them nor failed."""
    conditions = request.get("status", {}).get("conditions") or ()
    over = {condition["type"] for condition in conditions if condition["status"] == "True"}
    return request["spec"]["provisioningClassName"] == QUEUED_CLASS and not over & {"Provisioned", "Failed"}


def answer(
    request: Object,
    templates: Mapping[str, Object],
    pools: Iterable[AutoscaledPool],
    shortage: Shortage,
) -> Answer:
    """Return what an open request comes to. `templates` are PodTemplates by namespace and name."""
    sets = request["spec"]["podSets"]
    if len(sets) != 1:
        return _failed("only one podSet is supported")
    namespace, name = request["metadata"]["namespace"], sets[0]["podTemplateRef"]["name"]
    template = templates.get(f"{namespace}/{name}")
    if template is None:
        return _failed(f"PodTemplate {namespace}/{name} not found")
    pod = {"metadata": {}, "spec": template["template"]["spec"]}
    reason = "no node pool with queued provisioning has nodes of this kind, and room for so many"
    fitting = False
    for pool in filter(is_queued, pools):
        for zone in sorted(pool.zones):
            needed = _nodes(pod, sets[0]["count"], pool_node(pool.record, zone))
            room = pool.max_nodes - (pool.zones[zone] if pool.per_zone else sum(pool.zones.values()))
            if not needed or needed > room:
                continue
            fitting = True
            reason = shortage(pool.record, zone, needed)
            if not reason:
                return Answer((_condition("Accepted"), _condition("Provisioned")), pool, zone, needed)
    if not fitting:
        return _failed(reason)
    return Answer((_condition("Accepted"), _condition("Provisioned", "False", "NotProvisioned", reason)))


def _nodes(pod: Object, count: int, node: Object) -> int:
    """Return how many such nodes so many pods need, 0 where none fits."""
    empty = free_of(node, [])
    if not fits(pod, node, empty):
        return 0
    free, on_each = dict(empty), 0
    while fits(pod, node, free):
        take(free, requests(pod))
        on_each += 1
    return -(-count // on_each)


def _failed(why: str) -> Answer:
    return Answer((_condition("Failed", reason="CapacityIsNotProvisioned", message=why),))


def _condition(kind: str, status: str = "True", reason: str = "", message: str = "") -> Object:
    told = {"reason": reason or kind, "message": message}
    return {"type": kind, "status": status, "lastTransitionTime": now(), **told}
