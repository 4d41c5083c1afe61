"""The workload of one role of a placement, its Deployment, and how long an update waits for either kind."""

import copy
from collections.abc import Mapping
from typing import Any

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.roles import engine_of, startup_of, workers_of
from inferfleet.fleet.spot import Spot
from inferfleet.serving.metadata import SKIP_AWAIT, of_workload

# By it an update takes fields over that somebody else has set (metadata.AnnotationPatchForce in
# pulumi-kubernetes 4.25); without it such an update fails with a conflict.
PATCH_FORCE = "pulumi.com/patchForce"
# A GPU node that has to be created first, with its driver: 5 to 10 minutes on GKE.
SCALE_UP = 600
# Engine images have 10 to 25 GB; at 30 MB/s that is 6 to 14 minutes.
IMAGE_PULL = 900
# 68 years. Pulumi counts nanoseconds in 64 bits, which end after 292 years.
LONGEST = 2**31 - 1


def progress_deadline(
    *, deployment: ModelDeployment, role: str, autoscaled: bool, template: dict[str, Any]
) -> int:
    """Return the seconds that one pod may take to replace another, or one group of pods another, since the
    pods of a group start together. They do not depend on replicas.
    """
    drain: int = template["spec"].get("terminationGracePeriodSeconds", 30)
    return (SCALE_UP if autoscaled else 0) + drain + IMAGE_PULL + startup_of(engine_of(deployment, role))


def budget(*, deployment: ModelDeployment, role: str, replicas: int, deadline: int) -> int:
    """Return the seconds that a role's workload may take: its pods or groups may roll one after another."""
    return min(max(replicas * workers_of(deployment, role).count, 1) * deadline, LONGEST)


def workload(
    *,
    deployment: ModelDeployment,
    spot: Spot,
    role: str,
    replicas: int,
    template: dict[str, Any],
    deadline: int,
    stack: str,
    plugins: str = "",
) -> dict[str, Any]:
    """Return the Deployment of one role: `replicas` with `workers.count` pods each.

    `template` comes out of the plugin chain. `deadline` (seconds, from `progress_deadline`) bounds a rollout
    without progress: with Kubernetes' 600 s a model that loads for longer would be reported as failed.
    `plugins` are those that shaped the pods. It stands in the metadata of the Deployment, because whatever
    changes in its template restarts pods.
    """
    surge = deployment.spec.rollout == "Surge"
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": of_workload(
            names.workload(spot, role), spot=spot, role=role, stack=stack, plugins=plugins
        ),
        "spec": {
            "replicas": replicas * workers_of(deployment, role).count,
            "selector": {"matchLabels": names.workload_selector(spot, role)},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {
                    "maxSurge": 1 if surge else 0,
                    "maxUnavailable": 0 if surge else 1,
                },
            },
            "progressDeadlineSeconds": deadline,
            # Ten, the default, are ten old ReplicaSets per placement to look through.
            "revisionHistoryLimit": 2,
            "template": copy.deepcopy(template),
        },
    }


def templates_of(workload: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return the pod templates of a workload, the one of the pods that serve first."""
    spec = workload["spec"]
    if "template" in spec:
        return (spec["template"],)
    group = spec["leaderWorkerTemplate"]
    follower: dict[str, Any] = group["workerTemplate"]
    return (group.get("leaderTemplate") or follower, follower)


def bounded(manifest: dict[str, Any], least: int, most: int) -> dict[str, Any]:
    """Return the workload with the annotation that tells between which numbers it is scaled."""
    return _annotated(manifest, names.REPLICAS, f"{least}-{most}")


def bounds(workload: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return between which numbers a workload is scaled, None where an update says how many there are."""
    text = (workload["metadata"].get("annotations") or {}).get(names.REPLICAS, "")
    least, _, most = str(text).partition("-")
    return (int(least), int(most)) if least.isdecimal() and most.isdecimal() else None


def most_of(workload: Mapping[str, Any]) -> int:
    """Return how many pods, or groups of pods, a workload has room for."""
    scaled = bounds(workload)
    return scaled[1] if scaled else int(workload["spec"].get("replicas", 1))


def pods_of(workload: Mapping[str, Any]) -> int:
    """Return how many pods a workload has."""
    spec = workload["spec"]
    group = spec.get("leaderWorkerTemplate") or {}
    return int(spec.get("replicas", 1)) * int(group.get("size", 1))


def unawaited(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the object with the annotation that lets an update go on before it, or its pods, are ready."""
    return _annotated(manifest, SKIP_AWAIT, "true")


def forced(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the object with the annotation by which an update sets also what somebody else has set."""
    return _annotated(manifest, PATCH_FORCE, "true")


def _annotated(manifest: dict[str, Any], key: str, text: str) -> dict[str, Any]:
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), key: text}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}
