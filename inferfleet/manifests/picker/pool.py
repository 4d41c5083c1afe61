"""The InferencePool of a deployment: its serving pods on one cluster, and the picker that chooses among them.

Source: gateway-api-inference-extension api/v1/inferencepool_types.go.
"""

from typing import Any

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.ports import target_ports
from inferfleet.manifests.metadata import metadata
from inferfleet.manifests.picker.flags import grpc_port
from inferfleet.profiles.profile import Profile

KIND = "InferencePool"


def inference_pool(
    *, deployment: ModelDeployment, profile: Profile, stack: str, revision: str = ""
) -> dict[str, Any]:
    """Return the InferencePool of the pods of a revision."""
    key = deployment.metadata.key
    return {
        "apiVersion": profile.pool_api_version,
        "kind": KIND,
        "metadata": metadata(
            names.inference_pool(key, revision),
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
                "name": names.epp(key, revision),
                "port": {"number": grpc_port(deployment, profile)},
                "failureMode": deployment.spec.endpoint_picker.failure_mode,
            },
        },
    }
