"""A pool that is replaced under a model that serves; operations that Google refuses; what is left of them."""

from collections.abc import Iterator
from typing import Any

import pytest
from asking import asked_all_the_time, serving, url
from documents import Document, model
from gke_edits_stack import kind
from gke_fleet import Fleet, fleet, gke

ZONES = ["us-east5-a", "us-east5-b"]
FIXED = {"name": "fixed", "className": "plain", "nodeCount": 2, "zones": ZONES}
MORE = {"name": "more", "className": "cheap", "nodeCount": 1, "zones": ["us-east5-b"]}
SCARCE = {"name": "scarce", "className": "plain", "nodeCount": 1, "zones": ["us-east5-c"]}
CHEAP = kind("cheap", "n1-standard-8", "nvidia-tesla-t4", 1, product="Tesla T4")
ALLOWED = {"allow": ["driver"]}
POOL, MODEL = "NodePool east/fixed", "Deployment east/ml/chat-decode-fixed"


def plain(**recipe: Any) -> Document:
    return kind("plain", "g2-standard-8", "nvidia-l4", 1, product="NVIDIA L4", **recipe)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two replicas serve, each on a node of its own."""
    east, chat = gke("east", "us-east5", FIXED), model("chat", replicas=2)
    with fleet(
        tmp_path_factory.mktemp("replaced"),
        "replaced",
        classes=[plain(), CHEAP],
        clusters=[east],
        models=[chat],
    ) as made:
        made.up()
        yield made


def test_with_old_nodes_first_to_go_the_gap_is_told_before(standing: Fleet) -> None:
    replace = ALLOWED | {"order": "DeleteFirst"}
    standing.project.write("classes", plain(driver="DEFAULT"), CHEAP)
    standing.project.write("clusters", gke("east", "us-east5", FIXED, replace=replace))
    standing.project.write("models", model("chat"))
    seen = standing.preview()
    assert (
        "pool east/fixed with 2 replicas (2 of ml/chat) is replaced, and its old nodes are deleted "
        "before new ones are created. Expect a gap in serving, or set spec.cluster.gke.replace.order: "
        "CreateFirst" in seen.output
    )
    budget = "PodDisruptionBudget east/ml/chat-decode"
    assert seen.operations == {POOL: "replace", MODEL: "update", budget: "delete"}


def test_replicas_move_to_the_new_nodes_one_by_one_and_no_request_is_lost(standing: Fleet) -> None:
    address = url(standing, "east", "ml/deployments/chat")
    old_nodes, old_pods = _names(standing.nodes("east", "fixed")), serving(address)
    standing.project.write("classes", plain(driver="DEFAULT"), CHEAP)
    standing.project.write("clusters", gke("east", "us-east5", FIXED, replace=ALLOWED))
    standing.project.write("models", model("chat", replicas=2))
    with asked_all_the_time(address) as answers:
        done = standing.up()
    assert done.operations == {POOL: "replace", MODEL: "update"}
    # The new pool is made, the workload rolls, and the old pool goes.
    assert [one for one in done.timeline if one.endswith((POOL, MODEL))] == [
        *(f"start {POOL}", f"done {POOL}"),
        *(f"start {POOL}", f"done {POOL}"),
        *(f"start {MODEL}", f"done {MODEL}"),
        *(f"start {POOL}", f"done {POOL}"),
    ]
    assert {one.status for one in answers} == {200}
    assert len(answers) > 50, len(answers)
    assert {one.pod for one in answers} > old_pods
    new_nodes = _names(standing.nodes("east", "fixed"))
    assert (len(new_nodes), new_nodes & old_nodes) == (2, set())
    pods = standing.items("east", "pods", "-l", "inferfleet.dev/serves=true")
    assert {one["spec"]["nodeName"] for one in pods} == new_nodes
    assert standing.preview().operations == {}


def test_a_busy_cluster_is_told_with_its_pool_and_nothing_is_lost(standing: Fleet) -> None:
    before = standing.project.state()
    _write(standing, FIXED | {"nodeCount": 4})
    _fault(standing, "conflict", _cloud_name(standing))
    failed = standing.project.up()
    assert failed.code != 0
    assert failed.operations == {POOL: "update"}
    assert "NodePool (east/fixed)" in failed.output
    assert "Cluster is running incompatible operation" in failed.output
    assert standing.project.state() == before
    _fault(standing, "clear")
    _write(standing, FIXED)
    assert standing.preview().operations == {}


def test_quota_and_stock_fail_with_the_pools_names_and_the_next_update_goes_on(standing: Fleet) -> None:
    before = standing.project.state()
    _write(standing, FIXED, MORE, SCARCE)
    _fault(standing, "quota", "us-east5", "nvidia-tesla-t4", "0")
    _fault(standing, "stockout", "us-east5-c", "g2-standard-8")
    failed = standing.project.up("--continue-on-error")
    assert failed.code != 0
    of_more, of_scarce = _told(failed.output, "east/more"), _told(failed.output, "east/scarce")
    assert 'Insufficient regional quota to satisfy request: resource "NVIDIA_TESLA_T4_GPUS"' in of_more
    assert "ZONE_RESOURCE_POOL_EXHAUSTED" in of_scarce
    assert "us-east5-c" in of_scarce
    # The one was never made; the other stands half-made, in the cloud and in the state.
    added = {"GpuNodePool east/more", "GpuNodePool east/scarce", "NodePool east/scarce"}
    assert {*standing.project.state()} == {*before} | added
    assert {name: one.status for name, one in standing.pools("east").items()} == {
        "system": "RUNNING",
        "fixed": "RUNNING",
        "scarce": "ERROR",
    }

    _fault(standing, "clear")
    assert standing.up().operations == {"NodePool east/more": "create", "NodePool east/scarce": "update"}
    assert standing.up().operations == {}
    made = {name: (one.status, one.zones) for name, one in standing.pools("east").items() if name != "system"}
    assert made == {
        "fixed": ("RUNNING", dict.fromkeys(ZONES, 1)),
        "more": ("RUNNING", {"us-east5-b": 1}),
        "scarce": ("RUNNING", {"us-east5-c": 1}),
    }


def _write(fleet: Fleet, *pools: Document) -> None:
    fleet.project.write("clusters", gke("east", "us-east5", *pools, replace=ALLOWED))


def _fault(fleet: Fleet, *what: str) -> None:
    done = fleet.project.cli("sandbox", "cloud", "fault", *what, "--stack", fleet.project.stack)
    assert done.returncode == 0, done.stderr


def _told(output: str, pool: str) -> str:
    """What the engine's last words say of a pool."""
    told = output.partition("Diagnostics:")[2].split("\n  gcp:")
    [found] = [one for one in told if f"NodePool ({pool})" in one]
    return found


def _cloud_name(fleet: Fleet) -> str:
    return fleet.pools("east")["fixed"].id.split("/")[5]


def _names(nodes: list[dict[str, Any]]) -> set[str]:
    return {one["metadata"]["name"] for one in nodes}
