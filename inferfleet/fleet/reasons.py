"""Why a replica does not go to a cluster or pool, in words."""

from inferfleet.fleet.decisions import Reason
from inferfleet.fleet.ledger import Ledger
from inferfleet.fleet.packing import Packing
from inferfleet.fleet.shapes import Demand
from inferfleet.fleet.spot import Spot
from inferfleet.fleet.suitability import Suitability, cores, gib


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
