"""Named reservations that pools are to stand on: whether they are there, and what they hold.

https://cloud.google.com/compute/docs/reference/rest/v1/reservations/get
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.gke.facts.machines import machine_of
from inferfleet.gke.settings.fabrics import zones_of
from inferfleet.gke.values import CloudCluster

_STEP = "Look with `gcloud compute reservations list --project {project}`; name another one, or mend it"


@dataclass(frozen=True)
class Reserved:
    """What a pool (`cluster/pool`) needs of the reservation of that name, which is in one or more of `zones`.

    `nodes` is the most it may have. `built_in` SSDs are part of the machine.
    """

    pool: str
    path: str
    project: str
    zones: tuple[str, ...]
    name: str
    machine_type: str
    ssds: int
    built_in: bool
    nodes: int

    @property
    def thing(self) -> str:
        return f"reservation {self.name!r} of project {self.project}"


def reserved(
    documents: Documents, clusters: Collection[CloudCluster], there: Mapping[str, Collection[str]]
) -> tuple[Reserved, ...]:
    """The named reservations of pools that do not stand in Google Cloud yet. `there` as for `quota.needs`."""
    return tuple(
        one for cluster in clusters for one in _of(documents, cluster, there.get(cluster.cluster, ()))
    )


def _of(documents: Documents, cluster: CloudCluster, there: Collection[str]) -> Iterator[Reserved]:
    spec = documents.clusters[cluster.cluster].spec
    for place, pool in enumerate(spec.node_pools):
        inference_class = documents.classes[pool.class_name]
        machine, named = machine_of(inference_class), pool.capacity.reservation
        recipe = inference_class.spec.provisioning and inference_class.spec.provisioning.gke
        called = cluster.pools.get(pool.name)
        if not (named and machine and recipe and called and spec.cluster.gke) or called in there:
            continue
        ssds = machine.ssds.counts if machine.ssds.attached else ()
        yield Reserved(
            f"{cluster.cluster}/{pool.name}",
            f"spec.nodePools[{place}].capacity.reservation",
            named.project or cluster.project,
            zones_of(spec.cluster.gke, pool),
            named.name,
            machine.type,
            recipe.local_ssd.count if recipe.local_ssd else sum(ssds),
            machine.ssds.attached,
            pool.size,
        )


def reservation_problems(
    need: Reserved, answers: Mapping[str, Mapping[str, Any] | None]
) -> tuple[Problem, ...]:
    """What does not fit, from Google's answer by zone (None: not there). What it does not tell fits."""
    there = {zone: answer for zone, answer in sorted(answers.items()) if answer is not None}
    if not there:
        zones = ", ".join(sorted(answers))
        return (_problem(need, f"there is no {need.thing} in {zones}, and pool {need.pool} needs it"),)
    found = [whys for zone, answer in there.items() if (whys := tuple(_unlike(need, answer, zone)))]
    if len(found) == len(there):
        return tuple(_problem(need, why) for whys in found for why in whys)
    free = [_free(answer) for answer in there.values()]
    if None not in free and sum(one or 0 for one in free) < need.nodes:
        has = sum(one or 0 for one in free)
        what = f"{need.thing} has {has} of the {need.nodes} machines left that pool {need.pool} may need"
        return (_problem(need, what),)
    return ()


def _unlike(need: Reserved, answer: Mapping[str, Any], zone: str) -> Iterator[str]:
    machine = _properties(answer).get("machineType")
    if machine and machine != need.machine_type:
        kinds = f"it holds {machine}, pool {need.pool} is of {need.machine_type}"
        yield f"{need.thing} in {zone} does not fit: {kinds}"
        return
    ssds = len(_properties(answer).get("localSsds") or ())
    # What is part of the machine need not be told.
    told = _properties(answer) and not (need.built_in and not ssds)
    if told and ssds != need.ssds:
        yield (
            f"{need.thing} in {zone} does not fit: its machines have {ssds} local SSDs, nodes of pool "
            f"{need.pool} {need.ssds}"
        )


def _free(answer: Mapping[str, Any]) -> int | None:
    """Numbers of 64 bits are strings; one that is zero may be left out."""
    specific = answer.get("specificReservation")
    if not isinstance(specific, Mapping) or "count" not in specific:
        return None
    return int(specific["count"]) - int(specific.get("inUseCount") or 0)


def _properties(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    specific = answer.get("specificReservation")
    found = specific.get("instanceProperties") if isinstance(specific, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _problem(need: Reserved, what: str) -> Problem:
    return Problem(what, _STEP.format(project=need.project), need.path)
