"""What a cluster gets from others, and must have before an update writes there: kinds with controllers, the
GatewayClass, drivers, schedulers with their queues, and what reads metrics.

Where a scheduler or queue is missing, pods are created and wait without a word. Kueue does worse where it is
missing itself: nothing holds the pods back, and they run beside its quotas.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import yaml

from inferfleet.clusters.connections.api import (
    Api,
    ApiKind,
    ApiResource,
    RefusedError,
    exists,
    lists,
    newest,
    readable,
    served_kinds,
    served_versions,
)
from inferfleet.clusters.preflight.addons import addon_objects, defined_kinds
from inferfleet.desired.values import DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem, Severity, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.names import DEPLOYMENT
from inferfleet.fleet.scheduling import ON_CLUSTER
from inferfleet.serving.claims import device_classes as claimed_classes
from inferfleet.serving.envoy_gateway import CONFIG_FILE, CONFIG_MAP, NAMESPACE
from inferfleet.serving.gateway import Address, address_of
from inferfleet.serving.monitors import GOOGLES
from inferfleet.serving.picker import objective_groups, pool_of
from inferfleet.serving.scaler import HPA, KEDA, OF_OTHERS, OF_PODS
from inferfleet.serving.schedulers import SchedulerNeed
from inferfleet.serving.workload import WORKER_SET, WORKER_SET_API, templates_of
from inferfleet.tables import schedulers
from inferfleet.tables.addons import ADDONS
from inferfleet.tables.devices import (
    CHANNEL_CLASS,
    CLIQUE,
    COMPUTE_DOMAIN_API,
    INSTALLED_BY,
    NETWORK_CLASS,
    RDMA_CLASS,
    RESOURCE_API,
    SINCE,
)
from inferfleet.tables.gke import CAPACITY_REQUEST
from inferfleet.tables.schedulers import POD_GROUP

GATEWAY = "spec.serving.gateway"
CLASS_NAME = f"{GATEWAY}.className"
_GATEWAY_GROUP = "gateway.networking.k8s.io"
# What clusters get from others, by the commands of llm-d's guides (llm-d 0.8), looked up 2026-11-24:
# https://llm-d.ai/docs/dev/resources/gateway/install-crds and
# https://llm-d.ai/docs/infrastructure/gateway/istio. GKE, and OpenShift from 4.19 on, manage their
# definitions and put back or refuse what others do to them: docs/guides/upgrades.md says what to do there.
_SIGS = "https://github.com/kubernetes-sigs"
# The chart of its releases: https://gateway.envoyproxy.io/docs/install/install-helm/.
_ENVOY_GATEWAY_CHART = (
    "helm install eg oci://docker.io/envoyproxy/gateway-helm --version v1.9.1 --namespace "
    "envoy-gateway-system --create-namespace --set config.envoyGateway.extensionApis.enableBackend=true"
)
_DEFINITIONS: Mapping[str, str] = {
    _GATEWAY_GROUP: f"kubectl apply -f {_SIGS}/gateway-api/releases/download/v1.5.1/standard-install.yaml",
    "inference.networking.k8s.io": f"kubectl apply -f {_SIGS}/gateway-api-inference-extension/releases/"
    "download/v1.5.0/v1-manifests.yaml",
    "gateway.envoyproxy.io": _ENVOY_GATEWAY_CHART,
}
_CONTROLLERS: Mapping[str, str] = {
    "istio": "istioctl install -y --set values.pilot.env.ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true",
    "envoy": _ENVOY_GATEWAY_CHART,
}
# The fields of Envoy Gateway's configuration that InferenceGateways rely on.
_CONFIGURED = ("extensionApis.enableBackend", "rateLimit.backend.redis.url", "rateLimit.failClosed")
# What names of Envoy Gateway's controllers begin with.
_ENVOY_GATEWAY = "gateway.envoyproxy.io/"
POOLS = "spec.nodePools"
DEVICE_CLASS: ApiKind = (RESOURCE_API, "DeviceClass")
_OBJECTIVES_VERSION = "v1alpha2"
_OBJECTIVES = ("InferenceModelRewrite", "InferenceObjective")
# Namespace, and group and name of an InferencePool.
_Pool = tuple[str, str, str]
_NAMED = 5
INSTALL_WORKER_SETS = (
    "Write leaderWorkerSet: Managed into serving.stack, or install LeaderWorkerSet 0.9.0 or later there: "
    "helm install lws oci://registry.k8s.io/lws/charts/lws --namespace lws-system --create-namespace"
)
_WORKER_SET_GROUP = "leaderworkerset.x-k8s.io"
_WORKER_SET_DEFINITION = (
    f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/leaderworkersets.{_WORKER_SET_GROUP}"
)
_WEBHOOK_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
_KUEUE = "kueue.x-k8s.io"
# The class that istiod makes by itself.
ISTIO_CLASS = "istio"
# Groups of Kubernetes' projects, which the API server or a cloud brings, and Google's own: all else somebody
# installs. Kinds of Kubernetes' projects that are no API of Kubernetes have groups in x-k8s.io
# (https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/2337-k8s.io-group-protection).
_BROUGHT = (".k8s.io", ".gke.io", ".googleapis.com", ".google.com")
# By the end of the version of their API servers.
_DISTRIBUTIONS = {"rke2": "RKE2", "k3s": "k3s"}
_NVIDIA = "nvidia"
_FIRST = "Create the cluster first, with replicas: 0 for its deployments"
# The controller's own settings, as its manifests and its chart with their usual names install them (lws 0.9,
# config/manager/kustomization.yaml and charts/lws/templates/manager/configmap.yaml).
_LWS_SETTINGS = "/api/v1/namespaces/lws-system/configmaps/lws-manager-config"
_LWS_MAKES_GROUPS = re.compile(r"""^\s*schedulerProvider:\s*["']?volcano\b""", re.MULTILINE)


def kinds_needed(cluster: DesiredCluster) -> set[ApiKind]:
    """Return the kinds of everything that an update writes or reads on the cluster."""
    kinds = {(obj.api_version, obj.kind) for obj in cluster.objects}
    if cluster.gateway_class or cluster.front_doors:
        kinds.add((_gateway_api(kinds), "GatewayClass"))
    if cluster.gateway_ref:
        kinds.add((_gateway_api(kinds), "Gateway"))
    if device_class_names(cluster):
        kinds.add(DEVICE_CLASS)
    return kinds


def _gateway_api(kinds: set[ApiKind]) -> str:
    versions = sorted(version for version, _ in kinds if version.partition("/")[0] == _GATEWAY_GROUP)
    return versions[-1] if versions else f"{_GATEWAY_GROUP}/v1"


def missing_kind_problems(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Yield a problem for every API version with kinds that are needed and not among `resources`.

    On a cluster that the stack creates it is a warning: GKE installs its own kinds minutes later. Not so
    what somebody has to install. `pod_groups` says it of PodGroups, and `omitted_monitor_problems` of objects
    of monitoring.
    """
    monitors = {obj.key: (obj.api_version, obj.kind) for obj in cluster.monitors}
    kinds_of_objects = {(obj.api_version, obj.kind) for obj in cluster.objects if obj.key not in monitors}
    optional = {POD_GROUP, *(set(monitors.values()) - kinds_of_objects)}
    missing = kinds_needed(cluster) - resources.keys() - optional - defined_kinds(cluster)
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
        elif _is_installed(version):
            yield replace(problem, next_step=_install_step(version), path="")
        else:
            yield _pending(problem, cluster)


def _is_installed(version: str) -> bool:
    """Return whether somebody has to install the kinds of an API version on every cluster."""
    group = version.partition("/")[0] if "/" in version else ""
    return "." in group and not group.endswith(_BROUGHT) and group != CAPACITY_REQUEST[0].partition("/")[0]


def _install_step(version: str) -> str:
    return INSTALL_WORKER_SETS if version == WORKER_SET_API else missing_kind(version) or install(version)


def install(version: str) -> str:
    """Return how a cluster gets the kinds of an API version, as a sentence."""
    command = _DEFINITIONS.get(version.partition("/")[0])
    return f"Run `{command}` there" if command else "Install the CRDs of this version there"


def _pending(problem: Problem, cluster: DesiredCluster) -> Problem:
    """Return the problem of what GKE may install yet; on a cluster that the stack does not make it stays.

    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/deploying-gateways has the second command.
    """
    cloud = cluster.connection.cloud
    if cloud is None:
        return problem
    options = f"{cloud.cloud_name} --location {cloud.region} --project {cloud.project}"
    step = (
        "GKE installs it minutes after a cluster is created. If it does not come, look at the version "
        f"(`gcloud container clusters describe {options} --format 'value(currentMasterVersion)'`), and run "
        f"`gcloud container clusters update {options} --gateway-api=standard`"
    )
    return replace(problem, next_step=step, severity="warning")


def namespace_problems(
    cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Yield a problem for each object that a plugin put into a namespace, of a kind that belongs to none.

    Of custom resources only the cluster knows that.
    """
    for obj in cluster.objects:
        resource = resources.get((obj.api_version, obj.kind))
        if obj.namespace and resource and not resource.namespaced:
            yield cluster_problem(
                cluster.connection.cluster,
                f"on cluster {cluster.connection.cluster!r} a {obj.kind} of {obj.api_version} belongs "
                f"to the whole cluster, and a plugin adds {obj.kubernetes_name} to namespace "
                f"{obj.namespace}",
                "Remove it from the plugin, and create it outside of the stack",
            )


def gateway_class_problems(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Check that the GatewayClass exists and is accepted. The absence of one that GKE installs is a
    warning, because it may come later.
    """
    resource = _gateway_resource(resources, "GatewayClass")
    if not resource or not (cluster.gateway_class or cluster.front_doors):
        return
    classes = {item["metadata"]["name"]: item for item in api.items(resource.path())}
    installed = {item.kubernetes_name for item in cluster.objects if item.kind == "GatewayClass"}
    if "istio" in addon_objects(cluster):
        installed.add(ISTIO_CLASS)
    if cluster.gateway_class and cluster.gateway_class not in installed:
        by_google = cluster.gateway_class.startswith("gke-")
        for problem in _class_problems(cluster, cluster.gateway_class, cluster.gateway_provider, classes):
            yield _pending(problem, cluster) if by_google else problem
    for name, gateway in sorted(cluster.front_doors.items()):
        class_name = gateway.manifest["spec"]["gatewayClassName"]
        if class_name in installed:
            continue
        problems = [
            *_class_problems(cluster, class_name, "envoy", classes),
            *_other_controller_problems(cluster, class_name, classes.get(class_name)),
        ]
        for problem in problems:
            yield replace(problem, kind="InferenceGateway", key=name, path="spec.className")


def _other_controller_problems(
    cluster: DesiredCluster, class_name: str, item: Mapping[str, Any] | None
) -> Iterator[Problem]:
    """Yield an error for a class of another controller, which would serve a Gateway without keys and routes
    that no model's name leads to.
    """
    controller = item["spec"]["controllerName"] if item else _ENVOY_GATEWAY
    if not controller.startswith(_ENVOY_GATEWAY):
        yield cluster_problem(
            cluster.connection.cluster,
            f"GatewayClass {class_name!r} on cluster {cluster.connection.cluster!r} is of controller "
            f"{controller}, and only Envoy Gateway serves InferenceGateways",
            f"Name a class of a controller below {_ENVOY_GATEWAY}",
        )


def envoy_gateway_problems(api: Api, cluster: DesiredCluster) -> Iterator[Problem]:
    """Check that Envoy Gateway, where it is somebody else's, is configured as InferenceGateways need it.

    What it counts requests in, and what it does while that is gone, nothing says later: requests pass.
    """
    if not cluster.envoy_gateway or any(_is_configuration(obj) for obj in cluster.objects):
        return
    name = cluster.connection.cluster
    place = f"ConfigMap {NAMESPACE}/{CONFIG_MAP}"
    path = ApiResource("/api/v1", "configmaps", namespaced=True).path(NAMESPACE, CONFIG_MAP)
    try:
        written = yaml.safe_load(api.get(path)["data"][CONFIG_FILE])
    except (RefusedError, LookupError, yaml.YAMLError) as error:
        if isinstance(error, RefusedError) and error.status not in (403, 404):
            raise
        yield _configuration_problem(
            cluster,
            f"whether Envoy Gateway on cluster {name!r} is configured for InferenceGateways is not known: "
            f"{place} is not there, or cannot be read",
            f"See that its configuration has {json.dumps(cluster.envoy_gateway)}",
            severity="notice",
        )
        return
    for field in _CONFIGURED:
        wanted, found = _at(cluster.envoy_gateway, field), _at(written, field)
        if wanted is not None and wanted != (found or False):
            yield _configuration_problem(
                cluster,
                f"{field} of Envoy Gateway on cluster {name!r} is {json.dumps(found)}, and InferenceGateways "
                f"there need {json.dumps(wanted)}",
                f"Set it in {place} (values config.envoyGateway of its chart)",
            )


def _is_configuration(obj: KubeObject) -> bool:
    return (obj.kind, obj.namespace, obj.kubernetes_name) == ("ConfigMap", NAMESPACE, CONFIG_MAP)


def _configuration_problem(
    cluster: DesiredCluster, what: str, step: str, *, severity: Severity = "error"
) -> Problem:
    gateway = min(cluster.front_doors)
    return Problem(what, step, "spec", kind="InferenceGateway", key=gateway, severity=severity)


def _at(value: Any, field: str) -> Any:
    """Return what is at a path of fields; None where it leads nowhere."""
    for name in field.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _class_problems(
    cluster: DesiredCluster, class_name: str, provider: str, classes: Mapping[str, Mapping[str, Any]]
) -> Iterator[Problem]:
    command = _CONTROLLERS.get(provider)
    if class_name not in classes:
        yield cluster_problem(
            cluster.connection.cluster,
            f"cluster {cluster.connection.cluster!r} has no GatewayClass {class_name!r} "
            f"(it has: {', '.join(sorted(classes)) or 'none'})",
            (f"Run `{command}` there" if command else "Install its controller there")
            + ", or name a class that exists",
            CLASS_NAME,
        )
    else:
        yield from _acceptance_problems(cluster, class_name, classes[class_name])


def _acceptance_problems(
    cluster: DesiredCluster, class_name: str, item: Mapping[str, Any]
) -> Iterator[Problem]:
    """Yield a warning for a class that its controller has not accepted. The API server sets the condition to
    Unknown until one does (default of GatewayClass.status in kubernetes-sigs/gateway-api,
    apis/v1/gatewayclass_types.go; from memory, not looked up).
    """
    for condition in (item.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Accepted" and condition.get("status") != "True":
            words = condition.get("message") or condition.get("reason") or "no reason given"
            yield cluster_problem(
                cluster.connection.cluster,
                f"GatewayClass {class_name!r} on cluster {cluster.connection.cluster!r} is not "
                f"accepted by its controller {item['spec']['controllerName']}: {words}. An update would wait "
                "for its Gateway",
                f"See whether that controller runs (`kubectl describe gatewayclass {class_name}`, "
                "`kubectl get pods --all-namespaces`), or name another class",
                CLASS_NAME,
                severity="warning",
            )


def gateway_ref_problems(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Check that somebody else's Gateway, which the routes will refer to, exists."""
    resource = _gateway_resource(resources, "Gateway")
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


def referenced_gateway_address(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Address]:
    """Yield the address of somebody else's Gateway, if it exists and has one."""
    resource = _gateway_resource(resources, "Gateway")
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


def _gateway_resource(resources: Mapping[ApiKind, ApiResource], kind: str) -> ApiResource | None:
    for (version, name), resource in sorted(resources.items(), key=lambda item: item[0]):
        if name == kind and version.partition("/")[0] == _GATEWAY_GROUP:
            return resource
    return None


def device_class_names(cluster: DesiredCluster) -> tuple[str, ...]:
    """Return the DeviceClasses that claims of the stack name on the cluster."""
    return claimed_classes(obj.manifest for obj in cluster.objects)


def missing_kind(version: str) -> str | None:
    """Return what to do on a cluster that does not serve kinds of claims, None for another API version."""
    if version == RESOURCE_API:
        return f"Bring the cluster to Kubernetes {SINCE}, or use classes with allocation: DevicePlugin there"
    if version == COMPUTE_DOMAIN_API:
        return f"Install {INSTALLED_BY[CHANNEL_CLASS]}, or leave out the class's device of IMEX channels"
    return None


def device_class_problems(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Yield a problem for each DeviceClass that claims name and the cluster lacks.

    On a cluster that the stack creates it is a warning: whoever installs the driver there can do so only once
    the cluster exists.
    """
    resource = resources.get(DEVICE_CLASS)
    wanted = device_class_names(cluster)
    if not wanted or resource is None:
        return
    present = {item["metadata"]["name"] for item in api.items(resource.path(), metadata_only=True)}
    for name in wanted:
        if name not in present:
            problem = cluster_problem(
                cluster.connection.cluster,
                f"cluster {cluster.connection.cluster!r} has no DeviceClass {name!r}, which claims of pods "
                f"name (it has: {', '.join(sorted(present)) or 'none'})",
                f"Install {INSTALLED_BY.get(name, 'the DRA driver that brings it')}, or correct "
                "deviceClassName in the class",
                POOLS,
            )
            yield replace(problem, severity="warning") if cluster.connection.cloud else problem


def unlabelled_node_problems(api: Api, cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield a problem for each pool of which no node tells its NVLink domain, though its pods must share one.

    Pools without nodes are left out, and who may not list nodes is told nothing. On a cluster that the stack
    creates it is a warning, as above.
    """
    first = {selector: name for name, selector in _of_one_domain(cluster)}
    for selector, name in first.items():
        query = {"labelSelector": ",".join(f"{key}={value}" for key, value in selector)}
        try:
            nodes = list(api.items("/api/v1/nodes", metadata_only=True, query=query))
        except RefusedError as refused:
            if refused.status != 403:
                raise
            return
        if nodes and not any(CLIQUE in node["metadata"].get("labels", {}) for node in nodes):
            problem = cluster_problem(
                cluster.connection.cluster,
                f"none of the {len(nodes)} nodes of cluster {cluster.connection.cluster!r} with "
                f"{query['labelSelector']} has the label {CLIQUE}, and pods of a worker of {name} must be on "
                "nodes of one NVLink domain",
                "Install NVIDIA's GPU feature discovery there, or set gpuCliqueLabelEnabled: true in the "
                "chart dra-driver-nvidia-gpu",
                POOLS,
            )
            yield replace(problem, severity="warning") if cluster.connection.cloud else problem


def _of_one_domain(cluster: DesiredCluster) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Yield the workloads whose pods must share an NVLink domain, with the selector of their nodes."""
    for obj in cluster.objects:
        if obj.kind == WORKER_SET:
            spec = templates_of(obj.manifest)[0]["spec"]
            together = spec.get("affinity", {}).get("podAffinity", {})
            terms = together.get("requiredDuringSchedulingIgnoredDuringExecution", [])
            if any(term["topologyKey"] == CLIQUE for term in terms):
                name = f"{obj.namespace}/{obj.kubernetes_name}"
                yield name, tuple(sorted(spec["nodeSelector"].items()))


def worker_set_problems(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Yield why a cluster that knows LeaderWorkerSets cannot run those that are desired there.

    Who may not read definitions or webhooks is told nothing of them.
    """
    wanted = [obj for obj in cluster.objects if obj.kind == WORKER_SET]
    if "leaderWorkerSet" in addon_objects(cluster):
        return
    if not wanted or (WORKER_SET_API, WORKER_SET) not in resources:
        return
    name, first = cluster.connection.cluster, f"{wanted[0].namespace}/{wanted[0].kubernetes_name}"
    definition = readable(api, _WORKER_SET_DEFINITION)
    if definition is not None and not _has_observed_generation(definition):
        yield cluster_problem(
            name,
            f"the LeaderWorkerSets of cluster {name!r} are older than 0.9.0: their status does not say which "
            f"generation it is of, so an update could not tell when {first} has rolled",
            INSTALL_WORKER_SETS,
        )
    if _lacks_webhook(api, _WORKER_SET_GROUP):
        yield cluster_problem(
            name,
            f"cluster {name!r} knows LeaderWorkerSets, and has no controller of theirs: no webhook of "
            f"{_WORKER_SET_GROUP} is configured, so no pods would be made of {first}",
            INSTALL_WORKER_SETS,
        )


def _lacks_webhook(api: Api, group: str) -> bool:
    """Return whether the controller of an API group has configured no webhook for its own kinds; False where
    the credentials may not read that. Kueue has webhooks for the kinds of others too.
    """
    configured = readable(api, _WEBHOOK_CONFIGURATIONS)
    if configured is None:
        return False
    groups = [
        {
            of_rule
            for webhook in item.get("webhooks") or ()
            for rule in webhook.get("rules") or ()
            for of_rule in rule.get("apiGroups") or ()
        }
        for item in configured.get("items") or ()
    ]
    return not any(group in of_item and (group == _KUEUE or _KUEUE not in of_item) for of_item in groups)


def _has_observed_generation(definition: Mapping[str, Any]) -> bool:
    """Return whether the status has what came with 0.9.0 (api/leaderworkerset/v1, status)."""
    version = WORKER_SET_API.rpartition("/")[2]
    for served in definition["spec"].get("versions") or ():
        if served.get("name") == version:
            properties = ((served.get("schema") or {}).get("openAPIV3Schema") or {}).get("properties") or {}
            return "observedGeneration" in ((properties.get("status") or {}).get("properties") or {})
    return True


def scheduler_problems(api: Api, cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield the queues and topologies that pods name and the cluster does not have, or that are closed."""
    offered: dict[tuple[str, str], ApiResource | None] = {}
    for need in cluster.scheduler_needs:
        kind = (need.group, need.object_kind)
        if kind not in offered:
            offered[kind] = newest(api, *kind)
        resource = offered[kind]
        if resource is None:
            yield _scheduler_problem(
                need,
                f"cluster {cluster.connection.cluster!r} does not know {need.object_kind} of {need.group}: "
                f"pods of deployment {need.whose} are handed to {need.scheduler}, which is not installed",
                f"Install {need.scheduler} there, or choose another type in {ON_CLUSTER}",
            )
        elif need.levels or need.name is None:
            yield from _topology_problems(need, cluster, api.items(resource.path()))
        else:
            yield from _queue_problems(need, cluster, api, resource)
    kueue = next((need for need in cluster.scheduler_needs if need.scheduler == "Kueue"), None)
    if kueue and offered[kueue.group, kueue.object_kind] and _lacks_webhook(api, _KUEUE):
        yield _scheduler_problem(
            kueue,
            f"cluster {cluster.connection.cluster!r} knows the kinds of Kueue, and has no controller of "
            f"theirs: no webhook of {_KUEUE} is configured, so nothing holds pods of deployment "
            f"{kueue.whose} back",
            f"Install Kueue there, or choose another type in {ON_CLUSTER}",
        )


def future_problems(cluster: DesiredCluster, *, of_program: bool) -> Iterator[Problem]:
    """Yield what nobody can have installed on a cluster that does not exist yet.

    An update that writes what the cluster does not know fails there, once its nodes are billed. It is only a
    warning for a Fleet in somebody's program, which may install it in the same update.
    """
    for problem in _future_kind_problems(cluster):
        yield replace(problem, severity="warning") if of_program else problem
    yield from _future_scheduler_problems(cluster)
    name = cluster.connection.cluster
    for device_class in device_class_names(cluster):
        if device_class not in (RDMA_CLASS, NETWORK_CLASS):
            yield cluster_problem(
                name,
                f"cluster {name!r} does not exist yet, so DeviceClass {device_class!r} is not there, which "
                "claims of pods name",
                f"{_FIRST}, and install "
                f"{INSTALLED_BY.get(device_class, 'the DRA driver that brings it')} there",
                POOLS,
                severity="warning",
            )


def _future_kind_problems(cluster: DesiredCluster) -> Iterator[Problem]:
    monitors, defined = {obj.key for obj in cluster.monitors}, defined_kinds(cluster)
    objects: dict[str, list[KubeObject]] = {}
    for obj in cluster.objects:
        of_scheduler = (obj.api_version, obj.kind) == POD_GROUP
        comes = (obj.api_version, obj.kind) in defined
        if obj.key not in monitors and not of_scheduler and not comes and _is_installed(obj.api_version):
            objects.setdefault(obj.api_version, []).append(obj)
    for version, wanted in sorted(objects.items()):
        name = cluster.connection.cluster
        kinds = listing(sorted({obj.kind for obj in wanted}))
        titles = [f"{obj.namespace}/{obj.kubernetes_name}" for obj in wanted]
        yield cluster_problem(
            name,
            f"cluster {name!r} does not exist yet, so it will not know {kinds} of {version}, which GKE does "
            f"not install, and the update fails at {listing(titles, 3)} once nodes are billed",
            "Write serving: {stack: Managed}, so that inferfleet installs it"
            if any(version.partition("/")[0] in row.groups for row in ADDONS.values())
            else f"{_FIRST}. {_install_step(version)}. Then write the replicas",
        )


def _future_scheduler_problems(cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield a warning for each scheduler that a cluster which does not exist yet cannot have."""
    for scheduler in dict.fromkeys(need.scheduler for need in cluster.scheduler_needs):
        whose = next(need.whose for need in cluster.scheduler_needs if need.scheduler == scheduler)
        name = cluster.connection.cluster
        yield cluster_problem(
            name,
            f"cluster {name!r} does not exist yet, so {scheduler} is not installed there, and pods of "
            f"deployment {whose} are handed to it",
            f"{_FIRST}, and install {scheduler} there",
            ON_CLUSTER,
            severity="warning",
        )


def _queue_problems(
    need: SchedulerNeed, cluster: DesiredCluster, api: Api, resource: ApiResource
) -> Iterator[Problem]:
    queue = readable(api, resource.path(need.namespace, need.name))
    within = f" in namespace {need.namespace}" if need.namespace else ""
    queue_in_words = f"{need.object_kind} {need.name!r} of {need.scheduler}{within}"
    if queue is None:
        queues = sorted(item["metadata"]["name"] for item in api.items(resource.path(need.namespace)))
        first = (
            f"`kubectl create namespace {need.namespace}` if it is not there, and create"
            if within
            else "Create"
        )
        yield _scheduler_problem(
            need,
            f"cluster {cluster.connection.cluster!r} has no {queue_in_words} (it has: "
            f"{listing(queues) or 'none'}), and pods of deployment {need.whose} wait in it",
            f"{first} the queue there, or name one that exists",
        )
        return
    status = queue.get("status") or {}
    conditions = {entry.get("type"): entry for entry in status.get("conditions") or ()}
    active = conditions.get("Active", {})
    why = ""
    if need.scheduler == "Kueue" and active.get("status") == "False":
        why = f"Active=False: {active.get('message') or active.get('reason')}"
    elif need.scheduler == "Volcano" and status.get("state") in ("Closed", "Closing"):
        why = f"its state is {status['state']}"
    if why:
        yield _scheduler_problem(
            need,
            f"{queue_in_words} on cluster {cluster.connection.cluster!r} takes no pods ({why}), and those of "
            f"deployment {need.whose} wait in it",
            "Mend the queue there, or name another one",
        )


def _topology_problems(
    need: SchedulerNeed, cluster: DesiredCluster, topologies: Iterable[Mapping[str, Any]]
) -> Iterator[Problem]:
    by_name: dict[str, list[str]] = {}
    for item in topologies:
        name = item["metadata"]["name"]
        by_name[name] = _levels(item)
        if need.name in (None, name) and set(need.levels) <= set(by_name[name]):
            return
    topology_in_words = f"{need.object_kind} {need.name!r}" if need.name else need.object_kind
    levels = f" with level {' and '.join(need.levels)}" if need.levels else ""
    has = "; ".join(f"{name}: {listing(found)}".removesuffix(": ") for name, found in sorted(by_name.items()))
    yield _scheduler_problem(
        need,
        f"cluster {cluster.connection.cluster!r} has no {topology_in_words} of {need.scheduler}{levels} "
        f"(it has: {has or 'none'}), and the workers of deployment {need.whose} are to be close together",
        "Create it there, or name what exists",
    )


def _levels(topology: Mapping[str, Any]) -> list[str]:
    levels = (topology.get("spec") or {}).get("levels") or ()
    return [str(level.get("nodeLabel")) for level in levels]


def pod_group_problems(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Yield why the PodGroups of Volcano that we make would not be understood, or be there twice."""
    ours = [obj for obj in cluster.objects if (obj.api_version, obj.kind) == schedulers.POD_GROUP]
    if not ours:
        return
    name = cluster.connection.cluster
    whose = f"PodGroup {ours[0].namespace}/{ours[0].kubernetes_name} holds the workers of several pods"
    if schedulers.POD_GROUP not in resources:
        yield cluster_problem(
            name,
            f"cluster {name!r} does not know PodGroup of {schedulers.POD_GROUP[0]}, and {whose}",
            "Install Volcano 1.14 or newer there, or choose another type",
            ON_CLUSTER,
        )
        return
    settings = (readable(api, _LWS_SETTINGS) or {}).get("data") or {}
    if any(_LWS_MAKES_GROUPS.search(str(text)) for text in settings.values()):
        yield cluster_problem(
            name,
            f"the LeaderWorkerSet controller of cluster {name!r} makes PodGroups of its own "
            "(gangSchedulingManagement in lws-system/lws-manager-config), and inferfleet makes them for the "
            "same pods, which would take their room in the queue twice",
            "Remove gangSchedulingManagement from its configuration and restart it",
            ON_CLUSTER,
        )


def _scheduler_problem(need: SchedulerNeed, what: str, next_step: str) -> Problem:
    return Problem(what, next_step, need.path, kind=need.kind, key=need.key)


def runtime_problems(
    api: Api, cluster: DesiredCluster, workloads: Iterable[Mapping[str, Any]]
) -> Iterator[Problem]:
    """Yield a notice where pods may get no GPU of NVIDIA's, because they name no RuntimeClass.

    k3s and RKE2 find NVIDIA's runtime and leave runc the default one (k3s-io/docs, docs/advanced.md;
    rancher/rke2-docs, docs/add-ons/gpu_operators.md, where GPU Operator 25.10 and later needs no class). Of
    what default nodes have no API tells, so nothing is said once pods of the stack are ready there.
    """
    readers = sorted({reader for obj in cluster.objects if (reader := _without_runtime(obj))})
    ready = any((workload.get("status") or {}).get("readyReplicas") for workload in workloads)
    if ready or not readers:
        return
    version = str((readable(api, "/version") or {}).get("gitVersion", ""))
    distribution = next((name for mark, name in _DISTRIBUTIONS.items() if f"+{mark}" in version), None)
    if distribution and readable(api, f"/apis/node.k8s.io/v1/runtimeclasses/{_NVIDIA}"):
        name = cluster.connection.cluster
        yield cluster_problem(
            name,
            f"cluster {name!r} is of {distribution}, where pods get GPUs of NVIDIA's by RuntimeClass "
            f"{_NVIDIA} unless that is the default runtime of nodes, or GPU Operator 25.10 or later serves "
            f"them, and pods of {listing(readers, 3)} name no RuntimeClass",
            f"If engines find no GPU, write {{name: accelerator, config: {{runtimeClassName: {_NVIDIA}}}}} "
            "into plugins of the cluster",
            "spec.plugins",
            severity="notice",
        )


def _without_runtime(obj: KubeObject) -> str | None:
    """Return the deployment of a workload whose pods ask for NVIDIA's GPUs and name no RuntimeClass."""
    deployment = (obj.manifest["metadata"].get("labels") or {}).get(DEPLOYMENT)
    if deployment is None or obj.kind not in ("Deployment", WORKER_SET):
        return None
    limits = {
        resource
        for template in templates_of(obj.manifest)
        if not template["spec"].get("runtimeClassName")
        for container in template["spec"]["containers"]
        for resource in container.get("resources", {}).get("limits", {})
    }
    has_gpus = any(resource.startswith(f"{_NVIDIA}.com/") for resource in limits)
    return f"{obj.namespace}/{deployment}" if has_gpus else None


def unknown_kinds(cluster: DesiredCluster, known: Collection[ApiKind]) -> frozenset[ApiKind]:
    """Return the kinds of monitoring that are desired on a cluster and not among those that it knows."""
    return _monitoring_kinds(cluster) - frozenset(known)


def kinds_to_come(cluster: DesiredCluster) -> frozenset[ApiKind]:
    """Return the kinds of monitoring that a cluster of the stack which does not exist yet will not know.

    Google installs its own with the cluster; what others define is installed by somebody later.
    """
    return _monitoring_kinds(cluster) - {GOOGLES}


def _monitoring_kinds(cluster: DesiredCluster) -> frozenset[ApiKind]:
    return frozenset((obj.api_version, obj.kind) for obj in cluster.monitors)


def omitted_monitor_problems(cluster: DesiredCluster, unknown: Collection[ApiKind]) -> Iterator[Problem]:
    """Yield a notice of the objects that a cluster does not get."""
    if not unknown:
        return
    name = cluster.connection.cluster
    if KEDA in unknown:
        scaled = [obj.manifest for obj in cluster.monitors if (obj.api_version, obj.kind) == KEDA]
        targets = sorted(manifest["spec"]["scaleTargetRef"]["name"] for manifest in scaled)
        yield cluster_problem(
            name,
            f"cluster {name!r} does not know {KEDA[1]} of {KEDA[0]}, so nobody scales {listing(targets, 3)}: "
            "they keep the replicas that they have",
            "Install KEDA there and run `pulumi up` again, or write scaling.by: HPA",
            severity="notice",
        )
    if not (unknown := frozenset(unknown) - {KEDA}):
        return
    kinds = " and ".join(f"{kind} of {version}" for version, kind in sorted(unknown))
    count = sum((obj.api_version, obj.kind) in unknown for obj in cluster.monitors)
    yield cluster_problem(
        name,
        f"cluster {name!r} does not know {kinds}, so {count} "
        f"object{'' if count == 1 else 's'} of serving.monitoring {'is' if count == 1 else 'are'} left out",
        "Install their CRDs there and run `pulumi up` again, or choose another kind in serving.monitoring",
        "spec.serving.monitoring",
        severity="notice",
    )


def metrics_api_problems(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Yield which APIs of metrics a cluster lacks that its HorizontalPodAutoscalers read: these then set only
    their bounds. KEDA serves one itself, by which it scales.
    """
    scalers = [obj.manifest for obj in cluster.objects if (obj.api_version, obj.kind) == HPA]
    read = {metric["type"] for manifest in scalers for metric in manifest["spec"].get("metrics", ())}
    for kind, group in (("Pods", OF_PODS), ("External", OF_OTHERS)):
        if kind in read and not served_versions(api, group):
            name = cluster.connection.cluster
            yield cluster_problem(
                name,
                f"nothing on cluster {name!r} serves {group}, where HorizontalPodAutoscalers read metrics, "
                "so deployments that they scale keep the replicas that they have, between min and max",
                "Install an adapter there, such as prometheus-adapter, or write scaling.by: KEDA",
                severity="notice",
            )
    by_keda = [obj for obj in cluster.monitors if (obj.api_version, obj.kind) == KEDA and KEDA in resources]
    if by_keda and not served_versions(api, OF_OTHERS):
        name = cluster.connection.cluster
        targets = sorted(obj.manifest["spec"]["scaleTargetRef"]["name"] for obj in by_keda)
        yield cluster_problem(
            name,
            f"cluster {name!r} knows {KEDA[1]}, and no KEDA serves {OF_OTHERS} there, so nobody scales "
            f"{listing(targets, 3)}: they keep the replicas that they have",
            "See whether its operator and its metrics server run (`kubectl get apiservices "
            f"v1beta1.{OF_OTHERS}`)",
            severity="notice",
        )


def ignored_objective_problems(api: Api, cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield a warning for objects of a group that pickers do not read where the cluster knows a kind in two.

    Pickers of GIE read them in one group, those of llm-d-router in the first of two that has the kind, and
    only their log says that objects of the other are ignored (populateWithDiscovery in
    pkg/epp/server/controller_config.go of llm-d-router v0.9.0 and v0.10.0, read 2026-11-24). Kinds are looked
    for in one version, which is the same in both groups.

    Objects of the same name in the group that is read stand for them. It asks nothing for pickers that read
    one group, and who may not list the objects is told nothing.
    """
    readers: dict[tuple[str, str], set[_Pool]] = {}
    for obj in cluster.objects:
        groups = objective_groups(obj.manifest) if obj.kind == "Role" else ()
        if len(groups) == 2 and (pool := pool_of(obj.manifest)):
            readers.setdefault((groups[0], groups[1]), set()).add((obj.namespace or "", *pool))
    for (read, ignored), pools in sorted(readers.items()):
        yield from _ignored_group_problems(
            api, cluster.connection.cluster, f"{read}/{_OBJECTIVES_VERSION}", ignored, pools
        )


def _ignored_group_problems(
    api: Api, cluster: str, read: str, ignored: str, pools: set[_Pool]
) -> Iterator[Problem]:
    preferred = served_kinds(api, [(read, kind) for kind in _OBJECTIVES])
    others = (
        served_kinds(api, [(f"{ignored}/{_OBJECTIVES_VERSION}", kind) for _, kind in preferred])
        if preferred
        else {}
    )
    namespaces = {namespace for namespace, _, _ in pools}
    for (_, kind), resource in sorted(others.items()):
        objects = {
            _objective_name(item)
            for item in _objectives(api, resource, namespaces)
            if _pool_of_objective(item) in pools
        }
        if objects:
            objects -= {_objective_name(item) for item in _objectives(api, preferred[read, kind], namespaces)}
        if objects:
            yield cluster_problem(
                cluster,
                f"cluster {cluster!r} knows {kind} in two groups, and its endpoint pickers of llm-d-router "
                f"read {read} alone: they ignore {listing(sorted(objects), _NAMED)} of {ignored}",
                f"Write them again there with apiVersion: {read}",
                "spec.serving.profile",
                severity="warning",
            )


def _objectives(api: Api, resource: ApiResource, namespaces: set[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in these namespaces, none where the credentials may not list them."""
    for path in lists(resource, namespaces):
        try:
            yield from api.items(path)
        except RefusedError as refused:
            if refused.status not in (403, 404):
                raise


def _objective_name(item: Mapping[str, Any]) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


def _pool_of_objective(item: Mapping[str, Any]) -> _Pool:
    """Return the pool that an object is for, which is in its namespace; the group has a default."""
    pool_ref = (item.get("spec") or {}).get("poolRef") or {}
    return (
        item["metadata"]["namespace"],
        pool_ref.get("group") or "inference.networking.k8s.io",
        pool_ref.get("name", ""),
    )
