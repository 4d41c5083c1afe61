"""Starts istiod for a cluster, in the network of its pods, and waits until it is ready.

It is the real program, with the rights of an administrator: what its published role lacks does not show.
"""

import http.client
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import yaml

from sandbox.child import linked
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.kwok import KwokCluster
from sandbox.istio import injection
from sandbox.network import sockets
from sandbox.network.pod_network import inside
from sandbox.private import write_file
from sandbox.problem import not_started
from sandbox.toolchain.tools import Tools

# The program's name, by which it is found and ended, and that of its log.
PROGRAM = "istiod"
NAMESPACE = "istio-system"
HOST = "127.0.0.1"
# The port at which proxies are told their configuration. Each cluster has a network, and so all of its ports.
XDS_PORT = 15010
CLUSTER_ID = "Kubernetes"
# The folder and the file in a cluster's folder; with the file a cluster has Istio.
_FOLDER, _MESH = "istio", "mesh"
_HTTP_PORT = 8080
# With this file a cluster keeps the built-in gateway, with which it began.
_WITHOUT = "without-istio"
# Seconds it may take to start: it first lists what it watches.
_START_SECONDS = 300.0
# Of these it needs none, but Python does on some systems, by which it enters the network.
_KEPT = ("HOME", "LD_LIBRARY_PATH", "TMPDIR")
# What istiod is told wherever it runs here. An ordinary Envoy has no filters of Istio's own build, and
# refuses listeners that have them; with mutual TLS it would wait for certificates of Istio's own agent.
FOR_ORDINARY_ENVOYS = {"PILOT_ENABLE_METADATA_EXCHANGE": "false", "PILOT_ENABLE_ALPN_FILTER": "false"}
MESH = {"enableAutoMtls": False, "trustDomain": "cluster.local"}
_ENVIRONMENT = {
    "ENABLE_GATEWAY_API_INFERENCE_EXTENSION": "true",
    **FOR_ORDINARY_ENVOYS,
    # There is one, and a killed one leaves leases behind that its successor would wait for.
    "ENABLE_LEADER_ELECTION": "false",
    "POD_NAMESPACE": NAMESPACE,
    "POD_NAME": "istiod-0",
    "CLUSTER_ID": CLUSTER_ID,
    # Sidecars are not injected here.
    "INJECTION_WEBHOOK_CONFIG_NAME": "",
    "VALIDATION_WEBHOOK_CONFIG_NAME": "",
    # As for the components of the cluster (see cluster/kwok.py): more threads cost time when idle.
    "GOMAXPROCS": "1",
}


def installed(cluster: KwokCluster) -> bool:
    """Return whether the cluster has Istio, running or not."""
    return installed_at(cluster.folder)


def installed_at(cluster_folder: Path) -> bool:
    """Return whether the cluster of this folder has Istio beside it, running or not."""
    return (cluster_folder / _FOLDER / _MESH).exists()


def leave_out(cluster: KwokCluster) -> None:
    """Have the built-in gateway serve the Gateways of a cluster that is for Istio, for as long as it stands.

    Another controller would give its Gateways other addresses, which nobody who knows the old ones is told.
    """
    (cluster.folder / _WITHOUT).touch()


def left_out(cluster: KwokCluster) -> bool:
    """Return whether the cluster keeps the built-in gateway."""
    return (cluster.folder / _WITHOUT).exists()


def install(cluster: KwokCluster, kubectl: Kubectl, tools: Tools) -> None:
    """Write istiod's files and make its namespace. Its CRDs must be there."""
    folder = cluster.folder / _FOLDER
    inject = folder / "var" / "lib" / "istio" / "inject"  # where istiod looks, from its working directory
    write_file(inject / "config", injection.config((tools.istio / "kube-gateway.yaml").read_text()))
    write_file(inject / "values", injection.values((tools.istio / "values.yaml").read_text()))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", objects=[namespace])
    write_file(folder / _MESH, yaml.safe_dump(MESH))


def start(cluster: KwokCluster, tools: Tools) -> None:
    """Start istiod in the network of the cluster's pods, and return when it is ready.

    Raises SandboxProblem.
    """
    enter = inside(cluster.folder, cluster.name)
    log = cluster.folder / "logs" / f"{PROGRAM}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as file:
        process = subprocess.Popen(
            [
                *enter,
                *(str(linked(cluster.folder, PROGRAM, tools.program(PROGRAM))), "discovery"),
                *("--kubeconfig", str(cluster.folder / "kubeconfig.yaml")),
                *("--meshConfig", _MESH, "--networksConfig", "none"),
                *("--grpcAddr", f"{HOST}:{XDS_PORT}", "--secureGRPCAddr", "", "--httpsAddr", ""),
                *("--httpAddr", f"{HOST}:{_HTTP_PORT}", "--monitoringAddr", f"{HOST}:15014"),
                *("--ctrlz_port", "0", "--log_output_level", "default:warn"),
            ],
            cwd=cluster.folder / _FOLDER,
            env=environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            # Ctrl-C ends the command that started it and must not end istiod.
            start_new_session=True,
        )
    _wait(cluster, process, log)


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of istiod: its own, and of this process's those that any program starts with.

    The rest would change it unseen, as PILOT_ENABLE_GATEWAY_API does, and it may be secret.
    """
    return {**{name: own[name] for name in _KEPT if name in own}, **_ENVIRONMENT}


def _wait(cluster: KwokCluster, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + _START_SECONDS
    while not _is_ready(cluster.folder):
        if process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
            continue
        state = "ended" if process.poll() is not None else "is not ready"
        raise not_started(f"cluster {cluster.name}: Istio's control plane {state}", log)


def _is_ready(cluster_folder: Path) -> bool:
    connection = http.client.HTTPConnection(HOST, _HTTP_PORT, timeout=5)
    try:
        connection.sock = sockets.connect(cluster_folder, HOST, _HTTP_PORT)
        connection.request("GET", "/ready")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
