"""The Gateway that the stack creates on a cluster, what its provider needs beside each endpoint, and the
address at which a Gateway is reached.

It is internal unless its class or document says otherwise: a public address for models without authentication
must be a decision. Create such a Gateway, and refer to it in the cluster's `serving.gateway.ref`.

Sources of what providers need: config/charts/inferencepool of gateway-api-inference-extension v1.5.0
(istio.yaml, gke.yaml). That a policy of gke may be for the Service of a picker, and needs a timeout then:
gke.yaml of config/charts/llm-d-router-gateway of llm-d-router v0.10.0.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.documents.kinds.inference_cluster import INTERNAL_ON_GKE, Gateway
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.roles import port_of
from inferfleet.fleet.traffic import REQUEST_SECONDS
from inferfleet.serving.metadata import WAIT_FOR, metadata
from inferfleet.serving.picker import POOL as INFERENCE_POOL
from inferfleet.serving.picker import Picker, is_secure
from inferfleet.tables.engines import engine

_ENVOY_GROUP = "gateway.envoyproxy.io"
# Where Envoy Gateway runs its proxies unless it is told otherwise:
# https://gateway.envoyproxy.io/docs/install/install-helm/
ENVOY_NAMESPACE = "envoy-gateway-system"
# Whom a load balancer lets in, in the words of a Service and of Envoy Gateway.
_RANGES = "loadBalancerSourceRanges"
# The most that a load balancer of Google takes
# (apis/networking/v1/gcpbackendpolicy_types.go of GoogleCloudPlatform/gke-gateway-api at fc40d606).
_LONGEST_DRAINING_SECONDS = 3600


@dataclass(frozen=True)
class OwnGateway:
    """A Gateway that the stack creates; `parameters` are objects that it refers to, created first."""

    gateway: dict[str, Any]
    parameters: tuple[dict[str, Any], ...] = ()


def own_gateway(
    *, gateway: Gateway, stack: str, internal: Mapping[str, str] | None = None
) -> OwnGateway | None:
    """Return the Gateway of a cluster; None where the cluster refers to an existing one.

    `internal` are annotations by which the cluster's cloud gives a Service an address inside of its network.
    """
    if gateway.ref:
        return None
    # By their label: names would change the Gateway with every namespace, and the first step of an update
    # that empties one would cut off what still serves there.
    our_namespaces = {"matchLabels": {names.STACK: stack}}
    spec: dict[str, Any] = {
        "gatewayClassName": gateway.class_name,
        "listeners": [
            {
                "name": "http",
                "protocol": "HTTP",
                "port": gateway.port,
                "allowedRoutes": {"namespaces": {"from": "Selector", "selector": our_namespaces}},
            }
        ],
    }
    # Istio copies labels and annotations to the pods of its proxies (extractInfrastructureMetadata in its
    # deploymentcontroller.go): one more here replaces those of every stack.
    # Programmed is when it has an address and takes requests there; until then URLs lead nowhere.
    annotations = {WAIT_FOR: "condition=Programmed"}
    of_service = _service(gateway, internal or {})
    parameters: tuple[dict[str, Any], ...] = ()
    if gateway.provider == "istio":
        # Istio makes a LoadBalancer unless it is told otherwise, which most clouds make public.
        annotations["networking.istio.io/service-type"] = of_service["type"]
        infrastructure: dict[str, Any] = {}
        if "annotations" in of_service:
            infrastructure["annotations"] = of_service["annotations"]
        if gateway.source_ranges:
            infrastructure["parametersRef"] = {"group": "", "kind": "ConfigMap", "name": names.GATEWAY}
            parameters = (_ranges_of_istio(of_service, stack),)
        if infrastructure:
            spec["infrastructure"] = infrastructure
    if gateway.provider == "envoy":
        reference = {"group": _ENVOY_GROUP, "kind": "EnvoyProxy", "name": names.GATEWAY}
        spec["infrastructure"] = {"parametersRef": reference}
        parameters = (_envoy_proxy(of_service, stack),)
    if gateway.class_name == INTERNAL_ON_GKE.class_name and gateway.provider == "gke":
        parameters = (_global_access(stack),)
    manifest = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": metadata(
            names.GATEWAY, stack=stack, namespace=names.SYSTEM_NAMESPACE, annotations=annotations
        ),
        "spec": spec,
    }
    return OwnGateway(manifest, parameters)


def _service(gateway: Gateway, internal: Mapping[str, str]) -> dict[str, Any]:
    """Return type and annotations of the proxies' Service."""
    annotations = dict(gateway.service_annotations)
    if gateway.service_type == "Internal":
        annotations = {**internal, **annotations}
    return {
        "type": "LoadBalancer" if gateway.service_type == "Internal" else gateway.service_type,
        **({"annotations": annotations} if annotations else {}),
        **({_RANGES: list(gateway.source_ranges)} if gateway.source_ranges else {}),
    }


def _ranges_of_istio(of_service: Mapping[str, Any], stack: str) -> dict[str, Any]:
    """Return the object whose entry Istio merges into the Service that it makes (`applyOverlay` in
    pilot/pkg/config/kube/gatewaycommon/deploymentcontroller.go of 1.31).
    """
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(names.GATEWAY, stack=stack, namespace=names.SYSTEM_NAMESPACE),
        "data": {"service": json.dumps({"spec": {_RANGES: of_service[_RANGES]}})},
    }


def _global_access(stack: str) -> dict[str, Any]:
    """Return the policy that lets other regions of the network reach an internal load balancer of Google's.

    Without it clients of its own region alone do, and one that comes later makes another load balancer:
    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/configure-gateway-resources#configure_global_access
    """
    return {
        "apiVersion": "networking.gke.io/v1",
        "kind": "GCPGatewayPolicy",
        "metadata": metadata(names.GATEWAY, stack=stack, namespace=names.SYSTEM_NAMESPACE),
        "spec": {
            "targetRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": names.GATEWAY},
            "default": {"allowGlobalAccess": True},
        },
    }


def _envoy_proxy(of_service: dict[str, Any], stack: str) -> dict[str, Any]:
    """Return the object that tells Envoy Gateway the type of the proxies' Service."""
    return {
        "apiVersion": f"{_ENVOY_GROUP}/v1alpha1",
        "kind": "EnvoyProxy",
        "metadata": metadata(names.GATEWAY, stack=stack, namespace=names.SYSTEM_NAMESPACE),
        "spec": {
            "provider": {
                "type": "Kubernetes",
                "kubernetes": {"envoyService": of_service},
            }
        },
    }


def provider_objects(picker: Picker) -> list[dict[str, Any]]:
    """Return what the gateway's provider needs beside a picker and its InferencePool: TLS settings for istio,
    policies for gke.
    """
    provider = picker.serving.gateway.provider
    if provider == "istio":
        return [_destination_rule(picker)] if is_secure(picker.flags) else []
    if provider == "gke":
        to_pool = {"group": picker.profile.pool_group, "kind": INFERENCE_POOL, "name": picker.pool}
        to_picker = {"group": "", "kind": "Service", "name": picker.name}
        logged = {"logging": {"enabled": True}}
        return [
            _policy("HealthCheckPolicy", picker, to_pool, _health_check(picker.deployment)),
            _policy("GCPBackendPolicy", picker, to_pool, {**_draining(picker.drain), **logged}),
            _policy("GCPBackendPolicy", picker, to_picker, _draining(picker.ending.grace)),
        ]
    return []


def _destination_rule(picker: Picker) -> dict[str, Any]:
    """Return a rule that skips verification: the picker serves TLS with a certificate it signed itself."""
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "DestinationRule",
        "metadata": picker.metadata(),
        "spec": {
            # Istio adds namespace and domain of the cluster, which is not cluster.local everywhere
            # (ResolveShortnameToFQDN in pilot/pkg/model/config.go).
            "host": picker.name,
            "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
        },
    }


def _draining(seconds: int) -> dict[str, Any]:
    """Return the times of the load balancer for pods that end within so many seconds.

    Without them it ends requests after 30 s, and those to a pod that ends at once.
    """
    draining = {"drainingTimeoutSec": min(seconds, _LONGEST_DRAINING_SECONDS)}
    return {"timeoutSec": REQUEST_SECONDS, "connectionDraining": draining}


def _health_check(deployment: ModelDeployment) -> dict[str, Any]:
    """Return how the load balancer asks whether pods serve.

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
    return {"timeoutSec": 2, "checkIntervalSec": 2, "config": config}


def _policy(kind: str, picker: Picker, target: dict[str, str], default: dict[str, Any]) -> dict[str, Any]:
    """Return a policy with the name of the object that it is for."""
    return {
        "apiVersion": "networking.gke.io/v1",
        "kind": kind,
        "metadata": picker.metadata(target["name"]),
        "spec": {"targetRef": target, "default": default},
    }


@dataclass(frozen=True)
class Address:
    """A Gateway's first address and its first listener for HTTP, or for HTTPS where it has no other."""

    host: str
    port: int
    secure: bool = False


def address_of(gateway: Mapping[str, Any]) -> Address | None:
    """Return the address of a Gateway read from a cluster; None while its controller has set none."""
    addresses = (gateway.get("status") or {}).get("addresses") or []
    hosts = [address["value"] for address in addresses if address.get("value")]
    listeners = (gateway.get("spec") or {}).get("listeners") or []
    served = sorted(
        (listener["protocol"] == "HTTPS", index, int(listener["port"]))
        for index, listener in enumerate(listeners)
        if listener.get("protocol") in ("HTTP", "HTTPS")
    )
    if not hosts or not served:
        return None
    secure, _, port = served[0]
    return Address(str(hosts[0]), port, secure)


def url(address: Address | None, path: str) -> str | None:
    """Return the URL of `path`, which begins with a slash."""
    if address is None:
        return None
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{'https' if address.secure else 'http'}://{host}:{address.port}{path}"
