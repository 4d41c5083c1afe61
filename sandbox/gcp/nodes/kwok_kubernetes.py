"""A kwok cluster behind every Cluster, and its Node objects behind every NodePool."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sandbox.cluster import companions, podnet
from sandbox.cluster.definitions import define
from sandbox.cluster.kwok import KwokCluster
from sandbox.cluster.podnet import with_networks
from sandbox.cluster.populate import gateway_classes, refuse_gateways, remove_nodes, wait
from sandbox.gcp import faults
from sandbox.gcp.access import shared_access
from sandbox.gcp.nodes.network_cards import offer_cards
from sandbox.gcp.nodes.node_changes import fits_hardware, kept_and_new, name_of, relabelled, zone_of
from sandbox.gcp.nodes.pool_nodes import POOL_LABEL
from sandbox.gcp.rules.cluster import (
    has_inference_pools,
    has_provisioning_requests,
    offers_network_cards,
)
from sandbox.gcp.rules.names import cluster_path
from sandbox.gcp.rules.networking import has_proxies
from sandbox.gcp.rules.outlasting import KINDS, outlasting
from sandbox.gcp.rules.policies import refused_gateway
from sandbox.gcp.rules.regions import region_of
from sandbox.gcp.store import Record, Store
from sandbox.locking import locked
from sandbox.lws import installation
from sandbox.network.obstacles import obstacle
from sandbox.places import StackPlaces
from sandbox.toolchain.tools import Tools

# The GatewayClasses that GKE installs with the Gateway API.
# docs.cloud.google.com/kubernetes-engine/docs/concepts/gateway-api#gatewayclass
_REGIONAL = ("gke-l7-rilb", "gke-l7-regional-external-managed")
GATEWAY_CLASSES = (*_REGIONAL, "gke-l7-global-external-managed")
# As Google's controller says it of gateways of regional classes.
_NO_PROXIES = (
    "error cause: gceSync: generic::invalid_argument: Insert: An active proxy-only subnetwork is required in "
    "the same region and VPC as the forwarding rule."
)
# How the file with the definition of LeaderWorkerSets begins, which GKE does not bring.
_WORKER_SETS = "leaderworkerset"
_GKE_CRDS = Path(__file__).parent / "crds.yaml"


def kwok_name(resource_id: str) -> str:
    """Return the sandbox's name for the cluster of this ID, or of the pool: `<name>.<location>.<project>`.

    Clusters of documents have no dots in their names, so a dot tells that the cloud made the cluster.
    """
    project, location, cluster = cluster_path(resource_id)
    return f"{cluster}.{location}.{project}"


class Definitions(Protocol):
    """The files of CustomResourceDefinitions, as a toolchain has them."""

    @property
    def crds(self) -> tuple[Path, ...]: ...
    @property
    def gke_networks(self) -> tuple[Path, ...]: ...
    @property
    def gke_autoscaling(self) -> tuple[Path, ...]: ...


def definitions(cluster: Record, tools: Definitions) -> tuple[Path, ...]:
    """Return the definitions that GKE brings along with a cluster, by its version and settings."""
    files = tuple(file for file in tools.crds if not file.name.startswith(_WORKER_SETS))
    if not _has_gateway_api(cluster):
        files = ()
    if not has_inference_pools(cluster.state):
        files = tuple(file for file in files if not file.name.startswith("inference"))
    networks = tools.gke_networks if cluster.state.get("enableMultiNetworking") else ()
    asked = tools.gke_autoscaling if has_provisioning_requests(cluster.state) else ()
    return (*files, _GKE_CRDS, *networks, *asked)


@dataclass(frozen=True)
class KwokKubernetes:
    """Implements `Kubernetes` for the cloud of one stack, with kwok clusters in the stack's folder."""

    places: StackPlaces
    tools: Tools

    def ensure_cluster(self, cluster: Record) -> tuple[str, str]:
        kwok = self._kwok(cluster.id)
        condition = kwok.condition()
        if condition == "missing":
            kwok.create(
                self.tools,
                crds=self._crds(cluster),
                namespaced=obstacle() is None,
                access=shared_access(self.places),
            )
        elif condition == "stopped":
            kwok.start(self.tools)
        self._furnish(cluster, kwok)
        companions.ensure_running(kwok, self.tools)
        certificate = (kwok.folder / "pki" / "ca.crt").read_bytes()
        return kwok.server.removeprefix("https://"), base64.b64encode(certificate).decode()

    def outlasting(self, cluster: Record) -> list[Record]:
        kwok = self._kwok(cluster.id)
        if kwok.condition() != "running" or not _has_gateway_api(cluster):
            return []
        return list(outlasting(cluster, kwok.kubectl(self.tools).items(KINDS, "-A")))

    def remove_cluster(self, cluster: Record) -> None:
        self._kwok(cluster.id).delete()

    def node_counts(self, pool: Record) -> dict[str, int]:
        """Return how many nodes each zone has, without those of a machine that the pool no longer has."""
        counts: dict[str, int] = {}
        for node in self._nodes(pool):
            if fits_hardware(node, pool):
                zone = zone_of(node)
                counts[zone] = counts.get(zone, 0) + 1
        return counts

    def set_nodes(self, pool: Record, *, leaving: tuple[str, ...] = ()) -> None:
        kwok = self._kwok(pool.id)
        if kwok.condition() != "running":
            return
        kubectl = kwok.kubectl(self.tools)
        # All nodes of a cluster take their pod networks from one range, so one pool is changed at a time.
        with locked(kwok.folder / "nodes.lock", waiting=lambda pid: None):
            existing = self._nodes(pool)
            kept, new = kept_and_new(existing, pool, leaving)
            for names, patch in relabelled(kept, pool):
                kubectl("patch", "nodes", *names, "--type=merge", "-p", json.dumps(patch))
            if new:
                network = podnet.network(kwok.folder)
                kubectl.create(with_networks(new, kubectl.items("nodes"), network))
                wait(kubectl, "--for=condition=Ready", "nodes", "-l", f"{POOL_LABEL}={pool.name}")
            remove_nodes(kubectl, [name_of(node) for node in existing if node not in kept])
            if (pool.state.get("networkConfig") or {}).get("acceleratorNetworkProfile"):
                offer_cards(kubectl)

    def _furnish(self, cluster: Record, kwok: KwokCluster) -> None:
        """Define what the cluster's settings bring along: GKE's own kinds, and the Gateway API's classes."""
        kubectl = kwok.kubectl(self.tools)
        define(kwok, kubectl, self._crds(cluster))
        installation.install(kwok, kubectl, self.tools)
        if offers_network_cards(cluster.state):
            offer_cards(kubectl)
        if _has_gateway_api(cluster):
            gateway_classes(kubectl, GATEWAY_CLASSES)
            self.tell_gateways(cluster)

    def tell_gateways(self, cluster: Record) -> None:
        kwok = self._kwok(cluster.id)
        if kwok.condition() != "running" or not _has_gateway_api(cluster):
            return
        project, location, _ = cluster_path(cluster.id)
        enforced = faults.read(self.places.cloud).policies
        words = {
            name: refused_gateway(enforced, name, project, region_of(location)) for name in GATEWAY_CLASSES
        }
        if not has_proxies(cluster.state, Store(self.places.cloud).read()):
            words |= dict.fromkeys(_REGIONAL, _NO_PROXIES)
        refuse_gateways(kwok.kubectl(self.tools), words)

    def _crds(self, cluster: Record) -> tuple[Path, ...]:
        installed: tuple[Path, ...] = ()
        if installation.wanted(self.places):
            own = (file for file in self.tools.crds if file.name.startswith(_WORKER_SETS))
            installed = (*own, *installation.crds(self.places, self.tools))
        return (*definitions(cluster, self.tools), *installed)

    def _nodes(self, pool: Record) -> list[dict[str, Any]]:
        kwok = self._kwok(pool.id)
        if kwok.condition() != "running":
            return []
        return kwok.kubectl(self.tools).items("nodes", "-l", f"{POOL_LABEL}={pool.name}")

    def _kwok(self, resource_id: str) -> KwokCluster:
        return KwokCluster(self.places, kwok_name(resource_id))


def _has_gateway_api(cluster: Record) -> bool:
    channel = (cluster.state.get("gatewayApiConfig") or {}).get("channel")
    load_balancing = (cluster.state.get("addonsConfig") or {}).get("httpLoadBalancing") or {}
    return channel == "CHANNEL_STANDARD" and not load_balancing.get("disabled")
