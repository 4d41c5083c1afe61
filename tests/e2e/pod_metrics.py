"""An adapter for the HorizontalPodAutoscaler: it serves custom.metrics.k8s.io by what pods say.

Each answer is what the pods of the moment tell under `/metrics`, so what scales is the load that they have.
"""

import datetime
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

import yaml
from project import Project
from reaching import pod_url
from scraping import Target

from sandbox.lws.certificate import self_signed
from sandbox.network import sockets
from sandbox.network.pod_network import has_namespace
from sandbox.places import StackPlaces

_GROUP, _VERSION = "custom.metrics.k8s.io", "v1beta2"
# Where pods have a network of their own, it is in there: no endpoint may have a loopback address.
_ADDRESS, _INSIDE, _NAME = "127.0.0.1", "10.0.0.77", "pod-metrics"
_PORT = 8000


@contextmanager
def served(project: Project, cluster: str, folder: Path) -> Iterator[None]:
    """Serve the metrics of the cluster's pods to it, through its API server."""
    certificate, key = self_signed(_ADDRESS, name="metrics of pods")
    (folder / "tls").write_text(certificate + key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "tls")

    class Adapter(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlparse(self.path)
            steps = [unquote(step) for step in asked.path.split("/") if step]
            body = _answer(project, cluster, steps, parse_qs(asked.query))
            text = json.dumps(body or {}).encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            pass

    network = StackPlaces(project.root, project.stack).cluster_folder(cluster)
    server = ThreadingHTTPServer((_ADDRESS, 0), Adapter)
    if inside := has_namespace(network):
        server.socket.close()
        server.socket = sockets.listen(network, _INSIDE, 0)
    port = server.socket.getsockname()[1]
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    file = folder / "registered.yaml"
    file.write_text(yaml.safe_dump_all([*_service(port, inside=inside), _registered(port)]))
    try:
        project.kubectl(cluster, "apply", "-f", str(file))
        yield
    finally:
        project.kubectl(cluster, "delete", "--ignore-not-found", "-f", str(file))
        server.shutdown()
        server.server_close()


def _service(port: int, *, inside: bool) -> list[dict[str, Any]]:
    named = {"name": _NAME, "namespace": "default"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": named}
    ports = [{"port": port}]
    if not inside:
        return [service | {"spec": {"type": "ExternalName", "externalName": _ADDRESS, "ports": ports}}]
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": named | {"labels": {"kubernetes.io/service-name": _NAME}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [_INSIDE]}],
        "ports": [{"port": port, "protocol": "TCP"}],
    }
    return [service | {"spec": {"ports": ports}}, endpoints]


def _registered(port: int) -> dict[str, Any]:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{_VERSION}.{_GROUP}"},
        "spec": {
            "group": _GROUP,
            "version": _VERSION,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"name": _NAME, "namespace": "default", "port": port},
        },
    }


def _answer(
    project: Project, cluster: str, steps: list[str], query: dict[str, list[str]]
) -> dict[str, Any] | None:
    """Return the group's resources, or a metric of pods: `namespaces/ml/pods/*/<metric>`; None for others."""
    of_version = ["apis", _GROUP, _VERSION]
    if steps == of_version:
        resource = {"name": "pods/any", "singularName": "", "namespaced": True, "kind": "MetricValueList"}
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{_GROUP}/{_VERSION}",
            "resources": [{**resource, "verbs": ["get"]}],
        }
    if steps[:3] != of_version or len(steps) != 8:
        return None
    space, metric = steps[4], steps[7]
    pods = project.items(cluster, "pods", "-l", query["labelSelector"][0])
    return {
        "kind": "MetricValueList",
        "apiVersion": f"{_GROUP}/{_VERSION}",
        "metadata": {},
        "items": [
            {
                "describedObject": {"kind": "Pod", "namespace": space, "name": pod["metadata"]["name"]},
                "metric": {"name": metric},
                "timestamp": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "value": value,
            }
            for pod in pods
            if pod["metadata"]["namespace"] == space and (value := _value(project, cluster, pod, metric))
        ],
    }


def _value(project: Project, cluster: str, pod: dict[str, Any], metric: str) -> str | None:
    """Return what a pod says of a metric, None where it does not answer yet."""
    try:
        _, text = Target(f"{pod_url(project, cluster, pod, _PORT)}/metrics", "").scrape()
    except (OSError, KeyError):
        return None
    said = [line.split()[-1] for line in text.splitlines() if line.startswith(f"{metric}{{")]
    return said[0] if said else None
