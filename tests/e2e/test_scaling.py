"""Replicas that Kubernetes' own autoscaler scales by the load of pods, and updates that leave them alone."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from asking import Answer, ask, going_on, until, url
from documents import Document, model
from pod_metrics import served
from project import Project, Run

WORKLOAD, SCALER = "Deployment east/ml/busy-decode-l4", "HorizontalPodAutoscaler east/ml/busy-decode-l4"
# As many streams as are always going on.
STREAMS = 4


@dataclass(frozen=True)
class Step:
    """An update, the replicas of the workload before it and afterwards, and the pods that stayed."""

    run: Run
    before: int
    after: int
    stayed: int


@dataclass(frozen=True)
class Course:
    """What the updates did, one after the other, and what the clients got meanwhile."""

    steps: dict[str, Step]
    grown: int
    shrunk: int
    placements: list[dict[str, Any]]
    drift: list[Any]
    answers: list[Answer]


def _busy(replicas: int | dict[str, int], **more: Any) -> Document:
    document = model("busy", **more)
    document["spec"]["replicas"] = replicas
    if isinstance(replicas, dict):
        metric = {"name": "vllm:num_requests_running", "target": 1}
        document["spec"]["scaling"] = {"by": "HPA", "metrics": [metric]}
    return document


@pytest.fixture(scope="module")
def course(standing: Project, tmp_path_factory: pytest.TempPathFactory) -> Course:
    steps: dict[str, Step] = {}

    def step(name: str, document: Document | None, *flags: str) -> None:
        if document:
            standing.write("models", document)
        before, pods = _replicas(standing), _pods(standing)
        run = standing.up(*flags)
        steps[name] = Step(run, before, _replicas(standing), len(pods & _pods(standing)))

    step("number", _busy(2))
    step("range", _busy({"min": 1, "max": 3}))
    step("again", None)
    at = url(standing, "east", "ml/deployments/busy")
    with (
        served(standing, "east", tmp_path_factory.mktemp("metrics")),
        going_on(lambda: ask(at, tokens=150, stream=True), clients=STREAMS) as answers,
    ):
        until("the autoscaler has added a pod", lambda: _ready(standing) == 3)
        grown = _replicas(standing)
        step("at rest", None)
        step("refreshed", None, "--refresh")
        told = json.loads(standing.cli("status", "--stack", standing.stack, "--json").stdout)
        step("roll", _busy({"min": 1, "max": 3}, env=[{"name": "A", "value": "1"}]))
        step("smaller", _busy({"min": 1, "max": 2}, env=[{"name": "A", "value": "1"}]))
        until("the autoscaler has ended a pod", lambda: _replicas(standing) == 2)
        shrunk = _replicas(standing)
        plan = json.loads(standing.cli("plan", "--stack", standing.stack, "--json").stdout)
    step("number again", _busy(2, env=[{"name": "A", "value": "1"}]))
    step("once more", None)
    step("more", _busy(3, env=[{"name": "A", "value": "1"}]))
    return Course(steps, grown, shrunk, plan["placements"], told["drift"], list(answers))


def _workload(project: Project) -> dict[str, Any]:
    found = project.items("east", "deployments", "-l", "inferfleet.dev/role=decode")
    return found[0] if found else {"spec": {"replicas": 0}}


def _replicas(project: Project) -> int:
    return int(_workload(project)["spec"]["replicas"])


def _ready(project: Project) -> int:
    return int(_workload(project)["status"].get("readyReplicas", 0))


def _pods(project: Project) -> set[str]:
    listed = project.items("east", "pods", "-l", "inferfleet.dev/role=decode")
    return {pod["metadata"]["uid"] for pod in listed if "deletionTimestamp" not in pod["metadata"]}


def test_a_range_takes_pods_over_that_run(course: Course) -> None:
    step = course.steps["range"]
    assert step.run.code == 0, step.run.output
    assert step.run.operations == {WORKLOAD: "update", SCALER: "create"}
    assert (step.before, step.after, step.stayed) == (2, 2, 2)
    assert "nothing on cluster 'east' serves custom.metrics.k8s.io" in step.run.output


@pytest.mark.parametrize(("name", "replicas"), [("again", 2), ("at rest", 3), ("refreshed", 3)])
def test_updates_leave_the_number_to_the_autoscaler(course: Course, name: str, replicas: int) -> None:
    step = course.steps[name]
    assert step.run.code == 0, step.run.output
    assert (step.run.operations, step.before, step.after, step.stayed) == ({}, replicas, replicas, replicas)


def test_the_autoscaler_follows_the_load_between_min_and_max(course: Course) -> None:
    assert (course.grown, course.shrunk, course.drift) == (3, 2, [])


def test_a_roll_keeps_the_number(course: Course) -> None:
    step = course.steps["roll"]
    assert step.run.code == 0, step.run.output
    assert (step.run.operations, step.before, step.after, step.stayed) == ({WORKLOAD: "update"}, 3, 3, 0)


def test_the_plan_knows_the_room(course: Course) -> None:
    [placement] = course.placements
    assert (placement["replicas"], placement["least"], placement["gpus"]) == (2, 1, 2)
    step = course.steps["smaller"]
    assert (step.run.code, step.run.operations) == (0, {WORKLOAD: "update", SCALER: "update"})


def test_a_number_takes_over_and_ends_no_pod_of_it(course: Course) -> None:
    step = course.steps["number again"]
    assert step.run.code == 0, step.run.output
    assert step.run.operations == {WORKLOAD: "update", SCALER: "delete"}
    assert (step.before, step.after, step.stayed) == (2, 2, 2)
    assert course.steps["once more"].run.operations == {}
    more = course.steps["more"]
    assert (more.run.code, more.run.operations, more.after) == (0, {WORKLOAD: "update"}, 3), more.run.output


def test_no_request_is_lost(course: Course) -> None:
    assert [answer for answer in course.answers if answer.status != 200] == []
    assert len(course.answers) >= STREAMS
