"""Why a replica does not go to a cluster or pool, and why one runs where it should not, in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.workers import Position
from inferfleet.api.wording import listing, shown
from inferfleet.fleet.decisions import Reason
from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.packing import fit
from inferfleet.fleet.placement.rooms import More
from inferfleet.fleet.placement.sizes import HUGE_PAGES, cores, gib, gpus, needed
from inferfleet.fleet.placement.suitability import Suitability, strongest
from inferfleet.fleet.roles import roles_of
from inferfleet.fleet.selectors.cel import FALSE
from inferfleet.fleet.shapes import Demand, Node, PoolKey

# How near a reason is: a pool does not suit, a quota or spread refuses it, or room alone is missing; 0 for a
# whole cluster.
_CLASS, _POLICY, _ROOM = 1, 2, 3


class Reasons(Mapping[str, tuple[Reason, ...]]):
    """Why replicas of each deployment do not run on the other clusters and pools.

    They are worked out when somebody asks: of a large fleet there are millions.
    """

    def __init__(self, deployments: Iterable[str], why: "Why") -> None:
        self._deployments = tuple(sorted(deployments))
        self._why = why

    def __getitem__(self, deployment: str) -> tuple[Reason, ...]:
        if deployment not in self._deployments:
            raise KeyError(deployment)
        return tuple(
            reason
            for reason in self._why.not_there(deployment)
            if not self._why.runs_there(deployment, reason)
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._deployments)

    def __len__(self) -> int:
        return len(self._deployments)


class Lacking(Sequence[Reason]):
    """The reasons of a deployment without a place, worked out when somebody looks at them."""

    def __init__(self, deployment: str, why: "Why") -> None:
        self._deployment = deployment
        self._why = why

    @cached_property
    def _reasons(self) -> tuple[Reason, ...]:
        return self._why.not_there(self._deployment)

    def __getitem__(self, place: Any) -> Any:
        return self._reasons[place]

    def __len__(self) -> int:
        return len(self._reasons)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._reasons == tuple(other)

    def __hash__(self) -> int:
        return hash(self._reasons)

    def __repr__(self) -> str:
        return repr(self._reasons)


class Against(NamedTuple):
    """What a pool has against a role: the texts of a Reason, and how near it is."""

    why: str
    short: str
    near: int


_HAS_ROOM = Against("has room", "have room", _ROOM)


class Why:
    """Reasons against clusters and pools in a finished ledger."""

    def __init__(
        self, documents: Documents, ledger: Ledger, suitability: Suitability, candidates: Candidates
    ) -> None:
        self._documents = documents
        self._ledger = ledger
        self._suitability = suitability
        self._candidates = candidates

    def not_there(self, deployment: str) -> tuple[Reason, ...]:
        """Return one reason for each cluster that objects as a whole, and one for each pool of the others."""
        roles = roles_of(self._documents.deployments[deployment])
        found: list[Reason] = []
        for cluster, document in sorted(self._documents.clusters.items()):
            objection = self._suitability.cluster_objection(deployment, cluster)
            if objection:
                found.append(Reason(cluster, "", objection.why, objection.short or objection.why))
                continue
            pools = [pool.name for pool in document.spec.node_pools]
            against = {
                (pool, role): self._against(deployment, role, (cluster, pool))
                for pool in pools
                for role in roles
            }
            if len(roles) > 1 and self._not_together(deployment, cluster, pools, roles, against):
                why = self._why_not_together(deployment, cluster)
                found.append(Reason(cluster, "", why, "without room for all roles together", _ROOM + 1))
            for pool in pools:
                by_role = {role: against[pool, role] or _HAS_ROOM for role in roles}
                role, worst = min(by_role.items(), key=lambda item: item[1].near)
                if len(set(by_role.values())) > 1:
                    why = "; ".join(f"{role}: {by_role[role].why}" for role in roles)
                    worst = Against(why, f"{worst.short} for role {role}", worst.near)
                found.append(Reason(cluster, pool, *worst))
        return tuple(sorted(found))

    def _why_not_together(self, deployment: str, cluster: str) -> str:
        spots = self._ledger.on_cluster(deployment, cluster)
        if spots and self._candidates.wanted(deployment).together:
            where = " ".join(f"{role}={pool}" for role, pool in spots[0].pools)
            return f"its replicas share the pools {where}, which have no room for one more"
        return "no pools have room for all roles of a replica together"

    def runs_there(self, deployment: str, reason: Reason) -> bool:
        """Return whether replicas run on the pool of a reason."""
        return any(
            spot.cluster == reason.cluster and reason.pool in [pool for _, pool in spot.pools]
            for spot in self._ledger.replicas(deployment)
        )

    def _against(self, deployment: str, role: str, pool: PoolKey) -> Against | None:
        objection = strongest(self._suitability.by_pool(deployment, role, pool))
        if objection is None:
            refused = self._candidates.refused(deployment, role, self._ledger.rooms.by_key[pool])
            return Against(*refused, _POLICY) if refused else self._no_room(deployment, role, pool)
        if objection.why == FALSE and (unmet := self._suitability.unmet(deployment, role, pool)):
            values = f", where {unmet.values}" if unmet.values else ""
            told = unmet.values or shown(unmet.condition, 50)
            return Against(
                f"{FALSE}: {shown(unmet.condition, 120)}{values}", f"fail nodeSelector ({told})", _CLASS
            )
        return Against(objection.why, objection.short or objection.why, _CLASS)

    def _not_together(
        self,
        deployment: str,
        cluster: str,
        pools: list[str],
        roles: tuple[str, ...],
        against: Mapping[tuple[str, str], Against | None],
    ) -> bool:
        if not all(any(against[pool, role] is None for pool in pools) for role in roles):
            return False
        wanted = self._candidates.wanted(deployment)
        rooms = self._ledger.rooms.on_cluster.get(cluster, [])
        return all(self._candidates.on_pool(wanted, room) is None for room in rooms)

    def _no_room(self, deployment: str, role: str, pool: PoolKey) -> Against | None:
        """Return why one more replica's role does not fit on the pool, or None when it does."""
        room = self._ledger.rooms.by_key[pool]
        demand = self._ledger.demands.of(deployment, role, pool)
        if room.fits(More((deployment, role), demand, 1)):
            return None
        nodes = sum(room.free.values())
        if not nodes:
            return Against("has no nodes", "have no nodes", _ROOM)
        if not room.holds:
            why = f"its {nodes} nodes have no room even for the replicas that are there"
            return Against(why, "overfull", _ROOM)
        if demand.gang > 1 and (few := _too_few_nodes(room.free, room.size, demand)):
            return Against(few, f"lack room for workers of {demand.gang} pods", _ROOM)
        if not any(fit(state, demand.pod) for state in room.free):
            kept = kept_free(self._ledger, pool)
            full = f"{nodes} of {nodes} nodes full{' with ' if kept else ''}{kept}"
            return Against(f"{full}: {_short_of(list(room.free), demand)}", "full", _ROOM)
        spots = self._ledger.on_pool(pool)
        there = any(spot.deployment == deployment and (role, pool[1]) in spot.pools for spot in spots)
        spare = (0 if there else demand.spare) + demand.pods * (demand.sets - 1)
        pods = demand.pods + spare
        parts = f" ({demand.pods} of a replica, {spare} kept free for rollouts)" if spare else " of a replica"
        alone = ", each of a worker on a node of its own" if demand.gang > 1 else ""
        # Of a worker a node takes one pod at most, and it has as many workers as come together.
        most = pods // demand.gang
        places = sum(min(fit(state, demand.pod), most) * count for state, count in room.free.items())
        why = f"room for {places} of the {pods} pods{parts}{alone}"
        if places >= pods:
            why = f"no way to put the {pods} pods{parts} on what its nodes have free{alone}"
        return Against(why, "have room for a part of a replica", _ROOM)


def _too_few_nodes(free: Mapping[Node, int], size: int, demand: Demand) -> str | None:
    """Return that fewer nodes have room for a pod of a worker than it has pods, or None where enough have."""
    positions: list[Position] = ["Entry", "Follower"]
    wanted = [demand.of(position) for position in positions]
    fitting = sum(count for state, count in free.items() if any(fit(state, pod) for pod, _ in wanted))
    if fitting >= demand.gang:
        return None
    pod, shares = wanted[1] if any(fit(state, demand.pod) for state in free) else wanted[0]
    each = [gpus(pod.gpus)] if pod.gpus else []
    # GPUs say it all where every node that has them free has room.
    if sum(count for state, count in free.items() if state.gpus >= pod.gpus) > fitting:
        names = {"cpu": "cores", "memory": "memory"} | {
            field: f"{size} huge pages" for field, size in HUGE_PAGES.items()
        }
        each += [
            f"{name} {needed(pod, shares, field)}" for field, name in names.items() if getattr(pod, field)
        ]
    asking = f" ({', '.join(each)})" if each else ""
    return (
        f"room for one pod{asking} on {fitting} of {size} nodes, needs {demand.gang}: "
        "one for each pod of a worker"
    )


def _short_of(nodes: list[Node], demand: Demand) -> str:
    """Return in words what no node has enough of, GPUs before cores before memory."""
    pod, shares = demand.pod, demand.shares
    free = max(node.gpus for node in nodes)
    if free < pod.gpus:
        return f"{free} free {'GPU' if free == 1 else 'GPUs'} on the emptiest node, needs {pod.gpus}"
    nodes = [node for node in nodes if node.gpus >= pod.gpus]
    free = max(node.cpu for node in nodes)
    if free < pod.cpu:
        where = "beside enough GPUs" if pod.gpus else "on the emptiest node"
        return f"{cores(free)} free cores {where}, needs {needed(pod, shares, 'cpu')}"
    enough = "GPUs" if pod.gpus else "cores"
    nodes = [node for node in nodes if node.cpu >= pod.cpu]
    free = max(node.memory for node in nodes)
    if free < pod.memory:
        return f"{gib(free)} of free memory beside enough {enough}, needs {needed(pod, shares, 'memory')}"
    nodes = [node for node in nodes if node.memory >= pod.memory]
    for field, size in HUGE_PAGES.items():
        free = max(getattr(node, field) for node in nodes)
        if free < getattr(pod, field):
            needs = needed(pod, shares, field)
            return f"{gib(free)} of free {size} huge pages beside enough {enough}, needs {needs}"
        nodes = [node for node in nodes if getattr(node, field) >= getattr(pod, field)]
    return f"no node may run another pod (the emptiest may run {max(node.pods for node in nodes)} more)"


def listed(reasons: Iterable[Reason]) -> str:
    """Return the reasons in one line: `east/h100: 2 of 2 nodes full: ...; west: cordoned`."""
    return "; ".join(
        f"{reason.cluster}{'/' if reason.pool else ''}{reason.pool}: {reason.why}" for reason in reasons
    )


def kept_free(ledger: Ledger, pool: PoolKey) -> str:
    """Return in words how much of the pool is kept for rollouts, and for whose; "" where nothing is."""
    kept = ledger.kept_free(pool)
    if not kept:
        return ""
    return f"the room for {kept.total()} more that rollout: Surge of {listing(sorted(kept))} keeps free"
