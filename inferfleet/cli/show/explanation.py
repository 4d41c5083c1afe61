"""Everything that explains one deployment, as text for people and as values for machines."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.cli.output import print_line
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
    """One role of a placement: its class of nodes, how long an update waits for it, what plugins did."""

    name: str
    class_name: str
    await_seconds: int | None
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Placed:
    """Replicas on one spot; `before` is their number in the lock."""

    spot: Spot
    replicas: int
    before: int
    roles: tuple[Role, ...]


@dataclass(frozen=True)
class Explanation:
    """One deployment, what a replica needs, where replicas are placed, and why not elsewhere."""

    key: str
    document: ModelDeployment
    demand: Demand
    placed: tuple[Placed, ...]
    reasons: tuple[Reason, ...]
    unplaced: Unplaced | None
    services: tuple[str, ...]


def explanation(key: str, documents: Documents, lock: Lock, desired: Desired) -> Explanation:
    """Return the explanation of a deployment; `key` is its namespace/name."""
    document, plan = documents.deployments[key], desired.plan
    return Explanation(
        key=key,
        document=document,
        demand=demand(document),
        placed=tuple(
            Placed(
                placement.spot,
                placement.replicas,
                lock.placements.get(placement.spot, 0),
                _roles(placement.spot, documents, desired),
            )
            for placement in plan.placements
            if placement.spot.deployment == key
        ),
        reasons=plan.reasons.get(key, ()),
        unplaced=next((missing for missing in plan.unplaced if missing.deployment == key), None),
        services=tuple(
            sorted(
                {
                    route.service
                    for route in plan.services
                    if any(backend.deployment == key for backend in route.backends)
                }
            )
        ),
    )


def _roles(spot: Spot, documents: Documents, desired: Desired) -> tuple[Role, ...]:
    budgets = {
        wanted.kubernetes_name: wanted.timeout
        for cluster in desired.clusters
        for component in cluster.components
        if component.kind == "ModelReplicas" and component.name == names.replicas_component(spot)
        for wanted in component.objects
    }
    chains = desired.steps.get(spot, {})
    classes = {pool.name: pool.class_name for pool in documents.clusters[spot.cluster].spec.node_pools}
    return tuple(
        Role(role, classes[pool], budgets.get(names.workload(spot, role)), chains.get(role, ()))
        for role, pool in spot.pools
    )


def show(explained: Explanation) -> None:
    """Print shape, placements, what plugins changed, and why not elsewhere."""
    wanted = explained.document.spec.replicas
    count = sum(placed.replicas for placed in explained.placed)
    print_line(f"{explained.key}: {count} of {wanted} replicas placed")
    print_line()
    for line in _shape(explained):
        print_line(line)
    if explained.placed:
        print_line()
        columns = ("cluster", "pools", "replicas", "in the lock", "GPUs", "class", "waits at most")
        print_table("placements", columns, [_row(placed, explained) for placed in explained.placed])
    for placed in explained.placed:
        for role in placed.roles:
            for step in role.steps:
                print_line()
                print_line(
                    f"{placed.spot.cluster}/{names.placement(placed.spot)}, role {role.name}: "
                    f"plugin {step.plugin} {step.version} ({step.origin} chain, {step.path}){_idle(step)}"
                )
                for line in _step(step):
                    print_line(f"  {line}")
    if explained.reasons:
        print_line()
        print_table("why not elsewhere", ("cluster", "pool", "why"), reason_rows(explained.reasons))
    if explained.unplaced:
        print_line()
        title = f"{explained.unplaced.replicas} without a place"
        print_table(title, ("cluster", "pool", "why not"), reason_rows(explained.unplaced.reasons))
    print_line()
    if explained.document.spec.route.enabled:
        print_line(f"reached under {names.deployment_path(explained.key)}")
    print_line(f"services that select it: {', '.join(explained.services) or 'none'}")


def _shape(explained: Explanation) -> Iterator[str]:
    workers = explained.document.spec.workers
    topology, demand = workers.topology, explained.demand
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


def _row(placed: Placed, explained: Explanation) -> tuple[object, ...]:
    gpus = placed.replicas * explained.demand.pods * explained.demand.pod.gpus
    classes = ", ".join(dict.fromkeys(role.class_name for role in placed.roles))
    budgets = [role.await_seconds for role in placed.roles if role.await_seconds is not None]
    waits = f"{-(-max(budgets) // 60)} min" if budgets else ""
    return (placed.spot.cluster, pools(placed.spot), placed.replicas, placed.before, gpus, classes, waits)


def _idle(step: Step) -> str:
    return {"changed": "", "none": " changes nothing", "out of scope": " is out of scope"}[step.effect]


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
    for remark in step.remarks:
        yield f"remark: {remark}"


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _step_values(step: Step) -> dict[str, Any]:
    return {
        "plugin": step.plugin,
        "version": step.version,
        "origin": step.origin,
        "path": step.path,
        "config": step.config,
        "effect": step.effect,
        "changes": [
            {"path": change.path, "before": change.before, "after": change.after} for change in step.changes
        ],
        "companions": list(step.companions),
        "remarks": list(step.remarks),
    }


def as_values(explained: Explanation) -> dict[str, Any]:
    """Return the same facts as values for JSON."""
    topology, demand = explained.document.spec.workers.topology, explained.demand
    return {
        "deployment": explained.key,
        "replicas": explained.document.spec.replicas,
        "shape": {
            "gpusPerPod": demand.pod.gpus,
            "podsPerWorker": topology.pods_per_worker,
            "workersPerReplica": explained.document.spec.workers.count,
            "gpusPerReplica": demand.pods * demand.pod.gpus,
            "sparePodsPerPlacement": demand.spare,
        },
        "placements": [
            spot_values(placed.spot)
            | {
                "replicas": placed.replicas,
                "before": placed.before,
                "roles": [
                    {
                        "role": role.name,
                        "class": role.class_name,
                        "awaitSeconds": role.await_seconds,
                        "plugins": [_step_values(step) for step in role.steps],
                    }
                    for role in placed.roles
                ],
            }
            for placed in explained.placed
        ],
        "elsewhere": reason_values(explained.reasons),
        "unplaced": explained.unplaced.replicas if explained.unplaced else 0,
        "services": list(explained.services),
    }
