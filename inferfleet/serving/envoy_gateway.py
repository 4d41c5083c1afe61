"""How Envoy Gateway itself has to be configured on a cluster where InferenceGateways stand.

Its configuration is one per installation, so the gateways of a cluster say the same about Redis
(`fleet/front_door.py`). It is what a stack that installs Envoy Gateway writes, and what is asked of an
installation that is somebody else's.

Source: api/v1alpha1/envoygateway_types.go of github.com/envoyproxy/gateway 1.9.1.
"""

from collections.abc import Iterable
from typing import Any

from inferfleet.documents.kinds.inference_gateway import InferenceGateway, Limits

# Of the chart gateway-helm.
NAMESPACE, CONFIG_MAP, CONFIG_FILE = "envoy-gateway-system", "envoy-gateway-config", "envoy-gateway.yaml"
# Envoy waits 20 ms for an answer and lets the request pass uncounted without one. Those to models take
# seconds, and a Redis may be in another zone.
_TIMEOUT = "500ms"


def configuration(gateways: Iterable[InferenceGateway]) -> dict[str, Any]:
    """Return the fields of kind EnvoyGateway that these gateways of a cluster need."""
    needed: dict[str, Any] = {"extensionApis": {"enableBackend": True}}
    limits = next((gateway.spec.limits for gateway in gateways if gateway.spec.limits), None)
    return needed | (_counting(limits) if limits else {})


def _counting(limits: Limits) -> dict[str, Any]:
    redis = limits.redis
    fields: dict[str, Any] = {
        "rateLimit": {
            "backend": {"type": "Redis", "redis": {"url": redis.address}},
            "timeout": _TIMEOUT,
            "failClosed": limits.when_gone == "Refuse",
        }
    }
    if redis.secret_ref:
        password = {"secretKeyRef": {"name": redis.secret_ref.name, "key": redis.secret_ref.key}}
        container = {"env": [{"name": "REDIS_AUTH", "valueFrom": password}]}
        fields["provider"] = {
            "type": "Kubernetes",
            "kubernetes": {"rateLimitDeployment": {"container": container}},
        }
    return fields
