"""What holds of spreads, preferences, capacity models and quotas, whatever the fleet."""

from collections import Counter

from hypothesis import given, settings
from random_fleets import NODE_PRICES, random_fleets, random_locks
from small_fleet import Document, fleet

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.policy import Quota
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.node_conditions import MatchingNodes
from inferfleet.fleet.placement.suitability import Suitability
from inferfleet.fleet.placement.terms import domains
from inferfleet.fleet.planning import plan
from inferfleet.fleet.selectors.devices import Selectors

STEADY = {"OnDemand", "Reservation"}


def _model(documents: Documents, cluster: str, pool: str) -> str:
    return documents.clusters[cluster].spec.pool(pool).capacity.model


def _gpus(documents: Documents, planned: Plan) -> Counter[str]:
    """GPUs of all replicas by class, "" for all together, and "USD" for what they cost in an hour."""
    used: Counter[str] = Counter()
    for placement in planned.placements:
        spot = placement.spot
        for name, pool in spot.pools:
            gpus = planned.demands.of(spot.deployment, name, (spot.cluster, pool)).gpus * placement.replicas
            used[documents.clusters[spot.cluster].spec.pool(pool).class_name] += gpus
            used[""] += gpus
            on_demand, as_spot = NODE_PRICES[documents.clusters[spot.cluster].spec.pool(pool).class_name]
            is_spot = _model(documents, spot.cluster, pool) == "Spot"
            used["USD"] += gpus * (as_spot if is_spot else on_demand)
    return used


@settings(max_examples=150, deadline=None)
@given(random_fleets)
def test_a_plan_from_nothing_keeps_every_policy(documents: list[Document]) -> None:
    every = fleet(*documents)
    planned = plan(every, Lock(stack="test"))
    for key, document in every.deployments.items():
        own = [placement for placement in planned.placements if placement.spot.deployment == key]
        models = {
            (placement.spot, _model(every, placement.spot.cluster, pool)): placement.replicas
            for placement in own
            for _, pool in placement.spot.pools
        }
        assert {model for _, model in models} <= {*document.spec.capacity_models}
        unsteady = {spot: number for (spot, model), number in models.items() if model not in STEADY}
        if document.spec.on_demand_replicas:
            most = max(0, document.spec.replicas - document.spec.on_demand_replicas)
            assert sum(unsteady.values()) <= most
    for quota in every.quotas.values():
        used = _gpus(every, planned)
        assert quota.spec.gpus is None or used[""] <= quota.spec.gpus
        assert quota.spec.cost is None or used["USD"] <= quota.spec.cost.amount
        assert all(used[name] <= most for name, most in quota.spec.gpus_by_class.items())


@settings(max_examples=150, deadline=None)
@given(random_fleets)
def test_new_replicas_are_on_nodes_whose_labels_their_templates_name(documents: list[Document]) -> None:
    every = fleet(*documents)
    planned = plan(every, Lock(stack="test"))
    suitability = Suitability(every, Selectors(), planned.demands)
    warned = {problem.key for problem in planned.problems if "is not known; pods" in problem.what}
    for placement in planned.placements:
        spot = placement.spot
        for name, pool in spot.pools:
            key = spot.cluster, pool
            assert key not in suitability.closed(spot.deployment, name)
            nodes = suitability.label_match(spot.deployment, name, key).nodes
            assert nodes == MatchingNodes.ALL or spot.deployment in warned


@settings(max_examples=150, deadline=None)
@given(random_fleets)
def test_a_required_spread_is_never_too_uneven(documents: list[Document]) -> None:
    """By all domains with a pool that may take replicas, whether it has any or not."""
    every = fleet(*documents)
    planned = plan(every, Lock(stack="test"))
    suitability = Suitability(every, Selectors(), planned.demands)
    for key, document in every.deployments.items():
        spread = document.spec.spread
        if spread is None or spread.mode != "Require" or len(document.spec.roles) or document.spec.prefill:
            continue
        of = domains(every, spread.over)
        counts: Counter[str] = Counter()
        for placement in planned.placements:
            if placement.spot.deployment == key:
                counts[of[placement.spot.cluster, placement.spot.pools[0][1]]] += placement.replicas
        eligible = {
            domain
            for (name, pool), domain in of.items()
            for known in [every.clusters[name].spec.pool(pool)]
            if name in suitability.clusters(key)
            and known.size
            and known.capacity.model in document.spec.capacity_models
            and suitability.takes(key, "decode", known.class_name)
            and (name, pool) not in suitability.closed(key, "decode")
        }
        for domain, number in counts.items():
            others = eligible - {domain}
            assert not others or number - min(counts[other] for other in others) <= spread.max_skew


@settings(max_examples=150, deadline=None)
@given(random_fleets, random_locks())
def test_no_policy_moves_or_ends_what_runs(documents: list[Document], locked: Lock) -> None:
    before = plan(
        fleet(*(_free(document) for document in documents if not isinstance(document, Quota))), locked
    )
    assert plan(fleet(*documents), before.lock).changes == ()


def _free(document: Document) -> Document:
    """The document without any policy of its own."""
    if not isinstance(document, ModelDeployment):
        return document
    models = ("OnDemand", "Spot", "FlexStart", "Queued", "Reservation")
    free = {"spread": None, "prefer": (), "capacity_models": models, "on_demand_replicas": 0}
    return document.model_copy(update={"spec": document.spec.model_copy(update=free)})
