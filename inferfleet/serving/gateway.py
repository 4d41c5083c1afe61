"""The Gateway that the stack creates on a cluster, internal unless its class or document says otherwise.

A public address for models without authentication must be a decision: create such a Gateway, and refer to
it in the cluster's `serving.gateway.ref`.
"""

from dataclasses import dataclass
from typing import Any

from inferfleet.documents.kinds.serving.gateway import Gateway
from inferfleet.fleet import names
from inferfleet.serving.metadata import WAIT_FOR, metadata

_ENVOY_GROUP = "gateway.envoyproxy.io"
# Where Envoy Gateway runs its proxies unless it is told otherwise:
# https://gateway.envoyproxy.io/docs/install/install-helm/
ENVOY_NAMESPACE = "envoy-gateway-system"


@dataclass(frozen=True)
class OwnGateway:
    """A Gateway that the stack creates; `parameters` are objects that it refers to, created first."""

    gateway: dict[str, Any]
    parameters: tuple[dict[str, Any], ...] = ()


def own_gateway(*, gateway: Gateway, stack: str) -> OwnGateway | None:
    """Return the Gateway of a cluster; None where the cluster refers to an existing one."""
    if gateway.ref:
        return None
    spec: dict[str, Any] = {
        "gatewayClassName": gateway.class_name,
        "listeners": [
            {
                "name": "http",
                "protocol": "HTTP",
                "port": gateway.port,
                "allowedRoutes": {"namespaces": {"from": "Selector", "selector": _our_namespaces(stack)}},
            }
        ],
    }
    # Istio copies labels and annotations to the pods of its proxies (extractInfrastructureMetadata in its
    # deploymentcontroller.go): one more here replaces those of every stack.
    # Programmed is when it has an address and takes requests there; until then URLs lead nowhere.
    annotations = {WAIT_FOR: "condition=Programmed"}
    if gateway.provider == "istio":
        # Istio makes a LoadBalancer unless it is told otherwise, which most clouds make public.
        annotations["networking.istio.io/service-type"] = gateway.service_type
    if gateway.provider == "envoy":
        reference = {"group": _ENVOY_GROUP, "kind": "EnvoyProxy", "name": names.GATEWAY}
        spec["infrastructure"] = {"parametersRef": reference}
    manifest = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": metadata(
            names.GATEWAY, stack=stack, namespace=names.SYSTEM_NAMESPACE, annotations=annotations
        ),
        "spec": spec,
    }
    return OwnGateway(manifest, (_envoy_proxy(gateway, stack),) if gateway.provider == "envoy" else ())


def _our_namespaces(stack: str) -> dict[str, Any]:
    """Return a selector of the namespaces that the stack makes, by their label.

    Names would change the Gateway with every namespace, and the first step of an update that empties one
    would cut off what still serves there.
    """
    return {"matchLabels": {names.STACK: stack}}


def _envoy_proxy(gateway: Gateway, stack: str) -> dict[str, Any]:
    """Return the object that tells Envoy Gateway the type of the proxies' Service."""
    return {
        "apiVersion": f"{_ENVOY_GROUP}/v1alpha1",
        "kind": "EnvoyProxy",
        "metadata": metadata(names.GATEWAY, stack=stack, namespace=names.SYSTEM_NAMESPACE),
        "spec": {
            "provider": {
                "type": "Kubernetes",
                "kubernetes": {"envoyService": {"type": gateway.service_type}},
            }
        },
    }
