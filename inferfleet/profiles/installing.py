"""What clusters get from others: definitions (CRDs) by API group, controllers by who provides gateways.

The commands that install them are those of llm-d's guides:
https://llm-d.ai/docs/dev/resources/gateway/install-crds and
https://llm-d.ai/docs/infrastructure/gateway/istio (llm-d 0.8), looked up 2026-11-24.
"""

from collections.abc import Mapping
from types import MappingProxyType

_SIGS = "https://github.com/kubernetes-sigs"
# The commands that bring the newest release that the guides name. GKE, and OpenShift from 4.19 on, manage
# theirs and put back or refuse what others do to them: docs/guides/upgrades.md says what to do there.
DEFINITIONS: Mapping[str, str] = MappingProxyType(
    {
        "gateway.networking.k8s.io": f"kubectl apply -f {_SIGS}/gateway-api/releases/download/v1.5.1/"
        "standard-install.yaml",
        "inference.networking.k8s.io": f"kubectl apply -f {_SIGS}/gateway-api-inference-extension/releases/"
        "download/v1.5.0/v1-manifests.yaml",
    }
)
CONTROLLERS: Mapping[str, str] = MappingProxyType(
    {"istio": "istioctl install -y --set values.pilot.env.ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true"}
)
