"""Networks between GPUs: which a pool needs, and where its nodes' extra interfaces stand.

They belong to the cluster, not to the pool: pools of one kind share them, because a project has only few
networks (15 unless Google grants more), and objects inside the cluster name them once for all pods.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.gke_cluster import Gke
from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.api.kinds.node_pool import NodePool
from inferfleet.gke.facts.machine import Fabric
from inferfleet.gke.facts.machines import machine_of
from inferfleet.profiles.gke import LARGEST_MTU

# Where subnetworks lie among the 128 of a block: fixed, so that a new pool moves none.
_TCPX, _TCPXO, _GVNIC, _RDMA = 0, 4, 12, 16
# Networks of RDMA belong to one zone each: eight subnetworks for zones a to n.
_RAILS = 8
_ZONES = "abcdefghijklmn"


@dataclass(frozen=True)
class Extra:
    """One network and its subnetworks: (part of the name, slot in the block).

    `zone` is that of its RDMA profile. `mtu` is in bytes, None where the profile sets it.
    """

    part: str
    subnets: tuple[tuple[str, int], ...]
    mtu: int | None = None
    zone: str | None = None


def of_pool(documents: Documents, cluster: InferenceCluster, pool: NodePool) -> tuple[Extra, ...]:
    """The networks of a pool's extra interfaces, in their order on the node; none without GPUDirect.

    Also none where the recipe is impossible: another machine, or RDMA without its one zone.
    """
    fabric = _fabric(documents, pool)
    if fabric is None:
        return ()
    if fabric.kind in ("TCPX", "TCPXO"):
        return tuple(_tcp(fabric))
    zone = _only_zone(cluster, pool)
    return _rdma(fabric, zone) if zone and zone[-1] in _ZONES and zone[-2] == "-" else ()


def shared(needed: Iterable[tuple[Extra, ...]]) -> tuple[Extra, ...]:
    """Each network once, with as many subnetworks as the pool that needs most of them, sorted by name."""
    found: dict[str, Extra] = {}
    for extra in (one for pool in needed for one in pool):
        known = found.get(extra.part, extra)
        found[extra.part] = replace(extra, subnets=max(known.subnets, extra.subnets, key=len))
    return tuple(found[part] for part in sorted(found))


def zone_without_place(documents: Documents, cluster: InferenceCluster, pool: NodePool) -> str | None:
    """The zone of a pool with RDMA for which the block has no place."""
    fabric, zone = _fabric(documents, pool), _only_zone(cluster, pool)
    if fabric is None or fabric.kind != "RDMA" or zone is None:
        return None
    return None if of_pool(documents, cluster, pool) else zone


def zones_of(gke: Gke, pool: NodePool) -> tuple[str, ...]:
    """Where the nodes of a pool stand, sorted; empty when Google chooses."""
    return tuple(sorted(pool.zones or gke.zones))


def _fabric(documents: Documents, pool: NodePool) -> Fabric | None:
    inference_class = documents.classes[pool.class_name]
    provisioning, machine = inference_class.spec.provisioning, machine_of(inference_class)
    if provisioning is None or provisioning.gke is None or machine is None or machine.fabric is None:
        return None
    wanted = provisioning.gke.networking.gpu_direct
    return machine.fabric if machine.fabric.kind == wanted else None


def _only_zone(cluster: InferenceCluster, pool: NodePool) -> str | None:
    zones = zones_of(cluster.spec.cluster.gke, pool) if cluster.spec.cluster.gke else ()
    return zones[0] if len(zones) == 1 else None


def _tcp(fabric: Fabric) -> Iterable[Extra]:
    start = _TCPX if fabric.kind == "TCPX" else _TCPXO
    for number in range(fabric.networks):
        part = f"{fabric.kind.lower()}-{number}"
        yield Extra(part, ((part, start + number),), mtu=fabric.mtu)


def _rdma(fabric: Fabric, zone: str) -> tuple[Extra, ...]:
    """The interface of gVNIC comes first, as Google's guides have it, then one per RDMA adapter."""
    letter = zone[-1]
    part = f"rdma-{letter}"
    first = _RDMA + _RAILS * _ZONES.index(letter)
    rails = tuple((f"{part}-{rail}", first + rail) for rail in range(min(fabric.interfaces - 1, _RAILS)))
    return Extra("gvnic", (("gvnic", _GVNIC),), mtu=LARGEST_MTU), Extra(part, rails, zone=zone)
