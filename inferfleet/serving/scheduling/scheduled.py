"""A finished workload with what its scheduler reads: a Deployment, or a LeaderWorkerSet.

Kueue reads the queue from labels of the workload, and its webhooks mark the pod templates
(deployment_webhook.go and leaderworkerset_webhook.go in pkg/controller/jobs of kubernetes-sigs/kueue, commit
ff69552e). It admits each pod of a Deployment alone, and each group of a LeaderWorkerSet as a whole; nodes
close to each other it chooses by annotations of both templates, which one name joins, or it would place
leader and workers apart (jobframework/tas_validation.go). KAI reads queue and topology from the workload and
makes the PodGroups itself: one per pod of a Deployment, one per group of a LeaderWorkerSet (defaultgrouper,
deployment and leaderworkerset in pkg/podgrouper/podgrouper/plugins, commit 72de64fc), and takes
only the former for inference: the latter are `train`, which it preempts, unless a label or a pod says
otherwise. Volcano reads both from pods: pg_controller_handler.go, commit ed72c7c8, makes a PodGroup per
ReplicaSet for pods that name none, of which one pod at a time may start.

So a pod template gets what must stand there alone: the scheduler's name, Volcano's queue or group, and what
keeps the nodes of one worker close. A queue of Kueue or KAI changes without a restart. Whoever has none of
this gets the workload back as it is.
"""

import copy
from typing import Any

from inferfleet.fleet import names
from inferfleet.fleet.scheduling import Scheduling
from inferfleet.fleet.spot import Spot
from inferfleet.serving.workload import WORKER_SET
from inferfleet.tables import schedulers

Manifest = dict[str, Any]
# Of two templates of one workload, Kueue asks for a name that is no number.
_ONE_WORKER = "worker"


def scheduled(manifest: Manifest, scheduling: Scheduling | None, *, spot: Spot, role: str) -> Manifest:
    """Return the workload of a role of the spot with what the scheduler reads. The given one stays."""
    if scheduling is None:
        return manifest
    made = copy.deepcopy(manifest)
    if scheduling.type == "Kueue" and scheduling.queue:
        _mark(made, "labels", {schedulers.KUEUE_QUEUE: scheduling.queue})
    if scheduling.type == "KAI" and scheduling.queue:
        _mark(made, "labels", {schedulers.KAI_QUEUE: scheduling.queue})
        if made["kind"] == WORKER_SET:
            _mark(made, "annotations", _kai_topology(scheduling))
            if not any(_has_priority(template) for template in templates(made)):
                _mark(made, "labels", {schedulers.KAI_PRIORITY: schedulers.KAI_INFERENCE})
    for template in templates(made):
        if scheduling.scheduler_name:
            template["spec"]["schedulerName"] = scheduling.scheduler_name
        _mark(template, "annotations", _of_pods(made, scheduling, spot, role))
    return made


def templates(manifest: Manifest) -> list[Manifest]:
    """Return the pod templates in a workload: of a LeaderWorkerSet the leader's first, where it has one."""
    if manifest["kind"] != WORKER_SET:
        return [manifest["spec"]["template"]]
    pods = manifest["spec"]["leaderWorkerTemplate"]
    return [pods[name] for name in ("leaderTemplate", "workerTemplate") if name in pods]


def pod_group_of(manifest: Manifest, scheduling: Scheduling, spot: Spot, role: str) -> str | None:
    """Return the name of the PodGroup that we make for a workload's pods, None where nobody needs one of us.

    Roles of a gang share one, and every other LeaderWorkerSet has its own.
    """
    if scheduling.type != "Volcano":
        return None
    if role in scheduling.gang:
        return names.gang(spot)
    return str(manifest["metadata"]["name"]) if manifest["kind"] == WORKER_SET else None


def volcano_queue(scheduling: Scheduling) -> str | None:
    """Return the queue to be written, None for the default one.

    In a namespace that names another queue, Volcano puts that in the place of the default one when a PodGroup
    is created (pkg/webhooks/admission/podgroups/mutate, commit ed72c7c8), and an update would put it back.
    """
    return scheduling.queue if scheduling.queue != schedulers.VOLCANO_QUEUE else None


def _of_pods(manifest: Manifest, scheduling: Scheduling, spot: Spot, role: str) -> dict[str, str]:
    """Return the annotations that pods must have themselves."""
    if scheduling.type == "Volcano":
        if group := pod_group_of(manifest, scheduling, spot, role):
            return {schedulers.VOLCANO_GROUP_NAME: group}
        queue = volcano_queue(scheduling)
        return {schedulers.VOLCANO_QUEUE_NAME: queue} if queue else {}
    topology = scheduling.topology
    if scheduling.type == "Kueue" and topology and manifest["kind"] == WORKER_SET:
        level = topology.required if topology.required is not None else topology.preferred
        key = schedulers.KUEUE_REQUIRED if topology.required is not None else schedulers.KUEUE_PREFERRED
        joined = {schedulers.KUEUE_GROUP: _ONE_WORKER} if len(templates(manifest)) == 2 else {}
        return {key: str(level), **joined}
    return {}


def _has_priority(template: Manifest) -> bool:
    labels = template.get("metadata", {}).get("labels", {})
    return bool(template["spec"].get("priorityClassName") or schedulers.KAI_PRIORITY in labels)


def _kai_topology(scheduling: Scheduling) -> dict[str, str]:
    topology = scheduling.topology
    if topology is None:
        return {}
    said = {
        schedulers.KAI_TOPOLOGY: topology.name,
        schedulers.KAI_REQUIRED: topology.required,
        schedulers.KAI_PREFERRED: topology.preferred,
    }
    return {key: str(value) for key, value in said.items() if value is not None}


def _mark(thing: Manifest, field: str, marks: dict[str, str]) -> None:
    if marks:
        metadata = thing.setdefault("metadata", {})
        metadata[field] = {**metadata.get(field, {}), **marks}
