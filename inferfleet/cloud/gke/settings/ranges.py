"""Addresses of the stack's GKE clusters: a block for each, and what lies where in it.

A cluster keeps the block that the lock has; a new one takes the lowest free one. No two overlap, so that
networks can be peered later.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Network
from itertools import combinations

from inferfleet.cloud.gke.pool import GkeCluster
from inferfleet.documents.problems import Problem
from inferfleet.fleet.lock.lock import Lock

# All GKE clusters of the stack, sorted by name.
Clusters = Mapping[str, GkeCluster]
BLOCK = "block"  # in the lock's settings of a cluster
DEFAULT_PREFIX = 14
# 172.16.0.0/14 is left out: it holds the Docker bridge of every node (172.17.0.0/16).
_PICKED_FROM = ("10.0.0.0/8", "172.20.0.0/14", "172.24.0.0/13")
_PATH = "spec.cluster.gke.network.block"


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
        return self._part(4, 14, smallest=max(23, _prefix(self.block) + 9))

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
    known = _known(clusters, lock)
    needing = [name for name in _needing(clusters) if name not in known]
    free = _free([*known.values(), *_locked(lock).values()])
    return known | dict(zip(needing, free, strict=False))


def range_problems(clusters: Clusters, lock: Lock) -> Iterator[Problem]:
    """Yield blocks that overlap or are not used, clusters without a free block, zones the layout lacks."""
    yield from _overlaps(clusters, lock)
    yield from _unused(clusters)
    yield from _run_out(clusters, lock)
    yield from _zones(clusters)


def _overlaps(clusters: Clusters, lock: Lock) -> Iterator[Problem]:
    known = _known(clusters, lock)
    for first, second in combinations(known, 2):
        if not _spans_meet(_span(known[first]), _span(known[second])):
            continue
        # The problem is of a cluster that can be changed: a block of the lock is written in no document.
        name, other = (second, first) if _written(clusters[second]) else (first, second)
        what = f"block {known[name]} of cluster {name!r} overlaps {known[other]} of cluster {other!r}"
        yield _problem(name, what, "Write another block, or leave it out to have one picked")


def _unused(clusters: Clusters) -> Iterator[Problem]:
    needing = _needing(clusters)
    for name, cluster in clusters.items():
        if _written(cluster) and name not in needing:
            why = "its network exists already, and no pool has GPUDirect"
            yield _problem(name, f"block of cluster {name!r} is not used: {why}", "Remove it")


def _run_out(clusters: Clusters, lock: Lock) -> Iterator[Problem]:
    picked = blocks(clusters, lock)
    for name in _needing(clusters):
        if name not in picked:
            what = f"no block of size /{DEFAULT_PREFIX} is free for cluster {name!r}"
            yield _problem(name, what, "Write a smaller block (up to /16) on some of the clusters")


def _zones(clusters: Clusters) -> Iterator[Problem]:
    """Yield a problem for each RDMA pool in a single zone for which the layout has no networks."""
    for name in _needing(clusters):
        for pool in clusters[name].pools:
            if pool.fabric and len(pool.zones) == 1 and not (pool.networks or pool.claims_cards):
                (zone,) = pool.zones
                what = f"pool {pool.name!r} is in {zone}; RDMA networks are laid out for zones a to n"
                yield _problem(name, what, "Use another zone", path=pool.path("zones"))


def _problem(cluster: str, what: str, next_step: str, *, path: str = _PATH) -> Problem:
    return Problem(what, next_step, path, kind="InferenceCluster", key=cluster)


def _known(clusters: Clusters, lock: Lock) -> dict[str, str]:
    """Return the blocks that are not to be picked, by cluster in the order of names."""
    locked = _locked(lock)
    known = {name: _written(clusters[name]) or locked.get(name) for name in _needing(clusters)}
    return {name: block for name, block in known.items() if block}


def _needing(clusters: Clusters) -> list[str]:
    return [
        name
        for name, cluster in clusters.items()
        if cluster.gke.network.existing is None or any(pool.networks for pool in cluster.pools)
    ]


def _written(cluster: GkeCluster) -> str | None:
    return cluster.gke.network.block


def _locked(lock: Lock) -> Mapping[str, str]:
    return {
        name: locked.settings[BLOCK] for name, locked in lock.clusters.items() if BLOCK in locked.settings
    }


def _free(taken: list[str]) -> Iterator[str]:
    spans = [_span(block) for block in taken]
    for candidate, span in _candidates():
        if not any(_spans_meet(span, other) for other in spans):
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


def _prefix(block: str) -> int:
    return int(block.rpartition("/")[2])
