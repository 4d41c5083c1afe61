"""A stack's status: everything serves, and then one thing after the other does not."""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from status_fleet import (
    DOCUMENTS,
    EPP_POD,
    GATEWAY,
    NOW,
    POD,
    POOL,
    ROUTE,
    SERVICE,
    WORKLOAD,
    ago,
    all_serving,
    broken_pod,
    condition,
    desired_in,
)

from inferfleet.clusters.status.read import Key, LiveCluster
from inferfleet.clusters.status.status import status
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
from inferfleet.documents.problems import Problem

READY = Phase.READY
PLACEMENT = PlacementStatus("east", "decode=l4", READY, 1, 1, "", (PodStatus(POD, READY, node="l4-0"),))
ENDPOINT = EndpointStatus(
    "east",
    PartStatus("east", "Deployment ml/qwen-epp", READY),
    PartStatus("east", "InferencePool ml/qwen", READY),
    PartStatus("east", "HTTPRoute ml/qwen", READY),
    (PodStatus(EPP_POD, READY, node="l4-0"),),
)
CLUSTER = ClusterStatus("east", PartStatus("east", "Gateway inferfleet-system/inferfleet", READY), "10.0.0.5")
SERVING = Status(
    "unnamed",
    (CLUSTER,),
    (DeploymentStatus("ml/qwen", (PLACEMENT,), (ENDPOINT,)),),
    (ServiceStatus("ml/chat", (PartStatus("east", "HTTPRoute ml/chat-svc", READY),)),),
)


@pytest.fixture
def seen(tmp_path: Path) -> Callable[..., Status]:
    """The status after `change` was made to a cluster on which everything serves."""
    fleet = desired_in(tmp_path)

    def look(change: Callable[[dict[Key, Any]], None] = lambda _: None, pods: Any = None) -> Status:
        healthy = all_serving(fleet)
        objects = copy.deepcopy(dict(healthy.objects))
        change(objects)
        return status(
            fleet, {"east": LiveCluster(objects, pods(healthy.pods) if pods else healthy.pods)}, NOW
        )

    return look


def with_placement(**changes: Any) -> Status:
    placement = replace(PLACEMENT, **changes)
    return replace(SERVING, deployments=(DeploymentStatus("ml/qwen", (placement,), (ENDPOINT,)),))


def with_endpoint(part: str, phase: Phase, message: str, **more: Any) -> Status:
    endpoint = replace(
        ENDPOINT, **{part: replace(getattr(ENDPOINT, part), phase=phase, message=message)}, **more
    )
    return replace(SERVING, deployments=(DeploymentStatus("ml/qwen", (PLACEMENT,), (endpoint,)),))


def test_a_stack_that_serves_is_ready_in_all_its_parts(seen: Callable[..., Status]) -> None:
    assert seen() == SERVING
    assert SERVING.phase == READY


def test_a_loading_model_tells_how_long_it_loads_and_may(seen: Callable[..., Status]) -> None:
    loading = {"state": {"running": {"startedAt": ago(40)}}}
    pod = PodStatus(POD, Phase.STARTING, seconds=40, budget=1200, node="l4-0")
    actual = seen(pods=lambda pods: (broken_pod(pods[0], **loading), pods[1]))
    assert actual == with_placement(phase=Phase.STARTING, ready=0, pods=(pod,))
    assert actual.phase == Phase.STARTING


def test_what_became_of_adapters_is_told_of_each_pod(tmp_path: Path) -> None:
    fleet = desired_in(tmp_path)
    words = "jokes: serves aaaaaaa; poems: the engine answered 400: rank 64 is too large"
    live = replace(all_serving(fleet), words={POD: words})
    [placement] = status(fleet, {"east": live}, NOW).deployments[0].placements
    assert placement == replace(PLACEMENT, pods=(PodStatus(POD, READY, node="l4-0", adapters=words),))


def test_a_workload_that_gets_no_pods_tells_what_its_controller_says(seen: Callable[..., Status]) -> None:
    def change(objects: dict[Key, Any]) -> None:
        failure = condition("ReplicaFailure", message='pods "x" is forbidden: exceeded quota')
        objects[WORKLOAD]["status"] = {"observedGeneration": 2, "conditions": [failure]}

    actual = seen(change, pods=lambda pods: pods[1:])
    message = '0 of 1 pods exist; pods "x" is forbidden: exceeded quota'
    assert actual.deployments[0].placements == (
        replace(PLACEMENT, phase=Phase.FAILED, ready=0, message=message, pods=()),
    )
    # The pool has nobody to choose either.
    selector = "its selector inferfleet.dev/deployment=qwen,inferfleet.dev/serves=true matches no pod"
    assert actual.deployments[0].endpoints[0].pool == replace(
        ENDPOINT.pool, phase=Phase.FAILED, message=selector
    )


def test_a_rollout_that_is_not_over_is_not_ready(seen: Callable[..., Status]) -> None:
    def change(objects: dict[Key, Any]) -> None:
        objects[WORKLOAD]["status"] = {"observedGeneration": 1, "updatedReplicas": 1}

    assert seen(change) == with_placement(
        phase=Phase.STARTING, message="rolls: 1 of 1 pods have the latest template"
    )


def test_a_picker_that_crashes_says_why_in_its_own_words(seen: Callable[..., Status]) -> None:
    crash = {
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 2, "message": "unknown flag: --x\n"}},
    }
    words = "epp CrashLoopBackOff: ended with exit code 2: unknown flag: --x"
    pod = PodStatus(EPP_POD, Phase.FAILED, words, node="l4-0", restarts=3)
    actual = seen(pods=lambda pods: (pods[0], broken_pod(pods[1], restarts=3, **crash)))
    assert actual == with_endpoint("picker", Phase.FAILED, words, picker_pods=(pod,))


def _set(key: Key, *path: str | int, to: Any) -> Callable[[dict[Key, Any]], None]:
    def change(objects: dict[Key, Any]) -> None:
        target = objects[key]
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = to

    return change


REFUSED = [condition("Accepted", "False", reason="UnsupportedValue", message="no filter\nRequestMirror")]
UNRESOLVED = [
    condition("Accepted"),
    condition("ResolvedRefs", "False", reason="BackendNotFound", message="pool llama"),
]
EPP = "Deployment ml/qwen-epp"
CASES: dict[str, tuple[Callable[[dict[Key, Any]], None], str, Phase, str]] = {
    "selector that matches nothing": (
        _set(POOL, "spec", "selector", "matchLabels", to={"app": "other"}),
        "pool", Phase.FAILED, "its selector app=other matches no pod",
    ),
    "port that no engine listens on": (
        _set(POOL, "spec", "targetPorts", 0, "number", to=9000),
        "pool", Phase.FAILED, "it sends requests to port 9000 of its pods, where none of their containers "
        "listens (they have: 8000)",
    ),
    "port that the Service lacks": (
        _set(POOL, "spec", "endpointPickerRef", "port", "number", to=9005),
        "pool", Phase.FAILED, "Service ml/qwen-epp has no port 9005, which it names (it has: 9002, 9090)",
    ),
    "port that no container listens on": (
        _set(SERVICE, "spec", "ports", 0, "targetPort", to=9009),
        "pool", Phase.FAILED, f"Service ml/qwen-epp sends port 9002 to 9009, where no container of {EPP} "
        "listens (it has: 9002, 9003, 9090)",
    ),
    "Service of another name": (
        _set(POOL, "spec", "endpointPickerRef", "name", to="other"),
        "pool", Phase.FAILED, "its endpoint picker's Service ml/other does not exist, "
        "or lacks this stack's label",
    ),
    "Service that selects nothing": (
        _set(SERVICE, "spec", "selector", to={"app": "x"}),
        "pool", Phase.FAILED, "the selector app=x of Service ml/qwen-epp matches no pod",
    ),
    "pool refused by a gateway": (
        _set(POOL, "status", to={"parents": [{"conditions": REFUSED}]}),
        "pool", Phase.FAILED, "Accepted=False (UnsupportedValue): no filter RequestMirror",
    ),
    "route refused": (
        _set(ROUTE, "status", "parents", 0, "conditions", to=REFUSED),
        "route", Phase.FAILED, "Accepted=False (UnsupportedValue): no filter RequestMirror",
    ),
    "route to what is not there": (
        _set(ROUTE, "status", "parents", 0, "conditions", to=UNRESOLVED),
        "route", Phase.FAILED, "ResolvedRefs=False (BackendNotFound): pool llama",
    ),
    "route that only another gateway took": (
        _set(ROUTE, "status", "parents", 0, "parentRef", "name", to="other"),
        "route", Phase.PENDING, "Gateway inferfleet-system/inferfleet has not accepted it yet",
    ),
    "route that a gateway of its own namespace took": (
        _set(ROUTE, "status", "parents", 0, "parentRef", to={"name": "inferfleet"}),
        "route", Phase.PENDING, "Gateway inferfleet-system/inferfleet has not accepted it yet",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_a_request_passes_through_names_what_is_wrong(seen: Callable[..., Status], case: str) -> None:
    change, part, phase, message = CASES[case]
    actual = seen(change)
    assert replace(actual, drift=()) == with_endpoint(part, phase, message)
    # A status is its controller's; all else was changed by hand.
    assert bool(actual.drift) == case.startswith(("selector", "port", "Service"))


@pytest.mark.parametrize(
    ("conditions", "phase", "message"),
    [
        (None, Phase.PENDING, "no controller has programmed it yet"),
        (
            [condition("Accepted", "Unknown", reason="Pending"), condition("Programmed", "Unknown")],
            Phase.PENDING,
            "no controller has programmed it yet",
        ),
        (
            [condition("Accepted"), condition("Programmed", "False", reason="AddressNotAssigned")],
            Phase.PENDING,
            "Programmed=False (AddressNotAssigned)",
        ),
        (
            [condition("Accepted", "False", reason="Invalid", message="port in use")],
            Phase.FAILED,
            "Accepted=False (Invalid): port in use",
        ),
    ],
)
def test_a_gateway_is_ready_once_it_is_programmed(
    seen: Callable[..., Status], conditions: Any, phase: Phase, message: str
) -> None:
    actual = seen(_set(GATEWAY, "status", to={"conditions": conditions} if conditions else {}))
    gateway = PartStatus("east", "Gateway inferfleet-system/inferfleet", phase, message)
    assert actual == replace(SERVING, clusters=(ClusterStatus("east", gateway),))


def test_objects_of_monitoring_that_a_cluster_cannot_have_are_not_missing(tmp_path: Path) -> None:
    text = DOCUMENTS.replace("serving: {", "serving: {monitoring: {engines: PodMonitor}, ")
    fleet = desired_in(tmp_path, text)
    seen = all_serving(fleet)
    monitor: Key = ("PodMonitor", "ml", "qwen-decode")
    without = replace(seen, objects={key: one for key, one in seen.objects.items() if key != monitor})
    kinds = frozenset({("monitoring.coreos.com/v1", "PodMonitor")})
    [lacks] = status(fleet, {"east": without}, NOW).clusters
    [cannot] = status(fleet, {"east": replace(without, unknown=kinds)}, NOW).clusters
    assert (lacks.missing, cannot.missing) == (("PodMonitor ml/qwen-decode",), ())


def test_what_is_desired_and_not_there_is_named(seen: Callable[..., Status]) -> None:
    def change(objects: dict[Key, Any]) -> None:
        for key in (WORKLOAD, ROUTE, ("Role", "ml", "qwen-epp")):
            del objects[key]

    actual = seen(change)
    named = ("Role ml/qwen-epp", "HTTPRoute ml/qwen", "Deployment ml/qwen-decode-l4")
    absent = "does not exist, or lacks this stack's label"
    assert actual.clusters == (replace(CLUSTER, missing=named),)
    assert actual.clusters[0].phase == Phase.MISSING
    assert actual.deployments[0].placements[0].message == f"Deployment ml/qwen-decode-l4 {absent}"
    assert actual.deployments[0].endpoints[0].route == PartStatus(
        "east", "HTTPRoute ml/qwen", Phase.MISSING, absent
    )


def test_of_a_cluster_that_does_not_answer_nothing_is_known(tmp_path: Path) -> None:
    actual = status(desired_in(tmp_path), {"east": Problem("it does not answer", "Fix it")}, NOW)
    unknown = Phase.UNKNOWN
    endpoint = EndpointStatus(
        "east",
        replace(ENDPOINT.picker, phase=unknown),
        replace(ENDPOINT.pool, phase=unknown),
        replace(PartStatus("east", "HTTPRoute ml/qwen", unknown)),
    )
    assert actual == Status(
        "unnamed",
        (ClusterStatus("east", silent="it does not answer"),),
        (DeploymentStatus("ml/qwen", (PlacementStatus("east", "decode=l4", unknown, 1, 0),), (endpoint,)),),
        (ServiceStatus("ml/chat", (PartStatus("east", "HTTPRoute ml/chat-svc", unknown),)),),
    )
    assert actual.phase == unknown


def test_replicas_without_a_place_are_counted(tmp_path: Path) -> None:
    fleet = desired_in(tmp_path, DOCUMENTS.replace("replicas: 1", "replicas: 3"))
    actual = status(fleet, {"east": all_serving(fleet)}, NOW)
    assert actual.deployments[0].unplaced == 1
