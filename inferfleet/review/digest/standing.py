"""What stands before an update: the workloads of the base as clusters hold them, all pods ready.

Checks of clusters before an update take what these answer. They take this as well, so a digest says offline
what an update of a healthy fleet would say.
"""

from collections.abc import Mapping
from typing import Any

from inferfleet.desired.values import Desired
from inferfleet.serving.workload import WORKER_SET, bounds

# Who writes the fields of objects, by its name in them.
_MANAGER = "pulumi-kubernetes"
Workloads = tuple[dict[str, Any], ...]


def standing(desired: Desired) -> dict[str, Workloads]:
    """Return the Deployments and LeaderWorkerSets of each cluster, as its API server would list them."""
    return {
        cluster.connection.cluster: tuple(
            _held(at_least(made.manifest))
            for made in cluster.objects
            if made.kind in ("Deployment", WORKER_SET)
        )
        for cluster in desired.clusters
    }


def at_least(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the workload with the fewest replicas that may run: no document says how many do."""
    scaled = bounds(manifest)
    return {**manifest, "spec": {**manifest["spec"], "replicas": scaled[0]}} if scaled else manifest


def _held(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the object with what a cluster adds: pods that are ready, and who wrote which field."""
    written = {"manager": _MANAGER, "fieldsV1": _fields(manifest)}
    return {
        **manifest,
        "metadata": {**manifest["metadata"], "managedFields": [written]},
        "status": {"readyReplicas": manifest["spec"].get("replicas", 1)},
    }


def _fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys as Kubernetes notes who manages them; of lists, that they are managed."""
    return {
        f"f:{key}": _fields(inner) if isinstance(inner, Mapping) else {}
        for key, inner in value.items()
        if key not in ("apiVersion", "kind", "name", "namespace")
    }
