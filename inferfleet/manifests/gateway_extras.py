"""Objects that some gateways need beside an endpoint's InferencePool and picker.

Sources: config/charts/inferencepool of gateway-api-inference-extension v1.5.0 (istio.yaml, gke.yaml).
"""

from collections.abc import Iterator
from typing import Any

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.roles import port_of
from inferfleet.fleet.traffic import REQUEST_SECONDS
from inferfleet.manifests.metadata import metadata
from inferfleet.manifests.picker import flags as picker_flags
from inferfleet.manifests.picker.pool import KIND as INFERENCE_POOL
from inferfleet.profiles.engines import engine
from inferfleet.profiles.profile import Profile


def objects(
    *, deployment: ModelDeployment, serving: Serving, profile: Profile, stack: str, revision: str = ""
) -> list[dict[str, Any]]:
    """Return what the gateway's provider needs: TLS settings of the picker for istio, policies for gke."""
    provider = serving.gateway.provider
    if provider == "istio":
        chosen = picker_flags.flags(deployment=deployment, serving=serving, profile=profile)
        return [_destination_rule(deployment, stack, revision)] if picker_flags.is_secure(chosen) else []
    if provider == "gke":
        return [
            _policy(kind, deployment, profile, stack, revision, default)
            for kind, default in _defaults(deployment)
        ]
    return []


def _destination_rule(deployment: ModelDeployment, stack: str, revision: str) -> dict[str, Any]:
    """Return a rule that skips verification: the picker serves TLS with a certificate it signed itself."""
    key, namespace = deployment.metadata.key, deployment.metadata.namespace
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "DestinationRule",
        "metadata": metadata(names.epp(key, revision), stack=stack, namespace=namespace, deployment=key),
        "spec": {
            # Istio adds namespace and domain of the cluster, which is not cluster.local everywhere
            # (ResolveShortnameToFQDN in pilot/pkg/model/config.go).
            "host": names.epp(key, revision),
            "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
        },
    }


def _defaults(deployment: ModelDeployment) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kinds of policies for the load balancer, and what each says.

    Where prefill is apart, the proxy of decode pods answers the check of /health by itself, whatever their
    engines do: pods whose engine is not ready are no endpoints, and paths that it passes on may need a key.

    Of SGLang only the port is opened: it answers /health after a second at the earliest, and while it reads
    long prompts long after the 2 s, so that the load balancer would leave out the pods that are busy.
    """
    port = port_of(deployment.spec.engine)
    table = engine(deployment.spec.engine.type)
    path = None if table.idle_health else table.health_path
    config: dict[str, Any] = {"type": "TCP", "tcpHealthCheck": {"port": port}}
    if path:
        config = {"type": "HTTP", "httpHealthCheck": {"requestPath": path, "port": port}}
    # The defaults of 5 s leave pods that are gone in the load balancer for too long.
    yield "HealthCheckPolicy", {"timeoutSec": 2, "checkIntervalSec": 2, "config": config}
    yield "GCPBackendPolicy", {"timeoutSec": REQUEST_SECONDS, "logging": {"enabled": True}}


def _policy(
    kind: str,
    deployment: ModelDeployment,
    profile: Profile,
    stack: str,
    revision: str,
    default: dict[str, Any],
) -> dict[str, Any]:
    key = deployment.metadata.key
    pool = names.inference_pool(key, revision)
    return {
        "apiVersion": "networking.gke.io/v1",
        "kind": kind,
        "metadata": metadata(pool, stack=stack, namespace=deployment.metadata.namespace, deployment=key),
        "spec": {
            "targetRef": {"group": profile.pool_group, "kind": INFERENCE_POOL, "name": pool},
            "default": default,
        },
    }
