"""The InferencePool of a deployment: its serving pods on one cluster, and the picker that chooses among them,
with the Service by which gateways reach the picker.

Source: gateway-api-inference-extension api/v1/inferencepool_types.go.
"""

from typing import Any

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.engines.ports import target_ports
from inferfleet.manifests.metadata import metadata
from inferfleet.manifests.picker import flags as picker_flags
from inferfleet.profiles.profile import Profile

KIND = "InferencePool"
# The names of the ports of a picker's container, and of its Service.
GRPC, METRICS = "grpc-ext-proc", "http-metrics"


def inference_pool(
    *, deployment: ModelDeployment, profile: Profile, stack: str, revision: str = "", edition: str = ""
) -> dict[str, Any]:
    """Return the InferencePool of the pods of a revision, for an edition of their picker."""
    key = deployment.metadata.key
    named = names.revised(revision, edition)
    return {
        "apiVersion": profile.pool_api_version,
        "kind": KIND,
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
                "port": {"number": picker_flags.grpc_port(deployment, profile)},
                "failureMode": deployment.spec.endpoint_picker.failure_mode,
            },
        },
    }


def picker_service(
    *,
    deployment: ModelDeployment,
    serving: Serving,
    profile: Profile,
    stack: str,
    revision: str,
    selects: dict[str, str],
) -> dict[str, Any]:
    """Return the Service of the pods that `selects` matches.

    It leads to their ports by name: while a picker is replaced by one that listens on others, both are
    reached.
    """
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
            # A ServiceMonitor selects Services as a Service selects pods.
            labels=selects if serving.monitoring and serving.monitoring.pickers == "ServiceMonitor" else None,
            # The Deployment is awaited; awaiting its Service too would double the wait.
            annotations={"pulumi.com/skipAwait": "true"},
        ),
        "spec": {
            "type": "ClusterIP",
            "selector": selects,
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
