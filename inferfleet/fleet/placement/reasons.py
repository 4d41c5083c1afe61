"""Why a replica does not go to a cluster or pool, and why one runs where it should not, in words."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.workers import Position
from inferfleet.api.problems import Problem
from inferfleet.api.wording import listing
from inferfleet.fleet.decisions import Reason
from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.packing import fit
from inferfleet.fleet.placement.rooms import More
from inferfleet.fleet.placement.soundness import Checked
from inferfleet.fleet.placement.suitability import (
    HUGE_PAGES,
    Consequence,
    Objection,
    Suitability,
    cores,
    gib,
    gpus,
    needed,
    strongest,
)
from inferfleet.fleet.roles import roles_of
from inferfleet.fleet.shapes import Demand, Node, PoolKey
from inferfleet.fleet.spot import Spot


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
            whole = self._suitability.cluster_objection(deployment, cluster)
            if whole:
                found.append(Reason(cluster, "", whole.why))
                continue
            pools = [pool.name for pool in document.spec.node_pools]
            against = {
                (pool, role): self._against(deployment, role, (cluster, pool))
                for pool in pools
                for role in roles
            }
            if len(roles) > 1 and self._not_together(deployment, cluster, pools, roles, against):
                found.append(Reason(cluster, "", self._why_not_together(deployment, cluster)))
            for pool in pools:
                by_role = {role: against[pool, role] or "has room" for role in roles}
                same = len(set(by_role.values())) == 1
                why = by_role[roles[0]] if same else "; ".join(f"{role}: {by_role[role]}" for role in roles)
                found.append(Reason(cluster, pool, why))
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

    def _against(self, deployment: str, role: str, pool: PoolKey) -> str | None:
        objection = strongest(self._suitability.by_pool(deployment, role, pool))
        if objection:
            return objection.why
        refused = self._candidates.refused(deployment, role, self._ledger.rooms.by_key[pool])
        return refused or self._no_room(deployment, role, pool)

    def _not_together(
        self,
        deployment: str,
        cluster: str,
        pools: list[str],
        roles: tuple[str, ...],
        against: Mapping[tuple[str, str], str | None],
    ) -> bool:
        if not all(any(against[pool, role] is None for pool in pools) for role in roles):
            return False
        wanted = self._candidates.wanted(deployment)
        rooms = self._ledger.rooms.on_cluster.get(cluster, [])
        return all(self._candidates.on_pool(wanted, room) is None for room in rooms)

    def _no_room(self, deployment: str, role: str, pool: PoolKey) -> str | None:
        """Return why one more replica's role does not fit on the pool, or None when it does."""
        room = self._ledger.rooms.by_key[pool]
        demand = self._ledger.demands.of(deployment, role, pool)
        if room.fits(More((deployment, role), demand, 1)):
            return None
        nodes = sum(room.free.values())
        if not nodes:
            return "has no nodes"
        if not room.holds:
            return f"its {nodes} nodes have no room even for the replicas that are there"
        if demand.gang > 1 and (why := _too_few_nodes(room.free, room.size, demand)):
            return why
        if not any(fit(state, demand.pod) for state in room.free):
            kept = kept_free(self._ledger, pool)
            full = f"{nodes} of {nodes} nodes full{' with ' if kept else ''}{kept}"
            return f"{full}: {_short_of(list(room.free), demand)}"
        spots = self._ledger.on_pool(pool)
        there = any(spot.deployment == deployment and (role, pool[1]) in spot.pools for spot in spots)
        spare = (0 if there else demand.spare) + demand.pods * (demand.sets - 1)
        pods = demand.pods + spare
        parts = f" ({demand.pods} of a replica, {spare} kept free for rollouts)" if spare else " of a replica"
        alone = ", each of a worker on a node of its own" if demand.gang > 1 else ""
        # Of a worker a node takes one pod at most, and it has as many workers as come together.
        most = pods // demand.gang
        places = sum(min(fit(state, demand.pod), most) * count for state, count in room.free.items())
        if places >= pods:
            return f"no way to put the {pods} pods{parts} on what its nodes have free{alone}"
        return f"room for {places} of the {pods} pods{parts}{alone}"


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


def placement_problems(
    documents: Documents, ledger: Ledger, *, suitability: Suitability, checked: Checked, why: Why
) -> Iterator[Problem]:
    """Yield errors (replicas that cannot run on their pool) and warnings (replicas that should leave it)."""
    for pool in ledger.overfull():
        yield _overfull(documents, ledger, pool)
    for deployment in sorted(set(documents.deployments) - checked.invalid):
        for spot, replicas in ledger.replicas(deployment).items():
            objection = suitability.objection(spot)
            if objection is None or objection.consequence == Consequence.CORDON:
                continue
            elsewhere = why.not_there(deployment)
            whole = len(spot.pools) == len(roles_of(documents.deployments[deployment]))
            if whole:
                elsewhere = _of_others(spot, elsewhere)
            yield _cannot_leave(spot, replicas, objection=objection, elsewhere=elsewhere)


def _of_others(spot: Spot, reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """Return the reasons against other places than those of the spot."""
    own = ("", *(pool for _, pool in spot.pools))
    return tuple(reason for reason in reasons if reason.cluster != spot.cluster or reason.pool not in own)


def _cannot_leave(
    spot: Spot, replicas: int, *, objection: Objection, elsewhere: tuple[Reason, ...]
) -> Problem:
    number = f"{replicas} {'replica' if replicas == 1 else 'replicas'} of {spot.deployment}"
    return Problem(
        f"{number} cannot leave {spot.place} ({objection.why}): "
        + (listed(elsewhere) or "there is no other pool"),
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


def kept_free(ledger: Ledger, pool: PoolKey) -> str:
    """Return in words how much of the pool is kept for rollouts, and for whose; "" where nothing is."""
    kept = ledger.kept_free(pool)
    if not kept:
        return ""
    return f"the room for {kept.total()} more that rollout: Surge of {listing(sorted(kept))} keeps free"


def _overfull(documents: Documents, ledger: Ledger, pool: PoolKey) -> Problem:
    """Return the error at the pool, or at the rollout of a deployment that alone makes it too small."""
    cluster, name = pool
    pools = documents.clusters[cluster].spec.node_pools
    index, document = next((index, document) for index, document in enumerate(pools) if document.name == name)
    replicas = ", ".join(f"{number} of {spot.deployment}" for spot, number in ledger.on_pool(pool).items())
    nodes = f"{document.size} {'node' if document.size == 1 else 'nodes'}"
    what = (
        f"pool {cluster}/{name} with {nodes} is too small for the replicas that are placed on it ({replicas})"
    )
    problem = Problem(
        f"{what}, and there is no room for them elsewhere",
        "Give it more nodes, make room on another pool, or lower replicas",
        f"spec.nodePools[{index}]",
        kind="InferenceCluster",
        key=cluster,
    )
    kept = kept_free(ledger, pool)
    if not kept or not ledger.holds_without_kept_free(pool):
        return problem
    problem = replace(
        problem,
        what=f"{what} and {kept}, and there is no room for them elsewhere",
        next_step="Give it more nodes, make room on another pool, lower replicas, "
        "or write rollout: DeleteFirst",
    )
    surging = list(ledger.kept_free(pool))
    if len(surging) > 1:
        return problem
    return replace(problem, path="spec.rollout", kind="ModelDeployment", key=surging[0])
