"""What `inferfleet capacity` sees of pools: nodes, pods of others, devices, and what Google allows."""

import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from fake_cluster import KINDS, FakeCluster
from fake_google import FakeGoogle
from small_fleet import class_, fleet
from small_fleet import cluster as documented
from small_gke import REGION, RESERVATION, at, decided, limits, written
from test_observe import OURS, desired_on, east

from inferfleet.api.problems import Problem
from inferfleet.fleet.lock.capacity import Seen
from inferfleet.preflight.capacity import allowed
from inferfleet.preflight.seen import look
from inferfleet.reach.google_login import GOOGLE

Start = Callable[..., FakeCluster]
TODAY = date(2026, 11, 23)
NODES = {**KINDS, "v1": {**KINDS["v1"], "Node": ("nodes", False)}}
SLICES = {
    "resource.k8s.io/v1": {
        "ResourceSlice": ("resourceslices", False),
        "ResourceClaim": ("resourceclaims", True),
    }
}
POOL = {"inferfleet.dev/pool": "l4"}


def _node(name: str, *, gpus: int | None = 4, ready: str = "True", **spec: Any) -> dict[str, Any]:
    allocatable = {"cpu": "190", "memory": "1000Gi"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    status = {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": ready}]}
    metadata = {"name": name, "labels": POOL}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def _pod(name: str, node: str, gpus: int, *, app: str = "") -> dict[str, Any]:
    requests = {"requests": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", "uid": name, "labels": {"app": app} if app else {}},
        "spec": {"nodeName": node, "containers": [{"resources": requests}, {}]},
    }


def _ours(app: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": app, "namespace": "ml", "labels": OURS},
        "spec": {"selector": {"matchLabels": {"app": app}}},
    }


def _look(fake: FakeCluster, **spec: Any) -> tuple[dict[Any, Seen], tuple[Problem, ...]]:
    documents = fleet(class_("l4", 4, **spec), documented("east", {"l4": ("l4", 2)}))
    return look(
        desired_on(east()), documents, {"east": fake.kubeconfig}, google=GOOGLE, today=TODAY, seconds=5
    )


def _pool(fake: FakeCluster, **spec: Any) -> Seen:
    seen, problems = _look(fake, **spec)
    assert problems == ()
    return seen["east", "l4"]


def test_nodes_of_a_pool_are_those_with_its_label(cluster: Start) -> None:
    other = {**_node("z"), "metadata": {"name": "z", "labels": {"inferfleet.dev/pool": "other"}}}
    fake = cluster(kinds=NODES, objects=[_node("a"), _node("b", gpus=3), other])
    assert _pool(fake) == Seen(TODAY, 2, gpus=3, cpu=190_000, memory=1000 * 2**30)


def test_pods_of_others_hold_gpus_and_those_of_the_stack_do_not(cluster: Start) -> None:
    fake = cluster(
        kinds=NODES,
        objects=[
            _node("a"),
            _node("b"),
            _ours("qwen"),
            _pod("qwen-1", "a", 2, app="qwen"),
            _pod("theirs-1", "a", 1),
            _pod("theirs-2", "b", 2, app="theirs"),
            _pod("logs", "b", 0),
        ],
    )
    assert _pool(fake).foreign == (1, 2)


def test_nodes_that_take_no_pods_are_held_but_for_the_gpus_that_the_stack_has_there(cluster: Start) -> None:
    fake = cluster(
        kinds=NODES,
        objects=[
            _node("a", unschedulable=True),
            _node("b", ready="Unknown"),
            _node("c"),
            _ours("qwen"),
            _pod("qwen-1", "a", 3, app="qwen"),
            _pod("theirs", "a", 1),
        ],
    )
    seen = _pool(fake)
    assert (seen.nodes, seen.held, seen.foreign) == (1, (1, 4), ())


def test_devices_and_claims_count_where_pods_claim_gpus(cluster: Start) -> None:
    result = {"driver": "gpu.nvidia.com", "pool": "a", "device": "gpu-0", "request": "gpu"}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "ml"},
        "status": {
            "allocation": {"devices": {"results": [result, result]}},
            "reservedFor": [{"resource": "pods", "name": "theirs", "uid": "theirs"}],
        },
    }
    slice_ = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"nodeName": "a", "driver": "gpu.nvidia.com", "devices": [{"name": "gpu-0"}] * 8},
    }
    objects = [_node("a", gpus=None), claim, slice_, _pod("theirs", "a", 0)]
    seen = _pool(cluster(kinds={**NODES, **SLICES}, objects=objects), allocation="DRA")
    assert (seen.gpus, seen.foreign) == (8, (2,))


def test_a_cluster_that_does_not_answer_is_a_warning_and_leaves_nothing(cluster: Start) -> None:
    fake = cluster()
    fake.close()
    seen, problems = _look(fake)
    assert (seen, [problem.severity for problem in problems]) == ({}, ["warning"])


@pytest.mark.parametrize(
    ("answer", "most"),
    [
        # Two nodes are there with one GPU each, and one more GPU is left.
        (limits(NVIDIA_L4_GPUS=(4, 3)), 3),
        (limits(NVIDIA_L4_GPUS=(3, 3)), 2),
        (limits(OTHER=(1, 0)), None),
    ],
)
def test_a_quota_says_how_many_nodes_a_pool_may_have(
    google: FakeGoogle, tmp_path: Path, answer: Any, most: int | None
) -> None:
    google.clusters |= {REGION: answer}
    _, cloud = decided(written(tmp_path))
    there = {("east", "l4"): 2}
    given, problems = allowed([cloud], there, google=at(google), until=time.monotonic() + 5)
    assert (given.get(("east", "l4")), problems) == (most, ())


def test_a_named_reservation_says_how_many_nodes_a_pool_may_have(google: FakeGoogle, tmp_path: Path) -> None:
    google.clusters |= {RESERVATION: (200, {"specificReservation": {"count": "5", "inUseCount": "2"}})}
    _, cloud = decided(written(tmp_path))
    given, _ = allowed([cloud], {("east", "h100"): 2}, google=at(google), until=time.monotonic() + 5)
    assert given == {("east", "h100"): 5}
