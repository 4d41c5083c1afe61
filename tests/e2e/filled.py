"""Four clusters filled to their last GPU: by single pods, gangs, prefill and decode apart, and claims."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from documents import API, FRUGAL, Document, cluster
from prefilled import apart
from project import Project

from inferfleet.fleet.names import DEPLOYMENT, POOL, ROLE

STACK = "filled"
# By cluster: its one pool, which is named like its class, and nodes. Pods request GPUs of the class `plugin`,
# and claim those of the class `claims`.
NODES = {"north": ("plugin", 4), "east": ("plugin", 4), "south": ("plugin", 4), "west": ("claims", 3)}
GPUS_PER_NODE = 4
# By deployment: its class, its replicas, and by role the pods of a replica and the GPUs of each.
MODELS: dict[str, tuple[str, int, dict[str, tuple[int, int]]]] = {
    "single": ("plugin", 8, {"decode": (1, 1)}),
    "gang-of-2": ("plugin", 2, {"decode": (2, 4)}),
    "gang-of-4": ("plugin", 1, {"decode": (4, 4)}),
    "pair": ("plugin", 2, {"decode": (1, 2), "prefill": (1, 2)}),
    "claim-of-1": ("claims", 2, {"decode": (1, 1)}),
    "claim-of-2": ("claims", 3, {"decode": (1, 2)}),
    "claim-of-4": ("claims", 1, {"decode": (1, 4)}),
}
# Of each kind one that gets a replica more, and the nodes that this takes.
ONE_MORE = {"pair": 1, "gang-of-2": 2, "single": 1, "claim-of-4": 1}


def _class(name: str) -> Document:
    gpu = {
        "name": "gpu",
        "driver": "gpu.nvidia.com",
        "deviceClassName": "gpu.nvidia.com",
        "count": GPUS_PER_NODE,
        "attributes": {"productName": {"string": f"GPU of {name}"}},
        "capacity": {"memory": {"value": "80Gi"}},
    }
    return {
        "apiVersion": API,
        "kind": "InferenceClass",
        "metadata": {"name": name},
        "spec": {
            "description": f"{GPUS_PER_NODE} GPUs for {name}",
            "node": {"cpu": "64", "memory": "512Gi", "pods": 110},
            "devices": [gpu],
            "allocation": "DRA" if name == "claims" else "DevicePlugin",
        },
    }


def fleet_of(nodes: Mapping[str, int]) -> list[Document]:
    """The documents of the clusters, with so many nodes each."""
    pools = {name: {kind: (kind, nodes[name])} for name, (kind, _) in NODES.items()}
    return [cluster(name, stack=STACK, pools=pool) for name, pool in pools.items()] + list(
        map(_class, ("plugin", "claims"))
    )


def model(name: str, *, more: int = 0) -> Document:
    kind, replicas, roles = MODELS[name]
    pods, gpus = roles["decode"]
    if "prefill" in roles:
        return apart(name, tensor=gpus, gpu=f"GPU of {kind}", replicas=replicas + more)
    engine = {"name": "engine", "lifecycle": {"preStop": {"sleep": {"seconds": 1}}}}
    workers: Document = {
        "topology": {"tensor": gpus, "pipeline": pods},
        "template": {"spec": {"containers": [engine]}},
    }
    return {
        "apiVersion": API,
        "kind": "ModelDeployment",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {
            "replicas": replicas + more,
            "nodeSelector": {"cel": f'attributes["gpu.nvidia.com/productName"] == "GPU of {kind}"'},
            "engine": {"model": "some/model", "servedNames": ["shared"]},
            "workers": workers,
            "endpointPicker": {**FRUGAL, "resources": {"requests": {"cpu": "100m"}}},
        },
    }


@dataclass(frozen=True)
class Engine:
    """A pod of an engine. `where` is the pool of its node; of a pod that does not run, its phase."""

    cluster: str
    name: str
    uid: str
    deployment: str
    role: str
    where: str
    node: str
    group: str


@dataclass
class Fleet:
    """The project, and what its documents ask for now: nodes by cluster, and replicas more by deployment."""

    project: Project
    nodes: dict[str, int] = field(default_factory=lambda: {name: count for name, (_, count) in NODES.items()})
    more: Counter[str] = field(default_factory=Counter)

    def write(self) -> None:
        self.project.write("clusters", *fleet_of(self.nodes))
        self.project.write("models", *(model(name, more=self.more[name]) for name in MODELS))

    def plan(self) -> dict[str, Any]:
        return dict(json.loads(self.project.cli("plan", "--stack", STACK, "--json").stdout))

    def engines(self) -> set[Engine]:
        return {engine for cluster in NODES for engine in _engines(cluster, self.project)}


def _engines(cluster: str, project: Project) -> Iterator[Engine]:
    objects = project.items(cluster, "nodes,pods")
    nodes = {one["metadata"]["name"]: one["metadata"]["labels"] for one in objects if one["kind"] == "Node"}
    for pod in objects:
        metadata = pod["metadata"]
        labels = metadata.get("labels", {})
        if pod["kind"] != "Pod" or ROLE not in labels:
            continue
        phase, node = pod["status"]["phase"], pod["spec"].get("nodeName", "")
        where = nodes[node].get(POOL, "") if phase == "Running" else phase
        group = labels.get("leaderworkerset.sigs.k8s.io/group-key", "")
        known = (labels[DEPLOYMENT], labels[ROLE], where, node, group)
        yield Engine(cluster, metadata["name"], metadata["uid"], *known)
