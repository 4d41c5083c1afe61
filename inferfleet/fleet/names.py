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
# Of Pulumi.yaml: with the stack's name it tells apart what several stacks have in one Google project.
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
# What llm-d's endpoint pickers read, and what its guides select pods by.
LLM_D_ROLE = "llm-d.ai/role"
LLM_D_ENGINE = "llm-d.ai/engine-type"
LLM_D_SERVING = "llm-d.ai/inference-serving"


def workload(spot: Spot, role: str) -> str:
    """Of the Deployment that holds one role of a placement; companions append `-<plugin>`."""
    return f"{spot.name}-{role}-{spot.pool(role)}"


def companion(workload_name: str, plugin: str) -> str:
    """Of an object that a plugin puts beside a workload."""
    return f"{workload_name}-{plugin}"


def endpoint(deployment: str) -> str:
    """Of a deployment's InferencePool and HTTPRoute."""
    return _name(deployment)


def epp(deployment: str) -> str:
    """Of the namespaced objects of a deployment's endpoint picker."""
    return f"{_name(deployment)}-epp"


def epp_cluster_scoped(deployment: str) -> str:
    """Of the endpoint picker's ClusterRole and ClusterRoleBinding, which no namespace tells apart."""
    return f"inferfleet:{_namespace(deployment)}:{_name(deployment)}:epp"


def service_route(service: str) -> str:
    """Of a service's HTTPRoute."""
    return f"{_name(service)}-svc"


def placement(spot: Spot) -> str:
    """The pools of a spot, as label value and as part of its component's name."""
    return "-".join(pool for _, pool in spot.pools)


def deployment_path(deployment: str) -> str:
    return f"/{_namespace(deployment)}/deployments/{_name(deployment)}/"


def service_path(service: str) -> str:
    return f"/{_namespace(service)}/{_name(service)}/"


def existing_identity(cluster: str) -> str:
    """The provider's cluster identifier: while it stays equal, nothing on the cluster is replaced."""
    return f"existing/{cluster}"


def gke_cluster(cluster: str, *, stack: str, project: str, region: str) -> str:
    """What a cluster of the stack's own is called in Google Cloud, at most 31 characters.

    In another place it has another name, and so have its networks: the old ones, which hold the same
    addresses and cannot go before their cluster, may stand until the new cluster does.
    """
    return f"{cluster}-{_hex(6, stack, project, region)}"


def gke_part(cloud_name: str, part: str) -> str:
    """Of a network, subnetwork, router or policy that belongs to the GKE cluster of that cloud name."""
    return f"{cloud_name}-{part}"


def gke_pool(pool: str, digest: str) -> str:
    """What a node pool is called in Google Cloud, and its pool label; `digest` is that of its settings."""
    return f"{pool}-{digest}"


def gke_identity(project: str, region: str, cloud_name: str) -> str:
    """As `existing_identity`, of a GKE cluster: another place is another cluster."""
    return f"gke/{project}/{region}/{cloud_name}"


def node_account(cluster: str, *, stack: str) -> str:
    """The ID of the service account of a GKE cluster's nodes (6 to 30 characters in Google's rule)."""
    return f"if-{_hex(12, stack, cluster)}"


def account_email(account: str, project: str) -> str:
    """The address of a service account. A project `acme.com:ml` has the domain at its end there."""
    domain, _, name = project.rpartition(":")
    return f"{account}@{name}{'.' if domain else ''}{domain}.iam.gserviceaccount.com"


def cloud_resource(cluster: str, part: str) -> str:
    """Pulumi name of what belongs to a GKE cluster; the type in its URN tells kinds apart."""
    return f"{cluster}/{part}"


def cloud_labels(stack: str, *, cluster: str) -> dict[str, str]:
    """Labels of resources in Google Cloud, which take fewer characters than those of Kubernetes."""
    return {
        "managed-by": MANAGER,
        f"{MANAGER}-cluster": cluster,
        f"{MANAGER}-stack": stack.lower().replace(".", "-"),
    }


def cluster_component(cluster: str) -> str:
    """Pulumi name of a cluster's own components, ExistingCluster and ServingStack, and of its provider."""
    return cluster


def endpoint_component(cluster: str, deployment: str) -> str:
    return f"{cluster}/{deployment}"


def replicas_component(spot: Spot) -> str:
    return f"{spot.cluster}/{spot.deployment}-{placement(spot)}"


def service_component(cluster: str, service: str) -> str:
    return f"{cluster}/{service}"


def pulumi_object(cluster: str, name: str, *, namespace: str | None = None) -> str:
    """Pulumi name of a Kubernetes object; the type in its URN tells kinds apart."""
    return f"{cluster}/{namespace}/{name}" if namespace else f"{cluster}/{name}"


def object_labels(stack: str, *, deployment: str | None = None) -> dict[str, str]:
    """On every object: whose it is, and for which deployment."""
    labels = {MANAGED_BY: MANAGER, STACK: stack}
    return labels | {DEPLOYMENT: _name(deployment)} if deployment else labels


def pod_labels(spot: Spot, role: str, *, serves: bool, engine_type: str) -> dict[str, str]:
    """On the pods of a role. `serves` marks entry pods; `engine_type` is llm-d's word for the engine."""
    labels = workload_selector(spot, role)
    if serves:
        labels[SERVES] = "true"
    return labels | {LLM_D_ROLE: role, LLM_D_ENGINE: engine_type, LLM_D_SERVING: "true"}


def workload_selector(spot: Spot, role: str) -> dict[str, str]:
    """Immutable in Kubernetes, so nothing that can change while the workload lives."""
    return {DEPLOYMENT: spot.name, ROLE: role, PLACEMENT: placement(spot)}


def pool_selector(deployment: str) -> dict[str, str]:
    """What an InferencePool selects: the entry pods of all replicas of the deployment on the cluster."""
    return {DEPLOYMENT: _name(deployment), SERVES: "true"}


def endpoint_labels(deployment: str, cluster: str) -> dict[str, str]:
    """What every derived endpoint carries besides its deployment's and its cluster's labels."""
    return {DEPLOYMENT: _name(deployment), CLUSTER: cluster}


def shares_node() -> dict[str, str]:
    """On pods smaller than their node, so that they can be drawn to each other."""
    return {SHARES_NODE: "true"}


def _namespace(key: str) -> str:
    return key.partition("/")[0]


def _name(key: str) -> str:
    return key.partition("/")[2]


def _hex(digits: int, *parts: str) -> str:
    return hashlib.sha256("/".join((PROJECT, *parts)).encode()).hexdigest()[:digits]
