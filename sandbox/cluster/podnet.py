"""Addresses of pods and Gateways, so that every pod can listen on ports of its own.

Each cluster of a user reserves one of 64 blocks, which are 1,024 networks of 254 addresses. The last network
of its block of 127.0.0.0/8 is for the cluster's Gateways. Pods have addresses of the same block of 10.0.0.0/8
where the cluster has a network namespace (see network/), and of the loopback block elsewhere. The first block
stays free: every program uses 127.0.0.1, and cluster IPs are of 10.0.0.0/24.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from sandbox.cluster.reservations import Reservations
from sandbox.network.pod_network import has_namespace
from sandbox.problem import SandboxProblem

BLOCKS = range(1, 64)
NETWORKS = 1024
_RESERVATIONS = Reservations("podnet")
_LOOPBACK, _PRIVATE = IPv4Address("127.0.0.0"), IPv4Address("10.0.0.0")


@dataclass(frozen=True)
class PodNetwork:
    """The networks of one cluster, given by the number of its block and whether it has a namespace."""

    block: int
    namespaced: bool = False

    @property
    def whole(self) -> IPv4Network:
        """The network of all addresses of nodes and pods."""
        return IPv4Network((int(self._pods) + (self.block * NETWORKS << 8), 14))

    def of_nodes(self) -> Iterator[IPv4Network]:
        """Return every network that a node may have, lowest first."""
        return (self._network(self._pods, number) for number in range(NETWORKS - 1))

    @property
    def reachable(self) -> IPv4Network:
        """The network of all addresses that are this machine's own where the pods are."""
        return self.whole.supernet(new_prefix=8)

    @property
    def of_gateways(self) -> IPv4Network:
        """The network that Gateways get their addresses from."""
        return self._network(_LOOPBACK, NETWORKS - 1)

    @property
    def _pods(self) -> IPv4Address:
        return _PRIVATE if self.namespaced else _LOOPBACK

    def _network(self, base: IPv4Address, number: int) -> IPv4Network:
        return IPv4Network((int(base) + ((self.block * NETWORKS + number) << 8), 24))


def network(cluster_folder: Path) -> PodNetwork:
    """Return the cluster's networks, which are reserved on first use."""
    block = _RESERVATIONS.reserve(cluster_folder, BLOCKS)
    if block is None:
        raise SandboxProblem(
            f"all {len(BLOCKS)} blocks of pod addresses are taken by other simulated clusters. "
            "End sandboxes of other checkouts with `inferfleet sandbox down`."
        )
    return PodNetwork(block, has_namespace(cluster_folder))


def release(cluster_folder: Path) -> None:
    """Give the cluster's networks back."""
    _RESERVATIONS.release(cluster_folder)


def reserved() -> tuple[Path, ...]:
    """Return the folders of all clusters of the user that have networks, also of those that are gone."""
    return _RESERVATIONS.folders()


def with_networks(
    new: Iterable[dict[str, Any]], existing: Iterable[dict[str, Any]], network: PodNetwork
) -> list[dict[str, Any]]:
    """Return the new nodes, each with the lowest pod network that no existing node has.

    A node's network does not follow from its position: one more node in a pool would change those of the next
    pool.
    """
    taken = {node["spec"].get("podCIDR") for node in existing}
    free = (str(subnet) for subnet in network.of_nodes() if str(subnet) not in taken)
    with_cidrs = []
    for node in new:
        cidr = next(free, None)
        if cidr is None:
            raise SandboxProblem(f"a simulated cluster has at most {NETWORKS - 1} nodes. Lower nodeCount.")
        with_cidrs.append({**node, "spec": {**node["spec"], "podCIDR": cidr, "podCIDRs": [cidr]}})
    return with_cidrs


def contains(network: PodNetwork, node: dict[str, Any]) -> bool:
    """Return whether the node's pods get addresses of this network."""
    cidr = node["spec"].get("podCIDR")
    return cidr is not None and IPv4Network(cidr).subnet_of(network.whole)
