"""The configuration of one Gateway's Envoy: its resources (v3) by the files from which it reads them.

With files nothing has to serve the configuration: Envoy reads a file again when another one is moved over it.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sandbox.gateway.backends import Backend, Picker, Upstream
from sandbox.gateway.virtual_hosts import NOWHERE, PICK

ENDPOINT = "x-gateway-destination-endpoint"
_TYPES = "type.googleapis.com/envoy"
_EXTENSIONS = f"{_TYPES}.extensions"
# A picker with flow control may hold a request until there is room, for a minute by default.
PICK_SECONDS = 120
# The value of other gateways: on a loaded machine a TLS handshake with a picker may take seconds.
CONNECT_SECONDS = 10
# The header in which the gateway gives the reason of its own errors, such as a picker's gRPC status.
REASON = "x-gateway-reason"


def bootstrap(folder: Path, name: str) -> dict[str, Any]:
    """Return the file Envoy starts with, which names the others.

    `curl --unix-socket admin.sock` asks the running Envoy for statistics.
    """
    return {
        "node": {"id": name, "cluster": "inferfleet-sandbox"},
        # The path is relative to the working directory: the whole path may be too long for a socket.
        "admin": {"address": {"pipe": {"path": "admin.sock", "mode": 0o600}}},
        "dynamic_resources": {
            "lds_config": _file(folder / "lds.json"),
            "cds_config": _file(folder / "cds.json"),
        },
    }


def files(
    folder: Path, address: str, *, hosts: Mapping[int, list[dict[str, Any]]], backends: Iterable[Backend]
) -> dict[str, dict[str, Any]]:
    """Return contents by file name in the order to write them: a file comes after those it refers to.

    `hosts` are the virtual hosts of each port.
    """
    by_name = {backend.upstream.name: backend for backend in backends}
    pickers = {backend.picker.upstream.name: backend.picker for backend in by_name.values() if backend.picker}
    upstreams = {name: backend.upstream for name, backend in by_name.items()}
    upstreams |= {name: picker.upstream for name, picker in pickers.items()}
    clusters = [_backend_cluster(folder, backend) for _, backend in sorted(by_name.items())]
    clusters += [_picker_cluster(folder, picker) for _, picker in sorted(pickers.items())]
    return {
        **{
            f"eds.{name}.json": _resources([_endpoints(upstream)])
            for name, upstream in sorted(upstreams.items())
        },
        "cds.json": _resources(clusters),
        **{f"rds.{port}.json": _resources([_routes(port, hosts[port])]) for port in sorted(hosts)},
        "lds.json": _resources([_listener(folder, address, port) for port in sorted(hosts)]),
    }


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


def _backend_cluster(folder: Path, backend: Backend) -> dict[str, Any]:
    cluster = _cluster(folder, backend.upstream)
    any_pod = _policies("least_request", "load_balancing_policies.least_request.v3.LeastRequest")
    if backend.picker is None:
        return cluster | {"load_balancing_policy": any_pod}
    picked = _policies(
        "override_host",
        "load_balancing_policies.override_host.v3.OverrideHost",
        override_host_sources=[{"header": ENDPOINT}],
        fallback_policy=any_pod,
    )
    return cluster | {"load_balancing_policy": picked}


def _policies(name: str, kind: str, **config: Any) -> dict[str, Any]:
    extension = _extension(f"envoy.load_balancing_policies.{name}", kind, **config)
    return {"policies": [{"typed_extension_config": extension}]}


def _picker_cluster(folder: Path, picker: Picker) -> dict[str, Any]:
    protocol = "upstreams.http.v3.HttpProtocolOptions"
    cluster = _cluster(folder, picker.upstream) | {
        "typed_extension_protocol_options": {
            f"envoy.extensions.{protocol}": {
                "@type": f"{_EXTENSIONS}.{protocol}",
                "explicit_http_config": {"http2_protocol_options": {}},
            }
        }
    }
    if not picker.tls:
        return cluster
    # Pickers sign their certificates themselves, so there is nothing to verify.
    socket = _extension(
        "envoy.transport_sockets.tls",
        "transport_sockets.tls.v3.UpstreamTlsContext",
        common_tls_context={"alpn_protocols": ["h2"]},
    )
    return cluster | {"transport_socket": socket}


def _cluster(folder: Path, upstream: Upstream) -> dict[str, Any]:
    unlimited = {
        "max_connections": 65536,
        "max_pending_requests": 65536,
        "max_requests": 65536,
        "max_retries": 1024,
    }
    return {
        "@type": f"{_TYPES}.config.cluster.v3.Cluster",
        "name": upstream.name,
        "type": "EDS",
        "eds_cluster_config": {"eds_config": _file(folder / f"eds.{upstream.name}.json")},
        "connect_timeout": f"{CONNECT_SECONDS}s",
        "circuit_breakers": {"thresholds": [unlimited]},
    }


def _endpoints(upstream: Upstream) -> dict[str, Any]:
    split = [endpoint.rpartition(":") for endpoint in upstream.endpoints]
    hosts = [{"endpoint": {"address": _address(host, int(port))}} for host, _, port in split]
    return {
        "@type": f"{_TYPES}.config.endpoint.v3.ClusterLoadAssignment",
        "cluster_name": upstream.name,
        "endpoints": [{"lb_endpoints": hosts}] if hosts else [],
    }


def _address(host: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}
