"""The stack `gke-demo`, from an empty cloud to answers and back, through the real engine."""

from collections.abc import Iterator
from typing import Any

import pytest
from closed import beyond_loopback, listening, open_to_others
from gke_fleet import POOL_LABEL, Fleet, fleet
from project import ROOT, Run

from sandbox.processes import processes_in

ZONE_LABEL = "topology.kubernetes.io/zone"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = ROOT / "stacks" / "gke-demo"
    with fleet(tmp_path_factory.mktemp("demo"), "demo", folder=folder) as made:
        yield made


@pytest.fixture(scope="module")
def first_preview(demo: Fleet) -> Run:
    previewed = demo.preview()
    assert demo.left() == ([], [], [])
    return previewed


@pytest.fixture(scope="module")
def first_up(demo: Fleet, first_preview: Run) -> Run:
    return demo.up()


def test_the_first_preview_lists_all_that_up_creates_also_inside_clusters_that_do_not_exist(
    demo: Fleet, first_preview: Run, first_up: Run
) -> None:
    assert set(first_preview.operations.values()) == {"create"}
    assert {"Deployment central/ml/qwen3-8b-decode-l4-spot", "Gateway east/inferfleet-system/inferfleet"} <= (
        first_preview.operations.keys()
    )
    assert first_preview.operations == first_up.operations
    assert sorted(first_up.operations) == demo.project.state()


def test_pods_are_ready_on_nodes_of_the_pools_and_zones_that_were_asked_for(
    demo: Fleet, first_up: Run
) -> None:
    pools: dict[str, set[str]] = {}
    zones: dict[str, set[str]] = {}
    for cluster in ("central", "east"):
        nodes = {one["metadata"]["name"]: one["metadata"]["labels"] for one in demo.items(cluster, "nodes")}
        for pod in demo.items(cluster, "pods"):
            assert _ready(pod), pod["metadata"]["name"]
            labels = nodes[pod["spec"]["nodeName"]]
            pool = f"{cluster}/{labels[POOL_LABEL].rpartition('-')[0]}"
            zones.setdefault(pool, set()).add(labels[ZONE_LABEL])
            pools.setdefault(_deployment(pod), set()).add(pool)
    assert pools == {
        "qwen3-8b": {"central/l4-spot"},
        "qwen3-32b": {"central/l4-spot"},
        "gemma3-4b": {"central/l4-spot", "east/l4"},
        "deepseek-r1": {"central/h100"},
        "a picker": {"central/system", "east/system"},
    }
    assert zones["central/h100"] == {"us-central1-a"}
    assert zones["central/l4-spot"] <= {"us-central1-a", "us-central1-b"}
    assert zones["east/l4"] <= {"us-east4-a", "us-east4-c"}


def test_the_service_answers_through_a_gateway_in_the_cloud(demo: Fleet, first_up: Run) -> None:
    said = demo.project.cli("sandbox", "chat", "chat", "hello", "--stack", "demo")
    assert said.returncode == 0, said.stderr
    assert "you said 1 tokens, 'hello'" in said.stdout
    assert demo.project.cli("status", "--stack", "demo").returncode == 0


def test_the_simulated_cloud_is_closed_to_the_network_and_to_other_users(demo: Fleet, first_up: Run) -> None:
    heard = listening(processes_in(demo.places.folder))
    assert {program for program, _ in heard} >= {"cloud", "envoy", "epp", "kube-apiserver"}
    assert beyond_loopback(heard) == []
    assert open_to_others(demo.places.folder.parent) == []


def test_a_second_update_changes_nothing(demo: Fleet, first_up: Run) -> None:
    assert demo.up().operations == {}


def test_destroy_leaves_an_empty_cloud_and_nothing_that_runs(demo: Fleet, first_up: Run) -> None:
    demo.destroy()
    assert demo.left() == ([], [], [])
    assert demo.project.state() == []


def _deployment(pod: dict[str, Any]) -> str:
    labels: dict[str, str] = pod["metadata"]["labels"]
    return labels["inferfleet.dev/deployment"] if "inferfleet.dev/role" in labels else "a picker"


def _ready(pod: dict[str, Any]) -> bool:
    return any(one == {**one, "type": "Ready", "status": "True"} for one in pod["status"]["conditions"])
