"""Gives a cluster Envoy Gateway: its namespace, its class, the certificates of its proxies, and its settings.

It is the real program in a network and a root of its own, as a pod would have them, with the rights of an
administrator: what its published role lacks does not show. Where a stack installs it, a cluster gets but the
ways of its pods.
"""

import base64
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from inferfleet.serving.envoy_gateway import CONFIG_FILE, CONFIG_MAP, NAMESPACE
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.kwok import KwokCluster
from sandbox.private import write_file
from sandbox.problem import SandboxProblem
from sandbox.toolchain.parts import ENVOY_GATEWAY
from sandbox.toolchain.tools import Tools

CONTROLLER = "gateway.envoyproxy.io/gatewayclass-controller"
# The folder in a cluster's folder, and files in it; with the first Envoy Gateway runs beside it.
FOLDER, _CONFIG, _WAYS, _REDIS = "front-door", "config.yaml", "ways.json", "redis"
# Addresses of 10.0.0.0/24, where no pods are: of the DNS server, of the API server's relay, of Envoy Gateway,
# and of the Redis that documents name.
RESOLVER, API_SERVER, CONTROL_PLANE, REDIS = "10.0.0.53", "10.0.0.61", "10.0.0.62", "10.0.0.63"
API_PORT = 6443


@dataclass(frozen=True)
class Way:
    """A host name by which pods ask for another cluster's gateway, where it is inside, and whose it is."""

    host: str
    inside: str
    port: int
    cluster_folder: str


def installed(cluster_folder: Path) -> bool:
    """Return whether the cluster is for Envoy Gateway, beside it or in a pod."""
    return (cluster_folder / FOLDER / _WAYS).exists()


def beside(cluster_folder: Path) -> bool:
    """Return whether Envoy Gateway runs beside the cluster, because no stack installs it there."""
    return (cluster_folder / FOLDER / _CONFIG).exists()


def ways(cluster_folder: Path) -> tuple[Way, ...]:
    """Return the ways to other clusters' gateways."""
    try:
        return tuple(Way(**entry) for entry in json.loads((cluster_folder / FOLDER / _WAYS).read_text()))
    except OSError:
        return ()


def redis(cluster_folder: Path) -> tuple[str, int] | None:
    """Return by which host name and port pods ask for the Redis that counts requests; None without one."""
    try:
        host, _, port = (cluster_folder / FOLDER / _REDIS).read_text().rpartition(":")
    except OSError:
        return None
    return host, int(port)


def crds(tools: Tools) -> tuple[Path, ...]:
    """Return the files of Envoy Gateway's own kinds."""
    return tuple(sorted((tools.folder(ENVOY_GATEWAY.name) / "crds").iterdir()))


def prepare(cluster: KwokCluster, ways: tuple[Way, ...], needed: Mapping[str, Any]) -> None:
    """Write where pods of Envoy Gateway find other clusters, and the Redis in what they need of Envoy
    Gateway's configuration.
    """
    folder = cluster.folder / FOLDER
    write_file(folder / _WAYS, json.dumps([asdict(way) for way in ways], indent=1))
    if counted := needed.get("rateLimit"):
        write_file(folder / _REDIS, counted["backend"]["redis"]["url"])


def install(
    cluster: KwokCluster,
    kubectl: Kubectl,
    tools: Tools,
    *,
    classes: tuple[str, ...],
    needed: Mapping[str, Any],
) -> None:
    """Write Envoy Gateway's files, and make what its chart would. Its CRDs must be there.

    `needed` is what InferenceGateways need of its configuration.
    """
    folder = cluster.folder / FOLDER
    config = yaml.safe_dump(_config(needed))
    write_file(folder / "kubeconfig", yaml.safe_dump(_kubeconfig(cluster)))
    labels = {"control-plane": "envoy-gateway"}
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        *(
            {
                "apiVersion": "gateway.networking.k8s.io/v1",
                "kind": "GatewayClass",
                "metadata": {"name": name},
                "spec": {"controllerName": CONTROLLER},
            }
            for name in classes
        ),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CONFIG_MAP, "namespace": NAMESPACE},
            "data": {CONFIG_FILE: config},
        },
        # Owners of what it makes itself, without which it makes no rate limit service.
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "envoy-gateway", "namespace": NAMESPACE},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "envoy-gateway", "namespace": NAMESPACE, "labels": labels},
            "spec": {"clusterIP": "None", "ports": [{"name": "grpc", "port": 18000}]},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "envoy-gateway", "namespace": NAMESPACE, "labels": labels},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "envoy-gateway", "image": "none"}]},
                },
            },
        },
    ]
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", objects=objects)
    _certificates(cluster, kubectl, tools)
    write_file(folder / _CONFIG, config)


def _certificates(cluster: KwokCluster, kubectl: Kubectl, tools: Tools) -> None:
    """Have Envoy Gateway make the certificates by which its proxies know it, and keep its own as files."""
    folder = cluster.folder / FOLDER
    certs = folder / "certs"
    if certs.exists():
        return
    done = subprocess.run(
        [str(tools.program("envoy-gateway")), "certgen", "--disable-topology-injector"],
        env={**os.environ, **environment(cluster.folder / "kubeconfig.yaml"), "GOMAXPROCS": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        last = "\n  ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise SandboxProblem(f"cluster {cluster.name}: Envoy Gateway makes no certificates:\n  {last}")
    secret = json.loads(kubectl("get", "secret", "envoy-gateway", "-n", NAMESPACE, "-o", "json"))
    making = certs.with_name(".certs")
    for name, content in _decoded(secret["data"]).items():
        write_file(making / name, content)
    making.rename(certs)


def _decoded(data: Mapping[str, str]) -> dict[str, str]:
    return {name: base64.b64decode(value).decode() for name, value in data.items()}


def environment(kubeconfig: Path | str) -> dict[str, str]:
    """Return the variables by which Envoy Gateway finds its cluster."""
    return {"KUBECONFIG": str(kubeconfig), "ENVOY_GATEWAY_NAMESPACE": NAMESPACE}


def _kubeconfig(cluster: KwokCluster) -> dict[str, object]:
    """Return the kubeconfig for a network of its own, where the API server has another address."""
    config: dict[str, object] = yaml.safe_load((cluster.folder / "kubeconfig.yaml").read_text())
    for entry in config["clusters"]:  # type: ignore[attr-defined]
        entry["cluster"].update(server(cluster.server))
    return config


def server(address: str) -> dict[str, str]:
    """Return how networks of pods of their own reach the API server at an address."""
    host = address.removeprefix("https://").partition(":")[0]
    return {"server": f"https://{API_SERVER}:{API_PORT}", "tls-server-name": host}


def _config(needed: Mapping[str, Any]) -> dict[str, Any]:
    of_kubernetes = needed.get("provider", {}).get("kubernetes", {})
    return {
        **needed,
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "EnvoyGateway",
        "gateway": {"controllerName": CONTROLLER},
        "provider": {
            "type": "Kubernetes",
            "kubernetes": {
                # There is one, and a killed one leaves a lease behind that its successor would wait for.
                "leaderElection": {"disable": True},
                "proxyTopologyInjector": {"disabled": True},
                **of_kubernetes,
            },
        },
        "logging": {"level": {"default": "info"}},
        "telemetry": {"metrics": {"prometheus": {"disable": True}}},
    }
