"""A simulated cloud without API servers: what it would do with them is written down."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from small_cloud import cluster, l4, network, pool

from inferfleet.gke.facts.schema import resource
from sandbox.gcp.operations import Cloud
from sandbox.gcp.provider.check import check
from sandbox.gcp.provider.merge import with_defaults
from sandbox.gcp.store import Record, Store

IDS = {
    "net": "projects/acme/global/networks/net",
    "sub": "projects/acme/regions/us-east5/subnetworks/sub",
    "east": "projects/acme/locations/us-east5/clusters/east",
    "l4": "projects/acme/locations/us-east5/clusters/east/nodePools/l4",
    "system": "projects/acme/locations/us-east5/clusters/east/nodePools/system",
}


@dataclass
class RecordedKubernetes:
    """The Kubernetes side: remembers the nodes of each pool, and what was asked in order."""

    nodes: dict[str, dict[str, int]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def serve(self, cluster: Record) -> tuple[str, str]:
        self.calls.append(f"serve {cluster.name}")
        return "127.0.0.1:6443", "Q0E="

    def remove(self, cluster: Record) -> None:
        self.calls.append(f"remove {cluster.name}")

    def standing(self, pool: Record) -> dict[str, int]:
        return self.nodes.get(pool.name, {})

    def set_nodes(self, pool: Record, *, leaving: tuple[str, ...] = ()) -> None:
        self.nodes[pool.name] = dict(pool.zones)
        self.calls.append(f"nodes {pool.name} {sum(pool.zones.values())}")


def empty_cloud(folder: Path) -> tuple[Cloud, RecordedKubernetes]:
    kube = RecordedKubernetes()
    return Cloud(Store(folder), kube), kube


def create(cloud: Cloud, one: dict[str, Any]) -> Record:
    """As the engine does it: checked, with defaults."""
    return cloud.create(one["token"], inputs(one))


def inputs(one: dict[str, Any]) -> dict[str, Any]:
    assert check(one["token"], one["inputs"]) == ()
    return with_defaults(resource(one["token"]), one["inputs"])


def with_cluster(folder: Path, **changes: Any) -> tuple[Cloud, RecordedKubernetes]:
    """A network, a cluster, and a pool of one CPU node."""
    cloud, kube = empty_cloud(folder)
    for one in (*network(), cluster(**changes), pool("system", nodeCount=1)):
        create(cloud, one)
    return cloud, kube


__all__ = ["IDS", "cluster", "create", "empty_cloud", "inputs", "l4", "network", "pool", "with_cluster"]
