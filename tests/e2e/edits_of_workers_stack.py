"""The stack that edits of workers are tried on: one cluster, workers of one pod, of several, and of roles."""

from typing import Any

from documents import API, FRUGAL, Document, cluster, kueue_webhook

STACK = "shapes"
IMAGE = "docker.io/vllm/vllm-openai:v0.32.0"
ENGINE = {"type": "vLLM", "model": "some/model"}
LEVEL = "cloud.google.com/gce-topology-block"
PIPELINE = {"tensor": 1, "pipeline": 2}
Documents = dict[str, Document]


def documents() -> Documents:
    """Return the documents by name.

    `kimi`, `claimed` and `queued` are groups of two pods in a pipeline: `claimed` claims its GPUs, and
    `queued` is in a queue of Kueue. `wide` is a group of two pods with two copies each, `single` is one pod,
    `tall` one with all GPUs of a node, and `duo` has a second role.
    """
    encode = {"workers": {"topology": {"tensor": 1}, "template": template()}}
    return {
        "plain": kind("plain"),
        "joined": kind("joined", {"name": "nic", "driver": "nic.example", "claim": "Synthetic"}),
        "dra": kind(
            "dra", {"name": "rdma", "driver": "rdma.example", "deviceClassName": "rdma.example", "count": 4}
        ),
        "east": cluster(
            "east",
            stack=STACK,
            pools={"plain": ("plain", 6), "joined": ("joined", 3), "dra": ("dra", 3)},
            # The sandbox has no program of the default profile's pickers for prefill.
            serving={
                "profile": "scheduler-0.7",
                "gateway": {"className": "inferfleet-sandbox", "port": 8080},
            },
        ),
        "kimi": model("kimi", PIPELINE, apart=True, replicas=2),
        "wide": model("wide", {"tensor": 1, "data": 4, "dataLocal": 2}),
        "single": model("single", {"tensor": 1}),
        "tall": model("tall", {"tensor": 4}, on="joined"),
        "duo": model("duo", {"tensor": 1}, roles={"encode": encode}),
        "split": model(
            "split", {"tensor": 1}, prefill={"workers": {"topology": {"tensor": 1}, "template": template()}}
        ),
        "claimed": model("claimed", PIPELINE, on="dra"),
        "queued": model("queued", PIPELINE, scheduler={"type": "Kueue", "queue": "team-a"}),
    }


def kind(name: str, *others: dict[str, Any]) -> Document:
    """Return a class with four GPUs. `joined` has a network between nodes, and `dra` claims."""
    gpu = {
        "name": "gpu",
        "driver": "gpu.nvidia.com",
        "deviceClassName": "gpu.nvidia.com",
        "count": 4,
        "attributes": {"productName": {"string": name}},
        "capacity": {"memory": {"value": "80Gi"}},
    }
    devices = [gpu, *(dict(other) for other in others)]
    if name == "joined":
        devices[1]["attributes"] = {"linkType": {"string": "infiniband"}}
    return {
        "apiVersion": API,
        "kind": "InferenceClass",
        "metadata": {"name": name},
        "spec": {
            "node": {"cpu": "64", "memory": "512Gi"},
            "allocation": "DRA" if name == "dra" else "DevicePlugin",
            "devices": devices,
        },
    }


def template(**engine: Any) -> dict[str, Any]:
    """Return a pod template whose engine drains for a second. `engine` are fields of its container."""
    container = {
        "name": "engine",
        "image": IMAGE,
        "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
        **engine,
    }
    return {"spec": {"containers": [container], "terminationGracePeriodSeconds": 10}}


def selects(product: str) -> dict[str, str]:
    """Return the selector of a class of this file."""
    return {"cel": f'attributes["gpu.nvidia.com/productName"] == "{product}"'}


def model(
    name: str,
    topology: dict[str, int],
    *,
    on: str = "plain",
    apart: bool = False,
    replicas: int = 1,
    **spec: Any,
) -> Document:
    """`on` is the class of its nodes, `apart` gives entry and followers templates of their own."""
    both = {"entry": {"template": template()}, "follower": {"template": template()}}
    return {
        "apiVersion": API,
        "kind": "ModelDeployment",
        "metadata": {"name": name, "namespace": "ml", "labels": {"model": name}},
        "spec": {
            "replicas": replicas,
            "nodeSelector": selects(on),
            "engine": dict(ENGINE),
            "workers": {"topology": dict(topology), **(both if apart else {"template": template()})},
            "endpointPicker": FRUGAL,
            **spec,
        },
    }


def queues() -> list[dict[str, Any]]:
    """Return what the schedulers that edits name have on the cluster."""
    return [
        *(
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "LocalQueue",
                "metadata": {"name": name, "namespace": "ml"},
                "spec": {"clusterQueue": "all"},
            }
            for name in ("team-a", "team-b")
        ),
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Topology",
            "metadata": {"name": "blocks"},
            "spec": {"levels": [{"nodeLabel": LEVEL}]},
        },
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": "default"},
            "spec": {"weight": 1},
        },
        kueue_webhook(),
    ]
