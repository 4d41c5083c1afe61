"""The Deployment of one role of a placement, and how long an update waits for it."""

import copy
from typing import Any

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.engine_args import startup_of
from inferfleet.fleet.spot import Spot
from inferfleet.manifests.metadata import metadata

SKIP_AWAIT = "pulumi.com/skipAwait"
# A GPU node that has to be created first, with its driver: 5 to 10 minutes on GKE.
SCALE_UP = 600
# Engine images have 10 to 25 GB; at 30 MB/s that is 6 to 14 minutes.
IMAGE_PULL = 900
# 68 years. Pulumi counts nanoseconds in 64 bits, which end after 292 years.
LONGEST = 2**31 - 1


def progress_deadline(*, deployment: ModelDeployment, autoscaled: bool, template: dict[str, Any]) -> int:
    """Return the seconds that one pod may take to replace another. They do not depend on replicas."""
    drain: int = template["spec"].get("terminationGracePeriodSeconds", 30)
    return (SCALE_UP if autoscaled else 0) + drain + IMAGE_PULL + startup_of(deployment.spec.engine)


def budget(*, deployment: ModelDeployment, replicas: int, deadline: int) -> int:
    """Return the seconds that a role's workload may take: its pods may roll one after another."""
    return min(max(replicas * deployment.spec.workers.count, 1) * deadline, LONGEST)


def workload(
    *,
    deployment: ModelDeployment,
    spot: Spot,
    role: str,
    replicas: int,
    template: dict[str, Any],
    deadline: int,
    stack: str,
) -> dict[str, Any]:
    """Return the Deployment of one role: `replicas` with `workers.count` pods each.

    `template` comes out of the plugin chain. `deadline` (seconds, from `progress_deadline`) bounds a rollout
    without progress: with Kubernetes' 600 s a model that loads for longer would be reported as failed.
    """
    surge = deployment.spec.rollout == "Surge"
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(
            names.workload(spot, role),
            stack=stack,
            namespace=spot.namespace,
            deployment=spot.deployment,
            labels=names.workload_selector(spot, role),
        ),
        "spec": {
            "replicas": replicas * deployment.spec.workers.count,
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


def unawaited(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the workload with the annotation that lets an update go on before its pods are ready."""
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), SKIP_AWAIT: "true"}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}
