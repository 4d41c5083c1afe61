"""A plan as tables for people and as values for machines, with what pickers request, what each loss does, and
which pods roll since a commit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from inferfleet.cli.output import print_line
from inferfleet.cli.show.tables import print_table
from inferfleet.desired.values import ClusterAddon, Desired
from inferfleet.documents.wording import listing
from inferfleet.fleet.advice.exposure import Exposure, OnePicker
from inferfleet.fleet.advice.summaries import (
    change_lines,
    cost,
    fix_step,
    groups,
    in_short,
    named_and_counted,
    place,
    roll_line,
)
from inferfleet.fleet.decisions import Fix, MoreNodes, Reason, Unplaced
from inferfleet.fleet.demands import Demand, Demands
from inferfleet.fleet.front_door import Door, Failover, failovers
from inferfleet.fleet.shapes import counted, requests
from inferfleet.fleet.spot import Spot
from inferfleet.fleet.whatif import Outcome
from inferfleet.review.digest.values import ModelChange, StackDigest
from inferfleet.serving.picker import deployment_of
from inferfleet.tables.addons import ADDONS

# Reasons of one deployment in JSON of a plan; those of `inferfleet explain` are complete.
MOST_REASONS = 100
_GIB = 2**30
# So many clusters are named, those with the most.
_CLUSTERS_SHOWN = 3
# Models that one cell names.
_NAMED = 5
# A stack that a commit had not, or had with errors, has nothing to be compared with.
WITHOUT_BASE = ("added", "not compared")
# Of 40 digits of a commit, as digests have them.
_DIGITS = 12


def show(desired: Desired, *, remembered: bool) -> None:
    """Print placements, services, moves and replicas without a place, without empty tables.

    Without a lock (not `remembered`) every placement is new, and moves are not printed.
    """
    plan = desired.plan
    columns: tuple[str, ...] = ("deployment", "cluster", "pools", "replicas", "GPUs")
    rows: list[tuple[object, ...]] = [
        (
            placement.spot.deployment,
            placement.spot.cluster,
            pools(placement.spot),
            placement.replicas if placement.least is None else placement,
            gpus_or_cpu(gpus(placement.spot, placement.replicas, plan.demands)),
        )
        for placement in plan.placements
    ]
    if any(_has_gangs(placement.spot, plan.demands) for placement in plan.placements):
        columns = (*columns, "pods in all")
        rows = [
            (*row, pods(placement.spot, placement.replicas, plan.demands))
            for row, placement in zip(rows, plan.placements, strict=True)
        ]
    if rows:
        print_table(f"placements of stack {desired.stack}" if remembered else "placements", columns, rows)
    else:
        print_line("nothing is placed")
    if plan.services:
        backends = [
            (
                route.service,
                route.cluster,
                ", ".join(f"{backend.deployment} {backend.weight}" for backend in route.backends),
            )
            for route in plan.services
        ]
        print_line()
        print_table("services", ("service", "cluster", "endpoints by weight"), backends)
    if desired.doors:
        print_line()
        columns = ("gateway", "on", "service", "names", "clusters by weight")
        print_table("gateways", columns, [row for door in desired.doors for row in _door_rows(door)])
    show_pickers(desired)
    show_addons(desired)
    if plan.changes and remembered:
        print_line()
        print_line("changes against placement.lock")
        for line in change_lines(plan.changes, plan.departure_reasons):
            print_line(f"  {line}")
        for roll in plan.rolls:
            print_line(f"  {roll_line(roll)}")
    if desired.cloud_changes and remembered:
        print_line()
        print_line("Google Cloud, against placement.lock")
        for change in desired.cloud_changes:
            print_line(f"  {change}")
    if plan.unplaced:
        print_line()
        print_line("without a place (inferfleet explain says why of each pool)")
    first, counted_only = named_and_counted(plan.unplaced)
    for missing in first:
        running = f" ({missing.running} of them running now)" if missing.running else ""
        what = f"{missing.deployment}: {counted(missing.replicas, 'replica')}{running}"
        print_line(f"  {what}, {in_short(missing.reasons)}")
    if counted_only:
        replicas = counted(sum(missing.replicas for missing in counted_only), "replica")
        print_line(f"  and {counted(len(counted_only), 'more deployment')}: {replicas}")


def show_exposed(alone: Iterable[Exposure], picker: OnePicker | None) -> None:
    """Print what does not answer while one node is drained, without an empty list."""
    lines = [*map(str, alone), *([str(picker)] if picker else [])]
    if lines:
        print_line()
        print_line("exposed: does not answer while its node is drained, replaced or lost")
    for line in lines:
        print_line(f"  {line}")


def exposed_values(alone: Iterable[Exposure], picker: OnePicker | None) -> dict[str, Any]:
    """Return the same as values for JSON, with all deployments."""
    return {
        "exposed": [
            {
                "deployment": exposed.deployment,
                "cluster": exposed.cluster,
                "roles": list(exposed.roles),
                "whenScaledDown": exposed.scaled,
            }
            for exposed in alone
        ],
        "onePicker": list(picker.deployments) if picker else [],
    }


def pools(spot: Spot) -> str:
    """Return the pools of a spot by role: `decode=l4`."""
    return " ".join(f"{role}={pool}" for role, pool in spot.pools)


def gpus(spot: Spot, replicas: int, demands: Demands) -> int | None:
    """Return the GPUs that the replicas hold; None where a lost cluster keeps what no document asks for."""
    if not all(demands.has(spot.deployment, role) for role, _ in spot.pools):
        return None
    return replicas * sum(demand.gpus for demand in _demands(spot, demands))


def gpus_or_cpu(number: int | None) -> int | str | None:
    """Return how a table tells a number of GPUs: replicas without any run on cores alone."""
    return "cpu" if number == 0 else number


def pods(spot: Spot, replicas: int, demands: Demands) -> int | None:
    """Return the pods of the replicas; None where no document says."""
    if not all(demands.has(spot.deployment, role) for role, _ in spot.pools):
        return None
    return replicas * sum(demand.pods for demand in _demands(spot, demands))


def _demands(spot: Spot, demands: Demands) -> list[Demand]:
    return [demands.of(spot.deployment, role, (spot.cluster, pool)) for role, pool in spot.pools]


def _has_gangs(spot: Spot, demands: Demands) -> bool:
    declared = [(role, pool) for role, pool in spot.pools if demands.has(spot.deployment, role)]
    return any(demand.gang > 1 for demand in _demands(spot._replace(pools=tuple(declared)), demands))


def reason_rows(reasons: Iterable[Reason]) -> list[tuple[str, str, str]]:
    """Return the reasons as rows of cluster, pool and why."""
    return [(reason.cluster, reason.pool or "(all)", reason.why) for reason in reasons]


def reason_values(reasons: Iterable[Reason]) -> list[dict[str, str | None]]:
    """Return the reasons as values for JSON."""
    return [
        {
            "cluster": reason.cluster,
            "pool": reason.pool or None,
            "why": reason.why,
            **({"nextStep": reason.step} if reason.step else {}),
        }
        for reason in reasons
    ]


def _door_rows(door: Door) -> Iterator[tuple[str, ...]]:
    """Yield a row for each service behind an InferenceGateway; fallbacks follow a semicolon."""
    for route in door.routes:
        parts = [
            ", ".join(
                f"{backend.cluster} {backend.weight}"
                for backend in route.backends
                if backend.fallback == fallback
            )
            for fallback in (False, True)
        ]
        names_of_models = ", ".join(route.models) or "by path alone"
        yield door.gateway, door.hub, route.service, names_of_models, "; ".join(filter(None, parts)) or "none"


def as_values(desired: Desired) -> dict[str, Any]:
    """Return the same facts as values for JSON."""
    plan = desired.plan
    first, counted_only = named_and_counted(plan.unplaced)
    return {
        "stack": desired.stack,
        "placements": [
            spot_values(placement.spot)
            | {
                "replicas": placement.replicas,
                **({} if placement.least is None else {"least": placement.least}),
                "gpus": gpus(placement.spot, placement.replicas, plan.demands),
                "pods": pods(placement.spot, placement.replicas, plan.demands),
            }
            for placement in plan.placements
        ],
        "services": [
            {
                "service": route.service,
                "cluster": route.cluster,
                "backends": [
                    {"deployment": backend.deployment, "weight": backend.weight} for backend in route.backends
                ],
            }
            for route in plan.services
        ],
        "gateways": [
            {
                "gateway": door.gateway,
                "cluster": door.hub,
                "service": route.service,
                "models": list(route.models),
                "clusters": [
                    {"cluster": backend.cluster, "weight": backend.weight, "fallback": backend.fallback}
                    for backend in route.backends
                ],
            }
            for door in desired.doors
            for route in door.routes
        ],
        "pickers": picker_values(desired),
        "addons": [
            {
                "cluster": cluster.connection.cluster,
                "addon": addon.name,
                "version": addon.version,
                "why": addon.why or None,
                "left": addon.left,
            }
            for cluster in desired.clusters
            for addon in cluster.addons
        ],
        "changes": [
            spot_values(change.spot)
            | {"before": change.before, "after": change.after, "why": plan.departure_reasons.get(change.spot)}
            for change in plan.changes
        ],
        "rolls": [
            spot_values(roll.spot)
            | {
                "replicas": roll.replicas,
                "before": [spot_values(spot) for spot in roll.before],
                "beside": roll.beside,
            }
            for roll in plan.rolls
        ],
        "cloudChanges": [
            {
                "cluster": change.cluster,
                "pool": change.pool or None,
                "change": change.kind,
                "settings": [
                    {
                        "path": difference.path,
                        "before": difference.before,
                        "after": difference.after,
                        "fields": list(difference.names),
                    }
                    for difference in change.differences
                ],
                "note": change.note or None,
            }
            for change in desired.cloud_changes
        ],
        "unplaced": [
            *(
                {
                    "deployment": missing.deployment,
                    "replicas": missing.replicas,
                    **unplaced_values(missing, plan.fixes.get(missing.deployment)),
                }
                for missing in first
            ),
            *(
                {
                    "deployment": missing.deployment,
                    "replicas": missing.replicas,
                    "running": missing.running,
                }
                for missing in counted_only
            ),
        ],
    }


def unplaced_values(missing: Unplaced, fix: Fix | None, most: int = MOST_REASONS) -> dict[str, Any]:
    """Return how many of the replicas run now, why they have no place, in short and pool by pool, and what
    would place them.
    """
    return {
        "running": missing.running,
        "short": in_short(missing.reasons),
        "groups": [
            {
                "clusters": group.clusters,
                "why": group.short,
                "example": reason_values([group.example])[0],
            }
            for group in groups(missing.reasons)
        ],
        "reasons": reason_values(missing.reasons[:most]),
        "moreReasons": max(0, len(missing.reasons) - most),
        "fix": fix
        and {
            "pools": [node_values(more) | {"priceRegion": more.price_region or None} for more in fix.pools],
            "others": list(fix.first),
        },
        "nextStep": fix_step(fix, missing.reasons),
    }


def spot_values(spot: Spot) -> dict[str, Any]:
    """Return a spot as values for JSON."""
    revision = {"revision": spot.revision} if spot.revision else {}
    return {"deployment": spot.deployment, "cluster": spot.cluster, "pools": dict(spot.pools), **revision}


def node_values(added: MoreNodes) -> dict[str, Any]:
    """Return nodes that a pool should have more, and what they cost, as values for JSON."""
    return {
        "cluster": added.cluster,
        "pool": added.pool,
        "moreNodes": added.nodes,
        "nodes": added.size,
        "perHour": added.per_hour or None,
        "currency": added.currency or None,
    }


@dataclass(frozen=True)
class _PickerCost:
    """What so many pods request together: thousandths of a core, and bytes of memory."""

    cpu: int = 0
    memory: int = 0
    pods: int = 0

    def __add__(self, other: "_PickerCost") -> "_PickerCost":
        return _PickerCost(self.cpu + other.cpu, self.memory + other.memory, self.pods + other.pods)

    @property
    def cores(self) -> float:
        return self.cpu / 1000

    @property
    def gib(self) -> float:
        return round(self.memory / _GIB, 3)

    def __str__(self) -> str:
        return f"{self.cores:g} cores and {self.gib:g} GiB"


def show_pickers(desired: Desired) -> None:
    """Print what pickers request on each cluster, nothing without any."""
    costs = _costs(desired)
    if not costs:
        return
    most = sorted(costs.items(), key=lambda item: (-item[1].cpu, -item[1].memory, item[0]))
    parts = [f"{cluster} {cost} ({_pods(cost)})" for cluster, cost in most[:_CLUSTERS_SHOWN]]
    if len(most) > _CLUSTERS_SHOWN:
        total = sum(costs.values(), _PickerCost())
        parts.append(f"{len(most) - _CLUSTERS_SHOWN} more clusters; in all {total} ({_pods(total)})")
    print_line()
    print_line("endpoint pickers request of nodes without GPUs")
    print_line(f"  {', '.join(parts)}")


def show_addons(desired: Desired) -> None:
    """Print what the stack installs on its clusters, and for what."""
    rows = [
        (cluster.connection.cluster, f"{ADDONS[addon.name].project} {addon.version}", _need(addon))
        for cluster in desired.clusters
        for addon in cluster.addons
    ]
    if rows:
        print_line()
        print_table("installed by the stack", ("cluster", "add-on", "for"), rows)


def _need(addon: ClusterAddon) -> str:
    if addon.left:
        return "left to others by serving.stack, and stays as it is"
    return addon.why or "nothing any more; it stays until serving.stack says Provided"


def picker_values(desired: Desired) -> list[dict[str, Any]]:
    """Return the same for every cluster as values for JSON: cores, and GiB of memory."""
    return [
        {"cluster": cluster, "pods": cost.pods, "cores": cost.cores, "gib": cost.gib}
        for cluster, cost in sorted(_costs(desired).items())
    ]


def _costs(desired: Desired) -> dict[str, _PickerCost]:
    costs = {
        cluster.connection.cluster: _cost_of(
            kube_object.manifest
            for component in cluster.components
            if component.kind == "ModelEndpoint"
            for kube_object in component.objects
            if kube_object.kind == "Deployment"
        )
        for cluster in desired.clusters
    }
    return {cluster: cost for cluster, cost in costs.items() if cost.pods}


def _cost_of(workloads: Iterable[Mapping[str, Any]]) -> _PickerCost:
    """Return what the pickers among Deployments request, all replicas of each."""
    total = _PickerCost()
    for workload in workloads:
        if deployment_of(workload):
            spec, replicas = workload["spec"]["template"]["spec"], workload["spec"]["replicas"]
            total += _PickerCost(
                requests(spec, "cpu") * replicas, requests(spec, "memory") * replicas, replicas
            )
    return total


def _pods(cost: _PickerCost) -> str:
    return f"{cost.pods} pod{'' if cost.pods == 1 else 's'}"


def show_losses(outcomes: Sequence[Outcome], doors: Sequence[Door]) -> None:
    """Print what each loss does, those on which nothing runs at the end; and what InferenceGateways do from
    the loss of a cluster until an update moves its replicas.
    """
    print_line()
    if used := [outcome for outcome in outcomes if outcome.replicas]:
        columns = ("lost", "replicas", "without a place", "no service", "cheapest repair")
        print_table("if one is lost", columns, map(_loss_row, used))
    if idle := [str(outcome.loss) for outcome in outcomes if not outcome.replicas]:
        print_line(f"nothing runs on {listing(idle, _NAMED)}")
    if used and not any(outcome.lacking for outcome in used):
        print_line("each of them can be lost, and all replicas have another place")
    rows = [
        (failover.gateway, outcome.loss, failover.service, _goes_on(failover, outcome.loss.name))
        for outcome in outcomes
        if outcome.loss.kind == "cluster"
        for failover in failovers(doors, outcome.loss.name)
    ]
    if rows:
        print_line()
        print_table("until the next update", ("gateway", "lost", "service", "answered by"), rows)


def _goes_on(failover: Failover, lost: str) -> str:
    """Return in words who answers for a service once a cluster is lost."""
    if failover.hub == lost:
        return f"nobody at the address on {lost}"
    at = f"at the address on {failover.hub}"
    return f"{', '.join(failover.clusters) or 'the gateway itself: 503'}, {at}"


def _loss_row(outcome: Outcome) -> tuple[object, ...]:
    lacking = [f"{missing.deployment} {missing.replicas}" for missing in outcome.lacking]
    return (
        outcome.loss,
        outcome.replicas,
        listing(lacking, _NAMED),
        listing(outcome.unserved, _NAMED),
        repair(outcome),
    )


def repair(outcome: Outcome) -> str:
    """Return in words what places all replicas that lack a place, "" where none do."""
    if outcome.repair is None:
        missing = outcome.lacking[0]
        step = f"{missing.step[:1].lower()}{missing.step[1:]}"
        return f"no number of nodes alone; for {missing.deployment}: {step}"
    return ", ".join(
        f"{counted(added.nodes, 'node')} more on {place(added)} ({cost(added)})" for added in outcome.repair
    )


def loss_values(outcome: Outcome, doors: Sequence[Door]) -> dict[str, Any]:
    """Return what a loss does as values for JSON."""
    return {
        "lost": {"kind": outcome.loss.kind, "name": outcome.loss.name},
        "replicas": outcome.replicas,
        "lacking": [
            {
                "deployment": missing.deployment,
                "replicas": missing.replicas,
                "left": missing.replicas_left,
                "nextStep": missing.step,
            }
            for missing in outcome.lacking
        ],
        "unserved": list(outcome.unserved),
        "repair": None if outcome.repair is None else [node_values(more) for more in outcome.repair],
        "perHour": {currency: str(amount) for currency, amount in sorted(outcome.costs.items())},
        "failovers": [
            asdict(failover)
            for failover in (failovers(doors, outcome.loss.name) if outcome.loss.kind == "cluster" else ())
        ],
    }


def show_rolling(compared: StackDigest, commit: str) -> None:
    """Print which pods roll since a commit, by deployment, with what becomes of its replicas besides."""
    print_line()
    rolling = _rolling(compared)
    for resumption in compared.resumptions:
        print_line(resumption.summary)
    if not rolling:
        if not compared.resumptions:
            print_line(f"no pods roll since {commit[:_DIGITS]}")
        return
    pods = sum(restart.pods for model in rolling for restart in model.restarts)
    counts = {
        "pod": pods,
        "new set": sum(len(model.rolls) for model in rolling),
        "endpoint picker": sum(len(model.pickers) for model in rolling),
    }
    text = ", ".join(counted(count, noun) for noun, count in counts.items() if count)
    print_line(f"pods that roll since {commit[:_DIGITS]}: {text}")
    for model in rolling:
        print_line(f"  {model.deployment}")
        for line in model.lines:
            print_line(f"    {line}")


def rolling_values(compared: StackDigest, commit: str) -> dict[str, Any]:
    """Return the same as values for JSON."""
    return {
        "commit": commit,
        "compared": compared.state not in WITHOUT_BASE,
        "deployments": [
            {
                "deployment": model.deployment,
                "restarts": [asdict(restart) for restart in model.restarts],
                "newSets": [asdict(roll) for roll in model.rolls],
                "pickers": [asdict(picker) for picker in model.pickers],
            }
            for model in _rolling(compared)
        ],
        "resumptions": [asdict(resumption) for resumption in compared.resumptions],
    }


def _rolling(compared: StackDigest) -> list[ModelChange]:
    """Return the deployments of which anything rolls, the others only move, come or go."""
    return [model for model in compared.models if model.restarts or model.rolls or model.pickers]
