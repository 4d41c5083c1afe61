"""What schedulers other than Kubernetes' own are told of workloads, and need on clusters: Kueue, KAI,
Volcano.

Which scheduler it is for a placement says `fleet.scheduling`. Here a finished workload gets the marks that
its scheduler reads; Volcano gets PodGroups; a cluster is asked for queues and topologies; and what documents
and pods say of schedulers otherwise is a problem. Sizes are those of final pod templates.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.scheduler import Closeness
from inferfleet.documents.kinds.workers import Position
from inferfleet.documents.pods.template import containers_of
from inferfleet.documents.problems import Problem, part_of
from inferfleet.documents.wording import path_of, shown
from inferfleet.fleet import names
from inferfleet.fleet.names import LWS_GROUP, LWS_NAME
from inferfleet.fleet.roles import template_path, workers_of
from inferfleet.fleet.scheduling import (
    ON_CLUSTER,
    ON_DEPLOYMENT,
    Scheduling,
    gang_problems,
    of_several_pods,
    scheduling_of,
    scheduling_problems,
)
from inferfleet.fleet.shapes import requests
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.link import Link
from inferfleet.serving.metadata import metadata
from inferfleet.serving.workload import WORKER_SET, templates_of
from inferfleet.tables import schedulers

Manifest = dict[str, Any]
# Of two templates of one workload, Kueue asks for a name that is no number.
_ONE_WORKER = "worker"


def scheduled(manifest: Manifest, scheduling: Scheduling | None, *, spot: Spot, role: str) -> Manifest:
    """Return the workload of a role of the spot with what the scheduler reads. The given one stays."""
    if scheduling is None:
        return manifest
    scheduled_manifest = copy.deepcopy(manifest)
    if scheduling.type == "Kueue" and scheduling.queue:
        _mark(scheduled_manifest, "labels", {schedulers.KUEUE_QUEUE: scheduling.queue})
    if scheduling.type == "KAI" and scheduling.queue:
        _mark(scheduled_manifest, "labels", {schedulers.KAI_QUEUE: scheduling.queue})
        if scheduled_manifest["kind"] == WORKER_SET:
            _mark(scheduled_manifest, "annotations", _kai_topology(scheduling))
            if not any(_has_priority(template) for template in templates_of(scheduled_manifest)):
                _mark(scheduled_manifest, "labels", {schedulers.KAI_PRIORITY: schedulers.KAI_INFERENCE})
    for template in templates_of(scheduled_manifest):
        if scheduling.scheduler_name:
            template["spec"]["schedulerName"] = scheduling.scheduler_name
        _mark(template, "annotations", _pod_annotations(scheduled_manifest, scheduling, spot, role))
    return scheduled_manifest


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


def _pod_annotations(manifest: Manifest, scheduling: Scheduling, spot: Spot, role: str) -> dict[str, str]:
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
        return {key: str(level), schedulers.KUEUE_GROUP: _ONE_WORKER}
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


@dataclass(frozen=True)
class _Member:
    """The workers of one role that a group waits for: `workers` of `size` pods each.

    `resources` are those of one worker, in thousandths of a core of `cpu` and whole units of others.
    """

    role: str
    manifest: Manifest
    workers: int
    size: int
    resources: Mapping[str, int]

    @property
    def pods(self) -> int:
        return self.workers * self.size


def pod_groups(
    workloads: Mapping[str, Manifest], scheduling: Scheduling | None, *, spot: Spot, stack: str
) -> Iterator[Manifest]:
    """Yield the PodGroups of Volcano that are ours to make, sized from finished workloads by role: those of
    workers of several pods, and those of gangs.

    Volcano makes PodGroups itself for pods that name none, but by the StatefulSets of a LeaderWorkerSet,
    which would start one pod of a worker without the others. The LeaderWorkerSet controller can make them
    (`gangSchedulingManagement` in its configuration), but then nothing of a topology or of several roles, so
    preflight refuses it: two groups for one worker would take its share of the queue twice.

    One PodGroup holds all pods of a workload, or of the roles of a gang, and `subGroupPolicy` cuts it into
    workers by the label that the LeaderWorkerSet controller gives every group. `minMember` is what has to fit
    before anything starts: one worker, or what the gang waits for. More workers, and those that roll, join
    the group one worker at a time. The fields are those of volcano-sh/volcano v1.15.1
    (config/crd/volcano/bases, scheduling.volcano.sh_podgroups.yaml), and what they do is in
    pkg/scheduler/api/sub_job_info.go and plugins/gang/gang.go there.
    """
    if scheduling is None:
        return
    members: dict[str, list[_Member]] = {}
    for role, manifest in workloads.items():
        if name := pod_group_of(manifest, scheduling, spot, role):
            members.setdefault(name, []).append(_member(role, manifest, scheduling.gang.get(role, 1)))
    for name, of_group in members.items():
        yield _pod_group(name, of_group, scheduling, spot=spot, stack=stack)


def _pod_group(
    name: str, members: list[_Member], scheduling: Scheduling, *, spot: Spot, stack: str
) -> Manifest:
    """Return Volcano's PodGroup of roles that start together, with what all their pods request."""
    queue = volcano_queue(scheduling)
    total: dict[str, int] = {}
    for member in members:
        for resource, amount in member.resources.items():
            total[resource] = total.get(resource, 0) + member.workers * amount
    api_version, kind = schedulers.POD_GROUP
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata(name, stack=stack, namespace=spot.namespace, deployment=spot.deployment),
        "spec": {
            **({"queue": queue} if queue else {}),
            "minMember": sum(member.pods for member in members),
            "minResources": {
                resource: f"{amount}m" if resource == "cpu" else str(amount)
                for resource, amount in sorted(total.items())
                if amount
            },
            "subGroupPolicy": [_sub_group(member, scheduling) for member in members],
        },
    }


def _sub_group(member: _Member, scheduling: Scheduling) -> dict[str, Any]:
    if member.manifest["kind"] != WORKER_SET:
        # Its pods have nothing to tell them apart by, so they are one sub-group that waits for so many.
        labels = member.manifest["spec"]["selector"]["matchLabels"]
        selected = {"labelSelector": {"matchLabels": dict(labels)}}
        return {"name": member.role, **selected, "subGroupSize": member.workers, "minSubGroups": 1}
    sub_group = {
        "name": member.role,
        "labelSelector": {"matchLabels": {LWS_NAME: member.manifest["metadata"]["name"]}},
        "matchLabelKeys": [LWS_GROUP],
        "subGroupSize": member.size,
        "minSubGroups": member.workers,
    }
    return (
        {**sub_group, "networkTopology": _network(scheduling.topology)} if scheduling.topology else sub_group
    )


def _network(topology: Closeness) -> dict[str, Any]:
    level = topology.required if topology.required is not None else topology.preferred
    tier = "highestTierAllowed" if isinstance(level, int) else "highestTierName"
    return {"mode": "hard" if topology.required is not None else "soft", tier: level}


def _member(role: str, manifest: Manifest, workers: int) -> _Member:
    """Return what a group waits for of a workload, at most as many workers as the workload has."""
    spec = manifest["spec"]
    workers = min(workers, spec["replicas"])
    if manifest["kind"] != WORKER_SET:
        return _Member(role, manifest, workers, 1, _requests(spec["template"]["spec"]))
    size = spec["leaderWorkerTemplate"]["size"]
    entry, follower = templates_of(manifest)
    resources = dict(_requests(entry["spec"]))
    for resource, amount in _requests(follower["spec"]).items():
        resources[resource] = resources.get(resource, 0) + amount * (size - 1)
    return _Member(role, manifest, workers, size, resources)


def _requests(pod: Mapping[str, Any]) -> dict[str, int]:
    """Return everything that a pod requests, thousandths of a core of `cpu`."""
    asking = [
        pod.get("resources", {}),
        *(container.get("resources", {}) for _, container in containers_of(pod)),
    ]
    resources = {
        resource
        for amounts in asking
        for kind in ("requests", "limits")
        for resource in amounts.get(kind, ())
    }
    resources |= set(pod.get("overhead", {}))
    return {resource: requests(pod, resource) for resource in sorted(resources)}


@dataclass(frozen=True, order=True)
class SchedulerNeed:
    """An object of a scheduler that a cluster must have and the stack does not make: a queue, or a topology
    that knows the levels.

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
        for need in _needs(
            scheduling,
            spot,
            queue=bool(own.queue),
            topology=bool(own.topology),
            spans=bool(of_several_pods(documents, spot)),
        ):
            needs.setdefault((*need.levels, need.object_kind, need.namespace, need.name, need.path), need)
    return tuple(sorted(needs.values(), key=lambda need: (need.kind, need.key, need.path, need.whose)))


def _needs(
    scheduling: Scheduling, spot: Spot, *, queue: bool, topology: bool, spans: bool
) -> Iterator[SchedulerNeed]:
    """Yield what a placement needs. `queue` and `topology`: its deployment says them itself. `spans`: its
    workers have several pods.
    """
    group, object_kind = schedulers.QUEUES[scheduling.type]
    namespace = spot.namespace if scheduling.type == "Kueue" else None
    if scheduling.queue:
        field = _asking_field(spot, "queue", own=queue)
        yield SchedulerNeed(
            scheduling.type, group, object_kind, namespace, scheduling.queue, (), spot.deployment, *field
        )
    if closeness := scheduling.topology if spans else None:
        group, object_kind = schedulers.TOPOLOGIES[scheduling.type]
        levels = [level for level in (closeness.required, closeness.preferred) if isinstance(level, str)]
        required = tuple(levels) if scheduling.type != "Volcano" else ()
        field = _asking_field(spot, "topology", own=topology)
        yield SchedulerNeed(
            scheduling.type, group, object_kind, None, closeness.name, required, spot.deployment, *field
        )


def _asking_field(spot: Spot, field: str, *, own: bool) -> tuple[str, str, str]:
    if own:
        return "ModelDeployment", spot.deployment, f"{ON_DEPLOYMENT}.{field}"
    return "InferenceCluster", spot.cluster, f"{ON_CLUSTER}.{field}"


def block_problems(documents: Documents, spot: Spot) -> Iterator[Problem]:
    """Yield what the blocks `scheduler` of cluster and deployment contradict, and a topology that nobody can
    use.

    These blocks are the way into a queue. The plugin `scheduler` is for clusters that say nothing of one, and
    for priorities: with both, one of two queues would silently not count.
    """
    deployment, cluster = documents.deployments[spot.deployment], documents.clusters[spot.cluster]
    yield from scheduling_problems(deployment, cluster)
    yield from gang_problems(deployment)
    if deployment.spec.scheduler.topology and not of_several_pods(documents, spot):
        yield Problem(
            "topology says how close the pods of one worker are, and workers of deployment "
            f"{spot.deployment} on cluster {spot.cluster} have one pod",
            "Remove topology",
            f"{ON_DEPLOYMENT}.topology",
            kind="ModelDeployment",
            key=spot.deployment,
            about=f"cluster {spot.cluster}",
        )


def mark_problems(
    documents: Documents,
    spot: Spot,
    template: Mapping[str, Any],
    *,
    role: str,
    position: Position,
    link_of: Callable[[str], Link | None],
) -> Iterator[Problem]:
    """Yield queues and schedulers in the final pods of a role that the blocks contradict, at the line of
    their document, or of the link that made them so: `link_of` returns the last one that changed a place.
    """
    deployment = documents.deployments[spot.deployment]
    scheduling = scheduling_of(deployment, documents.clusters[spot.cluster])
    if scheduling is None:
        return
    said = _said(deployment, spot, scheduling)
    written = workers_of(deployment, role).of(position)
    for path, value, field_of_block, ours in _foreign_marks(template, scheduling):
        of_document = written is not None and part_of(written.manifest, path) == value
        link = None if of_document else link_of(path_of(path))
        by = f" from plugin {link.spec.name}" if link else ""
        what = (
            f"pods of deployment {spot.deployment}, role {role}, have {path[-1]} {shown(value)!r}"
            f"{by}, and {said}, whose {field_of_block} is {ours}"
        )
        step = f"Remove it there, and say in {field_of_block} of the block scheduler what is meant"
        field = template_path(deployment, role, position)
        own = Problem(what, step, f"{field}.{path_of(path)}", kind="ModelDeployment", key=spot.deployment)
        problem = link.problem(what, step) if link else own
        yield replace(problem, about=f"cluster {spot.cluster}")


def _said(deployment: ModelDeployment, spot: Spot, scheduling: Scheduling) -> str:
    """Return who says which scheduler it is, in words."""
    own = deployment.spec.scheduler
    ours = own.type or (own.scheduler_name if scheduling.type == "None" else None)
    whose = f"its {ON_DEPLOYMENT}" if ours else f"{ON_CLUSTER} of cluster {spot.cluster}"
    scheduler_name = (
        scheduling.type if scheduling.type != "None" else f"schedulerName {scheduling.scheduler_name}"
    )
    return f"{whose} says {scheduler_name}"


def _foreign_marks(
    template: Mapping[str, Any], scheduling: Scheduling
) -> Iterator[tuple[tuple[str, ...], str, str, str | None]]:
    """Yield what stands in pods against the block: path, value, and the block's own field and value."""
    name = template["spec"].get("schedulerName")
    if name and scheduling.scheduler_name and name != scheduling.scheduler_name:
        yield ("spec", "schedulerName"), name, "schedulerName", scheduling.scheduler_name
    if scheduling.type == "None":
        return
    for kind, key in schedulers.QUEUE_KEYS:
        if (value := template.get("metadata", {}).get(kind, {}).get(key)) is not None:
            yield ("metadata", kind, key), value, "queue", scheduling.queue
