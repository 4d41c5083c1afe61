"""Every derived name and label: Kubernetes names, Pulumi names, route paths, label sets.

Names are state: one that changes replaces what runs. Deployments and services come as `namespace/name`.
"""

import hashlib
import json
from typing import Any

from inferfleet.documents.pods.template import POOL_LABEL
from inferfleet.fleet.spot import Spot

SYSTEM_NAMESPACE = "inferfleet-system"
GATEWAY = "inferfleet"
DOMAIN = "inferfleet.dev"
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "inferfleet"
# The account that may read the metrics of pickers, and the Secret with its token.
METRICS_READER = f"{MANAGER}-metrics-reader"
# A part of every hash, so that names in clouds do not meet those that others make in this way.
PROJECT = "inferfleet"
STACK = f"{DOMAIN}/stack"
DEPLOYMENT = f"{DOMAIN}/deployment"
SERVICE = f"{DOMAIN}/service"
CACHE = f"{DOMAIN}/cache"
# Of the objects of an InferenceGateway: its name.
FRONT_DOOR = f"{DOMAIN}/gateway"
CLUSTER = f"{DOMAIN}/cluster"
ROLE = f"{DOMAIN}/role"
PLACEMENT = f"{DOMAIN}/placement"
SERVES = f"{DOMAIN}/serves"
# Of pods whose prefill and decode are apart: what both exchange, and with whom.
REVISION = f"{DOMAIN}/revision"
POOL = POOL_LABEL
SHARES_NODE = f"{DOMAIN}/shares-node"
ENTRY = f"{DOMAIN}/entry"
# Annotations: of a workload, which plugins shaped its pods, and between which numbers it is scaled; of its
# pods, which companions they read.
PLUGINS, REPLICAS, COMPANIONS = f"{DOMAIN}/plugins", f"{DOMAIN}/replicas", f"{DOMAIN}/companions"
# Annotation of a LeaderWorkerSet: a hash of its spec, by which an update knows the one that it wrote.
SPEC = f"{DOMAIN}/spec"
# Annotations of pods: how many accelerators they have by claims; or by a resource of no vendor that is known.
CLAIMED_GPUS = f"{DOMAIN}/claimed-gpus"
GPUS = f"{DOMAIN}/gpus"
# Annotation of a claim and a Job of a cache: which weights they are for.
WEIGHTS = f"{DOMAIN}/weights"
# Annotation of a claim of a cache: `Delete` where it ends once no document has it any more.
WHEN_REMOVED = f"{DOMAIN}/when-removed"
# Annotation of a claim template: which conditions it lacks, and why.
NOT_CLAIMED = f"{DOMAIN}/not-claimed"
# A Service and a label value have at most 63 characters, other names 253.
_LABEL = 63
# Pods of a StatefulSet have a label of its name with a hash of 11 characters. Those of followers are named
# after the set and the number of their group, for which this leaves four digits.
_SET = _LABEL - 11 - 5
# Of pods of an endpoint picker: the name of their Deployment.
PICKER = "app.kubernetes.io/name"
LLM_D_ROLE = "llm-d.ai/role"
LLM_D_ENGINE = "llm-d.ai/engine-type"
LLM_D_SERVING = "llm-d.ai/inference-serving"
LLM_D_MODEL = "llm-d.ai/model"
# KServe's word (pkg/controller/v1alpha2/llmisvc/workload_single_node.go, 081f46e3), which every version of
# llm-d's filters takes; `prefill-decode`, which its router has since v0.8, is none for KServe.
LLM_D_UNIFIED = "both"
# Which ports of its pool a pod serves on: of llm-d's pickers, and of those before them.
ACTIVE_PORTS = ("inference.networking.k8s.io/active-ports", "llm-d.ai/active-ports")
# Between the pool and the revision in the label PLACEMENT; no name of a pool has it.
_SEPARATOR = "."
# What the controller of LeaderWorkerSets sets on its pods (LWS 0.9, api/leaderworkerset/v1).
LWS = "leaderworkerset.sigs.k8s.io/"
LWS_NAME, LWS_GROUP, LWS_GROUP_KEY = f"{LWS}name", f"{LWS}group-index", f"{LWS}group-key"
LWS_WORKER, LWS_REVISION = f"{LWS}worker-index", f"{LWS}template-revision-hash"


def workload(spot: Spot, role: str) -> str:
    """Return the name of the Deployment for one role of a placement, whole, as in Pulumi's state."""
    return _revised(f"{spot.name}-{role}-{spot.pool(role)}", spot.revision)


def worker_set(spot: Spot, role: str) -> str:
    """Return the name of the LeaderWorkerSet for one role of a placement, at most 47 characters.

    Longer, and labels of its pods would not fit; with a number at its end, such as `a-decode-h200-1`, the
    controller could call a StatefulSet of the set `a-decode-h200` alike. Both end in a hash.
    """
    whole = workload(spot, role)
    fits = len(whole) <= _SET and not whole.rpartition("-")[2].isdecimal()
    return whole if fits else f"{whole[: _SET - 7].rstrip('-')}-{short_hash(6, whole)}"


def scaler(spot: Spot, role: str) -> str:
    """Return the name of the scaler of a role's workload, short because KEDA makes a label of it."""
    return worker_set(spot, role)


def of_role(deployment: str, role: str) -> str:
    """Return the name of what a role has on a cluster: its Service if it serves no requests, its monitor."""
    return f"{_name(deployment)}-{role}"


def gang(spot: Spot) -> str:
    """Return the name of the PodGroup of roles that start together."""
    return f"{spot.name}-{placement(spot)}-gang"


def by_contents(workload_name: str, digest: str) -> str:
    """Return the name of an object of a workload that never changes; `digest` is that of its contents."""
    return f"{workload_name}-{digest}"


def channel_template(workload_name: str) -> str:
    """Return the name of the claim template that the driver writes for the ComputeDomain of a workload."""
    return f"{workload_name}-channel"


def companion(workload_name: str, plugin: str, suffix: str = "") -> str:
    """Return the name of an object that a plugin adds to a workload, at most 63 characters.

    `suffix` tells several of one kind apart and stands at the end as it is; before it, what is too long ends
    in a hash.
    """
    end = f"-{suffix}" if suffix else ""
    whole = f"{workload_name}-{plugin}"
    space = _LABEL - len(end)
    if len(whole) > space:
        whole = f"{whole[: space - 9].rstrip('-')}-{short_hash(8, workload_name, plugin)}"
    return whole + end


def endpoint(deployment: str) -> str:
    """Return the name of a deployment's HTTPRoute, whichever revision its pods are of."""
    return _name(deployment)


def inference_pool(deployment: str, revision: str) -> str:
    """Return the name of the InferencePool, and of the NetworkPolicy, of the pods of a revision."""
    return _revised(_name(deployment), revision)


def revised(revision: str, edition: str) -> str:
    """Return what stands in names for the revision of pods where their picker has an edition of its own."""
    return "-".join(part for part in (revision, edition) if part)


def epp(deployment: str, revision: str) -> str:
    """Return the name of the namespaced objects of the endpoint picker for the pods of a revision."""
    return f"{inference_pool(deployment, revision)}-epp"


def epp_lease(deployment: str, revision: str, suffix: str) -> str:
    """Return the name of the Lease by which replicas of a picker elect a leader; pickers make it so."""
    return f"epp-{_namespace(deployment)}-{inference_pool(deployment, revision)}{suffix}"


def epp_cluster_scoped(deployment: str, revision: str) -> str:
    """Return the name of a picker's ClusterRole and ClusterRoleBinding, which have no namespace."""
    return f"inferfleet:{_namespace(deployment)}:{inference_pool(deployment, revision)}:epp"


def metrics_reader_cluster_scoped(namespace: str) -> str:
    """Return the name of the ClusterRole and ClusterRoleBinding of the reader of a namespace."""
    return f"inferfleet:{namespace}:metrics-reader"


def filling(cache: str, content: Any) -> str:
    """Return the name of the claim that holds a content of a cache, and of the Job that fetches it."""
    return f"{_name(cache)}-weights-{digest(content)}"


def adapters(deployment: str) -> str:
    """Return the name of the ConfigMap that says which adapters pods of a deployment serve."""
    return f"{_name(deployment)}-adapters"


def service_route(service: str) -> str:
    """Return the name of a service's HTTPRoute."""
    return f"{_name(service)}-svc"


def placement(spot: Spot) -> str:
    """Return the pools of a spot, as a part of the names of its component and gang."""
    whole = _revised("-".join(pool for _, pool in spot.pools), spot.revision)
    return whole if len(whole) <= _LABEL else f"{whole[: _LABEL - 7].rstrip('-')}-{short_hash(6, whole)}"


def deployment_path(deployment: str) -> str:
    """Return the path prefix of requests to a deployment, on each cluster's gateway."""
    return f"/{_namespace(deployment)}/deployments/{_name(deployment)}/"


def service_path(service: str) -> str:
    """Return the path prefix of requests to a service, on each cluster's gateway."""
    return f"/{_namespace(service)}/{_name(service)}/"


def front_door(gateway: str) -> str:
    """Return the name of an InferenceGateway's own objects, and of its component on a cluster."""
    return f"front-{gateway}"


def of_front_door(gateway: str, *parts: str) -> str:
    """Return the name of an object of an InferenceGateway for something that it leads to, or has besides.

    No two meet, for no part has a dot.
    """
    return ".".join((front_door(gateway), *parts))


def front_door_router(gateway: str) -> str:
    """Return the name of what routes the requests of an InferenceGateway by their models."""
    return f"{front_door(gateway)}-router"


def front_door_cluster(gateway: str, cluster: str) -> str:
    """Return the name of the Service by which an InferenceGateway finds a cluster, at most 63 characters."""
    return f"{front_door(gateway)}-{cluster}-{short_hash(6, gateway, cluster)}"


def existing_identity(cluster: str) -> str:
    """Return the provider's cluster identifier: another one replaces everything on the cluster."""
    return f"existing/{cluster}"


# A cluster's provider, and its components for the cluster as a whole, have the name of the cluster in Pulumi.


def endpoint_component(cluster: str, deployment: str) -> str:
    """Return the Pulumi name of a deployment's endpoint on a cluster."""
    return f"{cluster}/{deployment}"


def route_component(endpoint: str) -> str:
    """Return the Pulumi name of the part of an endpoint, by its own, that is registered after its pods."""
    return f"{endpoint}/route"


def replicas_component(spot: Spot) -> str:
    """Return the Pulumi name of the replicas on a spot."""
    return f"{spot.cluster}/{spot.deployment}-{placement(spot)}"


def cache_component(cluster: str, cache: str) -> str:
    """Return the Pulumi name of a cache on a cluster."""
    return f"{cluster}/{cache}"


def service_component(cluster: str, service: str) -> str:
    """Return the Pulumi name of a service on a cluster."""
    return f"{cluster}/{service}"


def pulumi_object(cluster: str, name: str, *, namespace: str | None = None) -> str:
    """Return the Pulumi name of a Kubernetes object; kinds differ by the type in their URN."""
    return f"{cluster}/{namespace}/{name}" if namespace else f"{cluster}/{name}"


def addon_component(cluster: str, addon: str) -> str:
    """Return the Pulumi name of an add-on on a cluster, with which those of its objects begin."""
    return f"{cluster}/{addon}"


def ready_hook(workload: str, plugin: str) -> str:
    """Return the Pulumi name of what the state remembers of a plugin's ready hook for a workload.

    `workload` is the Pulumi name of the workload.
    """
    return f"{workload}/{plugin}"


def object_labels(stack: str, *, deployment: str | None = None) -> dict[str, str]:
    """Return the labels of every object: who manages it, for which stack and which deployment."""
    owner = {DEPLOYMENT: _name(deployment)} if deployment else {}
    return {MANAGED_BY: MANAGER, STACK: stack} | owner


def pod_labels(spot: Spot, role: str, *, serves: bool, engine_type: str) -> dict[str, str]:
    """Return the labels of the pods of a role, those of the first level of defaults.

    `serves`: they take requests of the deployment. `engine_type` is llm-d's word for the engine.
    """
    labels = workload_selector(spot, role) | ({SERVES: spot.revision or "true"} if serves else {})
    labels |= {REVISION: spot.revision} if spot.revision else {}
    return labels | {LLM_D_ROLE: role, LLM_D_ENGINE: engine_type, LLM_D_SERVING: "true"}


def llm_d_labels(spot: Spot, *, unified: bool) -> dict[str, str]:
    """Return the labels by which llm-d's tools know model and role, where prefill is not apart: `unified`.

    The model is the deployment, as is the release in charts (llm-d-modelservice, templates/_helpers.tpl).
    """
    return {LLM_D_MODEL: spot.name} | ({LLM_D_ROLE: LLM_D_UNIFIED} if unified else {})


def role_selector(deployment: str, role: str) -> dict[str, str]:
    """Return the labels of the pods that answer for a role which serves no requests of the deployment."""
    return {DEPLOYMENT: _name(deployment), ROLE: role, ENTRY: "true"}


def group_selector(worker_set_name: str) -> dict[str, str]:
    """Return the labels that all pods of a LeaderWorkerSet have."""
    return {LWS_NAME: worker_set_name}


def workload_selector(spot: Spot, role: str) -> dict[str, str]:
    """Return the labels that a workload selects its pods by. Those of two revisions share no pods.

    Selectors are immutable in Kubernetes, so nothing changes in them, as the pools of other roles may.
    """
    pool = spot.pool(role)
    pool_and_revision = f"{pool}{_SEPARATOR}{spot.revision}" if spot.revision else pool
    return {DEPLOYMENT: spot.name, ROLE: role, PLACEMENT: pool_and_revision}


def pool_of(placement_label: str) -> str:
    """Return the node pool that the label PLACEMENT of a pod names."""
    return placement_label.partition(_SEPARATOR)[0]


def pool_selector(deployment: str, revision: str) -> dict[str, str]:
    """Return the labels by which an InferencePool selects pods of a revision that serve a deployment."""
    return {DEPLOYMENT: _name(deployment), SERVES: revision or "true"}


def deployment_selector(deployment: str, revision: str) -> dict[str, str]:
    """Return the labels of all pods of a deployment's engines, of a revision alone where there is one."""
    return {DEPLOYMENT: _name(deployment)} | ({REVISION: revision} if revision else {})


def endpoint_labels(deployment: str, cluster: str) -> dict[str, str]:
    """Return the labels that an endpoint has besides those of its deployment and its cluster."""
    return {DEPLOYMENT: _name(deployment), CLUSTER: cluster}


def shares_node() -> dict[str, str]:
    """Return the label of pods that are smaller than their node, for an affinity to each other."""
    return {SHARES_NODE: "true"}


def _revised(name: str, revision: str) -> str:
    return f"{name}-{revision}" if revision else name


def _namespace(key: str) -> str:
    return key.partition("/")[0]


def _name(key: str) -> str:
    return key.partition("/")[2]


def short_hash(digits: int, *parts: str) -> str:
    """Return so many hexadecimal digits of a hash of parts of names, of this project alone."""
    return hashlib.sha256("/".join((PROJECT, *parts)).encode()).hexdigest()[:digits]


def digest(value: Any, digits: int = 8, **how: Any) -> str:
    """Return so many hexadecimal digits of a hash of a JSON value, the same for another order of keys.

    `how` is what else `json.dumps` is told. Digests are parts of names, and so state.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), **how)
    return hashlib.sha256(text.encode()).hexdigest()[:digits]
