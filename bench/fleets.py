"""Random fleets to measure planning with: pools of several classes, deployments of many shapes."""

from random import Random
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.inference_class import InferenceClass
from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.settings import Settings

# GPUs per node, GiB of each, and a made-up price of a node: only their order matters.
CLASSES = {
    "l4-1": (1, 24, 1),
    "l4-4": (4, 24, 4),
    "a100-8": (8, 80, 30),
    "h100-8": (8, 80, 60),
    "h200-8": (8, 141, 80),
    "b200-8": (8, 180, 120),
}
TIERS = ("prod", "staging", "dev")


def fleet(
    clusters: int, deployments: int, *, load: float = 0.7, gangs: bool = False, seed: int = 1
) -> Documents:
    """Return a fleet whose deployments ask for `load` of its GPUs, as far as they have so many.

    With `gangs`, a tenth of the deployments have workers of 2 or 4 pods, and a tenth a second role.
    """
    random = Random(seed)
    made = [_cluster(f"c{number}", random) for number in range(clusters)]
    gpus = sum(
        CLASSES[pool.class_name][0] * pool.size for cluster in made for pool in cluster.spec.node_pools
    )
    wanted = [_deployment(f"d{number}", random, gangs=gangs) for number in range(deployments)]
    left = gpus * load
    chosen = []
    for document in wanted:
        workers = document.spec.workers
        size = workers.count * workers.topology.gpus_per_worker * document.spec.replicas
        replicas = document.spec.replicas if size <= left else 0
        left -= size if replicas else 0
        spec = document.spec.model_copy(update={"replicas": replicas})
        chosen.append(document.model_copy(update={"spec": spec}))
    return Documents(
        Settings(stack="bench"),
        classes={name: _class(name) for name in CLASSES},
        clusters={cluster.metadata.name: cluster for cluster in made},
        deployments={document.metadata.key: document for document in chosen},
    )


def _class(name: str) -> InferenceClass:
    gpus, memory, price = CLASSES[name]
    device: dict[str, Any] = {
        "name": "gpu",
        "driver": "gpu.nvidia.com",
        "deviceClassName": "gpu.nvidia.com",
        "count": gpus,
        "capacity": {"memory": {"value": f"{memory}Gi"}},
    }
    fabric = {"name": "nic", "driver": "dra.net", "claim": "Synthetic", "count": 8}
    spec = {
        "node": {"cpu": str(24 * gpus), "memory": f"{200 * gpus}Gi"},
        "devices": [device, *([fabric] if gpus == 8 else [])],
        "price": {"onDemand": str(price), "currency": "USD", "asOf": "2026-01-01", "source": "made up"},
    }
    return InferenceClass.model_validate({"metadata": {"name": name}, "spec": spec})


def _cluster(name: str, random: Random) -> InferenceCluster:
    classes = random.sample(sorted(CLASSES), random.randint(1, 3))
    spec = {
        "cluster": {"source": "Existing", "existing": {"kubeconfig": {"path": "kubeconfig"}}},
        "nodePools": [
            {"name": class_name, "className": class_name, "nodeCount": random.randint(1, 6)}
            for class_name in classes
        ],
        "serving": {"gateway": {"className": "istio"}},
    }
    labels = {"tier": random.choice(TIERS)}
    return InferenceCluster.model_validate({"metadata": {"name": name, "labels": labels}, "spec": spec})


def _deployment(name: str, random: Random, *, gangs: bool) -> ModelDeployment:
    gpus = random.choice((1, 1, 1, 2, 4, 8))
    memory = random.choice((16, 24, 24, 75, 75, 130))
    kind = random.random() if gangs else 1.0
    topology = {"tensor": 8, "pipeline": random.choice((2, 4))} if kind < 0.1 else {"tensor": gpus}
    spec: dict[str, Any] = {
        "replicas": random.choice((1, 1, 2, 2, 3, 4)),
        "nodeSelector": {"cel": f"capacity['gpu.nvidia.com/memory'].compareTo(quantity('{memory}Gi')) >= 0"},
        "workers": {"topology": topology, "template": _template(random)},
    }
    if random.random() < 0.5:
        spec["clusterSelector"] = {"matchLabels": {"tier": random.choice(TIERS)}}
    if 0.1 <= kind < 0.2:
        spec["roles"] = {"encode": {"workers": {"topology": {"tensor": 1}, "template": _template(random)}}}
    return ModelDeployment.model_validate({"metadata": {"name": name, "namespace": "ml"}, "spec": spec})


def _template(random: Random) -> dict[str, Any]:
    resources = {"requests": {"cpu": str(random.randint(1, 8)), "memory": f"{random.randint(1, 64)}Gi"}}
    return {"spec": {"containers": [{"name": "engine", "image": "vllm:1", "resources": resources}]}}
