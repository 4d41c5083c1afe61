"""All that is to be told about one deployment, as text for people and as values for machines."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.cli.show.plan import pools, reason_rows, reason_values, spot_values
from inferfleet.cli.show.tables import print_table
from inferfleet.desired.values import Desired
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Reason, Unplaced
from inferfleet.fleet.lock.lock import Lock
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


def show(found: Explanation) -> None:
    """Shape, placements, plugins, and why not elsewhere."""
    wanted, placed = found.document.spec.replicas, sum(one.replicas for one in found.placed)
    print(f"{found.key}: {placed} of {wanted} replicas placed\n")
    for line in _shape(found):
        print(line)
    if found.placed:
        print()
        columns = ("cluster", "pools", "replicas", "in the lock", "GPUs", "class", "waits at most")
        print_table("placements", columns, [_row(one, found) for one in found.placed])
    for one in found.placed:
        for role in one.roles:
            for step in role.steps:
                print(
                    f"\n{one.spot.cluster}/{names.placement(one.spot)}, role {role.name}: "
                    f"plugin {step.plugin} ({step.origin} chain, {step.path})"
                )
                for line in _step(step):
                    print(f"  {line}")
    if found.reasons:
        print()
        print_table("why not elsewhere", ("cluster", "pool", "why"), reason_rows(found.reasons))
    if found.unplaced:
        print()
        title = f"{found.unplaced.replicas} without a place"
        print_table(title, ("cluster", "pool", "why not"), reason_rows(found.unplaced.reasons))
    print()
    if found.document.spec.route.enabled:
        print(f"reached under {names.deployment_path(found.key)}")
    print(f"services that select it: {', '.join(found.services) or 'none'}")


def _shape(found: Explanation) -> Iterator[str]:
    workers = found.document.spec.workers
    topology, demand = workers.topology, found.demand
    yield (
        f"GPUs per pod     {demand.pod.gpus:>4} = tensor {topology.tensor} x dataLocal {topology.data_local}"
    )
    yield (
        f"pods per worker  {topology.pods_per_worker:>4} = pipeline {topology.pipeline} x data "
        f"{topology.data} / dataLocal {topology.data_local}"
    )
    yield (
        f"pods per replica {demand.pods:>4} = {topology.pods_per_worker} per worker x {workers.count} "
        f"worker{'' if workers.count == 1 else 's'}"
    )
    yield f"GPUs per replica {demand.pods * demand.pod.gpus:>4} = {demand.pods} x {demand.pod.gpus}"
    if demand.spare:
        yield f"kept free        {demand.spare:>4} pods per placement, for a new one beside an old one"


def _row(one: Placed, found: Explanation) -> tuple[object, ...]:
    gpus = one.replicas * found.demand.pods * found.demand.pod.gpus
    classes = ", ".join(dict.fromkeys(role.class_name for role in one.roles))
    budgets = [role.await_seconds for role in one.roles if role.await_seconds is not None]
    waits = f"{-(-max(budgets) // 60)} min" if budgets else ""
    return (one.spot.cluster, pools(one.spot), one.replicas, one.before, gpus, classes, waits)


def _step(step: Step) -> Iterator[str]:
    for change in step.changes:
        if change.before is None:
            yield f"{change.path}: {_value(change.after)} (new)"
        elif change.after is None:
            yield f"{change.path}: removed (was {_value(change.before)})"
        else:
            yield f"{change.path}: {_value(change.before)} -> {_value(change.after)}"
    for companion in step.companions:
        yield f"beside it: {companion}"


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def as_values(found: Explanation) -> dict[str, Any]:
    """JSON-serialisable, with the same facts as the text."""
    topology, demand = found.document.spec.workers.topology, found.demand
    return {
        "deployment": found.key,
        "replicas": found.document.spec.replicas,
        "shape": {
            "gpusPerPod": demand.pod.gpus,
            "podsPerWorker": topology.pods_per_worker,
            "workersPerReplica": found.document.spec.workers.count,
            "gpusPerReplica": demand.pods * demand.pod.gpus,
            "sparePodsPerPlacement": demand.spare,
        },
        "placements": [
            spot_values(one.spot)
            | {
                "replicas": one.replicas,
                "before": one.before,
                "roles": [
                    {
                        "role": role.name,
                        "class": role.class_name,
                        "awaitSeconds": role.await_seconds,
                        "plugins": [asdict(step) for step in role.steps],
                    }
                    for role in one.roles
                ],
            }
            for one in found.placed
        ],
        "elsewhere": reason_values(found.reasons),
        "unplaced": found.unplaced.replicas if found.unplaced else 0,
        "services": list(found.services),
    }
