"""The stack that edits are tried on: one cluster of Google's, four pools, and one replica."""

from typing import Any

from documents import API, Document, deployment
from gke_fleet import gke

POOLS = ("fixed", "spot", "wired", "zero")
Documents = dict[str, Document]


def documents() -> Documents:
    """Return the documents by name. The replica runs on pool fixed; spot and zero have no node."""
    return {
        "plain": kind("plain", "g2-standard-8", "nvidia-l4", 1, product="NVIDIA L4"),
        "cheap": kind("cheap", "n1-standard-8", "nvidia-tesla-t4", 1, product="Tesla T4"),
        "wired": kind(
            "wired",
            "a3-megagpu-8g",
            "nvidia-h100-mega-80gb",
            8,
            product="NVIDIA H100 80GB HBM3",
            localSsd={"count": 16},
            networking={"gpuDirect": "TCPXO"},
        ),
        "east": gke(
            "east",
            "us-east5",
            {"name": "fixed", "className": "plain", "nodeCount": 2, "zones": ["us-east5-a", "us-east5-b"]},
            {
                "name": "spot",
                "className": "cheap",
                "minNodeCount": 0,
                "maxNodeCount": 4,
                "zones": ["us-east5-a"],
                "capacity": {"model": "Spot"},
            },
            {
                "name": "wired",
                "className": "wired",
                "nodeCount": 1,
                "zones": ["us-east5-a"],
                "capacity": {"model": "Reservation", "reservation": {"name": "mega"}},
            },
            {
                "name": "zero",
                "className": "cheap",
                "minNodeCount": 0,
                "maxNodeCount": 2,
                "zones": ["us-east5-b"],
            },
        ),
        "chat": deployment("chat", gpu="NVIDIA L4"),
    }


def kind(name: str, machine: str, gpu: str, count: int, *, product: str, **recipe: Any) -> Document:
    device = {
        "name": "gpu",
        "driver": "gpu.nvidia.com",
        "deviceClassName": "gpu.nvidia.com",
        "count": count,
        "attributes": {"productName": {"string": product}},
        "capacity": {"memory": {"value": "16Gi"}},
    }
    gke = {"machineType": machine, "accelerator": {"type": gpu, "count": count}, **recipe}
    return {
        "apiVersion": API,
        "kind": "InferenceClass",
        "metadata": {"name": name},
        "spec": {
            "node": {"cpu": "4", "memory": "16Gi", "pods": 110},
            "devices": [device],
            "provisioning": {"provider": "GKE", "gke": gke},
        },
    }
