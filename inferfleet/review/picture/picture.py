"""From a side of a stack to its picture. Pure: equal values give equal pictures."""

from collections.abc import Iterable, Iterator, Mapping

from inferfleet.clusters.status.values import ClusterStatus, PartStatus, PlacementStatus, Status
from inferfleet.desired.gate import unplaced_problem
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.problems import Problem
from inferfleet.fleet.advice.summaries import in_short
from inferfleet.fleet.bill import bill
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.shapes import PoolKey, node
from inferfleet.fleet.spot import Spot
from inferfleet.review.digest.compare import told
from inferfleet.review.digest.costs import money
from inferfleet.review.digest.update import Side
from inferfleet.review.digest.values.stack import Stack
from inferfleet.review.picture.seats import Roles, roles_on_pools, seated
from inferfleet.review.picture.values import Cluster, Model, Paid, Picture, Place, Pool, Route, Service

Changes = Mapping[str, tuple[str, ...]]


def picture(
    side: Side,
    problems: Iterable[Problem],
    *,
    base: str = "",
    head: str = "",
    merges: str = "",
    uncommitted: bool = False,
    compared: Stack | None = None,
    live: Status | None = None,
) -> Picture:
    """Return the picture of a side with its problems, what differs from the commit `base`, and phases.

    `head` is the commit that the side is of, but for what is `uncommitted`; `merges` is the one it merges.
    """
    plan, documents = side.desired.plan, side.documents
    changed = _Changes(compared)
    costs = bill(documents, plan.lock.placements, plan.demands)
    return Picture(
        side.desired.stack,
        tuple(_clusters(side, changed, live)),
        tuple(_models(side, changed, live)),
        tuple(_services(side, changed, live)),
        tuple(
            Paid(
                name,
                paid.nodes,
                paid.unpriced,
                paid.gpus,
                money(paid.cost) if paid.currency else "",
                paid.currency,
                changed.uses.get(name, ()),
            )
            for name, paid in sorted(costs.classes.items())
        ),
        tuple((currency, money(cost)) for currency, cost in sorted(costs.totals.items())),
        costs.unpriced,
        compared.problems if compared else told(problems, problems),
        base,
        head,
        merges,
        uncommitted,
        changed.gone(side),
        live is not None,
        str(live.phase) if live else "",
    )


class _Changes:
    """What a digest says, by the name of what it is about."""

    def __init__(self, compared: Stack | None) -> None:
        self.compared = compared
        self.clusters = _by_name(
            (cluster.cluster, cluster.told) for cluster in (compared.clusters if compared else ())
        )
        self.pools = _by_name(
            (f"{pool.cluster}/{pool.pool}", pool.told) for pool in (compared.pools if compared else ())
        )
        self.models = _by_name(
            (model.deployment, line)
            for model in (compared.models if compared else ())
            for line in (*(["added"] if model.change == "added" else []), *model.told)
        )
        self.services = _by_name(
            (
                route.service,
                f"{route.cluster}: {_ends(route.before)} -> {_ends(route.after)}"
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
            f"{name}/{pool.name}" for name, of in documents.clusters.items() for pool in of.spec.node_pools
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
            yield (
                f"{unit} {before or 'unknown'} -> {after or 'unknown'}"
                if unit == "cost"
                else (f"{unit} {before} -> {after}")
            )


def _ends(backends: tuple[str, ...]) -> str:
    return ", ".join(backends) or "no route"


def _by_name(lines: Iterable[tuple[str, str]]) -> Changes:
    made: dict[str, tuple[str, ...]] = {}
    for name, line in lines:
        made[name] = (*made.get(name, ()), line)
    return made


def _clusters(side: Side, changed: _Changes, live: Status | None) -> Iterator[Cluster]:
    plan, documents = side.desired.plan, side.documents
    roles = roles_on_pools(plan.placements, plan.demands)
    phases = {cluster.name: cluster for cluster in live.clusters} if live else {}
    for name, cluster in sorted(documents.clusters.items()):
        source = cluster.spec.cluster
        seen = phases.get(name)
        yield Cluster(
            name,
            cluster.spec.state,
            source.source,
            source.gke.region if source.gke else "",
            tuple(_pools(side, name, cluster, roles, changed)),
            changed.clusters.get(name, ()),
            _phase(seen),
            seen.silent if seen else "",
        )


def _phase(seen: ClusterStatus | None) -> str:
    return str(seen.phase) if seen else ""


def _pools(
    side: Side, name: str, cluster: InferenceCluster, roles: Mapping[PoolKey, Roles], changed: _Changes
) -> Iterator[Pool]:
    for pool in cluster.spec.node_pools:
        key = (name, pool.name)
        empty = node(side.documents.classes[pool.class_name])
        on_pool, demands = roles.get(key, {}), side.desired.plan.demands
        nodes, left = seated(key, empty, pool.size, on_pool, demands) if empty else ((), 0)
        yield Pool(
            pool.name,
            pool.class_name,
            pool.capacity.model,
            pool.size,
            pool.autoscaled,
            empty.gpus if empty else 0,
            sum(replicas * demands.of(*role, key).gpus for role, replicas in on_pool.items()),
            nodes,
            left,
            changed.pools.get(f"{name}/{pool.name}", ()),
        )


def _models(side: Side, changed: _Changes, live: Status | None) -> Iterator[Model]:
    plan, documents = side.desired.plan, side.documents
    placements: dict[str, list[Placement]] = {}
    for placement in plan.placements:
        placements.setdefault(placement.spot.deployment, []).append(placement)
    missing = {lacking.deployment: lacking for lacking in plan.unplaced}
    phases = {deployment.name: deployment for deployment in live.deployments} if live else {}
    for name in sorted({*documents.deployments, *placements}):
        document, there = documents.deployments.get(name), placements.get(name, [])
        problem = unplaced_problem(missing[name], plan, documents) if name in missing else None
        seen = phases.get(name)
        of_places = {(status.cluster, status.pools): status for status in seen.placements} if seen else {}
        yield Model(
            name,
            document.spec.wanted if document else 0,
            sum(placement.replicas for placement in there),
            tuple(_place(side, placement, of_places) for placement in there),
            in_short(plan.reasons.get(name, ())) if name in plan.reasons else "",
            f"{problem.what}. {problem.next_step}" if problem else "",
            changed.models.get(name, ()),
            str(seen.phase) if seen else "",
        )


def _place(side: Side, placement: Placement, of_places: Mapping[tuple[str, str], PlacementStatus]) -> Place:
    plan, spot = side.desired.plan, placement.spot
    known = all(plan.demands.has(spot.deployment, role) for role, _ in spot.pools)
    pools = " ".join(f"{role}={pool}" for role, pool in spot.pools)
    seen = of_places.get((spot.cluster, pools))
    return Place(
        spot.cluster,
        pools,
        str(placement),
        placement.replicas
        * sum(plan.demands.of(spot.deployment, role, (spot.cluster, pool)).gpus for role, pool in spot.pools)
        if known
        else None,
        _why(plan, spot),
        str(seen.phase) if seen else "",
        seen.ready if seen else 0,
        seen.wanted if seen else 0,
        seen.message if seen else "",
        tuple((pod.name, str(pod.phase), pod.node or "") for pod in seen.pods) if seen else (),
    )


def _why(plan: Plan, spot: Spot) -> str:
    """Return why replicas are there, "" where the planner has no choice, as on a lost cluster."""
    try:
        other = plan.runners_up[spot]
    except KeyError:
        return ""
    return f"rather than {other.spot.place}: {other.why}" if other else "no other place has room for it"


def _services(side: Side, changed: _Changes, live: Status | None) -> Iterator[Service]:
    phases = {service.name: service for service in live.services} if live else {}
    routes = {(name, route.cluster): route for name, service in phases.items() for route in service.routes}
    for name in sorted(side.documents.services):
        yield Service(
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
            changed.services.get(name, ()),
            str(phases[name].phase) if name in phases else "",
        )


def _route(cluster: str, backends: Iterable[tuple[str, int]], seen: PartStatus | None) -> Route:
    return Route(cluster, tuple(backends), str(seen.phase) if seen else "", seen.message if seen else "")
