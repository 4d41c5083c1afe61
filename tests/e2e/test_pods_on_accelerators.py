"""Pods run on nodes that have what they ask for: devices of their vendor, slices, shares, or none."""

import json
from typing import Any

import pytest
from documents import API, Document, cluster, deployment
from sandboxes import running

STACK = "accel"


def class_(name: str, *devices: dict[str, Any]) -> Document:
    spec = {"node": {"cpu": "200", "memory": "1800Gi"}, "devices": list(devices)}
    return {"apiVersion": API, "kind": "InferenceClass", "metadata": {"name": name}, "spec": spec}


def gpu(driver: str, count: int, **more: Any) -> dict[str, Any]:
    return {"name": "gpu", "driver": driver, "count": count, **more}


CLASSES = (
    class_("h100", gpu("gpu.nvidia.com", 8)),
    class_("mi300x", gpu("gpu.amd.com", 8)),
    class_("gaudi3", gpu("gaudi.intel.com", 8)),
    class_("v6e", gpu("tpu.google.com", 8)),
    class_("slices", gpu("gpu.nvidia.com", 7, resource="nvidia.com/mig-1g.10gb")),
    class_("shared", gpu("gpu.nvidia.com", 4, resource="nvidia.com/gpu.shared")),
    class_("acme", gpu("gpu.acme.com", 2, resource="acme.com/gpu")),
    class_("lone", gpu("gpu.nvidia.com", 1)),
    class_("cores"),
)
POOLS = {
    "amd": ("mi300x", 1),
    "gaudi": ("gaudi3", 1),
    "tpu": ("v6e", 1),
    "h100": ("h100", 2),
    "slices": ("slices", 2),
    "shared": ("shared", 1),
    "acme": ("acme", 1),
    "lone": ("lone", 2),
    "cores": ("cores", 1),
}


def asking(name: str, resource: str, amount: int = 1, **spec: Any) -> Document:
    document = deployment(name, **spec)
    (engine,) = document["spec"]["workers"]["template"]["spec"]["containers"]
    engine["resources"] = {"limits": {resource: amount}}
    return document


def models() -> list[Document]:
    worker = {"topology": {"tensor": 4}, "template": deployment("x")["spec"]["workers"]["template"]}
    frontend = deployment(
        "frontend", accelerator="None", roles={"worker": {"workers": worker, "accelerator": "NVIDIA"}}
    )
    (engine,) = frontend["spec"]["workers"]["template"]["spec"]["containers"]
    frontend["spec"]["workers"] = {
        "topology": {"tensor": 1},
        "template": {"spec": {"containers": [{**engine, "resources": {"requests": {"cpu": "4"}}}]}},
    }
    return [
        asking("nim", "nvidia.com/gpu", 8, gpus=8),
        deployment("rocm", gpus=8, accelerator="AMD"),
        asking("slice", "nvidia.com/mig-1g.10gb", replicas=9),
        asking("part", "nvidia.com/gpu.shared", replicas=3),
        asking("card", "acme.com/gpu"),
        # Two pods of one GPU on an ordinary network. Of the pool with eight per node one node has room.
        asking("pair", "nvidia.com/gpu", gpus=2),
        frontend,
    ]


def test_pods_run_where_the_plan_has_them(tmp_path_factory: pytest.TempPathFactory) -> None:
    fleet = cluster("east", stack=STACK, pools=POOLS)
    # With its models, so that the sandbox has the controller of workers of several pods.
    with running(tmp_path_factory.mktemp("accel"), STACK, *CLASSES, fleet, *models()) as project:
        planned = json.loads(project.cli("plan", "--stack", STACK, "--json").stdout)
        assert planned["unplaced"] == []
        up = project.up()
        assert up.code == 0, up.output
        pools = {
            node["metadata"]["name"]: node["metadata"]["labels"].get("inferfleet.dev/pool")
            for node in project.items("east", "nodes")
        }
        running_on: dict[str, list[str]] = {}
        for pod in project.items("east", "pods", "-l", "inferfleet.dev/role"):
            assert pod["status"]["phase"] == "Running", pod["status"]
            labels = pod["metadata"]["labels"]
            name = f"{labels['inferfleet.dev/deployment']} {labels['inferfleet.dev/role']}"
            running_on.setdefault(name, []).append(pools[pod["spec"]["nodeName"]])
        assert running_on == {
            "card decode": ["acme"],
            "frontend decode": ["cores"],
            "frontend worker": ["h100"],
            "nim decode": ["h100"],
            "pair decode": ["lone"] * 2,
            "part decode": ["shared"] * 3,
            "rocm decode": ["amd"],
            "slice decode": ["slices"] * 9,
        }
        again = project.up()
        assert (again.code, again.operations) == (0, {}), again.output
        left = project.destroy()
        assert left.code == 0, left.output
