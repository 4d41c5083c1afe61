"""NetworkPolicies of a deployment on one cluster: who reaches its engines and its endpoint picker.

They say nothing of what leaves pods, nor of the kubelet's probes, which every network lets through.
Source: https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from typing import Any

from inferfleet.documents.kinds.inference_cluster import NetworkPolicy, Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.roles import metrics_ports, roles_of, serving_roles, target_ports
from inferfleet.serving.gateway import ENVOY_NAMESPACE
from inferfleet.serving.picker import Picker
from inferfleet.tables.gke import HEALTH_CHECKS

_Peers = list[dict[str, Any]]


def policies(
    picker: Picker,
    *,
    proxies: str | None = None,
    joined: bool = False,
) -> tuple[dict[str, Any], ...]:
    """Return the policies of engines and picker, or none where the cluster asks for none.

    `proxies` is the range of the proxy-only subnetwork, where the stack creates it. `joined`: workers have
    many pods, which reach each other.
    """
    deployment, serving = picker.deployment, picker.serving
    deployment, serving = picker.deployment, picker.serving
    declared = serving.network_policy
    if declared is None:
        return ()
    gateway = _gateway(declared, serving, proxies)
    monitoring = _monitoring(declared, serving)
    key = deployment.metadata.key
    picker_ports = [picker.grpc_port]
    if serving.gateway.provider == "gke":
        picker_ports.append(picker.health_port)
    return (
        _policy(
            picker.pool,
            picker,
            selector=names.deployment_selector(key, picker.revision),
            ingress=[
                _rule(gateway, *target_ports(deployment)),
                # Its own picker, on any port: its configuration may name another one for metrics.
                {"from": [{"podSelector": {"matchLabels": picker.selector}}]},
                *([_rule(monitoring, *_metrics(deployment, serving))] if monitoring else []),
                # Pods of one engine, and of the roles of one replica, talk on ports that engines choose. The
                # Service of a role reaches those of each revision.
                *(
                    [{"from": [{"podSelector": {"matchLabels": names.deployment_selector(key, "")}}]}]
                    if joined or len(roles_of(deployment)) > 1
                    else []
                ),
            ],
        ),
        _policy(
            picker.name,
            picker,
            selector=picker.selector,
            ingress=[
                _rule(gateway, *picker_ports),
                *([_rule(monitoring, picker.metrics_port)] if monitoring else []),
            ],
        ),
    )


def _gateway(declared: NetworkPolicy, serving: Serving, proxies: str | None) -> _Peers:
    """Return the pods and addresses of the gateway's proxies, and of what checks their backends."""
    gateway = serving.gateway
    namespace = declared.gateway_namespace
    ranges = list(declared.gateway_ranges)
    if gateway.provider == "istio" and namespace is None:
        namespace = gateway.ref.namespace if gateway.ref else names.SYSTEM_NAMESPACE
    if gateway.provider == "envoy" and namespace is None:
        namespace = ENVOY_NAMESPACE
    if gateway.provider == "gke":
        ranges = [*(ranges or ([proxies] if proxies else [])), *HEALTH_CHECKS]
    pods: _Peers = [_namespace(namespace)] if namespace else []
    return [*pods, *({"ipBlock": {"cidr": cidr}} for cidr in ranges)]


def _monitoring(declared: NetworkPolicy, serving: Serving) -> _Peers:
    if declared.monitoring is None:
        scraper = serving.monitoring.scraped_by if serving.monitoring else None
        return [_namespace(scraper.namespace)] if scraper else []
    selector = declared.monitoring.model_dump(mode="json", by_alias=True)
    conditions = [{key: part for key, part in one.items() if part} for one in selector["matchExpressions"]]
    pod_selector = {"matchLabels": selector["matchLabels"], "matchExpressions": conditions}
    return [{"namespaceSelector": {key: part for key, part in pod_selector.items() if part}}]


def _namespace(name: str) -> dict[str, Any]:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def _metrics(deployment: ModelDeployment, serving: Serving) -> tuple[int, ...]:
    """Return the ports on which engines of a deployment have metrics, those of decode first.

    Those of further roles are among them where the cluster has these scraped.
    """
    scraped = serving.monitoring is not None and serving.monitoring.engines is not None
    roles = roles_of(deployment) if scraped else serving_roles(deployment)
    of_roles = (metrics_ports(deployment, role) for role in (*serving_roles(deployment), *roles))
    return tuple(dict.fromkeys(port for ports in of_roles for port in ports))


def _rule(peers: _Peers, *ports: int) -> dict[str, Any]:
    return {"from": peers, "ports": [{"protocol": "TCP", "port": port} for port in ports]}


def _policy(
    name: str,
    picker: Picker,
    *,
    selector: dict[str, str],
    ingress: list[dict[str, Any]],
) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": picker.metadata(name),
        "spec": {"podSelector": {"matchLabels": selector}, "policyTypes": ["Ingress"], "ingress": ingress},
    }
