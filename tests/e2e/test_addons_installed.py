"""A cluster that the stack creates gets what a model of two pods needs: from nothing to an answer."""

from collections.abc import Iterator
from typing import Any

import pytest
from asking import ask, going_on, url
from documents import Document, deployment, service
from gke_fleet import Fleet, fleet, gke, l4
from killing import update
from project import Run

from sandbox.verbs.chat import chat

STACK = "addons"
LWS = "main/leaderWorkerSet"
CONTROLLER = f"{LWS}/lws-system/lws-controller-manager"
LESS = {"resources": {"requests": {"cpu": "500m", "memory": "512Mi"}}}


def cluster(stack: object) -> Document:
    made = gke("main", "us-east4", l4(maxNodeCount=3, zones=["us-east4-a"]))
    made["spec"]["serving"]["stack"] = stack
    return made


def managed(**values: Any) -> Document:
    return cluster({"leaderWorkerSet": {"version": "0.9.0", "values": values}})


def pair() -> Document:
    made = deployment("pair", workers={"topology": {"tensor": 1, "pipeline": 2}})
    made["spec"]["engine"]["servedNames"] = ["pair"]
    return made


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    models, clusters = (pair(), service("chat", pair=1)), (cluster("Managed"),)
    with fleet(tmp_path_factory.mktemp(STACK), STACK, clusters=clusters, models=models) as made:
        yield made


@pytest.fixture(scope="module")
def refused(demo: Fleet) -> Run:
    """An update of documents by which nobody installs what the model needs."""
    demo.project.write("clusters", cluster("Provided"))
    run = demo.project.preview()
    demo.project.write("clusters", cluster("Managed"))
    return run


@pytest.fixture(scope="module")
def first(demo: Fleet, refused: Run) -> Run:
    return demo.up()


def engines(demo: Fleet) -> dict[str, str]:
    """The pods of the model, by name with their UIDs."""
    pods = demo.items("main", "pods", "-l", "inferfleet.dev/role")
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods}


def test_without_anybody_to_install_it_the_plan_ends_before_anything_is_billed(
    demo: Fleet, refused: Run
) -> None:
    assert refused.code != 0
    assert "it will not know LeaderWorkerSet of leaderworkerset.x-k8s.io/v1" in refused.output
    assert "Write serving: {stack: Managed}, so that inferfleet installs it" in refused.output


def test_one_update_leads_from_nothing_to_an_answer(demo: Fleet, first: Run) -> None:
    assert set(first.operations.values()) == {"create"}
    assert f"Deployment {CONTROLLER}" in first.operations
    answer = chat(url(demo, "main", "ml/chat"), "pair", "ping")
    assert answer.text == "pair on ml/pair-decode-l4-0: you said 1 tokens, 'ping'"


def test_another_update_changes_nothing(demo: Fleet, first: Run) -> None:
    assert demo.preview().operations == {}


def test_what_is_left_to_others_stays_as_it_is(demo: Fleet, first: Run) -> None:
    pods = engines(demo)
    demo.project.write("clusters", cluster("Provided"))
    assert demo.up().operations == {}
    demo.project.write("clusters", cluster("Managed"))
    assert demo.up().operations == {}
    assert engines(demo) == pods


def test_a_change_that_is_not_rendered_ends_the_update_with_the_command(demo: Fleet, first: Run) -> None:
    demo.project.write("clusters", managed(**LESS))
    run = demo.project.up()
    assert run.code != 0
    assert "Run `inferfleet stack render --stack addons`, and commit what it writes" in run.output


def test_a_killed_change_of_a_controller_is_finished_by_the_next_update_and_no_pod_restarts(
    demo: Fleet, first: Run
) -> None:
    pods = engines(demo)
    demo.project.write("clusters", managed(**LESS))
    rendered = demo.project.cli("stack", "render", "--stack", STACK)
    assert rendered.returncode == 0, rendered.stdout + rendered.stderr
    assert demo.preview().operations == {f"Deployment {CONTROLLER}": "update"}
    address = url(demo, "main", "ml/chat")
    with going_on(lambda: ask(address, model="pair", stream=True)) as answers:
        with update(demo.project) as going:
            assert going.stdout is not None
            assert any(f"{CONTROLLER} updating" in line for line in going.stdout)
        demo.project.run("pulumi", "cancel", "--yes", "--stack", STACK)
        again = demo.up()
    assert set(again.operations) <= {f"Deployment {CONTROLLER}"}
    assert demo.preview().operations == {}
    assert engines(demo) == pods
    assert {answer.status for answer in answers} == {200}


def test_it_ends_with_its_cluster_and_a_second_end_has_nothing_to_do(demo: Fleet, first: Run) -> None:
    demo.destroy()
    assert demo.project.state() == []
    assert demo.destroy().operations == {}
    assert demo.left() == ([], [], [])
