"""A pool of a GKE cluster, of which a test knows the names alone."""

from inferfleet.cloud.gke.pool import gke_clusters
from inferfleet.cloud.gke.values import CloudComponent, CloudPool
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.settings import Settings

_L4 = {
    "node": {"cpu": "8", "memory": "32Gi"},
    "resources": {"gpu": {"count": 1, "memory": "23034Mi"}},
    "provisioning": {
        "provider": "GKE",
        "gke": {"machineType": "g2-standard-8", "accelerator": {"type": "nvidia-l4", "count": 1}},
    },
}


def cloud_pools(**names: str) -> dict[str, CloudPool]:
    """Pools of L4s on cluster `east`: by the name in the document (`_` for `-`), the name in Google Cloud."""
    in_cloud = {name.replace("_", "-"): name_there for name, name_there in names.items()}
    spec = {
        "cluster": {"source": "GKE", "gke": {"project": "acme-ml", "region": "us-east5"}},
        "nodePools": [{"name": name, "className": "l4", "maxNodeCount": 4} for name in in_cloud],
    }
    documents = Documents(
        Settings(stack="prod"),
        classes={"l4": InferenceClass.model_validate({"metadata": {"name": "l4"}, "spec": _L4})},
        clusters={"east": InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": spec})},
    )
    return {
        pool.name: CloudPool(
            pool, in_cloud[pool.name], CloudComponent("GpuNodePool", f"east/{pool.name}", ()), {}
        )
        for pool in gke_clusters(documents)["east"].pools
    }
