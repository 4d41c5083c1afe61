"""The PodGroups of Volcano that are ours to make: those of workers of several pods, and those of gangs.

Volcano makes PodGroups itself for pods that name none, but by the StatefulSets of a LeaderWorkerSet, which
would start one pod of a worker without the others. The LeaderWorkerSet controller can make them
(`gangSchedulingManagement` in its configuration), but then nothing of a topology or of several roles, so
preflight refuses it: two groups for one worker would take its room in the queue twice.

One PodGroup holds all pods of a workload, or of the roles of a gang, and `subGroupPolicy` cuts it into
workers by the label that the LeaderWorkerSet controller gives every group. `minMember` is what has to fit
before anything starts: one worker, or what the gang waits for. More workers, and those that roll, join the
group one worker at a time. The fields are those of volcano-sh/volcano v1.15.1 (config/crd/volcano/bases,
scheduling.volcano.sh_podgroups.yaml), and what they do is in pkg/scheduler/api/sub_job_info.go and
plugins/gang/gang.go there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.documents.kinds.serving.scheduler import Closeness
from inferfleet.fleet.names import LWS_GROUP, LWS_NAME
from inferfleet.fleet.requests import requests
from inferfleet.fleet.scheduling import Scheduling
from inferfleet.fleet.spot import Spot
from inferfleet.serving.metadata import metadata
from inferfleet.serving.scheduling.scheduled import Manifest, pod_group_of, templates, volcano_queue
from inferfleet.serving.workload import WORKER_SET
from inferfleet.tables import schedulers


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
    """Yield the PodGroups of a placement, sized from its finished workloads by role."""
    if scheduling is None:
        return
    members: dict[str, list[_Member]] = {}
    for role, manifest in workloads.items():
        if name := pod_group_of(manifest, scheduling, spot, role):
            members.setdefault(name, []).append(_member(role, manifest, scheduling.gang.get(role, 1)))
    for name, of in members.items():
        yield _pod_group(name, of, scheduling, spot=spot, stack=stack)


def _pod_group(
    name: str, members: list[_Member], scheduling: Scheduling, *, spot: Spot, stack: str
) -> Manifest:
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
    made = {
        "name": member.role,
        "labelSelector": {"matchLabels": {LWS_NAME: member.manifest["metadata"]["name"]}},
        "matchLabelKeys": [LWS_GROUP],
        "subGroupSize": member.size,
        "minSubGroups": member.workers,
    }
    return {**made, "networkTopology": _network(scheduling.topology)} if scheduling.topology else made


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
    entry, follower = templates(manifest)[0], templates(manifest)[-1]
    resources = dict(_requests(entry["spec"]))
    for resource, amount in _requests(follower["spec"]).items():
        resources[resource] = resources.get(resource, 0) + amount * (size - 1)
    return _Member(role, manifest, workers, size, resources)


def _requests(pod: Mapping[str, Any]) -> dict[str, int]:
    """Return everything that a pod requests, thousandths of a core of `cpu`."""
    asking = [
        pod.get("resources", {}),
        *(
            container.get("resources", {})
            for container in (*pod.get("initContainers", ()), *pod["containers"])
        ),
    ]
    known = {
        resource
        for amounts in asking
        for kind in ("requests", "limits")
        for resource in amounts.get(kind, ())
    }
    known |= set(pod.get("overhead", {}))
    return {resource: requests(pod, resource) for resource in sorted(known)}
