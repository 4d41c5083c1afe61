"""Addresses of pods and Gateways: loopback networks, so that every pod can listen on ports of its own.

127.0.0.0/8 has 65,536 networks of 254 addresses. Each cluster of a user reserves a block of 1,024 of them,
the first block excepted: 127.0.0.1 is everybody's. A block's last network is for the cluster's Gateways, the
others are for nodes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from sandbox.problem import SandboxProblem
from sandbox.reservations import Reservations

BLOCKS = range(1, 64)
NETWORKS = 1024
_RESERVATIONS = Reservations("podnet")
_LOOPBACK = int(IPv4Address("127.0.0.0"))


@dataclass(frozen=True)
class PodNetwork:
    """The networks of one cluster."""

    block: int

    @property
    def whole(self) -> IPv4Network:
        """All addresses of the cluster."""
        return IPv4Network((_LOOPBACK + (self.block * NETWORKS << 8), 14))

    def of_nodes(self) -> Iterator[IPv4Network]:
        """Every network a node may have, lowest first."""
        return (self._network(number) for number in range(NETWORKS - 1))

    @property
    def of_gateways(self) -> IPv4Network:
        """Where Gateways get their addresses."""
        return self._network(NETWORKS - 1)

    def _network(self, number: int) -> IPv4Network:
        return IPv4Network((_LOOPBACK + ((self.block * NETWORKS + number) << 8), 24))


def network(cluster_folder: Path) -> PodNetwork:
    """The cluster's networks, reserved on first use."""
    block = _RESERVATIONS.reserve(cluster_folder, BLOCKS)
    if block is None:
        raise SandboxProblem(
            f"all {len(BLOCKS)} blocks of pod addresses are taken by other simulated clusters. "
            "End sandboxes of other checkouts with `inferfleet sandbox down`."
        )
    return PodNetwork(block)


def release(cluster_folder: Path) -> None:
    """Gives the cluster's networks back."""
    _RESERVATIONS.release(cluster_folder)


def with_networks(
    new: Iterable[dict[str, Any]], standing: Iterable[dict[str, Any]], network: PodNetwork
) -> list[dict[str, Any]]:
    """The new nodes, each with the lowest pod network that no standing node has.

    Not by a node's place in its cluster: then a node more in one pool would move the pods of the next.
    """
    taken = {node["spec"].get("podCIDR") for node in standing}
    free = (str(one) for one in network.of_nodes() if str(one) not in taken)
    placed = []
    for node in new:
        cidr = next(free, None)
        if cidr is None:
            raise SandboxProblem(f"a simulated cluster has at most {NETWORKS - 1} nodes. Lower nodeCount.")
        placed.append({**node, "spec": {**node["spec"], "podCIDR": cidr, "podCIDRs": [cidr]}})
    return placed


def holds(network: PodNetwork, node: dict[str, Any]) -> bool:
    """True when the node's pods get addresses of this network."""
    cidr = node["spec"].get("podCIDR")
    return cidr is not None and IPv4Network(cidr).subnet_of(network.whole)
