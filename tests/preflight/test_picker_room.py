"""Whether nodes that exist have room for the pickers of an update, and for whom that cannot be said."""

from typing import Any

import pytest
from fake_cluster import thing
from own_cluster import east_problem
from test_observe import OURS, Start, east, look

from inferfleet.api.problems import Problem

ADD = "Add nodes without GPUs, or make pickers smaller by endpointPicker.resources"
EFFECTS = ("NoSchedule", "NoExecute")


def picker(name: str, cpu: str = "4", *, replicas: int = 1, ready: int | None = None) -> dict[str, Any]:
    """A picker's Deployment; one that runs has `ready` replicas."""
    resources = {"requests": {"cpu": cpu, "memory": "8Gi"}}
    spec = {"containers": [{"name": "epp", "image": "epp:v1", "args": [], "resources": resources}]}
    made = thing(
        "Deployment",
        f"{name}-epp",
        "ml",
        labels={**OURS, "inferfleet.dev/deployment": name},
        spec={"replicas": replicas, "template": {"spec": spec}},
    )
    return made if ready is None else made | {"status": {"readyReplicas": ready}}


def node(name: str, cpu: str = "8", *, pods: str = "110", gpus: int = 0, **more: Any) -> dict[str, Any]:
    allocatable = {"cpu": cpu, "memory": "64Gi", "pods": pods}
    if gpus:
        allocatable["nvidia.com/gpu"] = str(gpus)
    labels = more.pop("labels", {})
    conditions = [{"type": "Ready", "status": more.pop("ready", "True")}]
    status = {"allocatable": allocatable, "conditions": conditions}
    return {**thing("Node", name, labels=labels), "spec": more, "status": status}


def pod(name: str, on: str | None, cpu: str, picker: str = "") -> dict[str, Any]:
    """A pod; those of a picker have its name in a label."""
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    labels = {"app.kubernetes.io/name": picker} if picker else {}
    return thing("Pod", name, "ml", labels=labels, spec={"nodeName": on, "containers": [container]})


def said(start: Start, *there: dict[str, Any], wanted: tuple[dict[str, Any], ...]) -> list[Problem]:
    fake = start(objects=list(there))
    return [one for one in look(fake, east(*wanted)).problems if "an update starts" in one.what]


def no_room(asked: str, none: str, there: str) -> Problem:
    return east_problem(
        f"on cluster 'east' {asked}: {none} no room; {there}, and none with GPUs has room either. The update "
        "would wait in vain, and fail",
        ADD,
        severity="warning",
    )


THREE = tuple(picker(name) for name in "abc")
ASKED = "an update starts 3 pods of endpoint pickers, for which 12 cores and 24 GiB are requested"


def test_pickers_with_room_are_not_spoken_of(cluster: Start) -> None:
    there = (node("cpu-1"), node("cpu-2"), pod("others", "cpu-2", "4"), pod("waits", None, "100"))
    assert said(cluster, *there, wanted=THREE) == []


@pytest.mark.parametrize(
    ("there", "none", "told"),
    [
        ((node("cpu-1"),), 1, "1 node without GPUs has 8 cores and 64 GiB free"),
        (
            (node("cpu-1"), node("cpu-2"), pod("others", "cpu-2", "4100m")),
            1,
            "2 nodes without GPUs have 11.9 cores and 128 GiB free, at most 8 cores and 64 GiB on one",
        ),
        ((node("cpu-1", "80", pods="2"),), 1, "1 node without GPUs has 80 cores and 64 GiB free"),
        (
            (node("cpu-1"), node("old", unschedulable=True), node("down", ready="Unknown")),
            1,
            "1 node without GPUs has 8 cores and 64 GiB free",
        ),
        (
            (
                node("cpu-1"),
                *(node(effect.lower(), taints=[{"key": "k", "effect": effect}]) for effect in EFFECTS),
                node("gpu", "4", gpus=8, taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]),
            ),
            1,
            "1 node without GPUs has 8 cores and 64 GiB free",
        ),
        ((node("gpu", "3", gpus=8),), 3, "no node without GPUs takes them"),
        ((node("closed", unschedulable=True),), 3, "no node without GPUs takes them"),
    ],
)
def test_pickers_without_room_are_warned_of_with_numbers(
    cluster: Start, there: tuple[dict[str, Any], ...], none: int, told: str
) -> None:
    assert said(cluster, *there, wanted=THREE) == [
        no_room(ASKED, f"{none} of them {'has' if none == 1 else 'have'}", told)
    ]


@pytest.mark.parametrize(
    "gpus", [node("gpu", "80", gpus=8), node("gpu", "80", labels={"nvidia.com/gpu.present": "true"})]
)
def test_room_beside_gpus_alone_is_told(cluster: Start, gpus: dict[str, Any]) -> None:
    assert said(cluster, node("cpu-1"), gpus, wanted=THREE) == [
        east_problem(
            f"on cluster 'east' {ASKED}: 1 of them has room on nodes with GPUs alone; 1 node without GPUs "
            "has 8 cores and 64 GiB free",
            "Add nodes without GPUs, so that they take no cores and memory that models need",
            severity="notice",
        )
    ]


@pytest.mark.parametrize(
    "sign",
    [
        node("small", "1", labels={"karpenter.sh/nodepool": "default"}),
        node("gk3-east-1", "1"),
        thing("ConfigMap", "cluster-autoscaler-status", "kube-system"),
    ],
)
def test_where_an_autoscaler_runs_it_is_not_known_whether_nodes_come(
    cluster: Start, sign: dict[str, Any]
) -> None:
    (told,) = said(cluster, node("cpu-1", "4"), sign, wanted=THREE)
    assert (told.severity, told.next_step) == (
        "notice",
        "If they stay Pending, look at the limits of the autoscaler",
    )
    assert told.what.endswith("An autoscaler runs there; whether it adds nodes for them is not known here")


@pytest.mark.parametrize(
    ("wanted", "runs", "asked"),
    [
        # Each is replaced by one that starts beside it, in turn if need be: the largest needs room.
        ((picker("a"), picker("b", "16")), (picker("a", "1", ready=1), picker("b", "1", ready=1)), "16"),
        ((picker("a", "16"),), (picker("a", "16", ready=0),), "16"),
        # It has its node, and pulls its image.
        ((picker("a", "8"),), (picker("a", "8", ready=0), pod("a-epp-0", "cpu-1", "8", "a-epp")), None),
        ((picker("a", "9", replicas=2),), (), "18"),
        ((picker("a", "16"),), (picker("a", "16", ready=1),), None),
    ],
)
def test_pickers_that_run_as_they_are_need_no_room(
    cluster: Start, wanted: tuple[dict[str, Any], ...], runs: tuple[dict[str, Any], ...], asked: str | None
) -> None:
    told = said(cluster, node("cpu-1"), *runs, wanted=wanted)
    assert [f"for which {asked} cores" in one.what for one in told] == ([True] if asked else [])


@pytest.mark.parametrize("path", ["/api/v1/nodes", "/api/v1/pods"])
def test_who_may_not_list_nodes_or_pods_is_told_nothing(cluster: Start, path: str) -> None:
    fake = cluster(objects=[node("cpu-1")])
    fake.status[path] = 403
    assert look(fake, east(*THREE)).problems == ()


def test_without_any_node_nothing_is_known_of_those_to_come(cluster: Start) -> None:
    assert said(cluster, wanted=THREE) == []
