"""Builders of GKE clusters: each test names only the fact it is about."""

from typing import Any

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.provider import cloud_clusters
from inferfleet.cloud.values import SYSTEM_POOL, CloudCluster, CloudResource
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.decisions import Endpoint, Plan
from inferfleet.fleet.lock.lock import Lock, LockedCluster


def recipe(name: str, machine: str, gpu: str, count: int, *, pods: int = 110, **gke: Any) -> InferenceClass:
    allocation = gke.pop("allocation", "DevicePlugin")
    return InferenceClass.model_validate(
        {
            "metadata": {"name": name},
            "spec": {
                "node": {"cpu": "4", "memory": "8Gi", "pods": pods},
                "resources": {"gpu": {"count": count, "memory": "20Gi"}},
                "allocation": allocation,
                "provisioning": {
                    "provider": "GKE",
                    "gke": {"machineType": machine, "accelerator": {"type": gpu, "count": count}, **gke},
                },
            },
        }
    )


L4 = recipe("l4", "g2-standard-48", "nvidia-l4", 4)
H100_HIGH = recipe("h100", "a3-highgpu-8g", "nvidia-h100-80gb", 8, networking={"gpuDirect": "TCPX"})
H100_MEGA = recipe("mega", "a3-megagpu-8g", "nvidia-h100-mega-80gb", 8, networking={"gpuDirect": "TCPXO"})
H200 = recipe("h200", "a3-ultragpu-8g", "nvidia-h200-141gb", 8, networking={"gpuDirect": "RDMA"})
GB200 = recipe("gb200", "a4x-highgpu-4g", "nvidia-gb200", 4, networking={"gpuDirect": "RDMA"})
UNKNOWN = recipe("b9", "a9-highgpu-8g", "nvidia-b900", 8)
CLASSES = (L4, H100_HIGH, H100_MEGA, H200, GB200, UNKNOWN)
# Describes nodes that exist; GKE cannot make any.
BARE = InferenceClass.model_validate(
    {
        "metadata": {"name": "bare"},
        "spec": {
            "node": {"cpu": "4", "memory": "8Gi"},
            "resources": {"gpu": {"count": 1, "memory": "20Gi"}},
        },
    }
)


def pool(name: str = "l4", class_name: str = "l4", **spec: Any) -> dict[str, Any]:
    size = {} if {"nodeCount", "maxNodeCount"} & spec.keys() else {"maxNodeCount": 4}
    return {"name": name, "className": class_name, **size, **spec}


def cluster(
    name: str = "east",
    *pools: dict[str, Any],
    serving: dict[str, Any] | None = None,
    own_labels: dict[str, str] | None = None,
    **gke: Any,
) -> InferenceCluster:
    return InferenceCluster.model_validate(
        {
            "metadata": {"name": name, "labels": own_labels or {}},
            "spec": {
                "cluster": {"source": "GKE", "gke": {"project": "acme-ml", "region": "us-east5", **gke}},
                "nodePools": list(pools) or [pool()],
                "serving": serving or {},
            },
        }
    )


def clouds(
    *clusters: InferenceCluster, stack: str = "prod", classes: tuple[InferenceClass, ...] = ()
) -> Documents:
    return Documents(
        settings=Settings(stack=stack),
        classes={one.metadata.name: one for one in (*CLASSES, BARE, *classes)},
        clusters={one.metadata.name: one for one in clusters},
    )


def with_pickers(documents: Documents, cluster_name: str, *pickers: dict[str, Any]) -> tuple[Documents, Plan]:
    """The documents with a deployment for each of the `pickers`, all placed on one cluster."""
    template = {"spec": {"containers": [{"name": "engine", "image": "engine:1"}]}}
    workers = {"topology": {"tensor": 1}, "template": template}
    deployments = [
        ModelDeployment.model_validate(
            {
                "metadata": {"name": f"m{place}", "namespace": "ml"},
                "spec": {"replicas": 1, "workers": workers, "endpointPicker": picker},
            }
        )
        for place, picker in enumerate(pickers)
    ]
    by_key = {one.metadata.key: one for one in deployments}
    found = Documents(documents.settings, documents.classes, documents.clusters, by_key)
    return found, Plan(endpoints=tuple(Endpoint(key, cluster_name, 1, {}) for key in by_key))


def remembering(**blocks: str) -> Lock:
    """A lock that has clusters with these blocks."""
    return Lock(
        stack="prod",
        clusters={name: LockedCluster("GKE", settings={"block": block}) for name, block in blocks.items()},
    )


def made(documents: Documents, lock: Lock | None = None, planned: Plan | None = None) -> CloudCluster:
    """The one cluster of the documents."""
    (found,) = clouds_of(documents, lock or Lock(stack="prod"), planned or Plan())
    return found


def clouds_of(documents: Documents, lock: Lock, planned: Plan) -> tuple[CloudCluster, ...]:
    """All GKE clusters of the documents."""
    return cloud_clusters(documents, described_clusters(documents), lock, planned)


def resources(*found: CloudCluster) -> dict[str, CloudResource]:
    return {one.key: one for each in found for component in each.components for one in component.resources}


def node_pool(name: str, documents: Documents, planned: Plan | None = None) -> CloudResource:
    """The NodePool of a pool of the one cluster."""
    found = made(documents, planned=planned)
    return found.resource(found.system_key if name == SYSTEM_POOL else found.pools[name].resource.key)
