"""Whether a cluster has the scheduler that its pods are handed to, with the queues and topologies they name.

Where one is missing, pods are created and wait without a word. Kueue does worse where it is missing itself:
nothing holds the pods back, and they run beside its quotas.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inferfleet.clusters.connections.api import Api
from inferfleet.clusters.connections.resources import ApiKind, ApiResource, newest, readable
from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.scheduling import ON_CLUSTER
from inferfleet.serving.schedulers import SchedulerNeed
from inferfleet.tables import schedulers

# The controller's own settings, as its manifests and its chart with their usual names install them (lws 0.9,
# config/manager/kustomization.yaml and charts/lws/templates/manager/configmap.yaml).
_LWS_SETTINGS = "/api/v1/namespaces/lws-system/configmaps/lws-manager-config"
_LWS_MAKES_GROUPS = re.compile(r"""^\s*schedulerProvider:\s*["']?volcano\b""", re.MULTILINE)


def needs(api: Api, cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield the queues and topologies that pods name and the cluster does not have, or that are closed."""
    offered: dict[tuple[str, str], ApiResource | None] = {}
    for need in cluster.scheduler_needs:
        kind = (need.group, need.object_kind)
        if kind not in offered:
            offered[kind] = newest(api, *kind)
        resource = offered[kind]
        if resource is None:
            yield _problem(
                need,
                f"cluster {cluster.connection.cluster!r} does not know {need.object_kind} of {need.group}: "
                f"pods of deployment {need.whose} are handed to {need.scheduler}, which is not installed",
                f"Install {need.scheduler} there, or choose another type in {ON_CLUSTER}",
            )
        elif need.levels or need.name is None:
            yield from _topology(need, cluster, api.items(resource.path()))
        else:
            yield from _queue(need, cluster, api, resource)


def to_come(cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield a warning for each scheduler that a cluster which does not exist yet cannot have."""
    for scheduler in dict.fromkeys(need.scheduler for need in cluster.scheduler_needs):
        whose = next(need.whose for need in cluster.scheduler_needs if need.scheduler == scheduler)
        name = cluster.connection.cluster
        yield cluster_problem(
            name,
            f"cluster {name!r} does not exist yet, so {scheduler} is not installed there, and pods of "
            f"deployment {whose} are handed to it",
            f"Create the cluster first, with replicas: 0 for its deployments, and install {scheduler} there",
            ON_CLUSTER,
            severity="warning",
        )


def _queue(
    need: SchedulerNeed, cluster: DesiredCluster, api: Api, resource: ApiResource
) -> Iterator[Problem]:
    queue = readable(api, resource.path(need.namespace, need.name))
    within = f" in namespace {need.namespace}" if need.namespace else ""
    named = f"{need.object_kind} {need.name!r} of {need.scheduler}{within}"
    if queue is None:
        there = sorted(item["metadata"]["name"] for item in api.items(resource.path(need.namespace)))
        first = (
            f"`kubectl create namespace {need.namespace}` if it is not there, and create"
            if within
            else "Create"
        )
        yield _problem(
            need,
            f"cluster {cluster.connection.cluster!r} has no {named} (it has: {listing(there) or 'none'}), "
            f"and pods of deployment {need.whose} wait in it",
            f"{first} the queue there, or name one that exists",
        )
        return
    status = queue.get("status") or {}
    conditions = {entry.get("type"): entry for entry in status.get("conditions") or ()}
    active = conditions.get("Active", {})
    why = ""
    if need.scheduler == "Kueue" and active.get("status") == "False":
        why = f"Active=False: {active.get('message') or active.get('reason')}"
    elif need.scheduler == "Volcano" and status.get("state") in ("Closed", "Closing"):
        why = f"its state is {status['state']}"
    if why:
        yield _problem(
            need,
            f"{named} on cluster {cluster.connection.cluster!r} takes no pods ({why}), and those of "
            f"deployment {need.whose} wait in it",
            "Mend the queue there, or name another one",
        )


def _topology(
    need: SchedulerNeed, cluster: DesiredCluster, there: Iterable[Mapping[str, Any]]
) -> Iterator[Problem]:
    by_name: dict[str, list[str]] = {}
    for item in there:
        name = item["metadata"]["name"]
        by_name[name] = _levels(item)
        if need.name in (None, name) and set(need.levels) <= set(by_name[name]):
            return
    named = f"{need.object_kind} {need.name!r}" if need.name else need.object_kind
    levels = f" with level {' and '.join(need.levels)}" if need.levels else ""
    has = "; ".join(f"{name}: {listing(found)}".removesuffix(": ") for name, found in sorted(by_name.items()))
    yield _problem(
        need,
        f"cluster {cluster.connection.cluster!r} has no {named} of {need.scheduler}{levels} (it has: "
        f"{has or 'none'}), and the workers of deployment {need.whose} are to be close together",
        "Create it there, or name what exists",
    )


def _levels(topology: Mapping[str, Any]) -> list[str]:
    levels = (topology.get("spec") or {}).get("levels") or ()
    return [str(level.get("nodeLabel")) for level in levels]


def pod_groups(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Yield why the PodGroups of Volcano that we make would not be understood, or be there twice."""
    ours = [wanted for wanted in cluster.objects if (wanted.api_version, wanted.kind) == schedulers.POD_GROUP]
    if not ours:
        return
    name = cluster.connection.cluster
    whose = f"PodGroup {ours[0].namespace}/{ours[0].kubernetes_name} holds the workers of several pods"
    if schedulers.POD_GROUP not in resources:
        yield cluster_problem(
            name,
            f"cluster {name!r} does not know PodGroup of {schedulers.POD_GROUP[0]}, and {whose}",
            "Install Volcano 1.14 or newer there, or choose another type",
            ON_CLUSTER,
        )
        return
    settings = (readable(api, _LWS_SETTINGS) or {}).get("data") or {}
    if any(_LWS_MAKES_GROUPS.search(str(text)) for text in settings.values()):
        yield cluster_problem(
            name,
            f"the LeaderWorkerSet controller of cluster {name!r} makes PodGroups of its own "
            "(gangSchedulingManagement in lws-system/lws-manager-config), and inferfleet makes them for the "
            "same pods, which would take their room in the queue twice",
            "Remove gangSchedulingManagement from its configuration and restart it",
            ON_CLUSTER,
        )


def _problem(need: SchedulerNeed, what: str, next_step: str) -> Problem:
    return Problem(what, next_step, need.path, kind=need.kind, key=need.key)
