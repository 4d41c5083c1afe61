"""What the Envoy of a Gateway's pod is started with: where istiod is, and who it is itself.

Istio's own agent would write this, and serve readiness and certificates. Here Envoy's word that it has all of
its configuration is the readiness.
"""

from collections.abc import Mapping
from typing import Any

from sandbox.cluster.objects import Object
from sandbox.istio.control_plane import CLUSTER_ID, HOST, XDS_PORT

# By this label istiod knows the proxy of one pod from those of others with the same labels.
POD_LABEL = "sandbox.inferfleet.dev/pod"
# Envoy's own interface: a socket in its folder.
ADMIN = "admin.sock"
_READY_PORT, _READY_PATH = 15021, "/healthz/ready"
# Variables of the container whose names begin so are attributes of the proxy (pkg/bootstrap/config.go of
# Istio).
_ATTRIBUTE = "ISTIO_META_"
_TYPES = "type.googleapis.com/envoy"
_ADS = {"ads": {}, "initial_fetch_timeout": "0s", "resource_api_version": "V3"}


def bootstrap(pod: Object, variables: Mapping[str, str], *, version: str) -> dict[str, Any]:
    """Return the configuration that Envoy starts with, as a proxy of Istio's `version`."""
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    address = pod["status"]["podIP"]
    attributes = {
        variable.removeprefix(_ATTRIBUTE): value
        for variable, value in variables.items()
        if variable.startswith(_ATTRIBUTE)
    }
    return {
        "node": {
            "id": f"router~{address}~{name}.{namespace}~{namespace}.svc.cluster.local",
            "cluster": f"{attributes.get('WORKLOAD_NAME', name)}.{namespace}",
            "metadata": {
                **attributes,
                "CLUSTER_ID": CLUSTER_ID,
                "INSTANCE_IPS": address,
                "ISTIO_VERSION": version,
                "LABELS": pod["metadata"].get("labels", {}),
                "NAME": name,
                "NAMESPACE": namespace,
                "STATIC_LABELS": {POD_LABEL: name},
            },
        },
        "admin": {"address": {"pipe": {"path": ADMIN, "mode": 0o600}}},
        "dynamic_resources": {
            "ads_config": {
                "api_type": "DELTA_GRPC",
                "transport_api_version": "V3",
                "set_node_on_first_message_only": True,
                "grpc_services": [{"envoy_grpc": {"cluster_name": "istiod"}}],
            },
            "lds_config": _ADS,
            "cds_config": _ADS,
        },
        "static_resources": {
            "clusters": [
                {
                    **_cluster("istiod", {"socket_address": {"address": HOST, "port_value": XDS_PORT}}),
                    "typed_extension_protocol_options": {
                        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                            "@type": f"{_TYPES}.extensions.upstreams.http.v3.HttpProtocolOptions",
                            "explicit_http_config": {"http2_protocol_options": {}},
                        }
                    },
                },
                _cluster("self", {"pipe": {"path": ADMIN}}),
            ],
            "listeners": [_readiness(address)],
        },
    }


def own_address(pod: Object) -> dict[str, Any]:
    """Return the EnvoyFilter by which the pod's proxy listens at its own address.

    It would listen at all addresses, which the pods of a cluster share here. It goes with the pod.
    """
    metadata = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    address = {"socket_address": {"address": pod["status"]["podIP"]}}
    return {
        "apiVersion": "networking.istio.io/v1alpha3",
        "kind": "EnvoyFilter",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "ownerReferences": [owner],
        },
        "spec": {
            "workloadSelector": {"labels": {POD_LABEL: metadata["name"]}},
            "configPatches": [
                {
                    "applyTo": "LISTENER",
                    "match": {"context": "GATEWAY"},
                    "patch": {"operation": "MERGE", "value": {"address": address}},
                }
            ],
        },
    }


def _cluster(name: str, address: dict[str, Any]) -> dict[str, Any]:
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": address}}]}]
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": {"cluster_name": name, "endpoints": endpoints},
    }


def _readiness(address: str) -> dict[str, Any]:
    """Return the listener for the pod's probes: Envoy is ready once istiod has sent all that it asked for."""
    route = {"match": {"path": _READY_PATH}, "route": {"cluster": "self", "prefix_rewrite": "/ready"}}
    connections = {
        "@type": f"{_TYPES}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "ready",
        "http_filters": [
            {
                "name": "envoy.filters.http.router",
                "typed_config": {"@type": f"{_TYPES}.extensions.filters.http.router.v3.Router"},
            }
        ],
        "route_config": {"virtual_hosts": [{"name": "ready", "domains": ["*"], "routes": [route]}]},
    }
    return {
        "name": "ready",
        "address": {"socket_address": {"address": address, "port_value": _READY_PORT}},
        "filter_chains": [
            {
                "filters": [
                    {
                        "name": "envoy.filters.network.http_connection_manager",
                        "typed_config": connections,
                    }
                ]
            }
        ],
    }
