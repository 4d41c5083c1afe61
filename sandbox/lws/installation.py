"""Gives the clusters of a stack the controller: its CRDs, its files, and its webhooks in the API server.

A published installation runs in the cluster, where it renews certificates of its own and enters them into its
webhook configurations. Outside it cannot: they name a Service, and the API server reaches none here.
"""

from pathlib import Path

import yaml

from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.kwok import KwokCluster
from sandbox.https import HOST
from sandbox.lws.certificate import ensure_certificate
from sandbox.lws.controller import CERTIFICATE, CONFIG, FOLDER
from sandbox.lws.webhooks import configurations
from sandbox.places import StackPlaces
from sandbox.private import write_file
from sandbox.toolchain.tools import Tools


def want(places: StackPlaces) -> None:
    """Give the clusters of the stack the controller when they come up, from now on until `down`.

    They keep it when no document needs it any more: what stands is only then deleted by an update, and its
    webhooks are asked about every change before that.
    """
    if not wanted(places):
        write_file(places.leader_worker_sets, "")


def wanted(places: StackPlaces) -> bool:
    """Return whether the clusters of the stack have the controller."""
    return places.leader_worker_sets.exists()


def crds(places: StackPlaces, tools: Tools) -> tuple[Path, ...]:
    """Return the files of CRDs that a cluster of the stack has for the controller, beside those of all."""
    return tuple(sorted((tools.lws / "crds").iterdir())) if wanted(places) else ()


def install(cluster: KwokCluster, kubectl: Kubectl, tools: Tools) -> None:
    """Write the controller's files and make the API server call its webhooks, if the stack has it."""
    if not wanted(cluster.places):
        return
    folder = cluster.folder / FOLDER
    ensure_certificate(folder, HOST)
    write_file(folder / CONFIG, yaml.safe_dump(_config(folder, cluster.webhook_port)))
    objects = configurations(
        tools.lws / "webhooks",
        server=f"https://{HOST}:{cluster.webhook_port}",
        certificate=(folder / CERTIFICATE).read_bytes(),
    )
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", objects=objects)


def _config(folder: Path, port: int) -> dict[str, object]:
    """Return the controller's configuration: webhooks on loopback, and no other port."""
    return {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "webhook": {"host": HOST, "port": port, "certDir": str(folder)},
        # There is one, and a killed one leaves a lease behind that its successor would wait for.
        "leaderElection": {"leaderElect": False},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
        "internalCertManagement": {"enable": False},
    }
