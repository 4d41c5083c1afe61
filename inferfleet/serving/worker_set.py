"""The LeaderWorkerSet of one role: workers of many pods, each a group that starts, rolls and ends as one.

Sources: kubernetes-sigs/lws v0.9.0, api/leaderworkerset/v1/leaderworkerset_types.go and pkg/controllers.
"""

import copy
import json
from collections.abc import Mapping
from typing import Any

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.roles import workers_of
from inferfleet.fleet.spot import Spot
from inferfleet.serving.metadata import WAIT_FOR, of_workload

API_VERSION, KIND = "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"
# Digits of the hash in the annotation by which an update knows what it wrote.
_DIGITS = 12


def worker_set(
    *,
    deployment: ModelDeployment,
    spot: Spot,
    role: str,
    replicas: int,
    size: int,
    entry: Mapping[str, Any],
    follower: Mapping[str, Any],
    stack: str,
    plugins: str = "",
) -> dict[str, Any]:
    """Return the LeaderWorkerSet of one role: `replicas` with `workers.count` groups of `size` pods each.

    `entry` and `follower` are pod templates that come out of the plugin chain. Their names and that of a
    headless Service are the controller's. `plugins` are those that shaped the pods.
    """
    surge = deployment.spec.rollout == "Surge"
    spec = {
        "replicas": replicas * workers_of(deployment, role).count,
        # Engines are ready once all pods of a group have joined, so no leader is ready before followers are.
        "startupPolicy": "LeaderCreated",
        "rolloutStrategy": {
            "type": "RollingUpdate",
            # With both a spare group would begin and an old one end at once.
            "rollingUpdateConfiguration": {
                "maxUnavailable": 0 if surge else 1,
                "maxSurge": 1 if surge else 0,
            },
        },
        "leaderWorkerTemplate": {
            "size": size,
            # An engine in many pods does not take back one that has lost what it had in memory.
            "restartPolicy": "RecreateGroupOnPodRestart",
            "leaderTemplate": copy.deepcopy(dict(entry)),
            "workerTemplate": copy.deepcopy(dict(follower)),
        },
    }
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": of_workload(
            names.worker_set(spot, role), spot=spot, role=role, stack=stack, plugins=plugins
        ),
        "spec": spec,
    }


def awaited(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the finished LeaderWorkerSet with what an update waits for: all groups of this very spec ready.

    The provider takes a condition only of the generation of the object that it looks at, and what it looks at
    first may be a copy from before the update, whose condition is of its own generation. That copy has
    another hash. (pulumi-kubernetes 4.25, pkg/await/condition/kubectl.go; LeaderWorkerSets have generations
    in their conditions since 0.9.0.)
    """
    spec = manifest["spec"]
    if names.REPLICAS in manifest["metadata"].get("annotations", {}):
        # Another number of replicas is none of an update, so there is nothing to wait for.
        spec = {field: value for field, value in spec.items() if field != "replicas"}
    written = names.digest(spec, _DIGITS)
    path = f"{{.metadata.annotations['{names.SPEC}']}}"
    waits = json.dumps(["condition=Available", f"jsonpath={path}={written}"], separators=(",", ":"))
    annotations = {**manifest["metadata"].get("annotations", {}), names.SPEC: written, WAIT_FOR: waits}
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}
