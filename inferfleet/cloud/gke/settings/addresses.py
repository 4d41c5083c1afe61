"""Addresses of the stack's GKE clusters: a block for each, what lies where in it, and is it large enough.

A cluster keeps the block that the lock has; a new one takes the lowest free one. No two overlap, so that
networks can be peered later.

GKE gives each node a range of its own out of the one for pods, at least twice as large as the pods it may
have, and makes no node for which none is left. Ranges that stay unused because nodes of several sizes came
and went, and nodes that an upgrade has besides, are not counted.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Network
from itertools import combinations
from typing import Any

from inferfleet.cloud.gke.described import DescribedCluster
from inferfleet.cloud.gke.facts.sources import PODS_PER_NODE
from inferfleet.cloud.values import SYSTEM_POOL, CloudCluster
from inferfleet.documents.kinds.gke import LARGEST_BLOCK
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.problems import Problem, Severity, cluster_problem
from inferfleet.fleet.lock.lock import Lock

# All GKE clusters of the stack, sorted by name.
Clusters = Mapping[str, DescribedCluster]
BLOCK = "block"  # in the lock's settings of a cluster
DEFAULT_PREFIX = 14
# 172.16.0.0/14 is left out: it holds the Docker bridge of every node (172.17.0.0/16).
_PICKED_FROM = ("10.0.0.0/8", "172.20.0.0/14", "172.24.0.0/13")
_PATH = "spec.cluster.gke.network.block"
# The smallest number of Google's table, and what nodes of the system pool have: GKE's default.
_FEWEST, _DEFAULT = 8, 110
# Of which GKE takes where a cluster names none.
_ZONES_OF_REGION = 3
# The number of nodes, and the pods that each may have, by pool.
Nodes = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Ranges:
    """The ranges that one cluster's block is cut into.

    Half is for pods, a quarter for networks between GPUs, a sixteenth for nodes, one for services, the rest
    for load balancers. A default block holds 512 nodes of 110 pods.
    """

    block: str

    @property
    def pods(self) -> str:
        return self._part(1, 0)

    @property
    def nodes(self) -> str:
        return self._part(4, 12)

    @property
    def services(self) -> str:
        """Return the range of Services, which has at most 16,384 addresses."""
        return self._part(4, 13, smallest=18)

    @property
    def proxies(self) -> str:
        """Return the range of the load balancers' Envoys: /23, as Google advises; less in a small block."""
        prefix = int(self.block.rpartition("/")[2])
        return self._part(4, 14, smallest=max(23, prefix + 9))

    def between_gpus(self, slot: int) -> str:
        """Return the range of subnetwork `slot` (0..127) between GPUs: an address for almost every node."""
        return self._part(9, 256 + slot)

    def _part(self, deeper: int, place: int, smallest: int = 0) -> str:
        """Return the `place`th part of the block, `deeper` bits down, or the /`smallest` at its start."""
        network = IPv4Network(self.block)
        prefix = network.prefixlen + deeper
        first = int(network.network_address) + (place << (32 - prefix))
        return str(IPv4Network((first, max(prefix, smallest))))


def blocks(clusters: Clusters, lock: Lock) -> dict[str, str]:
    """Return the block of every cluster that needs one: as written, as in the lock, or the lowest free one.

    A cluster for which none is left has no entry; `range_problems` reports it.
    """
    block_by_cluster = _blocks_by_cluster(clusters, lock)
    needing = [name for name in _needing(clusters) if name not in block_by_cluster]
    free = _free([*block_by_cluster.values(), *_locked(lock).values()])
    return block_by_cluster | dict(zip(needing, free, strict=False))


def settings_by_answer(
    cluster: CloudCluster, document: InferenceCluster, answer: Mapping[str, Any]
) -> Mapping[str, Any] | Problem:
    """Return the lock's settings of a cluster that exists, with the block that it was made with.

    Google answers the range of its pods, the first half of the block. In a network of somebody else that is
    no part of it, and only the document can say which it is.
    """
    if BLOCK not in cluster.settings:
        return cluster.settings
    name = cluster.cluster
    written = document.spec.cluster.gke.network.block if document.spec.cluster.gke else None
    if cluster.proxies is None:
        if written:
            return cluster.settings
        what = f"Google does not say which block of addresses the networks between GPUs of {name!r} are in"
        return _problem(name, what, "Write it, as their subnetworks in Google Cloud have it")
    pods = str(answer.get("clusterIpv4Cidr"))
    block = _block_around(pods)
    if block is None:
        what = f"pods of cluster {name!r} have {pods} in Google Cloud, which is no first half of a block"
        return _problem(name, what, "Restore placement.lock from version control")
    if written and written != block:
        what = f"block {written} of cluster {name!r} is not {block}, which it was made with in Google Cloud"
        return _problem(name, what, f"Write {block}")
    return {**cluster.settings, BLOCK: block}


def _block_around(pods: str) -> str | None:
    """Return the block whose range for pods this is, None where there is none."""
    try:
        block = str(IPv4Network(pods).supernet())
    except ValueError:
        return None
    return block if Ranges(block).pods == pods else None


def range_problems(clusters: Clusters, lock: Lock) -> Iterator[Problem]:
    """Yield blocks that overlap or are not used, clusters without a free block, zones the layout lacks."""
    yield from _overlap_problems(clusters, lock)
    yield from _unused_block_problems(clusters)
    yield from _missing_block_problems(clusters, lock)
    yield from _zone_problems(clusters)


def _overlap_problems(clusters: Clusters, lock: Lock) -> Iterator[Problem]:
    block_by_cluster = _blocks_by_cluster(clusters, lock)
    for first, second in combinations(block_by_cluster, 2):
        if not _spans_meet(_span(block_by_cluster[first]), _span(block_by_cluster[second])):
            continue
        # The problem is of a cluster that can be changed: a block of the lock is written in no document.
        name, other_cluster = (second, first) if clusters[second].gke.network.block else (first, second)
        what = f"block {block_by_cluster[name]} of cluster {name!r} overlaps "
        what += f"{block_by_cluster[other_cluster]} of cluster {other_cluster!r}"
        yield _problem(name, what, "Write another block, or leave it out to have one picked")


def _unused_block_problems(clusters: Clusters) -> Iterator[Problem]:
    needing = _needing(clusters)
    for name, cluster in clusters.items():
        if cluster.gke.network.block and name not in needing:
            why = "its network exists already, and no pool has GPUDirect"
            yield _problem(name, f"block of cluster {name!r} is not used: {why}", "Remove it")


def _missing_block_problems(clusters: Clusters, lock: Lock) -> Iterator[Problem]:
    picked = blocks(clusters, lock)
    for name in _needing(clusters):
        if name not in picked:
            what = f"no block of size /{DEFAULT_PREFIX} is free for cluster {name!r}"
            yield _problem(name, what, "Write a smaller block (up to /16) on some of the clusters")


def _zone_problems(clusters: Clusters) -> Iterator[Problem]:
    """Yield a problem for each RDMA pool in a single zone for which the layout has no networks."""
    for name in _needing(clusters):
        for pool in clusters[name].pools:
            if pool.gke_class.fabric and len(pool.zones) == 1 and not (pool.interfaces or pool.claims_cards):
                (zone,) = pool.zones
                what = f"pool {pool.name!r} is in {zone}; RDMA networks are laid out for zones a to n"
                yield _problem(name, what, "Use another zone", path=pool.path("zones"))


def _problem(cluster: str, what: str, next_step: str, *, path: str = _PATH) -> Problem:
    return cluster_problem(cluster, what, next_step, path)


def _blocks_by_cluster(clusters: Clusters, lock: Lock) -> dict[str, str]:
    """Return the blocks that are not to be picked, by cluster in the order of names."""
    locked = _locked(lock)
    block_by_cluster = {
        name: clusters[name].gke.network.block or locked.get(name) for name in _needing(clusters)
    }
    return {name: block for name, block in block_by_cluster.items() if block}


def _needing(clusters: Clusters) -> list[str]:
    return [
        name
        for name, cluster in clusters.items()
        if cluster.gke.network.existing is None or any(pool.networks for pool in cluster.pools)
    ]


def _locked(lock: Lock) -> Mapping[str, str]:
    return {
        name: locked.settings[BLOCK] for name, locked in lock.clusters.items() if BLOCK in locked.settings
    }


def _free(taken: list[str]) -> Iterator[str]:
    spans = [_span(block) for block in taken]
    for candidate, span in _candidates():
        if not any(_spans_meet(span, used_span) for used_span in spans):
            yield candidate


@cache
def _candidates() -> tuple[tuple[str, tuple[int, int]], ...]:
    candidates = (
        str(block)
        for space in _PICKED_FROM
        for block in IPv4Network(space).subnets(new_prefix=DEFAULT_PREFIX)
    )
    return tuple((block, _span(block)) for block in candidates)


# Numbers, because a fleet of fifty clusters asks thousands of times and IPv4Network is slow.
def _span(block: str) -> tuple[int, int]:
    network = IPv4Network(block)
    first = int(network.network_address)
    return first, first + network.num_addresses - 1


def _spans_meet(first: tuple[int, int], second: tuple[int, int]) -> bool:
    return first[0] <= second[1] and second[0] <= first[1]


def node_range(pods: int) -> int:
    """Return the prefix of the range that GKE gives a node of so many pods: 24 for 65 to 128 of them."""
    return 32 - (2 * max(pods, _FEWEST) - 1).bit_length()


def space_problems(
    clusters: Mapping[str, DescribedCluster],
    blocks: Mapping[str, str],
    system_nodes: Mapping[str, int],
    existing_clusters: Container[str],
) -> Iterator[Problem]:
    """Yield clusters in networks of their own whose pools can have more nodes than addresses.

    It is an error where nodes of fixed number alone do not fit and the cluster is none of
    `existing_clusters`.
    `system_nodes` holds the maximum of each system pool.
    """
    for name, cluster in clusters.items():
        if cluster.gke.network.existing or name not in blocks or cluster.document.spec.state == "abandoned":
            continue
        pods = Ranges(blocks[name]).pods
        short = pods_shortage(pods, *nodes_of(cluster, system_nodes[name]))
        if short:
            yield cluster_problem(
                name,
                f"cluster {name!r} has {pods} of block {blocks[name]} for pods, {short.words}",
                _next_step(short.nodes),
                _PATH,
                severity="warning" if name in existing_clusters else short.severity,
            )


def nodes_of(cluster: DescribedCluster, system_nodes: int) -> tuple[Nodes, Nodes]:
    """Return the nodes that pools have at least, and at their maxima, `system_nodes` for the system pool.

    That begins with a node in each zone, as the pool does that Google makes with a cluster.
    """
    per_node = {pool.name: pool.gke_class.document.spec.node.pods for pool in cluster.pools}
    fixed = {pool.name: (pool.fixed_size or 0, per_node[pool.name]) for pool in cluster.pools}
    most = {pool.name: (pool.document.size, per_node[pool.name]) for pool in cluster.pools}
    of_system = cluster.gke.system_pool.max_pods_per_node or _DEFAULT
    fixed[SYSTEM_POOL] = (len(cluster.gke.zones) or _ZONES_OF_REGION, of_system)
    most[SYSTEM_POOL] = (max(system_nodes, fixed[SYSTEM_POOL][0]), of_system)
    return fixed, most


@dataclass(frozen=True)
class Shortage:
    """A range for pods that is too small for `nodes`, in words that follow what has the range."""

    severity: Severity
    nodes: Nodes
    words: str


def pods_shortage(pods: str, fixed: Nodes, most: Nodes) -> Shortage | None:
    """Return what is short of a range for pods: an error where nodes of fixed number alone do not fit, a
    warning where pools at their maxima do not, None where all do.
    """
    if _taken(fixed) > _size(pods):
        return Shortage("error", fixed, _too_small(pods, fixed, "it has at least"))
    if _taken(most) > _size(pods):
        return Shortage("warning", most, _too_small(pods, most, "its pools at their maxima are"))
    return None


def _size(network: str) -> int:
    return IPv4Network(network).num_addresses


def _taken(nodes: Nodes) -> int:
    return sum(count << (32 - node_range(pods)) for count, pods in nodes.values())


def _too_small(pods: str, nodes: Nodes, which: str) -> str:
    most = max(pods for count, pods in nodes.values() if count)
    each = node_range(most)
    space = _size(pods) >> (32 - each)
    return (
        f"which is {space} node{'' if space == 1 else 's'} of {most} pods (a /{each} each); {which} "
        f"{in_words(nodes)} ({PODS_PER_NODE})"
    )


def in_words(nodes: Nodes) -> str:
    """Return the nodes of all pools, and of each: `600: a 300, b 300`."""
    listed = ", ".join(f"{name} {count}" for name, (count, _) in nodes.items() if count)
    return f"{sum(count for count, _ in nodes.values())}: {listed}"


def _next_step(nodes: Nodes) -> str:
    """Return the block that is large enough, half of which is for pods; that of a cluster never changes."""
    prefix = 32 - (2 * _taken(nodes) - 1).bit_length()
    fewer = "fewer nodes, or node.pods: 64 or less in the class, or make another cluster"
    if prefix < LARGEST_BLOCK:
        return f"Write {fewer}; no block is large enough"
    return f"Write {fewer}; a new cluster can have a block of /{prefix}"
