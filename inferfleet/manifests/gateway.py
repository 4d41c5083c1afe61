"""The Gateway of our own making on a cluster, internal unless its class says otherwise.

A public address for models that ask nobody who they are must be somebody's decision: a Gateway made for
it, to which the cluster's `serving.gateway.ref` points.
"""

from typing import Any

from inferfleet.api.kinds.inference_cluster import Gateway
from inferfleet.fleet import names
from inferfleet.manifests.metadata import WAIT_FOR, metadata

_ENVOY_GROUP = "gateway.envoyproxy.io"


def objects(*, gateway: Gateway, stack: str) -> list[dict[str, Any]]:
    """The Gateway, after what it refers to; nothing where a Gateway of somebody else is used."""
    if gateway.ref:
        return []
    spec: dict[str, Any] = {
        "gatewayClassName": gateway.class_name,
        "listeners": [
            {
                "name": "http",
                "protocol": "HTTP",
                "port": gateway.port,
                "allowedRoutes": {"namespaces": {"from": "All"}},
            }
        ],
    }
    made: list[dict[str, Any]] = []
    # Programmed is when it has an address and takes requests there; until then URLs lead nowhere.
    annotations = {WAIT_FOR: "condition=Programmed"}
    if gateway.provider == "istio":
        # Istio makes a LoadBalancer otherwise, which most clouds make public.
        annotations["networking.istio.io/service-type"] = "ClusterIP"
    if gateway.provider == "envoy":
        made.append(_envoy_proxy(stack))
        reference = {"group": _ENVOY_GROUP, "kind": "EnvoyProxy", "name": names.GATEWAY}
        spec["infrastructure"] = {"parametersRef": reference}
    return [
        *made,
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway",
            "metadata": metadata(
                names.GATEWAY, stack=stack, namespace=names.SYSTEM_NAMESPACE, annotations=annotations
            ),
            "spec": spec,
        },
    ]


def _envoy_proxy(stack: str) -> dict[str, Any]:
    """Envoy Gateway's way to say that the proxies' Service is no LoadBalancer."""
    return {
        "apiVersion": f"{_ENVOY_GROUP}/v1alpha1",
        "kind": "EnvoyProxy",
        "metadata": metadata(names.GATEWAY, stack=stack, namespace=names.SYSTEM_NAMESPACE),
        "spec": {
            "provider": {
                "type": "Kubernetes",
                "kubernetes": {"envoyService": {"type": "ClusterIP"}},
            }
        },
    }
