"""A plan as tables for people and as values for machines."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.cli.show.tables import print_table
from inferfleet.desired.values import Desired
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Change, Reason
from inferfleet.fleet.shapes import demand
from inferfleet.fleet.spot import Spot


def show(desired: Desired, documents: Documents, *, remembered: bool) -> None:
    """Placements, services, moves and replicas without a place; what there is none of is left out.

    Without a lock (not `remembered`) every placement is new, and nothing is said of moves.
    """
    plan = desired.plan
    columns = ("deployment", "cluster", "pools", "replicas", "GPUs")
    rows = [
        (
            one.spot.deployment,
            one.spot.cluster,
            pools(one.spot),
            one.replicas,
            gpus(one.spot, one.replicas, documents),
        )
        for one in plan.placements
    ]
    if rows:
        print_table(f"placements of stack {desired.stack}" if remembered else "placements", columns, rows)
    else:
        print("nothing is placed")
    if plan.services:
        backends = [
            (one.service, one.cluster, ", ".join(f"{to.deployment} {to.weight}" for to in one.backends))
            for one in plan.services
        ]
        print()
        print_table("services", ("service", "cluster", "endpoints by weight"), backends)
    if plan.changes and remembered:
        print("\nchanges against placement.lock")
        for line in moves(plan.changes):
            print(f"  {line}")
    if desired.cloud_changes and remembered:
        print("\nGoogle Cloud, against placement.lock")
        for change in desired.cloud_changes:
            print(f"  {change}")
    for missing in plan.unplaced:
        print()
        title = f"{missing.deployment}: {_replicas(missing.replicas)} without a place"
        print_table(title, ("cluster", "pool", "why not"), reason_rows(missing.reasons))


def moves(changes: Iterable[Change]) -> Iterator[str]:
    """`ml/x: east/l4 2 -> 1, west/l4 0 -> 1`, one line per deployment."""
    for deployment, group in groupby(sorted(changes), key=lambda one: one.spot.deployment):
        steps = (
            f"{one.spot.cluster}/{names.placement(one.spot)} {one.before} -> {one.after}" for one in group
        )
        yield f"{deployment}: {', '.join(steps)}"


def pools(spot: Spot) -> str:
    return " ".join(f"{role}={pool}" for role, pool in spot.pools)


def gpus(spot: Spot, replicas: int, documents: Documents) -> int | None:
    """GPUs that the replicas hold; None when a lost cluster keeps what no document asks for any more."""
    deployment = documents.deployments.get(spot.deployment)
    if deployment is None:
        return None
    asked = demand(deployment)
    return asked.pod.gpus * asked.pods * replicas


def reason_rows(reasons: Iterable[Reason]) -> list[tuple[str, str, str]]:
    return [(one.cluster, one.pool or "(all)", one.why) for one in reasons]


def reason_values(reasons: Iterable[Reason]) -> list[dict[str, str | None]]:
    return [{"cluster": one.cluster, "pool": one.pool or None, "why": one.why} for one in reasons]


def as_values(desired: Desired, documents: Documents) -> dict[str, Any]:
    """JSON-serialisable, with the same facts as the tables."""
    plan = desired.plan
    return {
        "stack": desired.stack,
        "placements": [
            spot_values(one.spot)
            | {"replicas": one.replicas, "gpus": gpus(one.spot, one.replicas, documents)}
            for one in plan.placements
        ],
        "services": [
            {
                "service": one.service,
                "cluster": one.cluster,
                "backends": [{"deployment": to.deployment, "weight": to.weight} for to in one.backends],
            }
            for one in plan.services
        ],
        "changes": [
            spot_values(one.spot) | {"before": one.before, "after": one.after} for one in plan.changes
        ],
        "cloudChanges": [
            {
                "cluster": one.cluster,
                "pool": one.pool or None,
                "change": one.kind,
                "settings": [
                    {"path": of.path, "before": of.before, "after": of.after, "fields": list(of.names)}
                    for of in one.differences
                ],
                "note": one.note or None,
            }
            for one in desired.cloud_changes
        ],
        "unplaced": [
            {"deployment": one.deployment, "replicas": one.replicas, "reasons": reason_values(one.reasons)}
            for one in plan.unplaced
        ],
    }


def spot_values(spot: Spot) -> dict[str, Any]:
    return {"deployment": spot.deployment, "cluster": spot.cluster, "pools": dict(spot.pools)}


def _replicas(number: int) -> str:
    return f"{number} replica{'' if number == 1 else 's'}"
