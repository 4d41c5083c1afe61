"""A plan as tables for people and as values for machines."""

from collections.abc import Iterable
from typing import Any

from inferfleet.cli.output import print_line
from inferfleet.cli.show.pickers import picker_values, show_pickers
from inferfleet.cli.show.tables import print_table
from inferfleet.desired.values import Desired
from inferfleet.fleet.advice.exposure import Exposure, OnePicker
from inferfleet.fleet.advice.summaries import (
    change_lines,
    fix_step,
    groups,
    in_short,
    named_and_counted,
    roll_line,
)
from inferfleet.fleet.decisions import Fix, MoreNodes, Reason, Unplaced
from inferfleet.fleet.demands import Demand, Demands
from inferfleet.fleet.shapes import counted
from inferfleet.fleet.spot import Spot

# Reasons of one deployment in JSON of a plan; those of `inferfleet explain` are complete.
MOST_REASONS = 100


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
    show_pickers(desired)
    if plan.changes and remembered:
        print_line()
        print_line("changes against placement.lock")
        for line in change_lines(plan.changes, plan.left):
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
    first, others = named_and_counted(plan.unplaced)
    for missing in first:
        running = f" ({missing.running} of them running now)" if missing.running else ""
        what = f"{missing.deployment}: {counted(missing.replicas, 'replica')}{running}"
        print_line(f"  {what}, {in_short(missing.reasons)}")
    if others:
        replicas = counted(sum(missing.replicas for missing in others), "replica")
        print_line(f"  and {counted(len(others), 'more deployment')}: {replicas}")


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
    return replicas * sum(needs.gpus for needs in _demands(spot, demands))


def gpus_or_cpu(number: int | None) -> int | str | None:
    """Return how a table tells a number of GPUs: replicas without any run on cores alone."""
    return "cpu" if number == 0 else number


def pods(spot: Spot, replicas: int, demands: Demands) -> int | None:
    """Return the pods of the replicas; None where no document says."""
    if not all(demands.has(spot.deployment, role) for role, _ in spot.pools):
        return None
    return replicas * sum(needs.pods for needs in _demands(spot, demands))


def _demands(spot: Spot, demands: Demands) -> list[Demand]:
    return [demands.of(spot.deployment, role, (spot.cluster, pool)) for role, pool in spot.pools]


def _has_gangs(spot: Spot, demands: Demands) -> bool:
    known = [(role, pool) for role, pool in spot.pools if demands.has(spot.deployment, role)]
    return any(needs.gang > 1 for needs in _demands(spot._replace(pools=tuple(known)), demands))


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


def as_values(desired: Desired) -> dict[str, Any]:
    """Return the same facts as values for JSON."""
    plan = desired.plan
    first, others = named_and_counted(plan.unplaced)
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
        "pickers": picker_values(desired),
        "changes": [
            spot_values(change.spot)
            | {"before": change.before, "after": change.after, "why": plan.left.get(change.spot)}
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
                for missing in others
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


def node_values(more: MoreNodes) -> dict[str, Any]:
    """Return nodes that a pool should have more, and what they cost, as values for JSON."""
    return {
        "cluster": more.cluster,
        "pool": more.pool,
        "moreNodes": more.nodes,
        "nodes": more.size,
        "perHour": more.per_hour or None,
        "currency": more.currency or None,
    }
