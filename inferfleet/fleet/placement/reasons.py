"""Why a replica does not go to a cluster or pool, and why one runs where it should not, in words."""

from collections.abc import Iterable, Iterator

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.fleet.decisions import Reason
from inferfleet.fleet.placement.ledger import Ledger, PoolKey
from inferfleet.fleet.placement.packing import Packing
from inferfleet.fleet.placement.soundness import Checked
from inferfleet.fleet.placement.suitability import Consequence, Objection, Suitability, cores, gib
from inferfleet.fleet.shapes import Demand
from inferfleet.fleet.spot import Spot


def reasons(
    spots: list[Spot], ledger: Ledger, *, suitability: Suitability, demand: Demand
) -> tuple[Reason, ...]:
    """Return one reason for each cluster that objects as a whole, and one for each pool of the others."""
    by_place: dict[tuple[str, str], Reason] = {}
    for spot in spots:
        whole = suitability.cluster_objection(spot.deployment, spot.cluster)
        objection = whole or suitability.objection(spot)
        pool = "" if whole else spot.pools[0][1]
        why = objection.why if objection else no_room(spot, ledger, demand) or "has room"
        by_place[spot.cluster, pool] = Reason(spot.cluster, pool, why)
    return tuple(sorted(by_place.values()))


def no_room(spot: Spot, ledger: Ledger, demand: Demand) -> str | None:
    """Return why one more replica does not fit on the spot, or None when it does."""
    if ledger.fits(spot):
        return None
    packing = ledger.packing((spot.cluster, spot.pools[0][1]))
    nodes = sum(count for _, count in packing.free)
    if not nodes:
        return "has no nodes"
    room = packing.room(demand.pod)
    if not packing.holds:
        return f"its {nodes} nodes have no room even for the replicas that are there"
    if room:
        spare = f" and {demand.spare} kept free for rollouts" if demand.spare else ""
        return f"room for {room} of the {demand.pods} pods of a replica{spare}"
    return f"{nodes} of {nodes} nodes full: {_short_of(packing, demand)}"


def _short_of(packing: Packing, demand: Demand) -> str:
    """Return in words what no node has enough of, GPUs before cores before memory."""
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
    return f"no node may run another pod (the emptiest may run {max(node.pods for node in nodes)} more)"


def placement_problems(
    documents: Documents, ledger: Ledger, *, suitability: Suitability, checked: Checked
) -> Iterator[Problem]:
    """Yield errors (replicas that cannot run on their pool) and warnings (replicas that should leave it)."""
    for pool in ledger.overfull():
        yield _overfull(documents, ledger, pool)
    for deployment in sorted(set(documents.deployments) - checked.invalid):
        for spot, replicas in ledger.replicas(deployment).items():
            objection = suitability.objection(spot)
            if objection is None or objection.consequence == Consequence.CORDON:
                continue
            elsewhere = reasons(
                suitability.spots(deployment),
                ledger,
                suitability=suitability,
                demand=checked.demands[deployment],
            )
            yield _cannot_leave(spot, replicas, objection=objection, elsewhere=elsewhere)


def _cannot_leave(
    spot: Spot, replicas: int, *, objection: Objection, elsewhere: tuple[Reason, ...]
) -> Problem:
    pools = [pool for _, pool in spot.pools]
    others = [
        reason for reason in elsewhere if reason.cluster != spot.cluster or reason.pool not in ("", *pools)
    ]
    number = f"{replicas} {'replica' if replicas == 1 else 'replicas'} of {spot.deployment}"
    return Problem(
        f"{number} cannot leave {spot.cluster}/{'-'.join(pools)} ({objection.why}): "
        + (listed(others) or "there is no other pool"),
        "Make room on another cluster or pool, or lower replicas",
        kind="ModelDeployment",
        key=spot.deployment,
        severity="error" if objection.consequence == Consequence.IMPOSSIBLE else "warning",
    )


def listed(reasons: Iterable[Reason]) -> str:
    """Return the reasons in one line: `east/h100: 2 of 2 nodes full: ...; west: cordoned`."""
    return "; ".join(
        f"{reason.cluster}{'/' if reason.pool else ''}{reason.pool}: {reason.why}" for reason in reasons
    )


def _overfull(documents: Documents, ledger: Ledger, pool: PoolKey) -> Problem:
    cluster, name = pool
    pools = documents.clusters[cluster].spec.node_pools
    index, document = next((index, document) for index, document in enumerate(pools) if document.name == name)
    replicas = ", ".join(f"{number} of {spot.deployment}" for spot, number in ledger.on_pool(pool).items())
    nodes = f"{document.size} {'node' if document.size == 1 else 'nodes'}"
    return Problem(
        f"pool {cluster}/{name} with {nodes} is too small for the replicas that are placed on it "
        f"({replicas}), and there is no room for them elsewhere",
        "Give it more nodes, make room on another pool, or lower replicas",
        f"spec.nodePools[{index}]",
        kind="InferenceCluster",
        key=cluster,
    )
