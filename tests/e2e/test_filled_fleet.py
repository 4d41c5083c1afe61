"""A fleet filled to its last GPU, as planned: the real scheduler finds a place for each pod and no more."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from asking import until
from documents import API, FRUGAL, Document, cluster
from project import Project, checkout
from sandboxes import started

from inferfleet.fleet.names import DEPLOYMENT, POOL, ROLE
from sandbox import clusters

STACK = "filled"
CLUSTER = "full"
# GPUs by pool: nodes, and how pods get at their devices.
NODES = {"plugin": 7, "claims": 2}
# By deployment: its pool, replicas, GPUs per pod, pods per worker. They fill 56 and 16 GPUs.
MODELS = {
    "single": ("plugin", 8, 1, 1),
    "gang-of-2": ("plugin", 1, 8, 2),
    "gang-of-4": ("plugin", 1, 8, 4),
    "claim-of-1": ("claims", 2, 1, 1),
    "claim-of-2": ("claims", 3, 2, 1),
    "claim-of-8": ("claims", 1, 8, 1),
}
_LEADER = (
    "--master-addr=$(LWS_LEADER_ADDRESS)",
    "--nnodes=$(LWS_GROUP_SIZE)",
    "--node-rank=$(LWS_WORKER_INDEX)",
)


def _class(pool: str) -> Document:
    gpu = {
        "name": "gpu",
        "driver": "gpu.nvidia.com",
        "deviceClassName": "gpu.nvidia.com",
        "count": 8,
        "attributes": {"productName": {"string": f"GPU of {pool}"}},
        "capacity": {"memory": {"value": "80Gi"}},
    }
    return {
        "apiVersion": API,
        "kind": "InferenceClass",
        "metadata": {"name": pool},
        "spec": {
            "description": f"8 GPUs for {pool}",
            "node": {"cpu": "64", "memory": "512Gi", "pods": 110},
            "devices": [gpu],
            "allocation": "DRA" if pool == "claims" else "DevicePlugin",
        },
    }


def _model(name: str, *, more: int = 0) -> Document:
    pool, replicas, gpus, pods = MODELS[name]
    args = ["--model=some/model", f"--tensor-parallel-size={gpus}"]

    def template(*own: str) -> Document:
        engine: dict[str, Any] = {
            "name": "engine",
            "image": "docker.io/vllm/vllm-openai:v0.30.0",
            "args": [*args, *own],
            "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
        }
        return {"template": {"spec": {"containers": [engine]}}}

    topology = {"tensor": gpus, "pipeline": pods}
    workers: Document = {"topology": topology, **template()}
    if pods > 1:
        joined = (f"--pipeline-parallel-size={pods}", *_LEADER)
        workers = {
            "topology": topology,
            "entry": template(*joined),
            "follower": template(*joined, "--headless"),
        }
    return {
        "apiVersion": API,
        "kind": "ModelDeployment",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {
            "replicas": replicas + more,
            "nodeSelector": {"cel": f'attributes["gpu.nvidia.com/productName"] == "GPU of {pool}"'},
            "workers": workers,
            "endpointPicker": {**FRUGAL, "resources": {"requests": {"cpu": "100m"}}},
        },
    }


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("filled")
    plain = checkout(root, STACK)
    pools = {pool: (pool, count) for pool, count in NODES.items()}
    fleet = (cluster(CLUSTER, stack=STACK, pools=pools), *map(_class, NODES))
    plain.begin(clusters=fleet, models=list(map(_model, MODELS)))
    try:
        project, _ = started(plain)
        done = project.up()
        assert done.code == 0, done.output
        yield project
    finally:
        clusters.down(root, STACK)


def _engines(project: Project) -> list[dict[str, Any]]:
    return project.items(CLUSTER, "pods", "-l", ROLE)


def test_every_pod_runs_on_the_pool_where_it_was_planned(filled: Project) -> None:
    nodes = {node["metadata"]["name"]: node for node in filled.items(CLUSTER, "nodes")}
    seen: Counter[tuple[str, str, str]] = Counter()
    for pod in _engines(filled):
        pool = nodes[pod["spec"]["nodeName"]]["metadata"]["labels"][POOL]
        seen[pod["metadata"]["labels"][DEPLOYMENT], pool, pod["status"]["phase"]] += 1
    assert seen == {
        (name, pool, "Running"): replicas * pods for name, (pool, replicas, _, pods) in MODELS.items()
    }


def test_no_gpu_is_left_and_none_is_taken_twice(filled: Project) -> None:
    used: Counter[str] = Counter()
    for pod in _engines(filled):
        name = pod["metadata"]["labels"][DEPLOYMENT]
        used[pod["spec"]["nodeName"]] += MODELS[name][2]
    assert sorted(used.values()) == [8] * sum(NODES.values())


def test_pods_of_a_worker_stand_on_different_nodes(filled: Project) -> None:
    nodes: dict[str, list[str]] = {}
    for pod in _engines(filled):
        group = pod["metadata"]["labels"].get("leaderworkerset.sigs.k8s.io/group-key")
        if group:
            nodes.setdefault(group, []).append(pod["spec"]["nodeName"])
    assert sorted(len(set(of)) for of in nodes.values()) == [2, 4]
    assert all(len(set(of)) == len(of) for of in nodes.values())


def test_claims_hold_as_many_devices_as_planned(filled: Project) -> None:
    held: Counter[int] = Counter()
    for claim in filled.items(CLUSTER, "resourceclaims"):
        held[len(claim["status"]["allocation"]["devices"]["results"])] += 1
    assert held == {1: 2, 2: 3, 8: 1}


@pytest.mark.parametrize("name", ["single", "gang-of-2", "claim-of-1"])
def test_one_more_stays_unplaced_and_says_why(filled: Project, name: str) -> None:
    before = {pod["metadata"]["uid"] for pod in _engines(filled)}
    try:
        filled.write("models", *(_model(each, more=int(each == name)) for each in MODELS))
        told = filled.cli("plan", "--stack", STACK, "--json")
        [unplaced] = json.loads(told.stdout)["unplaced"]
        assert (unplaced["deployment"], unplaced["replicas"]) == (f"ml/{name}", 1)
        pool = MODELS[name][0]
        assert any(pool in json.dumps(reason) for reason in unplaced["reasons"])
        refused = filled.up()
        assert refused.code != 0
        assert f"ml/{name}" in refused.output
        assert {pod["metadata"]["uid"] for pod in _engines(filled)} == before
    finally:
        filled.write("models", *map(_model, MODELS))


def test_one_more_pod_past_the_plan_finds_no_node(filled: Project) -> None:
    """The scheduler agrees that nothing is left: the same pod once more, by hand, stays pending."""
    for workload in ("single-decode-plugin", "claim-of-1-decode-claims"):
        name = workload.partition("-decode")[0]
        filled.kubectl(
            CLUSTER, "-n", "ml", "scale", "deployment", workload, f"--replicas={MODELS[name][1] + 1}"
        )
        try:
            until(f"{name} waits for a node", lambda name=name: "Unschedulable" in _reasons(filled, name))
        finally:
            filled.kubectl(
                CLUSTER, "-n", "ml", "scale", "deployment", workload, f"--replicas={MODELS[name][1]}"
            )


def _reasons(project: Project, name: str) -> set[str]:
    return {
        condition.get("reason", "")
        for pod in project.items(CLUSTER, "pods", "-l", f"{DEPLOYMENT}={name},{ROLE}")
        for condition in pod["status"].get("conditions", ())
    }
