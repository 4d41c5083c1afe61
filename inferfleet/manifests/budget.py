"""How long to wait for a workload before it counts as failed, in seconds."""

from typing import Any

from inferfleet.api.model_deployment import ModelDeployment
from inferfleet.fleet.engine_args import startup_of

# A GPU node that has to be created first, with its driver: 5 to 10 minutes on GKE.
SCALE_UP = 600
# Engine images have 10 to 25 GB; at 30 MB/s that is 6 to 14 minutes.
IMAGE_PULL = 900


def progress_deadline(*, deployment: ModelDeployment, autoscaled: bool, template: dict[str, Any]) -> int:
    """For one pod to become ready in the place of another. More replicas do not change it."""
    drain = int(template["spec"].get("terminationGracePeriodSeconds", 30))
    return (SCALE_UP if autoscaled else 0) + drain + IMAGE_PULL + startup_of(deployment.spec.engine)


def budget(*, deployment: ModelDeployment, replicas: int, deadline: int) -> int:
    """For one role's workload: its pods may roll one after another, each within the `deadline`."""
    return max(replicas * deployment.spec.workers.count, 1) * deadline
