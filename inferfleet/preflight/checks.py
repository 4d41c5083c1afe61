"""What must hold on one cluster before anything is written there."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from inferfleet.api.problems import Problem
from inferfleet.desired.addresses import Address, address_of
from inferfleet.desired.values import DesiredCluster, SecretNeed
from inferfleet.reach.clusters import cluster_problem
from inferfleet.reach.connect import Api, RefusedError
from inferfleet.reach.gke import path_of
from inferfleet.reach.resources import ApiResource, Kind, served_versions

GATEWAY = "spec.serving.gateway"
CLASS_NAME = f"{GATEWAY}.className"
_GATEWAY_GROUP = "gateway.networking.k8s.io"
_NOT_YET = (
    "GKE installs it minutes after a cluster is made; if it does not come, look at the cluster's version"
)


def identity(api: Api) -> str:
    """The UID of kube-system: as long as a cluster lives, and of no other."""
    return str(api.get("/api/v1/namespaces/kube-system", metadata_only=True)["metadata"]["uid"])


def same_cluster(cluster: DesiredCluster, uid: str) -> Iterator[Problem]:
    """The cluster is the one that the lock remembers."""
    connection = cluster.connection
    if connection.uid and connection.uid != uid:
        # On GKE nobody swapped it: project, region and name are the same. The state has what stood on it.
        step = (
            "If it was deleted and made again, run `pulumi refresh`, so that the state forgets what stood on "
            "the old one, and remove the uid from its line in placement.lock"
            if connection.cloud
            else "Mend the kubeconfig if two are swapped. If the cluster was rebuilt, give the old one up "
            "(`state: abandoned`, then `pulumi up`, then remove its document) and add it again"
        )
        yield cluster_problem(
            connection.cluster,
            f"another cluster answers under the name {connection.cluster!r}: its kube-system has UID {uid}, "
            f"the lock remembers {connection.uid}",
            step,
            path_of(connection),
        )


def kinds_needed(cluster: DesiredCluster) -> set[Kind]:
    """Kinds of everything that will be written or looked at."""
    kinds = {(one.api_version, one.kind) for one in cluster.objects}
    if cluster.gateway_class:
        kinds.add((_gateway_api(kinds), "GatewayClass"))
    if cluster.gateway_ref:
        kinds.add((_gateway_api(kinds), "Gateway"))
    return kinds


def _gateway_api(kinds: set[Kind]) -> str:
    versions = sorted(version for version, _ in kinds if version.partition("/")[0] == _GATEWAY_GROUP)
    return versions[-1] if versions else f"{_GATEWAY_GROUP}/v1"


def missing_kinds(
    api: Api, cluster: DesiredCluster, resources: Mapping[Kind, ApiResource]
) -> Iterator[Problem]:
    """A problem for every API version with kinds that are needed and not among the cluster's `resources`.

    A warning on a cluster that the stack creates: GKE installs its own kinds minutes after it is made.
    """
    missing = kinds_needed(cluster) - resources.keys()
    for version in sorted({version for version, _ in missing}):
        kinds = ", ".join(sorted(kind for of, kind in missing if of == version))
        served = ", ".join(served_versions(api, version.partition("/")[0])) if "/" in version else ""
        problem = cluster_problem(
            cluster.connection.cluster,
            f"cluster {cluster.connection.cluster!r} does not know {kinds} of {version}"
            + (f" (of this group it serves {served})" if served else ""),
            "Install the CRDs of this version there, or choose a serving.profile that fits what it has",
            "spec.serving.profile",
        )
        yield _not_yet(problem) if cluster.connection.cloud else problem


def gateway_class(
    api: Api, cluster: DesiredCluster, resources: Mapping[Kind, ApiResource]
) -> Iterator[Problem]:
    """The GatewayClass is there and names the controller that will serve it. One that GKE brings may come
    later, so its absence is a warning.
    """
    resource = _of(resources, "GatewayClass")
    if not cluster.gateway_class or not resource:
        return
    by_google = cluster.connection.cloud and cluster.gateway_class.startswith("gke-")
    for problem in _class_problems(api, cluster, resource):
        yield _not_yet(problem) if by_google else problem


def _class_problems(api: Api, cluster: DesiredCluster, resource: ApiResource) -> Iterator[Problem]:
    controllers = {
        item["metadata"]["name"]: (item.get("spec") or {}).get("controllerName")
        for item in api.items(resource.path())
    }
    if cluster.gateway_class not in controllers:
        yield cluster_problem(
            cluster.connection.cluster,
            f"cluster {cluster.connection.cluster!r} has no GatewayClass {cluster.gateway_class!r} "
            f"(it has: {', '.join(sorted(controllers)) or 'none'})",
            "Install its controller there, or name a class that exists",
            CLASS_NAME,
        )
    elif not controllers[cluster.gateway_class]:
        yield cluster_problem(
            cluster.connection.cluster,
            f"GatewayClass {cluster.gateway_class!r} on cluster {cluster.connection.cluster!r} "
            "has no spec.controllerName",
            "Name its controller there, or name another class",
            CLASS_NAME,
        )


def _not_yet(problem: Problem) -> Problem:
    return replace(problem, next_step=_NOT_YET, severity="warning")


def gateway_ref(
    api: Api, cluster: DesiredCluster, resources: Mapping[Kind, ApiResource]
) -> Iterator[Problem]:
    """Somebody else's Gateway, that the routes will refer to, exists."""
    resource = _of(resources, "Gateway")
    if not cluster.gateway_ref or not resource:
        return
    namespace, name = cluster.gateway_ref
    if not exists(api, resource.path(namespace, name)):
        yield cluster_problem(
            cluster.connection.cluster,
            f"cluster {cluster.connection.cluster!r} has no Gateway {namespace}/{name}",
            "Create it there, mend the reference, or give a className to have a Gateway made",
            f"{GATEWAY}.ref",
        )


def their_address(
    api: Api, cluster: DesiredCluster, resources: Mapping[Kind, ApiResource]
) -> Iterator[Address]:
    """Where somebody else's Gateway is reached, if it is there and has an address."""
    resource = _of(resources, "Gateway")
    if not cluster.gateway_ref or not resource:
        return
    namespace, name = cluster.gateway_ref
    try:
        address = address_of(api.get(resource.path(namespace, name)))
    except RefusedError as refused:
        if refused.status != 404:
            raise
        return
    if address:
        yield address


def secrets(api: Api, cluster: DesiredCluster) -> Iterator[Problem]:
    """Secrets that pods read are there with their keys. Values are dropped as soon as they arrive."""
    for need in cluster.secrets_needed:
        path = f"/api/v1/namespaces/{need.namespace}/secrets/{need.name}"
        try:
            keys = (api.get(path, metadata_only=not need.keys).get("data") or {}).keys()
        except RefusedError as refused:
            if refused.status != 404:
                raise
            yield _secret(cluster, need, "is not there")
            continue
        missing = [key for key in need.keys if key not in keys]
        if missing:
            yield _secret(cluster, need, f"has no key {', '.join(missing)}")


def _secret(cluster: DesiredCluster, need: SecretNeed, what: str) -> Problem:
    return cluster_problem(
        cluster.connection.cluster,
        f"Secret {need.namespace}/{need.name}, which pods on cluster {cluster.connection.cluster!r} read, "
        f"{what}",
        "Create it there, or let the stack hold it (setting `secrets`)",
    )


def exists(api: Api, path: str) -> bool:
    """Whether there is an object at this path."""
    try:
        api.get(path, metadata_only=True)
    except RefusedError as refused:
        if refused.status != 404:
            raise
        return False
    return True


def _of(resources: Mapping[Kind, ApiResource], kind: str) -> ApiResource | None:
    for (version, name), resource in sorted(resources.items(), key=lambda one: one[0]):
        if name == kind and version.partition("/")[0] == _GATEWAY_GROUP:
            return resource
    return None
