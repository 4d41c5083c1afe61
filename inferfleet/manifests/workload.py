"""The Deployment that holds one role of a placement, and how long to wait for it."""

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


def progress_deadline(*, deployment: ModelDeployment, autoscaled: bool, template: dict[str, Any]) -> int:
    """For one pod to become ready in the place of another. More replicas do not change it."""
    drain: int = template["spec"].get("terminationGracePeriodSeconds", 30)
    return (SCALE_UP if autoscaled else 0) + drain + IMAGE_PULL + startup_of(deployment.spec.engine)


def budget(*, deployment: ModelDeployment, replicas: int, deadline: int) -> int:
    """For one role's workload: its pods may roll one after another, each within the `deadline`."""
    return max(replicas * deployment.spec.workers.count, 1) * deadline


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
    """`replicas` of the placement, `workers.count` pods each, rolled as the document's `rollout` says.

    `template` comes out of the plugin chain. `deadline` (seconds, see `budget.py`) bounds a rollout without
    progress: with Kubernetes' 600 s a model that loads for longer would be reported as failed.
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
    """The workload with the annotation that makes an update go on before its pods are ready."""
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), SKIP_AWAIT: "true"}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}
