"""All objects of a deployment's endpoint picker (EPP) on one cluster: its InferencePool, Deployment, Service,
account and rights; how it ends, and how it is replaced by another.

One picker keeps its names: its Deployment starts the next pod, and ends the old one once the next is ready.

Of several replicas the elected leader alone is ready, and their Lease is named after their InferencePool. A
leader that ends gives its Lease back last (engageStopProcedure in pkg/manager/internal.go of
controller-runtime v0.23.3), unless its release serves on: under the same name nobody would choose pods
meanwhile. So several replicas have an edition, a part of the names of their objects and the pool.
"""

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inferfleet.documents.kinds.inference_cluster import Serving, Tracing
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.picker_size import picker_resources
from inferfleet.fleet.roles import is_disaggregated, target_ports
from inferfleet.serving.metadata import SKIP_AWAIT, WAIT_FOR, metadata
from inferfleet.serving.picker import command
from inferfleet.serving.programs import tracing_variables, variable_of_pod
from inferfleet.tables.devices import ACCELERATED_NODE_LABELS
from inferfleet.tables.pickers import Profile
from inferfleet.tables.pickers import picker as picker_row

POOL = "InferencePool"
CONTAINER = "epp"
# The names of the ports of a picker's container, and of its Service.
GRPC, METRICS = "grpc-ext-proc", "http-metrics"
# A lost node has its pods for as long as they tolerate it, by default 300 s
# (plugin/pkg/admission/defaulttolerationseconds/admission.go of Kubernetes), and gateways send to no pod
# without a picker. A node that is back within this time keeps it.
_LOST_NODE_SECONDS = 20
# A picker says it is healthy before it has made the key of its certificate, and listens to gateways only
# then: a request that is sent there in between fails.
_STARTUP_SECONDS = 60
# Until gateways know that a picker ends.
_LEAST_SLEEP_SECONDS = 5
# Between the end of its last stream, or of the time for it, and the end of its process.
_RESERVE_SECONDS = 5
# Pulumi waits ten minutes for a deletion (pkg/await/await.go of pulumi-kubernetes 4.25).
_LONGEST_GRACE_SECONDS = 570
_RBAC = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_POOLS, _OBJECTIVES = ["inferencepools"], ["inferenceobjectives", "inferencemodelrewrites"]


@dataclass(frozen=True)
class Picker:
    """A deployment's endpoint picker on a cluster with this `serving` block.

    `replicas` are those of the deployment there. `drain` are the seconds that pods of its engines have to
    end: streams run through the gateway on the word of the picker that they began with. `revision` is that of
    its pods, with the edition of the picker.
    """

    deployment: ModelDeployment
    serving: Serving
    profile: Profile
    stack: str
    replicas: int
    drain: int
    revision: str = ""

    @property
    def name(self) -> str:
        return names.epp(self.deployment.metadata.key, self.revision)

    @property
    def several(self) -> bool:
        """Return whether it has several replicas, of which one leads."""
        return self.deployment.spec.endpoint_picker.replicas > 1

    @property
    def flags(self) -> dict[str, str]:
        return command.flags(deployment=self.deployment, serving=self.serving, profile=self.profile)

    @property
    def selector(self) -> dict[str, str]:
        return selector(self.deployment, self.revision)

    def metadata(self, **others: Any) -> dict[str, Any]:
        """Return the metadata of an object of the picker in its namespace."""
        of = self.deployment.metadata
        return metadata(self.name, stack=self.stack, namespace=of.namespace, deployment=of.key, **others)


@dataclass(frozen=True)
class PickerObjects:
    """Objects of a picker; `reads` are what its Deployment needs to start: account, roles and bindings."""

    reads: tuple[dict[str, Any], ...]
    deployment: dict[str, Any]
    service: dict[str, Any]


def objects(picker: Picker) -> PickerObjects:
    """Return the objects of a picker."""
    key, namespace = picker.deployment.metadata.key, picker.deployment.metadata.namespace
    subject = {"kind": "ServiceAccount", "name": picker.name, "namespace": namespace}
    reads: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": picker.metadata()},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "Role",
            "metadata": picker.metadata(),
            "rules": _rules(picker),
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": picker.metadata(),
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": picker.name},
            "subjects": [subject],
        },
    ]
    if picker.serving.metrics_auth:
        # To check who reads the picker's metrics, and whether they may.
        named = names.epp_cluster_scoped(key, picker.revision)
        reads += [
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "ClusterRole",
                "metadata": metadata(named, stack=picker.stack, deployment=key),
                "rules": [
                    _rule("authentication.k8s.io", ["tokenreviews"], "create"),
                    _rule("authorization.k8s.io", ["subjectaccessreviews"], "create"),
                ],
            },
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": metadata(named, stack=picker.stack, deployment=key),
                "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": named},
                "subjects": [copy.deepcopy(subject)],
            },
        ]
    return PickerObjects(tuple(reads), _deployment(picker), _service(picker))


def edition(picker: Picker) -> str:
    """Return six digits of what several replicas of a picker run, "" where there is one.

    The `revision` of the given one is without an edition.
    """
    return names.short_hash(6, json.dumps(_template(picker), sort_keys=True)) if picker.several else ""


def inference_pool(
    *, deployment: ModelDeployment, profile: Profile, stack: str, revision: str = "", edition: str = ""
) -> dict[str, Any]:
    """Return the InferencePool of the pods of a revision, for an edition of their picker.

    Source: gateway-api-inference-extension api/v1/inferencepool_types.go.
    """
    key = deployment.metadata.key
    named = names.revised(revision, edition)
    return {
        "apiVersion": profile.pool_api_version,
        "kind": POOL,
        "metadata": metadata(
            names.inference_pool(key, named),
            stack=stack,
            namespace=deployment.metadata.namespace,
            deployment=key,
        ),
        "spec": {
            "selector": {"matchLabels": names.pool_selector(key, revision)},
            "targetPorts": [{"number": port} for port in target_ports(deployment)],
            "endpointPickerRef": {
                "group": "",
                "kind": "Service",
                "name": names.epp(key, named),
                "port": {"number": command.grpc_port(deployment, profile)},
                "failureMode": deployment.spec.endpoint_picker.failure_mode,
            },
        },
    }


def image(deployment: ModelDeployment, serving: Serving, profile: Profile) -> str:
    """Return the image of a picker of this profile: the deployment's, the cluster's, or the profile's own."""
    same = picker_row(serving.profile, disaggregated=False) is profile
    of_cluster = serving.images.epp if same else None
    if is_disaggregated(deployment):
        usual = picker_row(serving.profile, disaggregated=True)
        of_cluster = (serving.images.prefill_epp if usual is profile else None) or of_cluster
    return deployment.spec.endpoint_picker.image or of_cluster or profile.epp_image


def selector(deployment: ModelDeployment, revision: str) -> dict[str, str]:
    """Return the labels of a picker's pods, which no pool and no workload of the deployment selects."""
    return {names.PICKER: names.epp(deployment.metadata.key, revision)}


@dataclass(frozen=True)
class Ending:
    """Seconds for which a picker that ends goes on as before, and then at least with its streams."""

    sleep: int
    stop: int

    @property
    def grace(self) -> int:
        """Seconds after which its pod is killed."""
        return self.sleep + self.stop + _RESERVE_SECONDS


def ending(drain: int, profile: Profile, chosen: Mapping[str, str]) -> Ending:
    """Return how a picker with these flags ends, whose engines have `drain` seconds: together as long.

    Once told to end, most take no new streams, and give those that they have a time of its own, whatever the
    grace period is. So they are told late, and an elected leader that is evicted, which is no longer ready,
    lets nobody else choose pods meanwhile. A shorter sleep would cut the streams that an update leaves to a
    picker that it has replaced.

    One that serves on is told as soon as gateways know, and not before: it learns of no pods from then on.
    Its own time for new streams stays short for the same reason; it waits for those it has in any case.
    """
    whole = min(drain, _LONGEST_GRACE_SECONDS) - _RESERVE_SECONDS
    stop = command.stop_seconds(chosen, profile)
    if profile.serves_on:
        return Ending(_LEAST_SLEEP_SECONDS, max(stop, whole - _LEAST_SLEEP_SECONDS))
    return Ending(max(_LEAST_SLEEP_SECONDS, whole - stop), stop)


def unled_seconds(drain: int, profile: Profile, chosen: Mapping[str, str]) -> int:
    """Return for how long nobody chooses pods, at most, once the leader of several pickers is evicted.

    It keeps its Lease until its last stream has ended, or the time for that is over (engageStopProcedure in
    pkg/manager/internal.go of controller-runtime v0.23.3); one that serves on gives it back after its sleep.
    """
    ends = ending(drain, profile, chosen)
    return ends.sleep if profile.serves_on else ends.sleep + ends.stop


def deployment_of(workload: Mapping[str, Any]) -> str | None:
    """Return the deployment whose picker a workload is, None for others."""
    metadata, template = workload["metadata"], (workload.get("spec") or {}).get("template") or {}
    containers = (template.get("spec") or {}).get("containers") or ()
    deployment = (metadata.get("labels") or {}).get(names.DEPLOYMENT)
    is_picker = any(container.get("name") == CONTAINER for container in containers)
    return f"{metadata['namespace']}/{deployment}" if deployment and is_picker else None


def pool_of(role: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return group and name of the InferencePool that a picker with this role reads, None for others."""
    for rule in role.get("rules") or ():
        if rule.get("resources") == _POOLS and rule.get("resourceNames"):
            return rule["apiGroups"][0], rule["resourceNames"][0]
    return None


def objective_groups(role: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the API groups in which a picker with this role looks for objectives, in its order."""
    rules = role.get("rules") or ()
    return tuple(rule["apiGroups"][0] for rule in rules if rule.get("resources") == _OBJECTIVES)


def _rules(picker: Picker) -> list[dict[str, Any]]:
    """Return rights to read pods, pool and objectives; with several replicas also to elect a leader.

    A request to create has no name that RBAC could compare, so that right is for any Lease and Event of the
    namespace. A list or watch has one where it selects by `metadata.name`, as pickers do with their pool
    (pkg/epp/server/controller_manager.go of all releases).
    """
    key, profile = picker.deployment.metadata.key, picker.profile
    rules = [
        _rule("", ["pods"], *_READ),
        _rule(profile.pool_group, _POOLS, *_READ, only=[names.inference_pool(key, picker.revision)]),
        *(_rule(group, _OBJECTIVES, *_READ) for group in profile.objective_groups),
    ]
    if picker.several:
        lease = names.epp_lease(key, picker.revision, profile.lease_suffix)
        rules += [
            _rule("coordination.k8s.io", ["leases"], "create"),
            _rule("coordination.k8s.io", ["leases"], "get", "update", only=[lease]),
            _rule("", ["events"], "create", "patch"),
        ]
    return rules


def _rule(group: str, resources: list[str], *verbs: str, only: Sequence[str] = ()) -> dict[str, Any]:
    named = {"resourceNames": list(only)} if only else {}
    return {"apiGroups": [group], "resources": resources, **named, "verbs": list(verbs)}


def _deployment(picker: Picker) -> dict[str, Any]:
    # Only the elected leader becomes ready, so the Deployment as a whole never does. Another edition is
    # another Deployment, in which nobody is ready before.
    leads = {WAIT_FOR: "jsonpath={.status.readyReplicas}"} if picker.several else None
    # Several are replaced by hand alone, and a rolling update would wait for followers.
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": picker.metadata(annotations=leads),
        "spec": {
            "replicas": picker.deployment.spec.endpoint_picker.replicas,
            "strategy": {"type": "Recreate"} if picker.several else rolling,
            "revisionHistoryLimit": 2,
            "selector": {"matchLabels": picker.selector},
            "template": _template(picker),
        },
    }


def _template(picker: Picker) -> dict[str, Any]:
    ends = ending(picker.drain, picker.profile, picker.flags)
    scraped = command.scrape_annotations(
        deployment=picker.deployment, serving=picker.serving, profile=picker.profile
    )
    return {
        "metadata": {
            "labels": picker.selector | {names.MANAGED_BY: names.MANAGER},
            **({"annotations": scraped} if scraped else {}),
        },
        "spec": {
            **_place(),
            "tolerations": _leave_lost_nodes(),
            "serviceAccountName": picker.name,
            "terminationGracePeriodSeconds": ends.grace,
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            **(_spread(picker) if picker.several else {}),
            "containers": [
                {**_container(picker), "lifecycle": {"preStop": {"sleep": {"seconds": ends.sleep}}}}
            ],
        },
    }


def _place() -> dict[str, Any]:
    """Return an affinity for nodes without GPUs, which others need. It is none that must hold: a cluster may
    have no other nodes. Those of GKE have a taint besides, which pickers do not tolerate.
    """
    absent = [{"key": label, "operator": "DoesNotExist"} for label in ACCELERATED_NODE_LABELS]
    preferred = {"weight": 100, "preference": {"matchExpressions": absent}}
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}}


def _leave_lost_nodes() -> list[dict[str, Any]]:
    return [
        {
            "key": f"node.kubernetes.io/{what}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _LOST_NODE_SECONDS,
        }
        for what in ("not-ready", "unreachable")
    ]


def _spread(picker: Picker) -> dict[str, Any]:
    """Keep replicas off each other's nodes where there are others."""
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": picker.selector},
            }
        ]
    }


def _container(picker: Picker) -> dict[str, Any]:
    deployment, serving, profile = picker.deployment, picker.serving, picker.profile
    chosen = picker.flags
    health = command.health_port(chosen, profile)
    grpc = command.grpc_port(deployment, profile)
    live = profile.liveness_service if picker.several else profile.probe_service
    ready = profile.readiness_service if picker.several else profile.probe_service
    return {
        "name": CONTAINER,
        "image": image(deployment, serving, profile),
        "imagePullPolicy": "IfNotPresent",
        "args": command.args(
            deployment=deployment, serving=serving, profile=profile, revision=picker.revision
        ),
        "env": [
            variable_of_pod("NAMESPACE", "metadata.namespace"),
            variable_of_pod("POD_NAME", "metadata.name"),
            *_tracing(serving.tracing, profile),
        ],
        "ports": [
            {"name": GRPC, "containerPort": grpc},
            {"name": "grpc-health", "containerPort": health},
            {"name": METRICS, "containerPort": command.metrics_port(chosen, profile)},
        ],
        "startupProbe": {
            "tcpSocket": {"port": grpc},
            "periodSeconds": 1,
            "failureThreshold": _STARTUP_SECONDS,
        },
        "livenessProbe": {
            "grpc": {"port": health, "service": live},
            "initialDelaySeconds": 5,
            "periodSeconds": 10,
        },
        "readinessProbe": {
            "grpc": {"port": health, "service": ready},
            "periodSeconds": 2,
        },
        "resources": picker_resources(deployment, serving, picker.replicas),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            # Pickers write no file, and make their certificate in memory.
            "readOnlyRootFilesystem": True,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _tracing(tracing: Tracing | None, profile: Profile) -> list[dict[str, Any]]:
    if tracing is None:
        # Otherwise it sends a part of them to a collector beside it, and complains that there is none.
        return [{"name": "OTEL_TRACES_SAMPLER_ARG", "value": "0"}] if profile.always_traces else []
    return tracing_variables(tracing, "endpoint-picker")


def _service(picker: Picker) -> dict[str, Any]:
    """Return the Service of a picker, by which gateways reach it.

    It leads to ports of its pods by name: while a picker is replaced by one that listens on others, both are
    reached.
    """
    grpc = command.grpc_port(picker.deployment, picker.profile)
    metrics = command.metrics_port(picker.flags, picker.profile)
    monitoring = picker.serving.monitoring
    # A ServiceMonitor selects Services as a Service selects pods.
    labels = picker.selector if monitoring and monitoring.pickers == "ServiceMonitor" else None
    return {
        "apiVersion": "v1",
        "kind": "Service",
        # The Deployment is awaited; awaiting its Service too would double the wait.
        "metadata": picker.metadata(labels=labels, annotations={SKIP_AWAIT: "true"}),
        "spec": {
            "type": "ClusterIP",
            "selector": picker.selector,
            "ports": [
                {
                    "name": GRPC,
                    "protocol": "TCP",
                    "port": grpc,
                    "targetPort": GRPC,
                    "appProtocol": "kubernetes.io/h2c",
                },
                {"name": METRICS, "protocol": "TCP", "port": metrics, "targetPort": METRICS},
            ],
        },
    }
