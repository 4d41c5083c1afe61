"""The configuration of one Gateway's Envoy: its resources (v3) by the files from which it reads them.

Envoy reads a file again when another one is moved over it. It takes an inotify instance for each, so there is
a file of all listeners, one of all clusters, and one of the routes of each port. Endpoints, which would be a
file for each upstream, are told over a socket (see endpoint_discovery.py).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.gateway.backends import Backend, Picker, Upstream
from sandbox.gateway.endpoint_discovery import SOCKET
from sandbox.gateway.virtual_hosts import NOWHERE, PICK

ENDPOINT = "x-gateway-destination-endpoint"
_TYPES = "type.googleapis.com/envoy"
_EXTENSIONS = f"{_TYPES}.extensions"
# A picker with flow control may hold a request until there is room, for a minute by default.
PICK_SECONDS = 120
# The value of other gateways: on a loaded machine a TLS handshake with a picker may take seconds.
CONNECT_SECONDS = 10
_DISCOVERY = "discovery"
_PROTOCOL = "upstreams.http.v3.HttpProtocolOptions"
_HTTP2 = {
    "typed_extension_protocol_options": {
        f"envoy.extensions.{_PROTOCOL}": {
            "@type": f"{_EXTENSIONS}.{_PROTOCOL}",
            "explicit_http_config": {"http2_protocol_options": {}},
        }
    }
}
# The header in which the gateway gives the reason of its own errors, such as a picker's gRPC status.
REASON = "x-gateway-reason"


@dataclass(frozen=True)
class Configuration:
    """What an Envoy is told: contents by file name, in the order to write them, and endpoints by name.

    A file comes after those it refers to.
    """

    files: Mapping[str, Mapping[str, Any]]
    endpoints: Mapping[str, tuple[str, ...]]


def bootstrap(folder: Path, name: str) -> dict[str, Any]:
    """Return the file Envoy starts with, which names the others.

    `curl --unix-socket admin.sock` asks the running Envoy for statistics.
    """
    # The paths of sockets are relative to the working directory: a whole path may be too long for a socket.
    discovery = {"endpoint": {"address": {"pipe": {"path": SOCKET}}}}
    return {
        "node": {"id": name, "cluster": "inferfleet-sandbox"},
        "admin": {"address": {"pipe": {"path": "admin.sock", "mode": 0o600}}},
        "dynamic_resources": {
            "ads_config": {
                "api_type": "DELTA_GRPC",
                "transport_api_version": "V3",
                "grpc_services": [{"envoy_grpc": {"cluster_name": _DISCOVERY}}],
            },
            "lds_config": _file(folder / "lds.json"),
            "cds_config": _file(folder / "cds.json"),
        },
        "static_resources": {
            "clusters": [
                {
                    "name": _DISCOVERY,
                    "type": "STATIC",
                    "load_assignment": {
                        "cluster_name": _DISCOVERY,
                        "endpoints": [{"lb_endpoints": [discovery]}],
                    },
                    **_HTTP2,
                }
            ]
        },
    }


def configuration(
    folder: Path, address: str, *, hosts: Mapping[int, list[dict[str, Any]]], backends: Iterable[Backend]
) -> Configuration:
    """Return what leads requests to the backends; `hosts` are the virtual hosts of each port."""
    by_name = {backend.upstream.name: backend for backend in backends}
    pickers = {backend.picker.upstream.name: backend.picker for backend in by_name.values() if backend.picker}
    clusters = [_backend_cluster(backend) for _, backend in sorted(by_name.items())]
    clusters += [_picker_cluster(picker) for _, picker in sorted(pickers.items())]
    upstreams = {name: backend.upstream for name, backend in by_name.items()}
    upstreams |= {name: picker.upstream for name, picker in pickers.items()}
    return Configuration(
        files={
            "cds.json": _resources(clusters),
            **{f"rds.{port}.json": _resources([_routes(port, hosts[port])]) for port in sorted(hosts)},
            "lds.json": _resources([_listener(folder, address, port) for port in sorted(hosts)]),
        },
        endpoints={
            cluster["eds_cluster_config"]["service_name"]: upstreams[cluster["name"]].endpoints
            for cluster in clusters
        },
    )


def _resources(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"resources": items}


def _file(path: Path) -> dict[str, Any]:
    return {"path_config_source": {"path": str(path)}, "resource_api_version": "V3"}


def _extension(name: str, kind: str, **config: Any) -> dict[str, Any]:
    return {"name": name, "typed_config": {"@type": f"{_EXTENSIONS}.{kind}", **config}}


def _listener(folder: Path, address: str, port: int) -> dict[str, Any]:
    connections = _extension(
        "envoy.filters.network.http_connection_manager",
        "filters.network.http_connection_manager.v3.HttpConnectionManager",
        stat_prefix=f"port_{port}",
        normalize_path=True,
        # An engine may take longer than the default of 5 minutes until its first token.
        stream_idle_timeout="0s",
        # Only a picker may set the header that says where a request goes.
        early_header_mutation_extensions=[
            _extension(
                "envoy.http.early_header_mutation.header_mutation",
                "http.early_header_mutation.header_mutation.v3.HeaderMutation",
                mutations=[{"remove": ENDPOINT}],
            )
        ],
        local_reply_config={"mappers": [_reason()]},
        rds={"route_config_name": f"port_{port}", "config_source": _file(folder / f"rds.{port}.json")},
        http_filters=[
            _picker_filter(),
            _extension("envoy.filters.http.router", "filters.http.router.v3.Router"),
        ],
    )
    return {
        "@type": f"{_TYPES}.config.listener.v3.Listener",
        "name": f"port_{port}",
        "address": _address(address, port),
        "filter_chains": [{"filters": [connections]}],
    }


def _reason() -> dict[str, Any]:
    error = {"op": "GE", "value": {"default_value": 400, "runtime_key": "inferfleet.reason_from_status"}}
    header = {"key": REASON, "value": "%RESPONSE_CODE_DETAILS%"}
    return {
        "filter": {"status_code_filter": {"comparison": error}},
        "headers_to_add": [{"header": header, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}],
    }


def _picker_filter() -> dict[str, Any]:
    """Return the filter that asks a picker.

    It is off until a route's backend turns it on and names its picker.
    """
    return _extension(
        PICK,
        "filters.http.ext_proc.v3.ExternalProcessor",
        grpc_service={"envoy_grpc": {"cluster_name": NOWHERE}},
        message_timeout=f"{PICK_SECONDS}s",
        processing_mode={
            "request_header_mode": "SEND",
            "request_body_mode": "FULL_DUPLEX_STREAMED",
            "request_trailer_mode": "SEND",
            "response_header_mode": "SEND",
            "response_body_mode": "FULL_DUPLEX_STREAMED",
            "response_trailer_mode": "SEND",
        },
    ) | {"disabled": True}


def _routes(port: int, hosts: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "@type": f"{_TYPES}.config.route.v3.RouteConfiguration",
        "name": f"port_{port}",
        "virtual_hosts": hosts,
        "ignore_port_in_host_matching": True,
    }


def _backend_cluster(backend: Backend) -> dict[str, Any]:
    any_pod = _policies("least_request", "load_balancing_policies.least_request.v3.LeastRequest")
    if backend.picker is None:
        return _cluster(backend.upstream, load_balancing_policy=any_pod)
    picked = _policies(
        "override_host",
        "load_balancing_policies.override_host.v3.OverrideHost",
        override_host_sources=[{"header": ENDPOINT}],
        fallback_policy=any_pod,
    )
    return _cluster(backend.upstream, load_balancing_policy=picked)


def _policies(name: str, kind: str, **config: Any) -> dict[str, Any]:
    extension = _extension(f"envoy.load_balancing_policies.{name}", kind, **config)
    return {"policies": [{"typed_extension_config": extension}]}


def _picker_cluster(picker: Picker) -> dict[str, Any]:
    if not picker.tls:
        return _cluster(picker.upstream, **_HTTP2)
    # Pickers sign their certificates themselves, so there is nothing to verify.
    socket = _extension(
        "envoy.transport_sockets.tls",
        "transport_sockets.tls.v3.UpstreamTlsContext",
        common_tls_context={"alpn_protocols": ["h2"]},
    )
    return _cluster(picker.upstream, transport_socket=socket, **_HTTP2)


def _cluster(upstream: Upstream, **settings: Any) -> dict[str, Any]:
    """Return the cluster of an upstream, whose endpoints have a name that changes with its settings.

    A changed cluster waits for its endpoints, and Envoy does not ask again for those of a name that it has.
    """
    unlimited = {
        "max_connections": 65536,
        "max_pending_requests": 65536,
        "max_requests": 65536,
        "max_retries": 1024,
    }
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    return {
        "@type": f"{_TYPES}.config.cluster.v3.Cluster",
        "name": upstream.name,
        "type": "EDS",
        "eds_cluster_config": {
            "eds_config": {"ads": {}, "resource_api_version": "V3"},
            "service_name": f"{upstream.name}.{digest}",
        },
        "connect_timeout": f"{CONNECT_SECONDS}s",
        "circuit_breakers": {"thresholds": [unlimited]},
        **settings,
    }


def _address(host: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}
