"""Builders of documents with recipes: each test names only the field it is about."""

from typing import Any

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.recipes.check import recipe_problems
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.problems import Problem, of_severity

ZONE = "us-east5-a"
# Machine type to its accelerator and number of GPUs, and what a node of it could offer.
_GPUS = {
    "n1-standard-8": ("nvidia-tesla-t4", 1),
    "g2-standard-4": ("nvidia-l4", 1),
    "g4-standard-48": ("nvidia-rtx-pro-6000", 1),
    "a2-highgpu-1g": ("nvidia-tesla-a100", 1),
    "a3-highgpu-1g": ("nvidia-h100-80gb", 1),
    "a3-highgpu-8g": ("nvidia-h100-80gb", 8),
    "a3-edgegpu-8g": ("nvidia-h100-80gb", 8),
    "a3-megagpu-8g": ("nvidia-h100-mega-80gb", 8),
    "a3-ultragpu-8g": ("nvidia-h200-141gb", 8),
    "a4-highgpu-8g": ("nvidia-b200", 8),
    "a4x-highgpu-4g": ("nvidia-gb200", 4),
    "a4x-maxgpu-4g-metal": ("nvidia-gb300", 4),
}

_CLUSTER = {
    "project": "acme-prod",
    "region": "us-east5",
    "maintenancePolicy": {"dailyMaintenanceWindow": {"startTime": "09:00"}},
}


def recipe(
    machine: str,
    *,
    devices: int | None = None,
    memory: str = "8Gi",
    node: dict[str, Any] | None = None,
    allocation: str = "DevicePlugin",
    accelerator: dict[str, Any] | None = None,
    **gke: Any,
) -> dict[str, Any]:
    """The spec of a class for a machine type. Its node and devices fit each machine type where left out."""
    gpu, count = _GPUS.get(machine, ("nvidia-l4", 1))
    asked = {"type": gpu, "count": count} | (accelerator or {})
    return {
        "node": {"cpu": "3", "memory": "10Gi"} | (node or {}),
        "resources": {"gpu": {"count": devices or asked["count"], "memory": memory}},
        "allocation": allocation,
        "provisioning": {"provider": "GKE", "gke": {"machineType": machine, "accelerator": asked, **gke}},
    }


def pool(
    spec: dict[str, Any],
    model: str = "OnDemand",
    *,
    reservation: Any = None,
    run: str | None = None,
    **fields: Any,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A class, and a pool of it: of one zone and up to 4 nodes where nothing else is said."""
    size = {} if "nodeCount" in fields else {"maxNodeCount": 4}
    capacity = {"model": model, "reservation": reservation, "maxRunDuration": run}
    return spec, {"zones": [ZONE], "capacity": capacity, **size, **fields}


def stack(pools: dict[str, tuple[dict[str, Any], dict[str, Any]]], **gke: Any) -> Documents:
    """Cluster `east`; each pool has a class of its own name."""
    spec = {
        "cluster": {"source": "GKE", "gke": {**_CLUSTER, **gke}},
        "nodePools": [{"name": name, "className": name, **fields} for name, (_, fields) in pools.items()],
    }
    return Documents(
        Settings(stack="test"),
        classes={
            name: InferenceClass.model_validate({"metadata": {"name": name}, "spec": of_class})
            for name, (of_class, _) in pools.items()
        },
        clusters={"east": InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": spec})},
    )


def told(documents: Documents, *, existing: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    """Problems and warnings, as path and what."""
    problems = tuple(recipe_problems(documents, described_clusters(documents), existing))
    return _lines(of_severity(problems, "error")), _lines(of_severity(problems, "warning"))


def _lines(problems: tuple[Problem, ...]) -> list[str]:
    return [f"{one.path}: {one.what}" for one in problems]


def alone(spec: dict[str, Any], model: str = "OnDemand", **fields: Any) -> tuple[list[str], list[str]]:
    """What is told of a stack with this pool only, named `p`."""
    return told(stack({"p": pool(spec, model, **fields)}))
