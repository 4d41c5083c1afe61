"""All objects of a deployment's endpoint picker (EPP) on one cluster."""

from dataclasses import dataclass
from typing import Any

from inferfleet.api.kinds.inference_cluster import Serving, Tracing
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.roles import is_disaggregated
from inferfleet.manifests.metadata import WAIT_FOR, metadata
from inferfleet.manifests.picker import access as picker_access
from inferfleet.manifests.picker import config as picker_config
from inferfleet.manifests.picker import flags as picker_flags
from inferfleet.manifests.programs import resources_of, tracing_variables, variable_of_pod
from inferfleet.profiles.profile import Profile
from inferfleet.profiles.table import profile as usual_picker

CONFIG_HASH = f"{names.DOMAIN}/config-hash"
# As long as an engine's own: streams run through the gateway on the picker's word.
_GRACE_SECONDS = 130
# A picker says it is healthy before it has made the key of its certificate, and listens to gateways only
# then: a request that is sent there in between fails.
_STARTUP_SECONDS = 60
# Until gateways know that a picker ends: one that does listens no more.
_PRE_STOP_SECONDS = 5


@dataclass(frozen=True)
class PickerObjects:
    """A picker; `reads` are what its Deployment needs to start: account, roles and bindings, ConfigMap."""

    reads: tuple[dict[str, Any], ...]
    deployment: dict[str, Any]
    service: dict[str, Any]


def objects(
    *, deployment: ModelDeployment, serving: Serving, profile: Profile, stack: str, revision: str = ""
) -> PickerObjects:
    """Return the objects of a deployment's endpoint picker on a cluster with this `serving` block, the one
    for its pods of a revision.
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
    reads.append(
        picker_config.config_map(deployment=deployment, profile=profile, stack=stack, revision=revision)
    )
    return PickerObjects(
        tuple(reads),
        _deployment(deployment, serving, profile, stack, revision),
        _service(deployment, serving, profile, stack, revision),
    )


def image(deployment: ModelDeployment, serving: Serving, profile: Profile) -> str:
    """Return the image of a picker of this profile: the deployment's, the cluster's, or the profile's own."""
    of_cluster = serving.images.epp
    if is_disaggregated(deployment):
        same = usual_picker(serving.profile).epp_image == profile.epp_image
        of_cluster = serving.images.prefill_epp or (of_cluster if same else None)
    return deployment.spec.endpoint_picker.image or of_cluster or profile.epp_image


def selector(deployment: ModelDeployment, revision: str) -> dict[str, str]:
    """Return the labels of a picker's pods, which no pool and no workload of the deployment selects."""
    return {"app.kubernetes.io/name": names.epp(deployment.metadata.key, revision)}


def _deployment(
    deployment: ModelDeployment, serving: Serving, profile: Profile, stack: str, revision: str
) -> dict[str, Any]:
    picker = deployment.spec.endpoint_picker
    name = names.epp(deployment.metadata.key, revision)
    annotations = {CONFIG_HASH: picker_config.config_hash(deployment=deployment, profile=profile)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(
            name,
            stack=stack,
            namespace=deployment.metadata.namespace,
            deployment=deployment.metadata.key,
            # Only the elected leader becomes ready, so the Deployment as a whole never does.
            annotations={WAIT_FOR: "jsonpath={.status.readyReplicas}"} if picker.replicas > 1 else None,
        ),
        "spec": {
            "replicas": picker.replicas,
            "strategy": _strategy(deployment),
            "revisionHistoryLimit": 2,
            "selector": {"matchLabels": selector(deployment, revision)},
            "template": {
                "metadata": {
                    "labels": selector(deployment, revision) | {names.MANAGED_BY: names.MANAGER},
                    "annotations": annotations,
                },
                "spec": {
                    "serviceAccountName": name,
                    "terminationGracePeriodSeconds": _GRACE_SECONDS,
                    "enableServiceLinks": False,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [_container(deployment, serving, profile, revision) | _ends(deployment)],
                    "volumes": [{"name": "config", "configMap": {"name": name}}],
                },
            },
        },
    }


def _strategy(deployment: ModelDeployment) -> dict[str, Any]:
    """Return how a picker is replaced. Where prefill is apart its config says who prefills, and is changed
    more often than that of others. A picker that ends waits for its streams and listens no more, for up to
    half a minute (GracefulShutdownTimeout of controller-runtime): the next one comes first.

    Recreate with several replicas: a rolling update waits for followers, which never become ready.
    """
    if _rolls(deployment):
        return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    return {"type": "Recreate"}


def _rolls(deployment: ModelDeployment) -> bool:
    return is_disaggregated(deployment) and deployment.spec.endpoint_picker.replicas == 1


def _ends(deployment: ModelDeployment) -> dict[str, Any]:
    if not _rolls(deployment):
        return {}
    return {"lifecycle": {"preStop": {"sleep": {"seconds": _PRE_STOP_SECONDS}}}}


def _container(
    deployment: ModelDeployment, serving: Serving, profile: Profile, revision: str
) -> dict[str, Any]:
    picker = deployment.spec.endpoint_picker
    chosen = picker_flags.flags(deployment=deployment, serving=serving, profile=profile)
    health = picker_flags.health_port(chosen, profile)
    grpc = picker_flags.grpc_port(deployment, profile)
    elects = picker.replicas > 1
    return {
        "name": "epp",
        "image": image(deployment, serving, profile),
        "imagePullPolicy": "IfNotPresent",
        "args": picker_flags.args(deployment=deployment, serving=serving, profile=profile, revision=revision),
        "env": [
            variable_of_pod("NAMESPACE", "metadata.namespace"),
            variable_of_pod("POD_NAME", "metadata.name"),
            *_tracing(serving.tracing, profile),
        ],
        "ports": [
            {"name": "grpc-ext-proc", "containerPort": grpc},
            {"name": "grpc-health", "containerPort": health},
            {"name": "http-metrics", "containerPort": picker_flags.metrics_port(chosen, profile)},
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
        "resources": _resources(deployment, profile),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            **({"readOnlyRootFilesystem": True} if profile.read_only_root_filesystem else {}),
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "config", "mountPath": picker_flags.CONFIG_FOLDER, "readOnly": True},
        ],
    }


def _resources(deployment: ModelDeployment, profile: Profile) -> dict[str, Any]:
    """Return the deployment's resources as a whole, or the profile's: a mix of both would fit neither."""
    own = deployment.spec.endpoint_picker.resources
    if own is None:
        return {
            "requests": dict(profile.resources.requests),
            "limits": dict(profile.resources.limits),
        }
    return resources_of(own)


def _tracing(tracing: Tracing | None, profile: Profile) -> list[dict[str, Any]]:
    if tracing is None:
        # Otherwise it sends a part of them to a collector beside it, and complains that there is none.
        return [{"name": "OTEL_TRACES_SAMPLER_ARG", "value": "0"}] if profile.always_traces else []
    return tracing_variables(tracing, "endpoint-picker")


def _service(
    deployment: ModelDeployment, serving: Serving, profile: Profile, stack: str, revision: str
) -> dict[str, Any]:
    chosen = picker_flags.flags(deployment=deployment, serving=serving, profile=profile)
    grpc = picker_flags.grpc_port(deployment, profile)
    metrics = picker_flags.metrics_port(chosen, profile)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(
            names.epp(deployment.metadata.key, revision),
            stack=stack,
            namespace=deployment.metadata.namespace,
            deployment=deployment.metadata.key,
            # The Deployment is awaited; awaiting its Service too would double the wait.
            annotations={"pulumi.com/skipAwait": "true"},
        ),
        "spec": {
            "type": "ClusterIP",
            "selector": selector(deployment, revision),
            "ports": [
                {
                    "name": "grpc-ext-proc",
                    "protocol": "TCP",
                    "port": grpc,
                    "targetPort": grpc,
                    "appProtocol": "kubernetes.io/h2c",
                },
                {"name": "http-metrics", "protocol": "TCP", "port": metrics, "targetPort": metrics},
            ],
        },
    }
