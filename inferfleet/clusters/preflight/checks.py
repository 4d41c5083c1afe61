"""What must hold on one cluster before anything is written there."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from inferfleet.clusters.connections.api import Api, RefusedError
from inferfleet.clusters.connections.gke import path_of
from inferfleet.clusters.connections.resources import ApiKind, ApiResource, exists, served_versions
from inferfleet.clusters.preflight.devices import DEVICE_CLASS, POOLS, missing_kind, wanted_classes
from inferfleet.clusters.preflight.kinds.worker_sets import INSTALL
from inferfleet.desired.values import DesiredCluster, SecretNeed
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.serving.gateway import Address, address_of
from inferfleet.serving.workload import WORKER_SET_API
from inferfleet.tables.schedulers import POD_GROUP

GATEWAY = "spec.serving.gateway"
CLASS_NAME = f"{GATEWAY}.className"
_GATEWAY_GROUP = "gateway.networking.k8s.io"
# What clusters get from others, by the commands of llm-d's guides (llm-d 0.8), looked up 2026-11-24:
# https://llm-d.ai/docs/dev/resources/gateway/install-crds and
# https://llm-d.ai/docs/infrastructure/gateway/istio. GKE, and OpenShift from 4.19 on, manage their
# definitions and put back or refuse what others do to them: docs/guides/upgrades.md says what to do there.
_SIGS = "https://github.com/kubernetes-sigs"
_DEFINITIONS: Mapping[str, str] = {
    _GATEWAY_GROUP: f"kubectl apply -f {_SIGS}/gateway-api/releases/download/v1.5.1/standard-install.yaml",
    "inference.networking.k8s.io": f"kubectl apply -f {_SIGS}/gateway-api-inference-extension/releases/"
    "download/v1.5.0/v1-manifests.yaml",
}
_CONTROLLERS: Mapping[str, str] = {
    "istio": "istioctl install -y --set values.pilot.env.ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true"
}


def identity(api: Api) -> str:
    """Return the UID of kube-system, which stays as long as the cluster lives and is no other cluster's."""
    return str(api.get("/api/v1/namespaces/kube-system", metadata_only=True)["metadata"]["uid"])


def same_cluster(cluster: DesiredCluster, uid: str) -> Iterator[Problem]:
    """Check that the cluster is the one that the lock remembers."""
    connection = cluster.connection
    if connection.uid and connection.uid != uid:
        # On GKE no kubeconfigs were swapped: project, region and name are the same. The state still holds
        # the objects of the old cluster.
        step = (
            "If it was deleted and created again, run `pulumi refresh`, so that the state forgets the "
            "objects of the old one, and remove the uid from its line in placement.lock"
            if connection.cloud
            else "Fix the kubeconfig if two are swapped. If the cluster was rebuilt, give the old one up "
            "(`state: abandoned`, then `pulumi up`, then remove its document) and add it again"
        )
        yield cluster_problem(
            connection.cluster,
            f"another cluster answers under the name {connection.cluster!r}: its kube-system has UID {uid}, "
            f"the lock remembers {connection.uid}",
            step,
            path_of(connection),
        )


def kinds_needed(cluster: DesiredCluster) -> set[ApiKind]:
    """Return the kinds of everything that an update writes or reads on the cluster."""
    kinds = {(wanted.api_version, wanted.kind) for wanted in cluster.objects}
    if cluster.gateway_class:
        kinds.add((_gateway_api(kinds), "GatewayClass"))
    if cluster.gateway_ref:
        kinds.add((_gateway_api(kinds), "Gateway"))
    if wanted_classes(cluster):
        kinds.add(DEVICE_CLASS)
    return kinds


def _gateway_api(kinds: set[ApiKind]) -> str:
    versions = sorted(version for version, _ in kinds if version.partition("/")[0] == _GATEWAY_GROUP)
    return versions[-1] if versions else f"{_GATEWAY_GROUP}/v1"


def missing_kinds(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Yield a problem for every API version with kinds that are needed and not among `resources`.

    On a cluster that the stack creates it is a warning: GKE installs its own kinds minutes later. Not so
    LeaderWorkerSets, which somebody has to install. `preflight.schedulers` says it of PodGroups, and
    `preflight.kinds.monitoring` of objects that are left out.
    """
    monitors = {made.key: (made.api_version, made.kind) for made in cluster.monitors}
    others = {(made.api_version, made.kind) for made in cluster.objects if made.key not in monitors}
    optional = {POD_GROUP, *(set(monitors.values()) - others)}
    missing = kinds_needed(cluster) - resources.keys() - optional
    for version in sorted({version for version, _ in missing}):
        kinds = ", ".join(sorted(kind for group, kind in missing if group == version))
        served = ", ".join(served_versions(api, version.partition("/")[0])) if "/" in version else ""
        problem = cluster_problem(
            cluster.connection.cluster,
            f"cluster {cluster.connection.cluster!r} does not know {kinds} of {version}"
            + (f" (of this group it serves {served})" if served else ""),
            f"{install(version)}, or choose a serving.profile that fits what it has",
            "spec.serving.profile",
        )
        if of_claims := missing_kind(version):
            yield replace(problem, next_step=of_claims, path=POOLS)
        elif version == WORKER_SET_API:
            yield replace(problem, next_step=INSTALL, path="")
        else:
            yield _pending(problem, cluster)


def install(version: str) -> str:
    """Return how a cluster gets the kinds of an API version, as a sentence."""
    command = _DEFINITIONS.get(version.partition("/")[0])
    return f"Run `{command}` there" if command else "Install the CRDs of this version there"


def misplaced(cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]) -> Iterator[Problem]:
    """Yield a problem for each object that a plugin put into a namespace, of a kind that belongs to none.

    Of custom resources only the cluster knows that.
    """
    for wanted in cluster.objects:
        resource = resources.get((wanted.api_version, wanted.kind))
        if wanted.namespace and resource and not resource.namespaced:
            yield cluster_problem(
                cluster.connection.cluster,
                f"on cluster {cluster.connection.cluster!r} a {wanted.kind} of {wanted.api_version} belongs "
                f"to the whole cluster, and a plugin adds {wanted.kubernetes_name} to namespace "
                f"{wanted.namespace}",
                "Remove it from the plugin, and create it outside of the stack",
            )


def gateway_class(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Check that the GatewayClass exists and is accepted. The absence of one that GKE installs is a
    warning, because it may come later.
    """
    resource = _of(resources, "GatewayClass")
    if not cluster.gateway_class or not resource:
        return
    by_google = cluster.gateway_class.startswith("gke-")
    for problem in _class_problems(api, cluster, resource):
        yield _pending(problem, cluster) if by_google else problem


def _class_problems(api: Api, cluster: DesiredCluster, resource: ApiResource) -> Iterator[Problem]:
    classes = {item["metadata"]["name"]: item for item in api.items(resource.path())}
    command = _CONTROLLERS.get(cluster.gateway_provider)
    if cluster.gateway_class not in classes:
        yield cluster_problem(
            cluster.connection.cluster,
            f"cluster {cluster.connection.cluster!r} has no GatewayClass {cluster.gateway_class!r} "
            f"(it has: {', '.join(sorted(classes)) or 'none'})",
            (f"Run `{command}` there" if command else "Install its controller there")
            + ", or name a class that exists",
            CLASS_NAME,
        )
    else:
        yield from _not_accepted(cluster, classes[cluster.gateway_class])


def _not_accepted(cluster: DesiredCluster, item: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a warning for a class that its controller has not accepted. The API server sets the condition to
    Unknown until one does (default of GatewayClass.status in kubernetes-sigs/gateway-api,
    apis/v1/gatewayclass_types.go; from memory, not looked up).
    """
    for condition in (item.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Accepted" and condition.get("status") != "True":
            words = condition.get("message") or condition.get("reason") or "no reason given"
            yield cluster_problem(
                cluster.connection.cluster,
                f"GatewayClass {cluster.gateway_class!r} on cluster {cluster.connection.cluster!r} is not "
                f"accepted by its controller {item['spec']['controllerName']}: {words}. An update would wait "
                "for its Gateway",
                f"See whether that controller runs (`kubectl describe gatewayclass {cluster.gateway_class}`, "
                "`kubectl get pods --all-namespaces`), or name another class",
                CLASS_NAME,
                severity="warning",
            )


def _pending(problem: Problem, cluster: DesiredCluster) -> Problem:
    """Return the problem of what GKE may install yet; on a cluster that the stack does not make it stays.

    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/deploying-gateways has the second command.
    """
    cloud = cluster.connection.cloud
    if cloud is None:
        return problem
    where = f"{cloud.cloud_name} --location {cloud.region} --project {cloud.project}"
    step = (
        "GKE installs it minutes after a cluster is created. If it does not come, look at the version "
        f"(`gcloud container clusters describe {where} --format 'value(currentMasterVersion)'`), and run "
        f"`gcloud container clusters update {where} --gateway-api=standard`"
    )
    return replace(problem, next_step=step, severity="warning")


def gateway_ref(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Check that somebody else's Gateway, which the routes will refer to, exists."""
    resource = _of(resources, "Gateway")
    if not cluster.gateway_ref or not resource:
        return
    namespace, name = cluster.gateway_ref
    if not exists(api, resource.path(namespace, name)):
        yield cluster_problem(
            cluster.connection.cluster,
            f"cluster {cluster.connection.cluster!r} has no Gateway {namespace}/{name}",
            "Create it there, fix the reference, or give a className to have a Gateway created",
            f"{GATEWAY}.ref",
        )


def their_address(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Address]:
    """Yield the address of somebody else's Gateway, if it exists and has one."""
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
    """Check that the Secrets that pods read exist with their keys. Values are dropped when they arrive."""
    for need in cluster.secrets_needed:
        path = f"/api/v1/namespaces/{need.namespace}/secrets/{need.name}"
        try:
            keys = (api.get(path, metadata_only=not need.keys).get("data") or {}).keys()
        except RefusedError as refused:
            if refused.status != 404:
                raise
            yield _secret(cluster, need, "does not exist")
            continue
        missing = [key for key in need.keys if key not in keys]
        if missing:
            yield _secret(cluster, need, f"has no key {', '.join(missing)}")


def _secret(cluster: DesiredCluster, need: SecretNeed, what: str) -> Problem:
    readers = listing(need.deployments, most=3)
    return Problem(
        f"Secret {need.namespace}/{need.name}, which pods of {readers} on cluster "
        f"{cluster.connection.cluster!r} read, {what}",
        "Create it there, or let the stack hold it (setting `secrets`)",
        need.path,
        kind="ModelDeployment",
        key=need.deployments[0],
    )


def _of(resources: Mapping[ApiKind, ApiResource], kind: str) -> ApiResource | None:
    for (version, name), resource in sorted(resources.items(), key=lambda item: item[0]):
        if name == kind and version.partition("/")[0] == _GATEWAY_GROUP:
            return resource
    return None
