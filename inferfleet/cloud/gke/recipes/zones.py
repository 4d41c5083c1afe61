"""Rules of zones: do they fit the pool's size, and what is limited to a single zone."""

from collections.abc import Iterator

from inferfleet.cloud.gke.facts.sources import (
    COMPACT,
    GPU_ZONES,
    NODE_POOL_API,
    RDMA_ZONE,
    RESERVATIONS,
    TOOLKIT,
)
from inferfleet.cloud.gke.pool import GkePool
from inferfleet.cloud.gke.recipes.findings import Finding, PoolRule, either


def _one_zone(pool: GkePool) -> Iterator[Finding]:
    if len(pool.zones) == 1:
        return
    zones = f"has zones {', '.join(pool.zones)}" if pool.zones else "names no zone"
    for why, source in _reasons(pool):
        yield Finding("rule", pool.path("zones"), f"{zones}; {why}", source, "Name exactly one zone")


def _reasons(pool: GkePool) -> Iterator[tuple[str, str]]:
    named = pool.document.capacity.reservation
    if pool.claims_cards:
        yield "networks that GKE makes for RDMA (acceleratorNetworkProfile: Auto) are of one zone", RDMA_ZONE
    elif fabric := pool.fabric:
        size = f"MTU {fabric.mtu}" if fabric.mtu else f"{fabric.interfaces} interfaces in them"
        needs = f"{fabric.networks} extra networks, {size}, one zone"
        yield f"{pool.machine.type} with {fabric.kind} needs {needs}", TOOLKIT
    if pool.recipe.compact_placement:
        yield f"nodes with compact placement (class {pool.gke_class.name}) are all in one zone", COMPACT
    if named and pool.capacity_model == "Reservation":
        yield f"reservation {named.name} is in one zone", RESERVATIONS


def _even(pool: GkePool) -> Iterator[Finding]:
    count, zones = pool.document.node_count, len(pool.zones)
    if count is None:
        return
    if not zones:
        what = f"has nodeCount {count} and no zones; Google counts per zone, so they must be known"
        next_step = "Name its zones, or write maxNodeCount"
        yield Finding("rule", pool.path("nodeCount"), what, NODE_POOL_API, next_step)
    elif over := count % zones:
        what = f"has nodeCount {count} over {zones} zones; Google counts per zone, so it must divide evenly"
        evenly = [size for size in (count - over, count - over + zones) if size > 0]
        next_step = f"Write nodeCount: {either(evenly)}, or other zones"
        yield Finding("rule", pool.path("nodeCount"), what, NODE_POOL_API, next_step)


def _left_to_google(pool: GkePool) -> Iterator[Finding]:
    if pool.zones or pool.document.node_count is not None or any(_reasons(pool)):
        return
    gpu, region = pool.recipe.accelerator, pool.gke.region
    what = f"names no zone; GKE picks some of {region}, where not all may have "
    what += gpu.type if gpu else pool.machine.type
    yield Finding("doubt", pool.path("zones"), what, GPU_ZONES, "Name zones that have it")


RULES: tuple[PoolRule, ...] = (_one_zone, _even, _left_to_google)
