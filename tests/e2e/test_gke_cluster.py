"""One cluster of Google's with a pool that starts from nothing: grown, edited, emptied, protected, ended."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from asking import until
from documents import Document, model
from gke_fleet import Fleet, fleet, gke, l4
from project import Run

from inferfleet.serving.metadata import SKIP_AWAIT
from inferfleet.tables.gke import CONSUMED_REQUEST
from sandbox.gcp import faults

STACK = "one"
# Seconds that a pod waits for its node, and so an update for its pod.
WAIT = 4
WORKLOAD = "Deployment far/ml/small-decode-l4"
# Of the cluster's document. In a preview of them its endpoint, and so the way into it, is unknown.
EDITS: dict[str, Any] = {
    "labels": {"team": "a"},
    "releaseChannel": "RAPID",
    "controlPlaneEndpoint": "IP",
    "deletionProtection": True,
}


class Growth(NamedTuple):
    """How many nodes a pool had before a model came, and what the engine planned and did for the model."""

    before: int
    planned: Run
    done: Run


def far(**settings: Any) -> Document:
    return gke("far", "us-central1", l4(minNodeCount=0, maxNodeCount=2, zones=["us-central1-a"]), **settings)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp(STACK), STACK, clusters=[far()]) as made:
        faults.change(made.places.cloud, lambda old: faults.with_pace(old, grow_after=WAIT, idle_for=1))
        made.up()
        yield made


@pytest.fixture(scope="module")
def growth(one: Fleet) -> Growth:
    before = len(one.nodes("far", "l4"))
    one.project.write("models", model("small", on="far"))
    return Growth(before, one.preview(), one.up())


def test_a_new_deployment_makes_an_empty_pool_grow_and_the_update_waits_for_it(
    one: Fleet, growth: Growth
) -> None:
    assert (growth.before, len(one.nodes("far", "l4"))) == (0, 1)
    assert growth.planned.operations == growth.done.operations
    assert growth.done.operations[WORKLOAD] == "create"
    assert growth.done.seconds[WORKLOAD] >= WAIT


def test_nodes_that_came_for_pods_are_no_drift_and_a_change_by_hand_is(one: Fleet, growth: Growth) -> None:
    assert one.preview().operations == {}
    assert one.refresh() == {}
    _by_hand(one, 3)
    assert one.refresh() == {"NodePool far/l4": "update"}
    _by_hand(one, 2)


def test_an_edited_cluster_replaces_nothing_in_it_nor_does_its_preview(one: Fleet, growth: Growth) -> None:
    one.project.write("clusters", far(**EDITS))
    planned = one.preview().operations
    assert planned == one.up().operations
    assert planned == {
        "Cluster far": "update",
        "NodePool far/l4": "update",
        "NodePool far/system": "update",
        "kubernetes far": "update",
    }


def test_a_pool_shrinks_when_its_last_deployment_goes_and_that_is_no_drift(
    one: Fleet, growth: Growth
) -> None:
    (one.project.documents / "models.yaml").unlink()
    assert one.up().operations[WORKLOAD] == "delete"
    until("the pool is empty", lambda: not one.nodes("far", "l4"))
    assert one.preview("--refresh").operations == {}


def test_a_queued_pool_has_nodes_for_the_request_of_a_workload_and_no_update_waits_for_them(
    one: Fleet,
) -> None:
    queued = {**l4(maxNodeCount=3, zones=["us-central1-a"], capacity={"model": "Queued"}), "name": "q"}
    both = far(**EDITS)
    both["spec"]["nodePools"].append(queued)
    one.project.write("clusters", both)
    one.project.write("models", model("asked", on="far", replicas=2, capacityModels=["Queued"]))
    done = one.up()
    workload = "Deployment far/ml/asked-decode-q"
    (request,) = one.items("far", "provisioningrequests")
    name = f"far/ml/{request['metadata']['name']}"
    assert [done.operations[f"{kind} {name}"] for kind in ("PodTemplate", "ProvisioningRequest")] == (
        ["create", "create"]
    )
    [asked] = [
        each for each in one.items("far", "deployments") if each["metadata"]["name"] == "asked-decode-q"
    ]
    assert asked["metadata"]["annotations"][SKIP_AWAIT] == "true"
    until("both nodes are there, and both pods", lambda: len(_placed(one)) == 2 == len(one.nodes("far", "q")))
    assert _placed(one) == {node["metadata"]["name"] for node in one.nodes("far", "q")}

    one.project.write("models", model("asked", on="far", capacityModels=["Queued"]))
    fewer = {workload: "update", "PodDisruptionBudget far/ml/asked-decode": "delete"}
    assert one.up().operations == fewer
    until("the node of the pod that ended is gone", lambda: len(one.nodes("far", "q")) == 1)
    (kept,) = one.items("far", "provisioningrequests")
    assert kept["metadata"]["uid"] == request["metadata"]["uid"]
    (one.project.documents / "models.yaml").unlink()
    one.up()
    assert one.items("far", "provisioningrequests") == one.items("far", "podtemplates") == []


def test_a_protected_cluster_ends_only_after_an_update_that_lets_it_go(one: Fleet) -> None:
    one.project.write("clusters", far(**EDITS))
    one.up()
    state = one.project.state()
    destroyed = one.project.engine("destroy", "--yes")
    assert destroyed.code != 0
    assert "because it is protected" in destroyed.output

    (one.project.documents / "clusters.yaml").unlink()
    removed = one.project.up()
    assert (removed.code != 0, removed.operations) == (True, {})
    assert "Put the document back with deletionProtection: false, run pulumi up, then remove it" in (
        removed.output
    )
    assert one.project.state() == state

    one.project.write("clusters", far(**EDITS | {"deletionProtection": False}))
    assert one.up().operations == {"Cluster far": "update"}
    (one.project.documents / "clusters.yaml").unlink()
    one.up()
    assert one.left() == ([], [], [])


def _by_hand(one: Fleet, most: int) -> None:
    """Somebody sets in the console how many nodes the pool may have."""
    pool = one.pools("far")["l4"]
    change = ("edit", pool.id, f"autoscaling.totalMaxNodeCount={most}")
    edited = one.project.cli("sandbox", "cloud", *change, "--stack", STACK)
    assert edited.returncode == 0, edited.stderr


def _placed(one: Fleet) -> set[str]:
    """The nodes on which pods that take nodes of a request are."""
    return {
        pod["spec"]["nodeName"]
        for pod in one.items("far", "pods")
        if CONSUMED_REQUEST in (pod["metadata"].get("annotations") or {}) and "nodeName" in pod["spec"]
    }
