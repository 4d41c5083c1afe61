"""Networks between GPUs: which a pool needs beside its cluster's own, and where they lie in its block.

They belong to the cluster, not to the pool: pools of one kind share them, because a project has only few
networks (`quota/networks.py` has reports of how many), and objects inside the cluster name them once for
all pods.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from inferfleet.cloud.gke.facts.machine import Fabric
from inferfleet.tables.gke import LARGEST_MTU

# Where subnetworks lie among the 128 of a block: fixed, so that a new pool moves none.
_TCPX, _TCPXO, _GVNIC, _RDMA = 0, 4, 12, 16
# Networks of RDMA belong to one zone each: eight subnetworks for zones a to n.
_RAILS = 8
_ZONES = "abcdefghijklmn"


@dataclass(frozen=True)
class ExtraNetwork:
    """One network beside the cluster's own, and its subnetworks: (part of the name, slot in the block).

    `zone` is that of its RDMA profile. `mtu` is in bytes, None where the profile sets it.
    """

    part: str
    subnets: tuple[tuple[str, int], ...]
    mtu: int | None = None
    zone: str | None = None


def extra_networks(fabric: Fabric, zones: tuple[str, ...]) -> tuple[ExtraNetwork, ...]:
    """Return the networks of the extra interfaces of nodes in these zones, in their order on the node.

    For RDMA there are none unless the nodes are in exactly one zone for which the block has a place.
    """
    if fabric.kind in ("TCPX", "TCPXO"):
        return tuple(_tcp(fabric))
    if len(zones) != 1 or zones[0][-1] not in _ZONES or zones[0][-2] != "-":
        return ()
    return _rdma(fabric, zones[0])


def shared(networks: Iterable[ExtraNetwork]) -> tuple[ExtraNetwork, ...]:
    """Return each network once, with as many subnetworks as any pool needs of it, sorted by name."""
    largest: dict[str, ExtraNetwork] = {}
    for network in networks:
        known = largest.get(network.part, network)
        largest[network.part] = replace(network, subnets=max(known.subnets, network.subnets, key=len))
    return tuple(largest[part] for part in sorted(largest))


def _tcp(fabric: Fabric) -> Iterator[ExtraNetwork]:
    start = _TCPX if fabric.kind == "TCPX" else _TCPXO
    for number in range(fabric.networks):
        part = f"{fabric.kind.lower()}-{number}"
        yield ExtraNetwork(part, ((part, start + number),), mtu=fabric.mtu)


def _rdma(fabric: Fabric, zone: str) -> tuple[ExtraNetwork, ...]:
    """Return the network of the gVNIC first, as Google's guides have it, then that of the RDMA adapters."""
    letter = zone[-1]
    part = f"rdma-{letter}"
    first = _RDMA + _RAILS * _ZONES.index(letter)
    rails = tuple((f"{part}-{rail}", first + rail) for rail in range(min(fabric.interfaces - 1, _RAILS)))
    return (
        ExtraNetwork("gvnic", (("gvnic", _GVNIC),), mtu=LARGEST_MTU),
        ExtraNetwork(part, rails, zone=zone),
    )
