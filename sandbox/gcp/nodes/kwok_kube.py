"""A simulated cluster behind every Cluster, and its nodes behind every NodePool."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.cluster import companions, podnet
from sandbox.cluster.definitions import define
from sandbox.cluster.kwok import KwokCluster
from sandbox.cluster.podnet import with_networks
from sandbox.cluster.populate import gateway_classes, remove_nodes, wait
from sandbox.gcp.access import shared_access
from sandbox.gcp.nodes.node_changes import fits_hardware, kept_and_new, name_of, relabelled
from sandbox.gcp.nodes.pool_nodes import POOL_LABEL, ZONE
from sandbox.gcp.store import Record
from sandbox.locking import locked
from sandbox.places import StackPlaces
from sandbox.toolchain.tools import Tools

# What GKE installs with the Gateway API.
# docs.cloud.google.com/kubernetes-engine/docs/concepts/gateway-api#gatewayclass
CLASSES = ("gke-l7-rilb", "gke-l7-regional-external-managed", "gke-l7-global-external-managed")
_OWN_CRDS = Path(__file__).parent / "crds.yaml"


def kwok_name(cluster_id: str) -> str:
    """What the sandbox calls the cluster: `<name>.<location>.<project>`.

    Clusters of documents have no dots in their names, so it is known by them that the cloud made this one.
    """
    _, project, _, location, _, name = cluster_id.split("/")[:6]
    return f"{name}.{location}.{project}"


@dataclass(frozen=True)
class KwokKube:
    """The Kube of a stack's simulated cloud."""

    places: StackPlaces
    tools: Tools

    def serve(self, cluster: Record) -> tuple[str, str]:
        kwok = self._kwok(cluster.id)
        condition = kwok.condition()
        if condition == "missing":
            kwok.create(self.tools, crds=self._crds(cluster), access=shared_access(self.places))
        elif condition == "stopped":
            kwok.start(self.tools)
        self._furnish(cluster, kwok)
        companions.ensure_running(kwok, self.tools)
        certificate = (kwok.folder / "pki" / "ca.crt").read_bytes()
        return kwok.server.removeprefix("https://"), base64.b64encode(certificate).decode()

    def remove(self, cluster: Record) -> None:
        self._kwok(cluster.id).delete()

    def standing(self, pool: Record) -> dict[str, int]:
        counts: dict[str, int] = {}
        for node in self._nodes(pool):
            if fits_hardware(node, pool):
                zone = node["metadata"]["labels"][ZONE]
                counts[zone] = counts.get(zone, 0) + 1
        return counts

    def set_nodes(self, pool: Record, *, leaving: tuple[str, ...] = ()) -> None:
        kwok = self._kwok(pool.id)
        if kwok.condition() != "running":
            return
        kubectl = kwok.kubectl(self.tools)
        # Pod networks are shared out among all nodes of a cluster, so one pool at a time.
        with locked(kwok.folder / "nodes.lock", waiting=lambda pid: None):
            existing = self._nodes(pool)
            keep, new = kept_and_new(existing, pool, leaving)
            for names, patch in relabelled(keep, pool):
                kubectl("patch", "nodes", *names, "--type=merge", "-p", json.dumps(patch))
            if new:
                network = podnet.network(kwok.folder)
                kubectl.create(with_networks(new, kubectl.items("nodes"), network))
                wait(kubectl, "--for=condition=Ready", "nodes", "-l", f"{POOL_LABEL}={pool.name}")
            remove_nodes(kubectl, [name_of(one) for one in existing if one not in keep])

    def _furnish(self, cluster: Record, kwok: KwokCluster) -> None:
        """What the cluster's settings bring along: Gateway API, and GKE's own kinds."""
        kubectl = kwok.kubectl(self.tools)
        define(kwok, kubectl, self._crds(cluster))
        if _with_gateway(cluster):
            gateway_classes(kubectl, CLASSES)

    def _crds(self, cluster: Record) -> tuple[Path, ...]:
        theirs = self.tools.crds
        if not _with_gateway(cluster):
            theirs = tuple(one for one in theirs if one.name.startswith("leaderworkerset"))
        return (*theirs, _OWN_CRDS)

    def _nodes(self, pool: Record) -> list[dict[str, Any]]:
        kwok = self._kwok(pool.id)
        if kwok.condition() != "running":
            return []
        return kwok.kubectl(self.tools).items("nodes", "-l", f"{POOL_LABEL}={pool.name}")

    def _kwok(self, resource_id: str) -> KwokCluster:
        return KwokCluster(self.places, kwok_name(resource_id))


def _with_gateway(cluster: Record) -> bool:
    channel = (cluster.state.get("gatewayApiConfig") or {}).get("channel")
    balancing = (cluster.state.get("addonsConfig") or {}).get("httpLoadBalancing") or {}
    return channel == "CHANNEL_STANDARD" and not balancing.get("disabled")
