"""Do the zones of a pool agree with its size, and with what stands in one zone."""

from collections.abc import Iterator

from inferfleet.gke.facts.machine import Fabric
from inferfleet.gke.facts.sources import COMPACT, GPU_ZONES, NODE_POOL_API, RESERVATIONS, TOOLKIT
from inferfleet.gke.recipes.findings import Finding, PoolRecipe, PoolRule, either


def _one_zone(pool: PoolRecipe) -> Iterator[Finding]:
    if len(pool.zones) == 1:
        return
    there = f"has zones {', '.join(pool.zones)}" if pool.zones else "names no zone"
    for why, source in _reasons(pool):
        yield Finding("rule", pool.path("zones"), f"{there}; {why}", source, "Name exactly one zone")


def _reasons(pool: PoolRecipe) -> Iterator[tuple[str, str]]:
    recipe, named = pool.recipe, pool.pool.capacity.reservation
    if fabric := _fabric(pool):
        size = f"MTU {fabric.mtu}" if fabric.mtu else f"{fabric.interfaces} interfaces in them"
        needs = f"{fabric.networks} extra networks, {size}, one zone"
        yield f"{recipe.machine.type} with {fabric.kind} needs {needs}", TOOLKIT
    if recipe.gke.compact_placement:
        yield f"nodes that are placed compactly (class {recipe.name}) stand in one", COMPACT
    if named and pool.pool.capacity.model == "Reservation":
        yield f"reservation {named.name} stands in one", RESERVATIONS


def _fabric(pool: PoolRecipe) -> Fabric | None:
    """The network by which its nodes reach each other's GPUs, where the class asks for it."""
    fabric = pool.recipe.machine.fabric
    return fabric if fabric and fabric.kind == pool.recipe.gke.networking.gpu_direct else None


def _even(pool: PoolRecipe) -> Iterator[Finding]:
    count, zones = pool.pool.node_count, len(pool.zones)
    if count is None:
        return
    if not zones:
        what = f"has nodeCount {count} and no zones; Google counts per zone, so they must be known"
        next_step = "Name its zones, or write maxNodeCount"
        yield Finding("rule", pool.path("nodeCount"), what, NODE_POOL_API, next_step)
    elif over := count % zones:
        what = f"has nodeCount {count} over {zones} zones; Google counts per zone, so it must divide evenly"
        evenly = [one for one in (count - over, count - over + zones) if one > 0]
        next_step = f"Write nodeCount: {either(evenly)}, or other zones"
        yield Finding("rule", pool.path("nodeCount"), what, NODE_POOL_API, next_step)


def _left_to_google(pool: PoolRecipe) -> Iterator[Finding]:
    if pool.zones or pool.pool.node_count is not None or any(_reasons(pool)):
        return
    gpu, region = pool.recipe.gke.accelerator.type, pool.gke.region
    what = f"names no zone; GKE picks some of {region}, where not all may have {gpu}"
    yield Finding("doubt", pool.path("zones"), what, GPU_ZONES, "Name zones that have it")


def _shared_vpc(pool: PoolRecipe) -> Iterator[Finding]:
    """No source says that GKE joins networks of two projects on one node, or that it does not."""
    existing, fabric = pool.gke.network.existing, _fabric(pool)
    if fabric and existing and existing.project not in (None, pool.gke.project):
        what = (
            f"stands in network {existing.name} of project {existing.project}, but its {fabric.networks} "
            f"extra networks for {fabric.kind} are made in project {pool.gke.project}"
        )
        next_step = "Try it with one node first, or use a network of the cluster's project"
        yield Finding("doubt", "spec.cluster.gke.network.existing.project", what, "", next_step)


RULES: tuple[PoolRule, ...] = (_one_zone, _even, _left_to_google, _shared_vpc)
