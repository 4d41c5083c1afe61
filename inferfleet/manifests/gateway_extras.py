"""Objects that some gateways need beside an endpoint's InferencePool and picker.

Sources: config/charts/inferencepool of gateway-api-inference-extension v1.5.0 (istio.yaml, gke.yaml).
"""

from typing import Any

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.engine_args import port_of
from inferfleet.manifests.metadata import metadata
from inferfleet.manifests.picker import flags as picker_flags
from inferfleet.manifests.picker.pool import KIND as INFERENCE_POOL
from inferfleet.manifests.routes import REQUEST_SECONDS
from inferfleet.profiles.engines import engine
from inferfleet.profiles.profile import Profile


def objects(
    *, deployment: ModelDeployment, serving: Serving, profile: Profile, stack: str
) -> list[dict[str, Any]]:
    """Return what the gateway's provider needs: TLS settings of the picker for istio, policies for gke."""
    provider = serving.gateway.provider
    if provider == "istio":
        chosen = picker_flags.flags(deployment=deployment, serving=serving, profile=profile)
        return [_destination_rule(deployment, stack)] if picker_flags.is_secure(chosen) else []
    if provider == "gke":
        return [_health_check(deployment, profile, stack), _backend_policy(deployment, profile, stack)]
    return []


def _destination_rule(deployment: ModelDeployment, stack: str) -> dict[str, Any]:
    """Return a rule that skips verification: the picker serves TLS with a certificate it signed itself."""
    key, namespace = deployment.metadata.key, deployment.metadata.namespace
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "DestinationRule",
        "metadata": metadata(names.epp(key), stack=stack, namespace=namespace, deployment=key),
        "spec": {
            "host": f"{names.epp(key)}.{namespace}.svc.cluster.local",
            "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
        },
    }


def _health_check(deployment: ModelDeployment, profile: Profile, stack: str) -> dict[str, Any]:
    port = port_of(deployment.spec.engine)
    path = engine(deployment.spec.engine.type).health_path
    config: dict[str, Any] = {"type": "TCP", "tcpHealthCheck": {"port": port}}
    if path:
        config = {"type": "HTTP", "httpHealthCheck": {"requestPath": path, "port": port}}
    # The defaults of 5 s leave pods that are gone in the load balancer for too long.
    default = {"timeoutSec": 2, "checkIntervalSec": 2, "config": config}
    return _policy("HealthCheckPolicy", deployment, profile, stack, default)


def _backend_policy(deployment: ModelDeployment, profile: Profile, stack: str) -> dict[str, Any]:
    default = {"timeoutSec": REQUEST_SECONDS, "logging": {"enabled": True}}
    return _policy("GCPBackendPolicy", deployment, profile, stack, default)


def _policy(
    kind: str, deployment: ModelDeployment, profile: Profile, stack: str, default: dict[str, Any]
) -> dict[str, Any]:
    key = deployment.metadata.key
    target = {"group": profile.pool_group, "kind": INFERENCE_POOL, "name": names.endpoint(key)}
    return {
        "apiVersion": "networking.gke.io/v1",
        "kind": kind,
        "metadata": metadata(
            names.endpoint(key), stack=stack, namespace=deployment.metadata.namespace, deployment=key
        ),
        "spec": {"targetRef": target, "default": default},
    }
