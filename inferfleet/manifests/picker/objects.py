"""All objects of a deployment's endpoint picker (EPP) on one cluster, and how it is replaced by another.

One picker keeps its names: its Deployment starts the next pod, and ends the old one once the next is ready.

Of several replicas the elected leader alone is ready, and their Lease is named after their InferencePool. A
leader that ends gives its Lease back last (engageStopProcedure in pkg/manager/internal.go of
controller-runtime v0.23.3), unless its release serves on: under the same name nobody would choose pods
meanwhile. So several replicas have an edition, a part of the names of their objects and the pool.
"""

import json
from dataclasses import dataclass
from typing import Any

from inferfleet.api.kinds.inference_cluster import Serving, Tracing
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.picked import picker_resources
from inferfleet.fleet.roles import is_disaggregated
from inferfleet.manifests.metadata import WAIT_FOR, metadata
from inferfleet.manifests.picker import access as picker_access
from inferfleet.manifests.picker import flags as picker_flags
from inferfleet.manifests.picker.ending import ending
from inferfleet.manifests.picker.pool import GRPC, METRICS, picker_service
from inferfleet.manifests.programs import tracing_variables, variable_of_pod
from inferfleet.profiles.devices import ACCELERATED_NODE_LABELS
from inferfleet.profiles.profile import Profile
from inferfleet.profiles.table import picker as picker_row

CONTAINER = "epp"
# A lost node has its pods for as long as they tolerate it, by default 300 s
# (plugin/pkg/admission/defaulttolerationseconds/admission.go of Kubernetes), and gateways send to no pod
# without a picker. A node that is back within this time keeps it.
_LOST_NODE_SECONDS = 20
# A picker says it is healthy before it has made the key of its certificate, and listens to gateways only
# then: a request that is sent there in between fails.
_STARTUP_SECONDS = 60


@dataclass(frozen=True)
class PickerObjects:
    """A picker; `reads` are what its Deployment needs to start: account, roles and bindings."""

    reads: tuple[dict[str, Any], ...]
    deployment: dict[str, Any]
    service: dict[str, Any]


def edition(
    *,
    deployment: ModelDeployment,
    serving: Serving,
    profile: Profile,
    replicas: int,
    drain: int,
    revision: str = "",
) -> str:
    """Return six digits of what several replicas of a picker run, "" where there is one.

    `replicas`, `drain` and `revision` are as in `objects`, the last without an edition.
    """
    if deployment.spec.endpoint_picker.replicas == 1:
        return ""
    template = _template(deployment, serving, profile, replicas, drain, revision)
    return names.short_hash(6, json.dumps(template, sort_keys=True))


def objects(
    *,
    deployment: ModelDeployment,
    serving: Serving,
    profile: Profile,
    stack: str,
    replicas: int,
    drain: int,
    revision: str = "",
) -> PickerObjects:
    """Return the objects of a deployment's endpoint picker on a cluster with this `serving` block.

    `replicas` are those of the deployment there. `drain` are the seconds that pods of its engines have to
    end: streams run through the gateway on the word of the picker that they began with. `revision` is that of
    its pods, with the edition of the picker.
    """
    reads = [
        picker_access.account(deployment=deployment, stack=stack, revision=revision),
        picker_access.role(deployment=deployment, profile=profile, stack=stack, revision=revision),
        picker_access.role_binding(deployment=deployment, stack=stack, revision=revision),
    ]
    if serving.metrics_auth:
        reads += [
            picker_access.cluster_role(deployment=deployment, stack=stack, revision=revision),
            picker_access.cluster_role_binding(deployment=deployment, stack=stack, revision=revision),
        ]
    return PickerObjects(
        tuple(reads),
        _deployment(deployment, serving, profile, stack, replicas, drain, revision),
        picker_service(
            deployment=deployment,
            serving=serving,
            profile=profile,
            stack=stack,
            revision=revision,
            selects=selector(deployment, revision),
        ),
    )


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


def _deployment(
    deployment: ModelDeployment,
    serving: Serving,
    profile: Profile,
    stack: str,
    replicas: int,
    drain: int,
    revision: str,
) -> dict[str, Any]:
    several = deployment.spec.endpoint_picker.replicas > 1
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(
            names.epp(deployment.metadata.key, revision),
            stack=stack,
            namespace=deployment.metadata.namespace,
            deployment=deployment.metadata.key,
            # Only the elected leader becomes ready, so the Deployment as a whole never does. Another edition
            # is another Deployment, in which nobody is ready before.
            annotations={WAIT_FOR: "jsonpath={.status.readyReplicas}"} if several else None,
        ),
        "spec": {
            "replicas": deployment.spec.endpoint_picker.replicas,
            "strategy": _strategy(deployment),
            "revisionHistoryLimit": 2,
            "selector": {"matchLabels": selector(deployment, revision)},
            "template": _template(deployment, serving, profile, replicas, drain, revision),
        },
    }


def _place() -> dict[str, Any]:
    """Return an affinity for nodes without GPUs, which others need. It is none that must hold: a cluster may
    have no other nodes. Those of GKE have a taint besides, which pickers do not tolerate.
    """
    absent = [{"key": label, "operator": "DoesNotExist"} for label in ACCELERATED_NODE_LABELS]
    preferred = {"weight": 100, "preference": {"matchExpressions": absent}}
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}}


def _strategy(deployment: ModelDeployment) -> dict[str, Any]:
    """Return how pods of a picker are replaced, which happens to several replicas by hand alone.

    A rolling update would wait for followers, which never become ready.
    """
    if deployment.spec.endpoint_picker.replicas > 1:
        return {"type": "Recreate"}
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def _template(
    deployment: ModelDeployment, serving: Serving, profile: Profile, replicas: int, drain: int, revision: str
) -> dict[str, Any]:
    chosen = picker_flags.flags(deployment=deployment, serving=serving, profile=profile)
    ends = ending(drain, profile, chosen)
    container = _container(deployment, serving, profile, replicas, revision)
    container["lifecycle"] = {"preStop": {"sleep": {"seconds": ends.sleep}}}
    labels = selector(deployment, revision) | {names.MANAGED_BY: names.MANAGER}
    scraped = picker_flags.scrape_annotations(deployment=deployment, serving=serving, profile=profile)
    return {
        "metadata": {"labels": labels, **({"annotations": scraped} if scraped else {})},
        "spec": {
            **_place(),
            "tolerations": _leave_lost_nodes(),
            "serviceAccountName": names.epp(deployment.metadata.key, revision),
            "terminationGracePeriodSeconds": ends.grace,
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            **_spread(deployment, revision),
            "containers": [container],
        },
    }


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


def _spread(deployment: ModelDeployment, revision: str) -> dict[str, Any]:
    """Keep replicas off each other's nodes where there are others."""
    if deployment.spec.endpoint_picker.replicas == 1:
        return {}
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": selector(deployment, revision)},
            }
        ]
    }


def _container(
    deployment: ModelDeployment, serving: Serving, profile: Profile, replicas: int, revision: str
) -> dict[str, Any]:
    picker = deployment.spec.endpoint_picker
    chosen = picker_flags.flags(deployment=deployment, serving=serving, profile=profile)
    health = picker_flags.health_port(chosen, profile)
    grpc = picker_flags.grpc_port(deployment, profile)
    elects = picker.replicas > 1
    return {
        "name": CONTAINER,
        "image": image(deployment, serving, profile),
        "imagePullPolicy": "IfNotPresent",
        "args": picker_flags.args(deployment=deployment, serving=serving, profile=profile, revision=revision),
        "env": [
            variable_of_pod("NAMESPACE", "metadata.namespace"),
            variable_of_pod("POD_NAME", "metadata.name"),
            *_tracing(serving.tracing, profile),
        ],
        "ports": [
            {"name": GRPC, "containerPort": grpc},
            {"name": "grpc-health", "containerPort": health},
            {"name": METRICS, "containerPort": picker_flags.metrics_port(chosen, profile)},
        ],
        "startupProbe": {
            "tcpSocket": {"port": grpc},
            "periodSeconds": 1,
            "failureThreshold": _STARTUP_SECONDS,
        },
        "livenessProbe": {
            "grpc": {
                "port": health,
                "service": profile.liveness_service if elects else profile.probe_service,
            },
            "initialDelaySeconds": 5,
            "periodSeconds": 10,
        },
        "readinessProbe": {
            "grpc": {
                "port": health,
                "service": profile.readiness_service if elects else profile.probe_service,
            },
            "periodSeconds": 2,
        },
        "resources": picker_resources(deployment, serving, replicas),
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
