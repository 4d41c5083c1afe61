"""Why a replica does not go to a cluster or pool, and why one is where it is and not on the next best spot,
in words.

Reasons are worked out when somebody asks for them: of a large fleet there are millions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any

from inferfleet.documents.documents import Documents
from inferfleet.documents.wording import listing, shown
from inferfleet.fleet.decisions import Reason, RunnerUp
from inferfleet.fleet.lock.capacity import FILE
from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.space import RoleReplicas
from inferfleet.fleet.placement.suitability import (
    FULL,
    UNSUITABLE,
    Obstacle,
    Suitability,
    short_of,
    strongest,
    too_few_nodes,
)
from inferfleet.fleet.placement.terms import first_pool
from inferfleet.fleet.roles import roles_of
from inferfleet.fleet.selectors.devices import FALSE
from inferfleet.fleet.shapes import PoolKey, counted, fit
from inferfleet.fleet.spot import Spot

_HAS_SPACE = Obstacle("has room", "have room", near=FULL)


class Reasoning:
    """Finds, in a finished ledger, why replicas do not go to clusters and pools."""

    def __init__(
        self, documents: Documents, ledger: Ledger, suitability: Suitability, candidates: Candidates
    ) -> None:
        self._documents = documents
        self._ledger = ledger
        self._suitability = suitability
        self._candidates = candidates

    def reasons_against(self, deployment: str) -> tuple[Reason, ...]:
        """Return one reason for each cluster that takes no replicas as a whole, and for each pool of the
        others.
        """
        roles = roles_of(self._documents.deployments[deployment])
        reasons: list[Reason] = []
        for cluster, document in sorted(self._documents.clusters.items()):
            if obstacles := self._suitability.cluster_obstacles(deployment, cluster):
                reasons.append(self._of_cluster(deployment, cluster, obstacles))
                continue
            pools = [pool.name for pool in document.spec.node_pools]
            against = {
                (pool, role): self._against(deployment, role, (cluster, pool))
                for pool in pools
                for role in roles
            }
            if len(roles) > 1 and self._not_together(deployment, cluster, pools, roles, against):
                why = self._why_not_together(deployment, cluster)
                reasons.append(Reason(cluster, "", why, "without room for all roles together", FULL + 1))
            lacking, nearness = _hardest(roles, pools, against)
            reasons += [
                _reason(
                    cluster, pool, _told({role: against[pool, role] for role in roles}, lacking, nearness)
                )
                for pool in pools
            ]
        return tuple(sorted(reasons))

    def _of_cluster(self, deployment: str, cluster: str, obstacles: list[Obstacle]) -> Reason:
        """Return why a whole cluster takes no replicas; where that is its state alone, with the nodes it
        has.
        """
        document, obstacle = self._documents.clusters[cluster], strongest(obstacles) or obstacles[0]
        state = obstacle.why
        if len(obstacles) > 1 or state not in ("cordoned", "drained"):
            return Reason(cluster, "", obstacle.why, obstacle.summary)
        by_role = [
            {
                pool.name: pool.size
                for pool in document.spec.node_pools
                if not self._suitability.by_pool(deployment, role, (cluster, pool.name))
            }
            for role in roles_of(self._documents.deployments[deployment])
        ]
        if not all(by_role):
            return Reason(cluster, "", f"{state}, and its pools do not suit it either", state)
        nodes = counted(sum(dict(chain(*(sizes.items() for sizes in by_role))).values()), "node")
        state_line = self._documents.where("InferenceCluster", cluster, "spec.state")
        at = f" ({state_line})" if state_line else ""
        has = f"which is {state} and has {nodes} suitable for it"
        step = f"write state: active at cluster {cluster}{at}, {has}"
        return Reason(cluster, "", f"{state}, with {nodes} suitable for it", state, step=step)

    def _why_not_together(self, deployment: str, cluster: str) -> str:
        spots = self._ledger.on_cluster(deployment, cluster)
        if spots and self._candidates.terms(deployment).together:
            shared_pools = " ".join(f"{role}={pool}" for role, pool in spots[0].pools)
            return f"its replicas share the pools {shared_pools}, which have no room for one more"
        if not self._candidates.affordable(deployment):
            namespace = deployment.partition("/")[0]
            return f"quotas of namespace {namespace} leave too little for all roles of a replica together"
        return "no pools have room for all roles of a replica together"

    def runs_there(self, deployment: str, reason: Reason) -> bool:
        """Return whether replicas run on the pool of a reason."""
        return any(
            spot.cluster == reason.cluster and reason.pool in [pool for _, pool in spot.pools]
            for spot in self._ledger.replicas(deployment)
        )

    def _against(self, deployment: str, role: str, pool: PoolKey) -> Obstacle | None:
        obstacle = strongest(self._suitability.by_pool(deployment, role, pool))
        if obstacle is None:
            refused = self._candidates.refused(deployment, role, self._ledger.spaces.by_key[pool])
            return refused or self._no_space(deployment, role, pool)
        if obstacle.why == FALSE and (false := self._suitability.false_condition(deployment, role, pool)):
            values = f", where {false.values}" if false.values else ""
            summary = false.values or shown(false.condition, 50)
            return Obstacle(
                f"{FALSE}: {shown(false.condition, 120)}{values}", f"fail nodeSelector ({summary})"
            )
        return obstacle

    def _not_together(
        self,
        deployment: str,
        cluster: str,
        pools: list[str],
        roles: tuple[str, ...],
        against: Mapping[tuple[str, str], Obstacle | None],
    ) -> bool:
        if not all(any(against[pool, role] is None for pool in pools) for role in roles):
            return False
        terms = self._candidates.terms(deployment)
        spaces = self._ledger.spaces.on_cluster.get(cluster, [])
        return all(self._candidates.on_pool(terms, space) is None for space in spaces)

    def _no_space(self, deployment: str, role: str, pool: PoolKey) -> Obstacle | None:
        """Return why a role of one more replica does not fit on the pool, or None when it does."""
        space = self._ledger.spaces.by_key[pool]
        demand = self._ledger.demands.of(deployment, role, pool)
        role_replicas = RoleReplicas((deployment, role), demand, 1)
        if space.fits(role_replicas):
            return None
        nodes = sum(space.free.values())
        if not nodes:
            return Obstacle("has no nodes", "have no nodes", near=FULL)
        if not space.holds:
            why = f"its {nodes} nodes have no room even for the replicas that are there"
            return Obstacle(why, "overfull", near=FULL)
        if (shortage := self._ledger.shortage(pool)) and self._ledger.fits_without_deductions(
            pool, role_replicas
        ):
            none = not any(fit(state, demand.pod) for state in space.free)
            full = f" and the rest full: {short_of(list(space.free), demand)}" if none else ""
            step = (
                shortage.step
                and f"{shortage.step} on pool {'/'.join(pool)}, then run inferfleet capacity --write"
            )
            return Obstacle(
                f"{shortage} ({FILE}, {shortage.day}){full}", shortage.short, near=FULL, step=step
            )
        if demand.gang > 1 and (few := too_few_nodes(space.free, space.size, demand)):
            return Obstacle(few, f"lack room for workers of {demand.gang} pods", near=FULL)
        if not any(fit(state, demand.pod) for state in space.free):
            kept = kept_free(self._ledger, pool)
            full = f"{nodes} of {nodes} nodes full{' with ' if kept else ''}{kept}"
            return Obstacle(f"{full}: {short_of(list(space.free), demand)}", "full", near=FULL)
        spots = self._ledger.on_pool(pool)
        runs_there = any(spot.deployment == deployment and (role, pool[1]) in spot.pools for spot in spots)
        spare = (0 if runs_there else demand.spare) + demand.pods * (demand.sets - 1)
        pods = demand.pods + spare
        parts = f" ({demand.pods} of a replica, {spare} kept free for rollouts)" if spare else " of a replica"
        alone = ", each of a worker on a node of its own" if demand.gang > 1 else ""
        # Of a worker a node takes one pod at most, and it has as many workers as come together.
        most = pods // demand.gang
        places = sum(min(fit(state, demand.pod), most) * count for state, count in space.free.items())
        why = f"room for {places} of the {pods} pods{parts}{alone}"
        if places >= pods:
            why = f"no way to put the {pods} pods{parts} on what its nodes have free{alone}"
        return Obstacle(why, "have room for a part of a replica", near=FULL)


def _hardest(
    roles: tuple[str, ...], pools: list[str], against: Mapping[tuple[str, str], Obstacle | None]
) -> tuple[str, int]:
    """Return the role that a cluster is farthest from taking, and how near the nearest pool is to it."""

    def nearest(role: str) -> int:
        of_pools = [against[pool, role] for pool in pools]
        return max((FULL + 1 if obstacle is None else obstacle.near for obstacle in of_pools), default=0)

    return min(((role, nearest(role)) for role in roles), key=lambda role: role[1])


def _told(by_role: Mapping[str, Obstacle | None], lacking: str, nearness: int) -> Obstacle:
    """Return what a pool has against the roles of a replica, in short against the one that is `lacking`.

    Where it suits some of them, it is not told that it does not suit the others, unless no pool of the
    cluster suits the one that is lacking.
    """
    obstacles = {role: against or _HAS_SPACE for role, against in by_role.items()}
    if len(set(obstacles.values())) == 1:
        return obstacles[lacking]
    unsuited = lacking if nearness <= UNSUITABLE else ""
    roles = [
        role for role, against in obstacles.items() if against.near > UNSUITABLE or role == unsuited
    ] or list(obstacles)
    why = "; ".join(f"{role}: {obstacles[role].why}" for role in roles)
    return replace(obstacles[lacking], why=why, short=f"{obstacles[lacking].summary} for role {lacking}")


def _reason(cluster: str, pool: str, obstacle: Obstacle) -> Reason:
    return Reason(cluster, pool, obstacle.why, obstacle.summary, obstacle.near, obstacle.step)


def listed(reasons: Iterable[Reason]) -> str:
    """Return the reasons in one line: `east/h100: 2 of 2 nodes full: ...; west: cordoned`."""
    return "; ".join(
        f"{reason.cluster}{'/' if reason.pool else ''}{reason.pool}: {reason.why}" for reason in reasons
    )


def kept_free(ledger: Ledger, pool: PoolKey) -> str:
    """Return in words how much of the pool is kept for rollouts, and for which deployments; "" for
    nothing.
    """
    kept = ledger.kept_free(pool)
    if not kept:
        return ""
    return f"the room for {kept.total()} more that rollout: Surge of {listing(sorted(kept))} keeps free"


class ReasonsByDeployment(Mapping[str, tuple[Reason, ...]]):
    """Why replicas of each deployment do not run on the other clusters and pools.

    They are worked out when somebody asks: of a large fleet there are millions.
    """

    def __init__(self, deployments: Iterable[str], why: "Reasoning") -> None:
        self._deployments = dict.fromkeys(sorted(deployments))
        self._why = why

    def __getitem__(self, deployment: str) -> tuple[Reason, ...]:
        if deployment not in self._deployments:
            raise KeyError(deployment)
        return tuple(
            reason
            for reason in self._why.reasons_against(deployment)
            if not self._why.runs_there(deployment, reason)
        )

    def __contains__(self, deployment: object) -> bool:
        # Without it a Mapping works the value out to say so.
        return deployment in self._deployments

    def __iter__(self) -> Iterator[str]:
        return iter(self._deployments)

    def __len__(self) -> int:
        return len(self._deployments)


class ReasonList(Sequence[Reason]):
    """The reasons of a deployment without a place, worked out when somebody looks at them."""

    def __init__(self, deployment: str, why: "Reasoning") -> None:
        self._deployment = deployment
        self._why = why

    @cached_property
    def _reasons(self) -> tuple[Reason, ...]:
        return self._why.reasons_against(self._deployment)

    def __getitem__(self, index: Any) -> Any:
        return self._reasons[index]

    def __len__(self) -> int:
        return len(self._reasons)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._reasons == tuple(other)

    def __hash__(self) -> int:
        return hash(self._reasons)

    def __repr__(self) -> str:
        return repr(self._reasons)


class RunnersUp(Mapping[Spot, RunnerUp | None]):
    """By spot, where one replica of it would go if not there; None where no other place has space.

    They are worked out when somebody asks, in the finished ledger, which is the same afterwards. `before` are
    the spots that had replicas before this plan.
    """

    def __init__(
        self, ledger: Ledger, candidates: Candidates, spots: frozenset[Spot], before: set[Spot]
    ) -> None:
        self._ledger = ledger
        self._candidates = candidates
        self._spots = spots
        self._before = before

    def __getitem__(self, spot: Spot) -> RunnerUp | None:
        """Return where one replica of a spot would go instead, None where no other spot has space.

        It takes one replica off the spot, searches the best other spot, and puts the replica back. The ledger
        is then as before, with the pools of the spot to be packed from the beginning. Raises KeyError for a
        spot without replicas.
        """
        if spot not in self._spots:
            raise KeyError(spot)
        self._ledger.add(spot, -1)
        runner_up = self._candidates.best(spot.deployment, leaving=spot, thorough=True)
        why = self._why(spot, runner_up) if runner_up else ""
        self._ledger.add(spot, 1)
        for _, pool in spot.pools:
            if space := self._ledger.spaces.by_key.get((spot.cluster, pool)):
                space.forget()  # packed from the beginning, as after the last step of the plan
        return RunnerUp(runner_up, why) if runner_up else None

    def __iter__(self) -> Iterator[Spot]:
        return iter(sorted(self._spots))

    def __len__(self) -> int:
        return len(self._spots)

    def _why(self, spot: Spot, runner_up: Spot) -> str:
        """Return why a replica is on its spot instead of another, while it is taken away from there."""
        if spot in self._before:
            return "replicas run there already, and none moves without need"
        terms, worth = self._candidates.terms(spot.deployment), self._candidates.spreading.worth
        own_worth, its_worth = (
            worth(terms, first_pool(terms, either_spot)) for either_spot in (spot, runner_up)
        )
        if terms.ordered and own_worth < its_worth:
            return "it comes later by spread and prefer of the deployment"
        if terms.objective == "pack":
            return "nodes there are empty, cost more or are filled worse, or its name comes later"
        by_cluster = self._ledger.by_cluster(spot.deployment)
        here, there = by_cluster.get(spot.cluster, 0), by_cluster.get(runner_up.cluster, 0)
        cheaper = self._offers(spot) < self._offers(runner_up)
        if here < there and not (terms.objective == "cost" and cheaper):
            return (
                f"{runner_up.cluster} has {there} of its replicas, {spot.cluster} has {here} beside this one"
            )
        if cheaper and (here == there or terms.objective == "cost"):
            return "its nodes cost more for each GPU, or are larger where prices are not known"
        if here == there and self._offers(spot) == self._offers(runner_up):
            return "nodes there are filled worse, or its name comes later"
        return "another new replica has its place there, so that more of them fit or all cost less"

    def _offers(self, spot: Spot) -> list[int]:
        """Return the places of a spot's nodes in the order of prices, by role."""
        terms, pools, spaces = (
            self._candidates.terms(spot.deployment),
            dict(spot.pools),
            self._ledger.spaces,
        )
        names = {
            role: spaces.by_key[spot.cluster, pools[role]].offer for role in terms.roles if role in pools
        }
        return [terms.offers[role].get(name, len(spaces.of_offer)) for role, name in names.items()]
