"""`inferfleet status`: exit codes, the page, the JSON. A stand-in tells what the clusters say."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from small_project import Project

from inferfleet.cli.verbs import status as verb
from inferfleet.cli.verbs.status import as_values, tables
from inferfleet.cloud.values import Drift
from inferfleet.clusters.status.values import (
    ClusterStatus,
    DeploymentStatus,
    EndpointStatus,
    PartStatus,
    Phase,
    PlacementStatus,
    PodStatus,
    ServiceStatus,
    Status,
)

R, S = Phase.READY, Phase.STARTING
POD = PodStatus("qwen-a", S, "ContainerCreating", seconds=65, budget=3700, node="l4-0")
CRASHED = PodStatus("qwen-epp-a", Phase.FAILED, "epp CrashLoopBackOff: [red] no flag", restarts=3)
ENDPOINT = EndpointStatus(
    "east",
    PartStatus("east", "Deployment ml/qwen-epp", Phase.FAILED, "epp CrashLoopBackOff: [red] no flag"),
    PartStatus("east", "InferencePool ml/qwen", R),
    None,
    (CRASHED,),
)
PLACEMENT = PlacementStatus("east", "decode=l4", S, 2, 1, "1 of 2 pods exist", (POD,))
ROUTE = PartStatus("east", "HTTPRoute ml/chat-svc", Phase.PENDING, "not accepted yet")
GATEWAY = PartStatus("east", "Gateway inferfleet-system/inferfleet", R)
BROKEN = Status(
    "prod",
    (
        ClusterStatus("east", GATEWAY, "10.0.0.5", ("ConfigMap ml/x",)),
        ClusterStatus("west", silent="it does not answer"),
    ),
    (DeploymentStatus("ml/qwen", (PLACEMENT,), (ENDPOINT,), unplaced=1),),
    (ServiceStatus("ml/chat", (ROUTE,)),),
)
FINE = Status("prod", (ClusterStatus("east", GATEWAY, "10.0.0.5"),), (), ())


def answers(monkeypatch: pytest.MonkeyPatch, *statuses: Status) -> None:
    """One status per look; Ctrl-C after the last one."""
    left = list(statuses)

    def look(*_: Any) -> Status:
        if not left:
            raise KeyboardInterrupt
        return left.pop(0)

    monkeypatch.setattr(verb, "look", look)
    monkeypatch.setattr(verb, "PAUSE", 0.0)


def test_the_page_shows_every_part_with_its_reason() -> None:
    assert list(tables(BROKEN)) == [
        (
            "stack prod: not ready",
            ("cluster", "phase", "gateway", "address", "what"),
            [
                ("east", "Missing", "Ready", "10.0.0.5", None),
                ("west", "Unknown", None, None, "it does not answer"),
            ],
        ),
        (
            "deployments",
            ("deployment", "phase", "pods", "time", "what"),
            [
                ("ml/qwen", "Failed", "1/2", None, "1 without a place: inferfleet explain ml/qwen"),
                ("  east decode=l4", "Starting", "1/2", None, "1 of 2 pods exist"),
                ("    qwen-a", "Starting", None, "1m05s of 1h01m", "ContainerCreating"),
                ("  east Deployment ml/qwen-epp", "Failed", None, None, None),
                (
                    "    qwen-epp-a",
                    "Failed",
                    None,
                    None,
                    "epp CrashLoopBackOff: [red] no flag; restarted 3 times",
                ),
                ("  east InferencePool ml/qwen", "Ready", None, None, None),
            ],
        ),
        (
            "services",
            ("service", "phase", "what"),
            [
                ("ml/chat", "Pending", None),
                ("  east HTTPRoute ml/chat-svc", "Pending", "not accepted yet"),
            ],
        ),
        ("missing: desired, but not on the cluster", ("cluster", "object"), [("east", "ConfigMap ml/x")]),
    ]


def test_json_has_the_phase_of_every_whole_and_the_names_of_documents() -> None:
    values = as_values(BROKEN)
    assert (values["phase"], values["ready"]) == ("Failed", False)
    assert values["services"] == [
        {
            "name": "ml/chat",
            "phase": "Pending",
            "routes": [
                {
                    "cluster": "east",
                    "object": "HTTPRoute ml/chat-svc",
                    "phase": "Pending",
                    "message": "not accepted yet",
                }
            ],
        }
    ]
    assert values["deployments"][0]["endpoints"][0]["pickerPods"][0]["restarts"] == 3


@pytest.mark.parametrize(("current", "code"), [(FINE, 0), (BROKEN, 5)])
def test_the_exit_code_says_whether_all_is_ready(
    project: Project, monkeypatch: pytest.MonkeyPatch, current: Status, code: int
) -> None:
    answers(monkeypatch, current)
    assert project.run("status").code == code
    answers(monkeypatch, current)
    ran = project.run("status", "--json")
    assert (ran.code, ran.json["ready"], ran.json["problems"]) == (code, code == 0, [])


def test_messages_of_clusters_are_no_markup(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, BROKEN)
    assert "epp CrashLoopBackOff: [red] no flag" in project.run("status").out


def test_watching_ends_with_ctrl_c_and_the_last_status(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, BROKEN, BROKEN, FINE)
    ran = project.run("status", "--watch")
    assert (ran.code, "stack prod: ready" in ran.out) == (0, True)


def test_watching_is_not_for_machines(project: Project) -> None:
    assert project.run("status", "--watch", "--json").code == 2


def test_problems_in_documents_come_first(project: Project) -> None:
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: x")
    assert project.run("status").code == 1


def test_clusters_that_cannot_be_asked_are_part_of_the_status(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No kubeconfig file for one; the other's is a configuration key, maybe encrypted."""
    east = (project.root / "stacks/prod/clusters.yaml").read_text()
    west = east.replace("name: east", "name: west").replace("path: east.kubeconfig", "configKey: west")
    project.write("stacks/prod/west.yaml", west)
    project.write("stacks/Pulumi.prod.yaml", "config: {inferfleet:west: {secure: abc}}\n")
    given: dict[str, str] = {}

    def record(_: Any, seen: Mapping[str, Any], now: datetime, **__: Any) -> Status:
        given.update({name: problem.what for name, problem in seen.items()})
        return FINE

    monkeypatch.setattr(verb, "status_of", record)
    assert project.run("status").code == 0
    file = project.root / "stacks/prod/east.kubeconfig"
    assert given == {
        "east": f"cluster 'east': kubeconfig {file} cannot be read (No such file or directory)",
        "west": "cluster 'west' is not asked: its kubeconfig is the configuration key 'west', which only "
        "Pulumi reads",
    }


def test_googles_container_api_is_asked_where_the_environment_says(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def read(*_: Any, container_api: str, **__: Any) -> dict[str, Any]:
        asked.append(container_api)
        return {}

    monkeypatch.setattr(verb, "read", read)
    monkeypatch.delenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER", raising=False)
    project.run("status")
    monkeypatch.setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER", "http://127.0.0.1:9/")
    project.run("status")
    assert asked == ["https://container.googleapis.com", "http://127.0.0.1:9"]


def test_drift_has_a_table_and_values_of_its_own_and_does_not_change_the_exit_code(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited = Drift("east", "east Deployment ml/qwen", "spec.replicas", "1", "2", undeployed=True)
    moved = replace(FINE, drift=(Drift("east", "pool east/l4", "size", "3", "2"), edited))
    step = "Restore it with `pulumi up --refresh`, or take it into the documents"
    columns = ("object", "field", "is", "documents say")
    assert list(tables(moved))[-2:] == [
        (
            "not deployed yet: an update wrote what is there, and documents say something else. "
            "`pulumi up --refresh` writes it",
            columns,
            [("east Deployment ml/qwen", "spec.replicas", "1", "2")],
        ),
        (
            f"drift: changed by hand, or not deployed yet. {step}",
            columns,
            [("pool east/l4", "size", "3", "2")],
        ),
    ]
    assert as_values(moved)["drift"] == [
        {
            "cluster": "east",
            "thing": "pool east/l4",
            "field": "size",
            "found": "3",
            "wanted": "2",
            "undeployed": False,
            "what": "pool east/l4: size is 3, documents say 2",
            "nextStep": step,
        },
        {
            "cluster": "east",
            "thing": "east Deployment ml/qwen",
            "field": "spec.replicas",
            "found": "1",
            "wanted": "2",
            "undeployed": True,
            "what": "east Deployment ml/qwen: spec.replicas is 1, documents say 2",
            "nextStep": "`pulumi up --refresh` writes it",
        },
    ]
    answers(monkeypatch, moved)
    assert project.run("status").code == 0
