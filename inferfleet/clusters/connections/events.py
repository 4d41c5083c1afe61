"""Events at workloads: the only objects that are written to a cluster without Pulumi.

An Event is no part of what is desired. It says what an update did, no other object depends on it, and the
API server deletes it after an hour. In the state of a stack it would be missing from then on.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from inferfleet.clusters.connections.api import Api, NoAnswerError
from inferfleet.clusters.connections.at_once import ask
from inferfleet.clusters.connections.gke import NotThere
from inferfleet.clusters.connections.resources import known
from inferfleet.desired.values import Connection, Desired, KubeObject
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.serving.metadata import Reason, event

_KUBECONFIG = "Give its document a kubeconfig that this run can use"


def add_event(
    desired: Desired,
    cluster: str,
    workload: KubeObject,
    reason: Reason,
    note: str,
    *,
    kubeconfigs: Mapping[str, str],
    container_api: str,
    seconds: float,
) -> Problem | None:
    """Add an Event at a workload, and return why there is none, as a warning.

    The Container API at the address `container_api` says where a cluster is that the stack creates.
    """
    asked = tuple(known for known in desired.clusters if known.connection.cluster == cluster)
    answers = ask(
        replace(desired, clusters=asked),
        kubeconfigs,
        partial(_add, workload, reason, note),
        container_api=container_api,
        seconds=seconds,
    )
    if cluster not in answers:
        why, step = "the run has no kubeconfig of it", _KUBECONFIG
    else:
        match answers[cluster]:
            case None:
                return None
            case NotThere(why=said):
                why, step = said, "`pulumi up` creates it"
            case Problem(what=said, next_step=following):
                why, step = said, following
    what = f"no Event was written at {workload.kind} {workload.name} ({note}): {why}"
    return cluster_problem(cluster, what, step, severity="warning")


def _add(workload: KubeObject, reason: Reason, note: str, _: Connection, api: Api) -> None:
    kind = (workload.api_version, workload.kind)
    resource = known(api, [kind]).get(kind)
    if resource is None:
        raise NoAnswerError(f"it does not serve {kind[1]} of {kind[0]}")
    live: dict[str, Any] = api.get(resource.path(workload.namespace, workload.kubernetes_name))
    api.add_event(live["metadata"]["namespace"], event(reason, note, regarding=live, at=datetime.now(UTC)))
