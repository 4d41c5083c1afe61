"""Every derived name and label: Kubernetes names, Pulumi names, route paths, label sets.

Names are state: one that changes replaces what runs. Deployments and services come as `namespace/name`.
"""

import hashlib

from inferfleet.fleet.spot import Spot

SYSTEM_NAMESPACE = "inferfleet-system"
GATEWAY = "inferfleet"
DOMAIN = "inferfleet.dev"
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "inferfleet"
# The project's name in Pulumi.yaml. With it, several stacks keep their resources apart in one Google project.
PROJECT = "inferfleet"
STACK = f"{DOMAIN}/stack"
DEPLOYMENT = f"{DOMAIN}/deployment"
SERVICE = f"{DOMAIN}/service"
CLUSTER = f"{DOMAIN}/cluster"
ROLE = f"{DOMAIN}/role"
PLACEMENT = f"{DOMAIN}/placement"
SERVES = f"{DOMAIN}/serves"
POOL = f"{DOMAIN}/pool"
SHARES_NODE = f"{DOMAIN}/shares-node"
ENTRY = f"{DOMAIN}/entry"
# Annotations: of a workload, which plugins shaped its pods; of its pods, which companions they read.
PLUGINS = f"{DOMAIN}/plugins"
COMPANIONS = f"{DOMAIN}/companions"
# Annotation of a LeaderWorkerSet: a hash of its spec, by which an update knows the one that it wrote.
SPEC = f"{DOMAIN}/spec"
# Annotations: of pods, how many accelerators they claim; of a claim template, which conditions it lacks, why.
CLAIMED_GPUS = f"{DOMAIN}/claimed-gpus"
NOT_CLAIMED = f"{DOMAIN}/not-claimed"
# A Service and a label value have at most 63 characters, other names 253.
_LABEL = 63
# Pods of a StatefulSet have a label of its name with a hash of 11 characters. Those of followers are named
# after the set and the number of their group, for which this leaves four digits.
_SET = _LABEL - 11 - 5
LLM_D_ROLE = "llm-d.ai/role"
LLM_D_ENGINE = "llm-d.ai/engine-type"
LLM_D_SERVING = "llm-d.ai/inference-serving"
# Which ports of its pool a pod serves on: of llm-d's pickers, and of those before them.
ACTIVE_PORTS = ("inference.networking.k8s.io/active-ports", "llm-d.ai/active-ports")
# What the controller of LeaderWorkerSets sets on its pods (LWS 0.9, api/leaderworkerset/v1).
LWS = "leaderworkerset.sigs.k8s.io/"
LWS_NAME, LWS_GROUP, LWS_GROUP_KEY = f"{LWS}name", f"{LWS}group-index", f"{LWS}group-key"
LWS_WORKER = f"{LWS}worker-index"


def workload(spot: Spot, role: str) -> str:
    """Return the name of the Deployment for one role of a placement, whole, as in Pulumi's state."""
    return f"{spot.name}-{role}-{spot.pool(role)}"


def worker_set(spot: Spot, role: str) -> str:
    """Return the name of the LeaderWorkerSet for one role of a placement, at most 47 characters.

    Longer, and labels of its pods would not fit; with a number at its end, such as `a-decode-h200-1`, the
    controller could call a StatefulSet of the set `a-decode-h200` alike. Both end in a hash.
    """
    whole = workload(spot, role)
    fits = len(whole) <= _SET and not whole.rpartition("-")[2].isdecimal()
    return whole if fits else f"{whole[: _SET - 7].rstrip('-')}-{_hex(6, whole)}"


def role_service(deployment: str, role: str) -> str:
    """Return the name of the Service by which a role that serves no requests is reached in its cluster."""
    return f"{_name(deployment)}-{role}"


def gang(spot: Spot) -> str:
    """Return the name of the PodGroup of roles that start together."""
    return f"{spot.name}-{placement(spot)}-gang"


def claim_template(workload_name: str, digest: str) -> str:
    """Return the name of the ResourceClaimTemplate of a workload; `digest` is that of its contents."""
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
    room = _LABEL - len(end)
    if len(whole) > room:
        whole = f"{whole[: room - 9].rstrip('-')}-{_hex(8, workload_name, plugin)}"
    return whole + end


def endpoint(deployment: str) -> str:
    """Return the name of a deployment's InferencePool, HTTPRoute and NetworkPolicy."""
    return _name(deployment)


def epp(deployment: str) -> str:
    """Return the name of the namespaced objects of a deployment's endpoint picker."""
    return f"{_name(deployment)}-epp"


def epp_lease(deployment: str, suffix: str) -> str:
    """Return the name of the Lease by which replicas of a picker elect a leader; pickers make it so."""
    return f"epp-{_namespace(deployment)}-{endpoint(deployment)}{suffix}"


def epp_cluster_scoped(deployment: str) -> str:
    """Return the name of a picker's ClusterRole and ClusterRoleBinding, which have no namespace."""
    return f"inferfleet:{_namespace(deployment)}:{_name(deployment)}:epp"


def service_route(service: str) -> str:
    """Return the name of a service's HTTPRoute."""
    return f"{_name(service)}-svc"


def placement(spot: Spot) -> str:
    """Return the pools of a spot, as a part of the names of its component and gang."""
    whole = "-".join(pool for _, pool in spot.pools)
    return whole if len(whole) <= _LABEL else f"{whole[: _LABEL - 7].rstrip('-')}-{_hex(6, whole)}"


def deployment_path(deployment: str) -> str:
    """Return the path prefix of requests to a deployment, on each cluster's gateway."""
    return f"/{_namespace(deployment)}/deployments/{_name(deployment)}/"


def service_path(service: str) -> str:
    """Return the path prefix of requests to a service, on each cluster's gateway."""
    return f"/{_namespace(service)}/{_name(service)}/"


def existing_identity(cluster: str) -> str:
    """Return the provider's cluster identifier: another one replaces everything on the cluster."""
    return f"existing/{cluster}"


def gke_cluster(cluster: str, *, stack: str, project: str, region: str) -> str:
    """Return the name in Google Cloud of a cluster that the stack creates, at most 31 characters.

    In another project or region it has another name, and so have its networks: the old ones use the same
    addresses and cannot be deleted before their cluster, so they exist beside the new ones for a while.
    """
    return f"{cluster}-{_hex(6, stack, project, region)}"


def gke_part(cloud_name: str, part: str) -> str:
    """Return the name of a network, subnetwork, router or policy of the GKE cluster with that cloud name."""
    return f"{cloud_name}-{part}"


def gke_pool(pool: str, digest: str) -> str:
    """Return a node pool's name in Google Cloud, also its pool label; `digest` is that of its settings."""
    return f"{pool}-{digest}"


def gke_identity(project: str, region: str, cloud_name: str) -> str:
    """Return what `existing_identity` is for a GKE cluster: another project or region is another cluster."""
    return f"gke/{project}/{region}/{cloud_name}"


def node_account(cluster: str, *, stack: str) -> str:
    """Return the ID of the service account of a GKE cluster's nodes (Google takes 6 to 30 characters)."""
    return f"if-{_hex(12, stack, cluster)}"


def account_email(account: str, project: str) -> str:
    """Return the e-mail address of a service account. A project `acme.com:ml` has its domain at the end."""
    domain, _, name = project.rpartition(":")
    return f"{account}@{name}{'.' if domain else ''}{domain}.iam.gserviceaccount.com"


def cloud_resource(cluster: str, part: str) -> str:
    """Return the Pulumi name of a resource of a GKE cluster; kinds differ by the type in their URN."""
    return f"{cluster}/{part}"


def cloud_labels(stack: str, *, cluster: str) -> dict[str, str]:
    """Return the labels of resources in Google Cloud, which allows fewer characters than Kubernetes."""
    return {
        "managed-by": MANAGER,
        f"{MANAGER}-cluster": cluster,
        f"{MANAGER}-stack": stack.lower().replace(".", "-"),
    }


def cluster_component(cluster: str) -> str:
    """Return the Pulumi name of a cluster's provider and of its components for the cluster as a whole."""
    return cluster


def endpoint_component(cluster: str, deployment: str) -> str:
    """Return the Pulumi name of a deployment's endpoint on a cluster."""
    return f"{cluster}/{deployment}"


def replicas_component(spot: Spot) -> str:
    """Return the Pulumi name of the replicas on a spot."""
    return f"{spot.cluster}/{spot.deployment}-{placement(spot)}"


def service_component(cluster: str, service: str) -> str:
    """Return the Pulumi name of a service on a cluster."""
    return f"{cluster}/{service}"


def pulumi_object(cluster: str, name: str, *, namespace: str | None = None) -> str:
    """Return the Pulumi name of a Kubernetes object; kinds differ by the type in their URN."""
    return f"{cluster}/{namespace}/{name}" if namespace else f"{cluster}/{name}"


def ready_hook(workload: str, plugin: str) -> str:
    """Return the Pulumi name of what the state remembers of a plugin's ready hook for a workload.

    `workload` is the Pulumi name of the workload.
    """
    return f"{workload}/{plugin}"


def object_labels(stack: str, *, deployment: str | None = None) -> dict[str, str]:
    """Return the labels of every object: who manages it, for which stack and which deployment."""
    labels = {MANAGED_BY: MANAGER, STACK: stack}
    return labels | {DEPLOYMENT: _name(deployment)} if deployment else labels


def pod_labels(spot: Spot, role: str, *, serves: bool, engine_type: str) -> dict[str, str]:
    """Return the labels of the pods of a role.

    `serves` is True for pods that take requests of the deployment; `engine_type` is llm-d's word for the
    engine.
    """
    labels = workload_selector(spot, role)
    if serves:
        labels[SERVES] = "true"
    return labels | {LLM_D_ROLE: role, LLM_D_ENGINE: engine_type, LLM_D_SERVING: "true"}


def role_selector(deployment: str, role: str) -> dict[str, str]:
    """Return the labels of the pods that answer for a role which serves no requests of the deployment."""
    return {DEPLOYMENT: _name(deployment), ROLE: role, ENTRY: "true"}


def entry() -> dict[str, str]:
    """Return the label of the pods that answer for a role which serves no requests of the deployment."""
    return {ENTRY: "true"}


def group_selector(worker_set_name: str) -> dict[str, str]:
    """Return the labels that all pods of a LeaderWorkerSet have."""
    return {LWS_NAME: worker_set_name}


def workload_selector(spot: Spot, role: str) -> dict[str, str]:
    """Return the labels that a workload selects its pods by.

    Selectors are immutable in Kubernetes: nothing is among them that can change while the workload exists, so
    the pools of other roles are not.
    """
    return {DEPLOYMENT: spot.name, ROLE: role, PLACEMENT: spot.pool(role)}


def pool_selector(deployment: str) -> dict[str, str]:
    """Return the labels that an InferencePool selects by: the pods that serve a deployment on the cluster."""
    return {DEPLOYMENT: _name(deployment), SERVES: "true"}


def deployment_selector(deployment: str) -> dict[str, str]:
    """Return the labels of all pods of a deployment's engines on the cluster, serving or not."""
    return {DEPLOYMENT: _name(deployment)}


def endpoint_labels(deployment: str, cluster: str) -> dict[str, str]:
    """Return the labels that an endpoint has besides those of its deployment and its cluster."""
    return {DEPLOYMENT: _name(deployment), CLUSTER: cluster}


def shares_node() -> dict[str, str]:
    """Return the label of pods that are smaller than their node, for an affinity to each other."""
    return {SHARES_NODE: "true"}


def _namespace(key: str) -> str:
    return key.partition("/")[0]


def _name(key: str) -> str:
    return key.partition("/")[2]


def _hex(digits: int, *parts: str) -> str:
    return hashlib.sha256("/".join((PROJECT, *parts)).encode()).hexdigest()[:digits]
