"""All that is to be told about one deployment, gathered from documents, plan and plugin chains."""

from dataclasses import dataclass

from inferfleet.api.documents import Documents
from inferfleet.api.model_deployment import ModelDeployment
from inferfleet.desired.values import Desired
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Reason, Unplaced
from inferfleet.fleet.lock import Lock
from inferfleet.fleet.shapes import Demand, demand
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.chain import Step


@dataclass(frozen=True)
class Role:
    """One role of a placement: its class of nodes, how long its workload may take, who edited its pods."""

    name: str
    class_name: str
    await_seconds: int | None
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Placed:
    """Replicas on one spot, now and in the lock."""

    spot: Spot
    replicas: int
    before: int
    roles: tuple[Role, ...]


@dataclass(frozen=True)
class Explanation:
    key: str
    document: ModelDeployment
    demand: Demand
    placed: tuple[Placed, ...]
    reasons: tuple[Reason, ...]
    unplaced: Unplaced | None
    services: tuple[str, ...]


def explanation(key: str, documents: Documents, lock: Lock, desired: Desired) -> Explanation:
    """`key` is a deployment of the documents, as namespace/name."""
    document, plan = documents.deployments[key], desired.plan
    return Explanation(
        key=key,
        document=document,
        demand=demand(document),
        placed=tuple(
            Placed(
                one.spot,
                one.replicas,
                lock.placements.get(one.spot, 0),
                _roles(one.spot, documents, desired),
            )
            for one in plan.placements
            if one.spot.deployment == key
        ),
        reasons=plan.reasons.get(key, ()),
        unplaced=next((one for one in plan.unplaced if one.deployment == key), None),
        services=tuple(
            sorted({one.service for one in plan.services if any(to.deployment == key for to in one.backends)})
        ),
    )


def _roles(spot: Spot, documents: Documents, desired: Desired) -> tuple[Role, ...]:
    budgets = {
        one.kubernetes_name: one.timeout
        for cluster in desired.clusters
        for component in cluster.components
        if component.kind == "ModelReplicas" and component.name == names.replicas_component(spot)
        for one in component.objects
    }
    chains = desired.steps.get(spot, {})
    classes = {one.name: one.class_name for one in documents.clusters[spot.cluster].spec.node_pools}
    return tuple(
        Role(role, classes[pool], budgets.get(names.workload(spot, role)), chains.get(role, ()))
        for role, pool in spot.pools
    )
