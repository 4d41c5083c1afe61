"""The picture of a stack that `inferfleet report` shows, as one value: clusters with how their nodes are
filled, models with where and why, services, costs and problems. Pure: equal sides give equal pictures.

Texts are for people; names of models and services are `<namespace>/<name>`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from inferfleet.clusters.status.values import ClusterStatus, PartStatus, PlacementStatus, Status
from inferfleet.desired.gate import unplaced_problem
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.problems import Problem
from inferfleet.fleet.advice.summaries import in_short
from inferfleet.fleet.bill import bill
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.demands import Demand, Demands, RoleKey
from inferfleet.fleet.placement.packing import at_most
from inferfleet.fleet.shapes import Node, Pod, PoolKey, fit, minus, node
from inferfleet.fleet.spot import Spot
from inferfleet.review.digest.comparison import listed_problems
from inferfleet.review.digest.nodes import money
from inferfleet.review.digest.update import Side
from inferfleet.review.digest.values import ListedProblem, StackDigest


@dataclass(frozen=True, order=True)
class Seat:
    """Alike pods of a role on one node. `kept`: no pods, but space that a rollout will need."""

    deployment: str
    role: str
    gpus: int  # of one pod
    kept: bool
    pods: int


@dataclass(frozen=True)
class AlikeNodes:
    """Nodes of a pool that are filled alike: how many, by whom, and GPUs that are free on each."""

    number: int
    seats: tuple[Seat, ...]
    free: int


@dataclass(frozen=True)
class PoolPicture:
    """One pool. `gpus` are those of one node, `held` those that pods of all nodes hold.

    `overfull` counts pods for which no node was found in the drawing. `changes` say what becomes of the pool
    against the base.
    """

    name: str
    class_name: str
    capacity: str
    size: int
    autoscaled: bool
    gpus: int
    held: int
    nodes: tuple[AlikeNodes, ...]
    overfull: int
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClusterPicture:
    """One cluster. `phase` is "" where nobody asked, `silent` says why one that was asked did not answer."""

    name: str
    state: str
    source: str
    region: str
    pools: tuple[PoolPicture, ...]
    changes: tuple[str, ...] = ()
    phase: str = ""
    silent: str = ""


@dataclass(frozen=True)
class PlacePicture:
    """Replicas of a model on one cluster and its pools, and why they are there.

    With `phase`, `ready` of `wanted` pods are ready, and `message` says what is the matter.
    """

    cluster: str
    pools: str
    replicas: str
    gpus: int | None
    why: str
    phase: str = ""
    ready: int = 0
    wanted: int = 0
    message: str = ""
    pods: tuple[tuple[str, str, str], ...] = ()  # name, phase, node


@dataclass(frozen=True)
class ModelPicture:
    """One deployment: the replicas that documents ask for, those that have a place, and where.

    `elsewhere` says why no more of them are on other clusters.
    """

    name: str
    wanted: int
    placed: int
    places: tuple[PlacePicture, ...]
    elsewhere: str
    missing: str = ""
    changes: tuple[str, ...] = ()
    phase: str = ""


@dataclass(frozen=True)
class RoutePicture:
    """How a service splits requests on one cluster: deployments with weights."""

    cluster: str
    backends: tuple[tuple[str, int], ...]
    phase: str = ""
    message: str = ""


@dataclass(frozen=True)
class ServicePicture:
    """One service with its routes."""

    name: str
    routes: tuple[RoutePicture, ...]
    changes: tuple[str, ...] = ()
    phase: str = ""


@dataclass(frozen=True)
class ClassCost:
    """Nodes of one class that are paid for, GPUs that replicas hold, cost of an hour ("" for unknown)."""

    class_name: str
    nodes: int
    unpriced: int
    gpus: int
    cost: str
    currency: str
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class WeightsPicture:
    """The weights of a ModelCache on a cluster, and how far they are; only where clusters were asked."""

    cache: str
    cluster: str
    phase: str
    message: str = ""


@dataclass(frozen=True)
class Picture:
    """The whole of a stack.

    `base` is the commit that it is compared with, `head` the one that it is of, and `merges` the one that
    this merges into the base, "" where nothing is compared or merged. `uncommitted` says whether files differ
    from `head`. `gone` says what the base has and the stack has not. `live` says whether clusters were asked.
    """

    stack: str
    clusters: tuple[ClusterPicture, ...]
    models: tuple[ModelPicture, ...]
    services: tuple[ServicePicture, ...]
    paid: tuple[ClassCost, ...]
    totals: tuple[tuple[str, str], ...]  # currency, cost of an hour
    unpriced: int
    problems: tuple[ListedProblem, ...]
    base: str = ""
    head: str = ""
    merges: str = ""
    uncommitted: bool = False
    gone: tuple[str, ...] = ()
    live: bool = False
    phase: str = ""
    weights: tuple[WeightsPicture, ...] = ()


Roles = Mapping[RoleKey, int]
_Lines = Mapping[str, tuple[str, ...]]


def picture(
    side: Side,
    problems: Iterable[Problem],
    *,
    base: str = "",
    head: str = "",
    merges: str = "",
    uncommitted: bool = False,
    compared: StackDigest | None = None,
    live: Status | None = None,
) -> Picture:
    """Return the picture of a side with its problems, what differs from the commit `base`, and phases.

    `head` is the commit that the side is of, but for what is `uncommitted`; `merges` is the one it merges.
    """
    plan, documents = side.desired.plan, side.documents
    changes = _Changes(compared)
    costs = bill(documents, plan.lock.placements, plan.demands)
    return Picture(
        stack=side.desired.stack,
        clusters=tuple(_clusters(side, changes, live)),
        models=tuple(_models(side, changes, live)),
        services=tuple(_services(side, changes, live)),
        paid=tuple(
            ClassCost(
                name,
                paid.nodes,
                paid.unpriced,
                paid.gpus,
                money(paid.cost) if paid.currency else "",
                paid.currency,
                changes.uses.get(name, ()),
            )
            for name, paid in sorted(costs.classes.items())
        ),
        totals=tuple((currency, money(cost)) for currency, cost in sorted(costs.totals.items())),
        unpriced=costs.unpriced,
        problems=compared.problems if compared else listed_problems(problems, problems),
        base=base,
        head=head,
        merges=merges,
        uncommitted=uncommitted,
        gone=changes.gone(side),
        live=live is not None,
        phase=str(live.phase) if live else "",
        weights=tuple(
            WeightsPicture(cache.name, cache.cluster, str(cache.phase), cache.message)
            for cache in (live.caches if live else ())
        ),
    )


class _Changes:
    """What a digest says, by the name of what it is about."""

    def __init__(self, compared: StackDigest | None) -> None:
        self.compared = compared
        self.clusters = _by_name(
            (cluster.cluster, cluster.summary) for cluster in (compared.clusters if compared else ())
        )
        self.pools = _by_name(
            (f"{pool.cluster}/{pool.pool}", pool.summary) for pool in (compared.pools if compared else ())
        )
        self.models = _by_name(
            (model.deployment, line)
            for model in (compared.models if compared else ())
            for line in (*(["added"] if model.change == "added" else []), *model.lines)
        )
        self.services = _by_name(
            (
                route.service,
                f"{route.cluster}: {_backends(route.before)} -> {_backends(route.after)}"
                if route.before != route.after
                else f"{route.cluster}: {', '.join(route.fields)}",
            )
            for route in (compared.services if compared else ())
        )
        self.uses = _by_name(
            (use.name, line)
            for use in (compared.uses if compared else ())
            for line in _use_lines(use.nodes, use.gpus, use.cost)
        )

    def gone(self, side: Side) -> tuple[str, ...]:
        """Return what the base has and the side has not, and the costs that differ, in words."""
        if self.compared is None:
            return ()
        documents = side.documents
        pools = {
            f"{name}/{pool.name}"
            for name, cluster in documents.clusters.items()
            for pool in cluster.spec.node_pools
        }
        return (
            *(f"{cost.currency} an hour: {cost.before} -> {cost.after}" for cost in self.compared.costs),
            *(
                line
                for name, lines in self.clusters.items()
                if name not in documents.clusters
                for line in lines
            ),
            *(line for name, lines in self.pools.items() if name not in pools for line in lines),
            *(
                f"model {name} is removed; {line}"
                for name, lines in self.models.items()
                if name not in documents.deployments
                for line in lines
            ),
            *(
                f"service {name}, {line}"
                for name, lines in self.services.items()
                if name not in documents.services
                for line in lines
            ),
        )


def _use_lines(nodes: tuple[int, int], gpus: tuple[int, int], cost: tuple[str, str]) -> Iterator[str]:
    for unit, (before, after) in (("nodes", nodes), ("GPUs", gpus), ("cost", cost)):
        if before != after:
            nothing = "unknown" if unit == "cost" else 0
            yield f"{unit} {before or nothing} -> {after or nothing}"


def _backends(backends: tuple[str, ...]) -> str:
    return ", ".join(backends) or "no route"


def _by_name(lines: Iterable[tuple[str, str]]) -> _Lines:
    by_name: dict[str, tuple[str, ...]] = {}
    for name, line in lines:
        by_name[name] = (*by_name.get(name, ()), line)
    return by_name


def _clusters(side: Side, changes: _Changes, live: Status | None) -> Iterator[ClusterPicture]:
    plan, documents = side.desired.plan, side.documents
    roles = roles_on_pools(plan.placements, plan.demands)
    phases = {cluster.name: cluster for cluster in live.clusters} if live else {}
    for name, cluster in sorted(documents.clusters.items()):
        source = cluster.spec.cluster
        status = phases.get(name)
        yield ClusterPicture(
            name,
            cluster.spec.state,
            source.source,
            source.gke.region if source.gke else "",
            tuple(_pools(side, name, cluster, roles, changes)),
            changes.clusters.get(name, ()),
            _phase(status),
            status.silent if status else "",
        )


def _phase(status: ClusterStatus | PartStatus | PlacementStatus | None) -> str:
    return str(status.phase) if status else ""


def _pools(
    side: Side, name: str, cluster: InferenceCluster, roles: Mapping[PoolKey, Roles], changes: _Changes
) -> Iterator[PoolPicture]:
    for pool in cluster.spec.node_pools:
        key = (name, pool.name)
        empty = node(side.documents.classes[pool.class_name])
        on_pool, demands = roles.get(key, {}), side.desired.plan.demands
        nodes, unseated = seated(key, empty, pool.size, on_pool, demands) if empty else ((), 0)
        yield PoolPicture(
            pool.name,
            pool.class_name,
            pool.capacity.model,
            pool.size,
            pool.autoscaled,
            empty.gpus if empty else 0,
            sum(replicas * demands.of(*role, key).gpus for role, replicas in on_pool.items()),
            nodes,
            unseated,
            changes.pools.get(f"{name}/{pool.name}", ()),
        )


def _models(side: Side, changes: _Changes, live: Status | None) -> Iterator[ModelPicture]:
    plan, documents = side.desired.plan, side.documents
    placements: dict[str, list[Placement]] = {}
    for placement in plan.placements:
        placements.setdefault(placement.spot.deployment, []).append(placement)
    missing = {lacking.deployment: lacking for lacking in plan.unplaced}
    phases = {deployment.name: deployment for deployment in live.deployments} if live else {}
    for name in sorted({*documents.deployments, *placements}):
        document, of_model = documents.deployments.get(name), placements.get(name, [])
        problem = unplaced_problem(missing[name], plan, documents) if name in missing else None
        status = phases.get(name)
        statuses = {(place.cluster, place.pools): place for place in status.placements} if status else {}
        yield ModelPicture(
            name,
            document.spec.wanted if document else 0,
            sum(placement.replicas for placement in of_model),
            tuple(_place(side, placement, statuses) for placement in of_model),
            in_short(plan.reasons.get(name, ())) if name in plan.reasons else "",
            f"{problem.what}. {problem.next_step}" if problem else "",
            changes.models.get(name, ()),
            str(status.phase) if status else "",
        )


def _place(
    side: Side, placement: Placement, statuses: Mapping[tuple[str, str], PlacementStatus]
) -> PlacePicture:
    plan, spot = side.desired.plan, placement.spot
    pools = " ".join(f"{role}={pool}" for role, pool in spot.pools)
    status = statuses.get((spot.cluster, pools))
    return PlacePicture(
        cluster=spot.cluster,
        pools=pools,
        replicas=str(placement),
        gpus=_gpus(plan, placement),
        why=_why(plan, spot),
        phase=_phase(status),
        ready=status.ready if status else 0,
        wanted=status.wanted if status else 0,
        message=status.message if status else "",
        pods=tuple((pod.name, str(pod.phase), pod.node or "") for pod in status.pods) if status else (),
    )


def _gpus(plan: Plan, placement: Placement) -> int | None:
    """Return the GPUs that the replicas hold; None where a lost cluster keeps what no document asks for."""
    spot = placement.spot
    if not all(plan.demands.has(spot.deployment, role) for role, _ in spot.pools):
        return None
    demands = [plan.demands.of(spot.deployment, role, (spot.cluster, pool)) for role, pool in spot.pools]
    return placement.replicas * sum(demand.gpus for demand in demands)


def _why(plan: Plan, spot: Spot) -> str:
    """Return why replicas are there, "" where the planner has no choice, as on a lost cluster."""
    try:
        runner_up = plan.runners_up[spot]
    except KeyError:
        return ""
    return (
        f"rather than {runner_up.spot.place}: {runner_up.why}"
        if runner_up
        else "no other place has room for it"
    )


def _services(side: Side, changes: _Changes, live: Status | None) -> Iterator[ServicePicture]:
    phases = {service.name: service for service in live.services} if live else {}
    routes = {(name, route.cluster): route for name, service in phases.items() for route in service.routes}
    for name in sorted(side.documents.services):
        yield ServicePicture(
            name,
            tuple(
                _route(
                    route.cluster,
                    [(backend.deployment, backend.weight) for backend in route.backends],
                    routes.get((name, route.cluster)),
                )
                for route in side.desired.plan.services
                if route.service == name
            ),
            changes.services.get(name, ()),
            str(phases[name].phase) if name in phases else "",
        )


def _route(cluster: str, backends: Iterable[tuple[str, int]], status: PartStatus | None) -> RoutePicture:
    return RoutePicture(cluster, tuple(backends), _phase(status), status.message if status else "")


class _Item(NamedTuple):
    """Alike pods that need nodes; of a worker of several, at most `limit` of its role on a node."""

    pod: Pod
    deployment: str
    role: str
    kept: bool
    number: int
    limit: int


class _State(NamedTuple):
    """What nodes that are filled alike have left, and who is on each."""

    free: Node
    seats: tuple[Seat, ...]


def roles_on_pools(placements: Iterable[Placement], demands: Demands) -> dict[PoolKey, dict[RoleKey, int]]:
    """Return the replicas of each role on each pool, where documents say what they need."""
    by_pool: dict[PoolKey, dict[RoleKey, int]] = {}
    for placement in placements:
        spot = placement.spot
        for role, pool in spot.pools:
            if demands.has(spot.deployment, role):
                roles = by_pool.setdefault((spot.cluster, pool), {})
                key = (spot.deployment, role)
                roles[key] = roles.get(key, 0) + placement.replicas
    return by_pool


def seated(
    pool: PoolKey, empty: Node, size: int, roles: Roles, demands: Demands
) -> tuple[tuple[AlikeNodes, ...], int]:
    """Return one way in which the pods of a plan fill the nodes of a pool, fullest first, and the number of
    pods that found no node.

    The planner counts nodes in the same state and names no pods, and which node a pod gets is decided by the
    scheduler of its cluster. So this repeats the planner's first attempt, largest pods first, each on the
    fullest node that takes it, and remembers whose they are. Where only the planner's longer search finds a
    way for all, the pods that are left over here are counted. Nodes that are filled alike are one entry.
    """
    nodes: dict[_State, int] = {_State(empty, ()): size} if size else {}
    items = [
        item
        for (deployment, role), replicas in roles.items()
        for item in _items(deployment, role, demands.of(deployment, role, pool), replicas, empty)
    ]
    unseated = sum(
        _seat(nodes, item) for item in sorted(items, key=lambda item: (item.pod, item[1:4]), reverse=True)
    )
    filled = tuple(
        AlikeNodes(number, state.seats, state.free.gpus)
        for state, number in sorted(nodes.items(), key=lambda entry: (entry[0].seats == (), entry[0]))
    )
    return filled, unseated


def _items(deployment: str, role: str, demand: Demand, replicas: int, empty: Node) -> Iterable[_Item]:
    workers = replicas * demand.workers
    spare = workers * (demand.sets - 1) + (1 if demand.spare else 0)
    for kept, number in ((False, workers), (True, spare)):
        if not number:
            continue
        limit = workers + spare if demand.gang > 1 else empty.pods
        yield _Item(at_most(demand.pod, empty), deployment, role, kept, number, limit)
        if demand.gang > 1:
            follower = at_most(demand.follower or demand.pod, empty)
            yield _Item(follower, deployment, role, kept, number * (demand.gang - 1), limit)


def _seat(nodes: dict[_State, int], item: _Item) -> int:
    """Put pods on nodes; return how many are left over."""
    pods_left = item.number
    for state in sorted(nodes):
        of_role = sum(
            seat.pods for seat in state.seats if (seat.deployment, seat.role) == (item.deployment, item.role)
        )
        most = min(fit(state.free, item.pod), item.limit - of_role)
        if most <= 0:
            continue
        whole = min(nodes[state], pods_left // most)
        _move(nodes, state, item, most, whole)
        pods_left -= whole * most
        if 0 < pods_left < most and nodes.get(state):
            _move(nodes, state, item, pods_left, 1)
            pods_left = 0
        if not pods_left:
            break
    return pods_left


def _move(nodes: dict[_State, int], state: _State, item: _Item, pods: int, number: int) -> None:
    """Seat so many pods of an item on `number` nodes that are in this state: change `nodes` accordingly."""
    if not number:
        return
    nodes[state] -= number
    if not nodes[state]:
        del nodes[state]
    seat = Seat(item.deployment, item.role, item.pod.gpus, item.kept, pods)
    alike = [seat_there for seat_there in state.seats if _kind(seat_there) == _kind(seat)]
    unlike = [seat_there for seat_there in state.seats if seat_there not in alike]
    merged = replace(seat, pods=pods + sum(seat_there.pods for seat_there in alike))
    after = _State(minus(state.free, item.pod, seat.pods), tuple(sorted([*unlike, merged])))
    nodes[after] = nodes.get(after, 0) + number


def _kind(seat: Seat) -> tuple[str, str, int, bool]:
    return seat.deployment, seat.role, seat.gpus, seat.kept
