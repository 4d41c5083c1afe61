"""What schedulers must find on a cluster that the stack does not make: queues, and topologies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from inferfleet.documents.documents import Documents
from inferfleet.fleet.scheduling import ON_CLUSTER, ON_DEPLOYMENT, Scheduling, of_several_pods, scheduling_of
from inferfleet.fleet.spot import Spot
from inferfleet.tables import schedulers


@dataclass(frozen=True, order=True)
class SchedulerNeed:
    """An object of a scheduler that must be there: a queue, or a topology that knows the levels.

    `group` and `object_kind` are those of the API, whose version the cluster chooses. `name` is None where
    any will do, and `namespace` where it belongs to the cluster. `kind`, `key` and `path` are the field of
    the document that asks for it; `whose` is the deployment.
    """

    scheduler: str
    group: str
    object_kind: str
    namespace: str | None
    name: str | None
    levels: tuple[str, ...]
    whose: str
    kind: str
    key: str
    path: str


def scheduler_needs(documents: Documents, spots: Iterable[Spot]) -> tuple[SchedulerNeed, ...]:
    """Return what must be there for the placements on these spots, once for each object and field."""
    needs: dict[tuple[str | None, ...], SchedulerNeed] = {}
    for spot in sorted(spots):
        deployment, cluster = documents.deployments[spot.deployment], documents.clusters[spot.cluster]
        scheduling = scheduling_of(deployment, cluster)
        if scheduling is None or scheduling.type == "None":
            continue
        own = deployment.spec.scheduler
        for need in _of(
            scheduling,
            spot,
            queue=bool(own.queue),
            topology=bool(own.topology),
            spans=bool(of_several_pods(documents, spot)),
        ):
            needs.setdefault((*need.levels, need.object_kind, need.namespace, need.name, need.path), need)
    return tuple(sorted(needs.values(), key=lambda need: (need.kind, need.key, need.path, need.whose)))


def _of(
    scheduling: Scheduling, spot: Spot, *, queue: bool, topology: bool, spans: bool
) -> Iterator[SchedulerNeed]:
    group, object_kind = schedulers.QUEUES[scheduling.type]
    namespace = spot.namespace if scheduling.type == "Kueue" else None
    if scheduling.queue:
        where = _field(spot, "queue", own=queue)
        yield SchedulerNeed(
            scheduling.type, group, object_kind, namespace, scheduling.queue, (), spot.deployment, *where
        )
    if closeness := scheduling.topology if spans else None:
        group, object_kind = schedulers.TOPOLOGIES[scheduling.type]
        levels = [level for level in (closeness.required, closeness.preferred) if isinstance(level, str)]
        told = tuple(levels) if scheduling.type != "Volcano" else ()
        where = _field(spot, "topology", own=topology)
        yield SchedulerNeed(
            scheduling.type, group, object_kind, None, closeness.name, told, spot.deployment, *where
        )


def _field(spot: Spot, field: str, *, own: bool) -> tuple[str, str, str]:
    if own:
        return "ModelDeployment", spot.deployment, f"{ON_DEPLOYMENT}.{field}"
    return "InferenceCluster", spot.cluster, f"{ON_CLUSTER}.{field}"
