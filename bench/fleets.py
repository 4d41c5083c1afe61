"""Random fleets to measure planning with: pools of several classes, deployments of many shapes."""

from random import Random
from typing import Any, Literal

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.roles import roles_of, workers_of

# GPUs per node, GiB of each, and a made-up price of a node: only their order matters.
CLASSES = {
    "l4-1": (1, 24, 1),
    "l4-4": (4, 24, 4),
    "a100-8": (8, 80, 30),
    "h100-8": (8, 80, 60),
    "h200-8": (8, 141, 80),
    "b200-8": (8, 180, 120),
}
Kind = Literal["singles", "gangs", "cores"]
CORES = 24  # of a node, for each of its GPUs
TIERS = ("prod", "staging", "dev")


def fleet(
    clusters: int, deployments: int, *, load: float = 0.7, kind: Kind = "singles", seed: int = 1
) -> Documents:
    """Return a fleet whose deployments ask for `load` of its GPUs, as far as they have so many.

    With `gangs`, a tenth of the deployments have workers of 2 or 4 pods, a tenth a second role, and a tenth
    prefill apart from decode. Each asks for cores and memory of its own; with `cores`, for so many that the
    cores of nodes run out before their GPUs.
    """
    random = Random(seed)
    made = [_cluster(f"c{number}", random) for number in range(clusters)]
    gpus = sum(
        CLASSES[pool.class_name][0] * pool.size for cluster in made for pool in cluster.spec.node_pools
    )
    wanted = [_deployment(f"d{number}", random, kind) for number in range(deployments)]
    left = gpus * load
    chosen = []
    for document in wanted:
        every = [workers_of(document, role) for role in roles_of(document)]
        of_replica = sum(workers.count * workers.topology.gpus_per_worker for workers in every)
        size = of_replica * document.spec.wanted
        replicas = document.spec.wanted if size <= left else 0
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
        "node": {"cpu": str(CORES * gpus), "memory": f"{200 * gpus}Gi"},
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


def _deployment(name: str, random: Random, kind: Kind) -> ModelDeployment:
    gpus = random.choice((1, 1, 1, 2, 4, 8))
    memory = random.choice((16, 24, 24, 75, 75, 130))
    roles = random.random() if kind == "gangs" else 1.0
    topology = {"tensor": 8, "pipeline": random.choice((2, 4))} if roles < 0.1 else {"tensor": gpus}
    spec: dict[str, Any] = {
        "replicas": random.choice((1, 1, 2, 2, 3, 4)),
        "nodeSelector": {"cel": f"capacity['gpu.nvidia.com/memory'].compareTo(quantity('{memory}Gi')) >= 0"},
        "workers": {
            "topology": topology,
            "template": _template(random, gpus if kind == "cores" else 0),
        },
    }
    if random.random() < 0.5:
        spec["clusterSelector"] = {"matchLabels": {"tier": random.choice(TIERS)}}
    if 0.1 <= roles < 0.2:
        spec["roles"] = {"encode": {"workers": {"topology": {"tensor": 1}, "template": _template(random)}}}
    if 0.2 <= roles < 0.3:
        prefill = {"topology": {"tensor": random.choice((1, 2, 4))}, "template": _template(random)}
        spec["prefill"] = {"workers": {"count": random.choice((1, 2)), **prefill}}
    return ModelDeployment.model_validate({"metadata": {"name": name, "namespace": "ml"}, "spec": spec})


def _template(random: Random, cores_of: int = 0) -> dict[str, Any]:
    """Return a pod template; with `cores_of` GPUs, one for more or less cores than their part of a node."""
    cpu = f"{random.randint(8_000, 40_000) * cores_of}m" if cores_of else str(random.randint(1, 8))
    if cores_of == 8:
        cpu = str(8 * CORES)  # a node has no more
    resources = {"requests": {"cpu": cpu, "memory": f"{random.randint(1, 64)}Gi"}}
    return {"spec": {"containers": [{"name": "engine", "image": "vllm:1", "resources": resources}]}}
