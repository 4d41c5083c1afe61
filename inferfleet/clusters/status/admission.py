"""Why pods that a queue holds back do not start yet: gates of Kueue, PodGroups of Volcano, and requests for
nodes on GKE, in words.

Such a pod has no node, and no engine of it has failed. Kueue holds pods back by a scheduling gate each, and
says why at its Workloads (apis/kueue/v1beta2/workload_types.go of kubernetes-sigs/kueue, commit ff69552e):
one per pod of a Deployment, owned by the pod, and one per group of a LeaderWorkerSet, owned by that. Volcano
says it at PodGroups (staging/src/volcano.sh/apis/pkg/apis/scheduling/v1beta1/types.go, commit ed72c7c8);
Volcano and KAI tell the pod as well. Pods on queued pools of GKE wait for a ProvisioningRequest, whose
conditions are in the table of https://docs.cloud.google.com/kubernetes-engine/docs/how-to/
provisioningrequest, 2026-04-08.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inferfleet.clusters.status.pods import one_line
from inferfleet.fleet import names
from inferfleet.serving.workload import WORKER_SET, templates_of
from inferfleet.tables import gke, schedulers

# (kind, namespace, name) of the owner; of a group of a LeaderWorkerSet `<name>/<number>`.
Owner = tuple[str, str, str]
_GROUP_NUMBER = "kueue.x-k8s.io/component-workload-index"


def held_back(pod: Mapping[str, Any], admissions: Mapping[Owner, str]) -> str:
    """Return who holds the pod back and why, "" for one without gates. `admissions` is what Kueue says."""
    metadata = pod["metadata"]
    gates = [gate["name"] for gate in (pod.get("spec") or {}).get("schedulingGates") or ()]
    if not gates:
        return ""
    labels = metadata.get("labels") or {}
    if schedulers.KUEUE_ADMISSION_GATE in gates:
        queue = labels.get(schedulers.KUEUE_QUEUE)
        named = f"queue {queue} of Kueue" if queue else "its queue of Kueue"
        owners = (
            ("Pod", metadata.get("namespace") or "", metadata["name"]),
            (
                WORKER_SET,
                metadata.get("namespace") or "",
                f"{labels.get(names.LWS_NAME)}/{labels.get(names.LWS_GROUP)}",
            ),
        )
        why = next((admissions[owner] for owner in owners if owner in admissions), "")
        return f"waits for room in {named}" + (f": {why}" if why else "")
    if schedulers.KUEUE_TOPOLOGY_GATE in gates:
        return "Kueue has admitted it and has not chosen its node yet"
    return f"held back by {', '.join(gates)} (spec.schedulingGates)"


def admissions(workloads: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Owner, str]]:
    """Yield what Kueue says of the Workloads that it has not admitted, by the owners of the pods."""
    for workload in workloads:
        metadata = workload["metadata"]
        conditions = (workload.get("status") or {}).get("conditions") or ()
        by_type = {condition.get("type"): condition for condition in conditions}
        if by_type.get("Admitted", {}).get("status") == "True":
            continue
        reserved = by_type.get("QuotaReserved", {})
        condition = by_type.get("Admitted", {}) if reserved.get("status") == "True" else reserved
        if message := one_line(condition.get("message") or ""):
            number = (metadata.get("annotations") or {}).get(_GROUP_NUMBER)
            for owner in metadata.get("ownerReferences") or ():
                name = f"{owner['name']}/{number}" if owner["kind"] == WORKER_SET else owner["name"]
                yield (owner["kind"], metadata.get("namespace") or "", name), message


def group_waits(
    workload: Mapping[str, Any], objects: Mapping[tuple[str, str, str], Mapping[str, Any]]
) -> str:
    """Return what the PodGroup of a workload's pods waits for, "" where it runs or there is none of ours."""
    namespace = workload["metadata"]["namespace"]
    for template in templates_of(dict(workload)):
        annotations = (template.get("metadata") or {}).get("annotations") or {}
        name = annotations.get(schedulers.VOLCANO_GROUP_NAME)
        group = objects.get((schedulers.POD_GROUP[1], namespace, name or ""))
        if group is None:
            continue
        status = group.get("status") or {}
        told = [
            one_line(condition.get("message") or "")
            for condition in status.get("conditions") or ()
            if (condition.get("type"), condition.get("status")) == ("Unschedulable", "True")
        ]
        why = f": {told[-1]}" if told and told[-1] else ""
        queue = group["spec"].get("queue", "")
        phase = status.get("phase", "Pending")
        if phase == "Pending":
            return f"PodGroup {name} waits for room in queue {queue} of Volcano{why}"
        if phase == "Inqueue":
            return f"PodGroup {name} waits until all of its pods have nodes{why}"
    return ""


def waits_for_nodes(pod: Mapping[str, Any], objects: Mapping[tuple[str, str, str], Mapping[str, Any]]) -> str:
    """Return what became of the request for the pod's node, "" for a pod that names none."""
    metadata = pod["metadata"]
    name = (metadata.get("annotations") or {}).get(gke.CONSUMED_REQUEST)
    if not name:
        return ""
    kind = gke.CAPACITY_REQUEST[1]
    request = objects.get((kind, metadata.get("namespace") or "", name))
    if request is None:
        return f"takes nodes of {kind} {name}, which is not there"
    conditions = (request.get("status") or {}).get("conditions") or ()
    by_type = {condition.get("type"): condition for condition in conditions}
    came = by_type.get("Provisioned", {})
    if by_type.get("Failed", {}).get("status") == "True":
        said, condition = "failed, and is not tried again", by_type["Failed"]
    elif came.get("status") == "True":
        since = came.get("lastTransitionTime")
        said, condition = f"brought its nodes{f' at {since}' if since else ''}, and brings no others", {}
    else:
        said, condition = "has no nodes yet", came
    why = ": ".join(one_line(condition.get(part) or "") for part in ("reason", "message"))
    return f"{kind} {name} {said}" + (f" ({why.strip(': ')})" if why.strip(": ") else "")
