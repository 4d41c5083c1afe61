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


def test_a_cluster_of_a_lost_state_is_taken_over_and_then_what_is_on_it(lost: Fleet) -> None:
    lost.up()
    project = lost.project
    state, lock = project.state(), project.lock_file.read_text()
    pods = {one["metadata"]["uid"] for one in project.items("east", "pods", "-n", "ml")}

    stack = ("--stack", project.stack)
    project.run("pulumi", "stack", "rm", "--force", "--yes", "--preserve-config", *stack)
    project.run("pulumi", "stack", "init", project.stack)
    project.lock_file.unlink()
    planned = project.cli("plan", *stack, "--from-clusters", "--write")
    print(planned)
    assert project.lock_file.read_text() == lock
    codes = []
    for _ in range(6):
        ran = project.cli("recover", *stack, "--lost-state", "--yes")
        print(ran.returncode, ran.stdout[-3000:], ran.stderr[-3000:])
        codes.append(ran.returncode)
        if ran.returncode != 6:
            break
    print(codes)
    print(set(state) ^ set(project.state()))
    done = project.up()
    print(done.code, done.output[-3000:], done.operations, done.changed)
    assert project.state() == state
    assert project.up().operations == {}
    assert {one["metadata"]["uid"] for one in project.items("east", "pods", "-n", "ml")} == pods
