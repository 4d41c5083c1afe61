"""From nothing to a fleet and back, through the real engine."""

from dataclasses import dataclass
from typing import Any

import pytest
from documents import deployment, service
from project import Project, Run

CLUSTERS = ("east", "west")

L4 = "NVIDIA L4"
H100 = "NVIDIA H100 80GB HBM3"
OURS = "app.kubernetes.io/managed-by=inferfleet"
KINDS = (
    "deployments,services,configmaps,secrets,serviceaccounts,roles,rolebindings,clusterroles,"
    "clusterrolebindings,gateways,httproutes,inferencepools,namespaces"
)


@dataclass(frozen=True)
class Life:
    """What was done and seen, from the first preview to the end."""

    previewed: Run
    locked_early: bool
    done: Run
    state: list[str]
    again: Run
    nodes: dict[str, dict[str, Any]]  # by cluster/name
    pods: dict[str, list[dict[str, Any]]]  # of models, by cluster
    gone: Run
    left: set[str]


@pytest.fixture(scope="module")
def life(standing: Project) -> Life:
    standing.write(
        "models",
        deployment("one", on="east"),
        deployment("two", on="east", gpus=2),
        deployment("eight", gpus=8, endpointPicker={"replicas": 2}),
        deployment("spread", replicas=2, gpu=L4),
        deployment("pair", on="west", gpu=H100),
        deployment("pair-too", on="west", gpu=H100),
        service("chat", one=80, two=20),
    )
    previewed = standing.preview()
    locked_early = standing.lock_file.exists()
    done = standing.up()
    state = standing.state()
    again = standing.up()
    nodes = {
        f"{cluster}/{one['metadata']['name']}": one
        for cluster in CLUSTERS
        for one in standing.items(cluster, "nodes")
    }
    serving = ("pods", "-l", "inferfleet.dev/serves=true")
    pods = {cluster: standing.items(cluster, *serving) for cluster in CLUSTERS}
    gone = standing.destroy()
    left = {
        f"{cluster}: {one['kind']} {one['metadata']['name']}"
        for cluster in CLUSTERS
        for one in standing.items(cluster, KINDS, "-l", OURS)
    }
    return Life(previewed, locked_early, done, state, again, nodes, pods, gone, left)


def test_the_first_preview_lists_what_up_creates_and_writes_no_lock(life: Life) -> None:
    assert life.previewed.code == 0, life.previewed.output
    assert life.done.code == 0, life.done.output
    assert set(life.done.operations.values()) == {"create"}
    assert life.previewed.operations == life.done.operations
    assert sorted(life.done.operations) == life.state
    assert not life.locked_early


def test_a_second_update_changes_nothing(life: Life) -> None:
    assert (life.again.code, life.again.operations) == (0, {}), life.again.output


def test_destroy_leaves_only_namespaces(life: Life) -> None:
    assert life.gone.code == 0, life.gone.output
    kept = ("Namespace ml", "Namespace inferfleet-system")
    assert life.left == {f"{cluster}: {one}" for cluster in CLUSTERS for one in kept}


def test_pods_stand_on_nodes_their_selector_asked_for_and_no_gpu_is_given_twice(life: Life) -> None:
    pool_of: dict[str, set[str]] = {}
    node_of: dict[str, str] = {}
    used = dict.fromkeys(life.nodes, 0)
    for cluster, pods in life.pods.items():
        for pod in pods:
            assert ready(pod), pod["metadata"]["name"]
            node = f"{cluster}/{pod['spec']['nodeName']}"
            name = pod["metadata"]["labels"]["inferfleet.dev/deployment"]
            used[node] += gpus(pod)
            node_of[name] = node
            pool = life.nodes[node]["metadata"]["labels"]["inferfleet.dev/pool"]
            pool_of.setdefault(name, set()).add(f"{cluster}/{pool}")
    for node, count in used.items():
        assert count <= int(life.nodes[node]["status"]["allocatable"].get("nvidia.com/gpu", 0)), node
    assert pool_of == {
        "one": {"east/l4"},
        "two": {"east/l4"},
        "eight": {"west/h100"},
        "spread": {"east/l4", "west/l4"},
        "pair": {"west/h100"},
        "pair-too": {"west/h100"},
    }
    assert node_of["pair"] == node_of["pair-too"] != node_of["eight"]


def ready(pod: dict[str, Any]) -> bool:
    return any(one == {**one, "type": "Ready", "status": "True"} for one in pod["status"]["conditions"])


def gpus(pod: dict[str, Any]) -> int:
    return sum(int(one["resources"]["limits"]["nvidia.com/gpu"]) for one in pod["spec"]["containers"])
