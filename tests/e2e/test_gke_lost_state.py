"""The state and the lock of a stack with a GKE cluster are lost, and follow again from what Google has."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import model
from gke_edits_stack import kind
from gke_fleet import Fleet, fleet, gke


@pytest.fixture
def lost(tmp_path: Path) -> Iterator[Fleet]:
    documents = {
        "classes": [kind("plain", "g2-standard-8", "nvidia-l4", 1, product="NVIDIA L4")],
        "clusters": [
            gke(
                "east",
                "us-east5",
                {"name": "l4", "className": "plain", "nodeCount": 1, "zones": ["us-east5-a"]},
            )
        ],
        "models": [model("chat")],
    }
    with fleet(tmp_path, "lost", **documents) as made:
        yield made


def _pods(fleet: Fleet) -> set[str]:
    return {one["metadata"]["uid"] for one in fleet.items("east", "pods", "-n", "ml")}


def _cloud(fleet: Fleet) -> list[str]:
    return sorted(record.id for record in fleet.records())


def test_a_cluster_of_a_lost_state_is_taken_over_and_then_what_is_on_it(lost: Fleet) -> None:
    lost.up()
    # The lock gets the UID of a cluster that an update made with the one after it.
    lost.up()
    project = lost.project
    state, lock = project.state(), project.lock_file.read_text()
    pods, cloud = _pods(lost), _cloud(lost)

    stack = ("--stack", project.stack)
    project.run("pulumi", "stack", "rm", "--force", "--yes", "--preserve-config", *stack)
    project.run("pulumi", "stack", "init", project.stack)
    project.lock_file.unlink()

    planned = project.cli("plan", *stack, "--from-clusters", "--write")
    assert project.lock_file.read_text() == lock, planned.stdout + planned.stderr
    # The provider of the cloud and what is there; that of the cluster and what is on it.
    codes, said = [], ""
    while (not codes or codes[-1] == 6) and len(codes) < 8:
        ran = project.cli("recover", *stack, "--lost-state", "--yes")
        codes.append(ran.returncode)
        said += ran.stdout + ran.stderr
    assert codes == [6, 6, 6, 0], said
    assert project.state() == state
    done = lost.up()
    assert set(done.operations.values()) <= {"update"}, done.operations
    assert lost.up().operations == {}
    assert (_pods(lost), _cloud(lost)) == (pods, cloud)
