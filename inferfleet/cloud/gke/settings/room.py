"""Whether a cluster's block has addresses for the pods of all nodes that its pools can have.

GKE gives each node a range of its own out of the one for pods, at least twice as large as the pods it may
have, and makes no node for which none is left. Ranges that stay unused because nodes of several sizes came
and went, and nodes that an upgrade has besides, are not counted.
"""

from collections.abc import Container, Iterator, Mapping
from ipaddress import IPv4Network

from inferfleet.cloud.gke.facts.sources import PODS_PER_NODE
from inferfleet.cloud.gke.pool import GkeCluster
from inferfleet.cloud.gke.settings.ranges import Ranges
from inferfleet.cloud.values import SYSTEM_POOL
from inferfleet.documents.kinds.gke import LARGEST_BLOCK
from inferfleet.documents.problems import Problem, Severity

# The smallest number of Google's table, and what nodes of the system pool have: GKE's default.
_FEWEST, _DEFAULT = 8, 110
_PATH = "spec.cluster.gke.network.block"
# The number of nodes, and the pods that each may have, by pool.
Nodes = Mapping[str, tuple[int, int]]


def node_range(pods: int) -> int:
    """Return the prefix of the range that GKE gives a node of so many pods: 24 for 65 to 128 of them."""
    return 32 - (2 * max(pods, _FEWEST) - 1).bit_length()


def room_problems(
    clusters: Mapping[str, GkeCluster],
    blocks: Mapping[str, str],
    system_nodes: Mapping[str, int],
    made: Container[str],
) -> Iterator[Problem]:
    """Yield clusters in networks of their own whose pools can have more nodes than addresses.

    It is an error where nodes of fixed number alone do not fit and the cluster is not `made` yet.
    `system_nodes` holds the maximum of each system pool.
    """
    for name, cluster in clusters.items():
        if cluster.gke.network.existing or name not in blocks or cluster.document.spec.state == "abandoned":
            continue
        pods = Ranges(blocks[name]).pods
        per_node = {pool.name: pool.gke_class.document.spec.node.pods for pool in cluster.pools}
        fixed = {pool.name: (pool.fixed_size or 0, per_node[pool.name]) for pool in cluster.pools}
        most = {pool.name: (pool.document.size, per_node[pool.name]) for pool in cluster.pools}
        most[SYSTEM_POOL] = (system_nodes[name], _DEFAULT)
        if _taken(fixed) > _size(pods):
            severity: Severity = "warning" if name in made else "error"
            yield _problem(cluster, blocks[name], fixed, "its pools of fixed size are", severity)
        elif _taken(most) > _size(pods):
            yield _problem(cluster, blocks[name], most, "its pools at their maxima are", "warning")


def _size(network: str) -> int:
    return IPv4Network(network).num_addresses


def _taken(nodes: Nodes) -> int:
    return sum(count << (32 - node_range(pods)) for count, pods in nodes.values())


def _problem(cluster: GkeCluster, block: str, nodes: Nodes, which: str, severity: Severity) -> Problem:
    pods, most = Ranges(block).pods, max(pods for count, pods in nodes.values() if count)
    each = node_range(most)
    listed = ", ".join(f"{name} {count}" for name, (count, _) in nodes.items() if count)
    room, total = _size(pods) >> (32 - each), sum(count for count, _ in nodes.values())
    what = (
        f"cluster {cluster.name!r} has {pods} of block {block} for pods, which is {room} nodes of {most} "
        f"pods (a /{each} each); {which} {total}: {listed} ({PODS_PER_NODE})"
    )
    return Problem(
        what, _next_step(nodes), _PATH, kind="InferenceCluster", key=cluster.name, severity=severity
    )


def _next_step(nodes: Nodes) -> str:
    """Return the block that is large enough, half of which is for pods; that of a cluster never changes."""
    prefix = 32 - (2 * _taken(nodes) - 1).bit_length()
    fewer = "fewer nodes, or node.pods: 64 or less in the class, or make another cluster"
    if prefix < LARGEST_BLOCK:
        return f"Write {fewer}; no block is large enough"
    return f"Write {fewer}; a new cluster can have a block of /{prefix}"
