"""Why a replica does not go to a cluster or pool, and why one stands where it should not, in words."""

from collections.abc import Iterable, Iterator

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.fleet.decisions import Reason
from inferfleet.fleet.placement.ledger import Ledger, PoolKey
from inferfleet.fleet.placement.packing import Packing
from inferfleet.fleet.placement.soundness import Sound
from inferfleet.fleet.placement.suitability import Effect, Objection, Suitability, cores, gib
from inferfleet.fleet.shapes import Demand
from inferfleet.fleet.spot import Spot


def reasons(
    spots: list[Spot], ledger: Ledger, *, suitability: Suitability, demand: Demand
) -> tuple[Reason, ...]:
    """One for each cluster that objects as a whole, else one for each of its pools."""
    found: dict[tuple[str, str], Reason] = {}
    for spot in spots:
        whole = suitability.cluster_objection(spot.deployment, spot.cluster)
        objection = whole or suitability.objection(spot)
        pool = "" if whole else spot.pools[0][1]
        why = objection.why if objection else no_room(spot, ledger, demand) or "has room"
        found[spot.cluster, pool] = Reason(spot.cluster, pool, why)
    return tuple(sorted(found.values()))


def no_room(spot: Spot, ledger: Ledger, demand: Demand) -> str | None:
    """None when one more replica fits."""
    if ledger.fits(spot):
        return None
    packing = ledger.packing((spot.cluster, spot.pools[0][1]))
    nodes = sum(count for _, count in packing.free)
    if not nodes:
        return "has no nodes"
    room = packing.room(demand.pod)
    if not packing.holds:
        return f"its {nodes} nodes cannot hold what already stands there"
    if room:
        spare = " and 1 kept free for rollouts" if demand.spare else ""
        return f"room for {room} of the {demand.pods} pods of a replica{spare}"
    return f"{nodes} of {nodes} nodes full: {_short_of(packing, demand)}"


def _short_of(packing: Packing, demand: Demand) -> str:
    """The first resource of which no node has enough, GPUs before cores before memory."""
    pod = demand.pod
    nodes = [node for node, _ in packing.free]
    free = max(node.gpus for node in nodes)
    if free < pod.gpus:
        return f"{free} free {'GPU' if free == 1 else 'GPUs'} on the emptiest node, needs {pod.gpus}"
    nodes = [node for node in nodes if node.gpus >= pod.gpus]
    free = max(node.cpu for node in nodes)
    if free < pod.cpu:
        return f"{cores(free)} free cores beside enough GPUs, needs {cores(pod.cpu)}"
    nodes = [node for node in nodes if node.cpu >= pod.cpu]
    free = max(node.memory for node in nodes)
    if free < pod.memory:
        return f"{gib(free)} of free memory beside enough GPUs, needs {gib(pod.memory)}"
    return f"no node takes another pod (at most {max(node.pods for node in nodes)} more)"


def remarks(
    documents: Documents, ledger: Ledger, *, suitability: Suitability, checked: Sound
) -> Iterator[Problem]:
    """Errors (cannot run there, pool too small) and warnings (run, though not wanted there)."""
    for pool in ledger.overfull():
        yield _overfull(documents, ledger, pool)
    for deployment in sorted(set(documents.deployments) - checked.invalid):
        for spot, replicas in ledger.replicas(deployment).items():
            objection = suitability.objection(spot)
            if objection is None or objection.effect == Effect.CORDON:
                continue
            found = reasons(
                suitability.spots(deployment),
                ledger,
                suitability=suitability,
                demand=checked.demands[deployment],
            )
            yield _stays(spot, replicas, objection=objection, elsewhere=found)


def _stays(spot: Spot, replicas: int, *, objection: Objection, elsewhere: tuple[Reason, ...]) -> Problem:
    pools = [pool for _, pool in spot.pools]
    others = [one for one in elsewhere if one.cluster != spot.cluster or one.pool not in ("", *pools)]
    stay = f"{replicas} {'replica' if replicas == 1 else 'replicas'} of {spot.deployment}"
    return Problem(
        f"{stay} cannot leave {spot.cluster}/{'-'.join(pools)} ({objection.why}): "
        + (listed(others) or "there is no other pool"),
        "Make room on another cluster or pool, or ask for fewer replicas",
        kind="ModelDeployment",
        key=spot.deployment,
        severity="error" if objection.effect == Effect.IMPOSSIBLE else "warning",
    )


def listed(reasons: Iterable[Reason]) -> str:
    """Reasons in one line: `east/h100: 2 of 2 nodes full: ...; west: cordoned`."""
    return "; ".join(f"{one.cluster}{'/' if one.pool else ''}{one.pool}: {one.why}" for one in reasons)


def _overfull(documents: Documents, ledger: Ledger, pool: PoolKey) -> Problem:
    cluster, name = pool
    pools = documents.clusters[cluster].spec.node_pools
    index, document = next((index, one) for index, one in enumerate(pools) if one.name == name)
    standing = ", ".join(f"{number} of {spot.deployment}" for spot, number in ledger.standing(pool).items())
    return Problem(
        f"pool {cluster}/{name} of {document.size} nodes is too small for the replicas that stand in it "
        f"({standing}), and they find no room elsewhere",
        "Give it more nodes, make room on another pool, or ask for fewer replicas",
        f"spec.nodePools[{index}]",
        kind="InferenceCluster",
        key=cluster,
    )
