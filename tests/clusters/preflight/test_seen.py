"""What `inferfleet capacity` sees of pools: nodes, pods of others, devices, and what Google allows."""

import time
from collections.abc import Callable
from dataclasses import replace
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

from inferfleet.clusters.connections.google import GOOGLE
from inferfleet.clusters.preflight.nodes import capacity_of_pools
from inferfleet.clusters.preflight.quotas import allowed
from inferfleet.documents.problems import Problem
from inferfleet.fleet.demands import declared_demands
from inferfleet.fleet.lock.capacity import Amounts, Observation
from inferfleet.fleet.node_conditions import Labels, conditions_of

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


def _look(fake: FakeCluster, **spec: Any) -> tuple[dict[Any, Observation], tuple[Problem, ...]]:
    documents = fleet(class_("l4", 4, **spec), documented("east", {"l4": ("l4", 2)}))
    return capacity_of_pools(
        desired_on(east()), documents, {"east": fake.kubeconfig}, google=GOOGLE, today=TODAY, seconds=5
    )


def _pool(fake: FakeCluster, **spec: Any) -> Observation:
    seen, problems = _look(fake, **spec)
    assert problems == ()
    return seen["east", "l4"]


def test_nodes_of_a_pool_are_those_with_its_label(cluster: Start) -> None:
    other = {**_node("z"), "metadata": {"name": "z", "labels": {"inferfleet.dev/pool": "other"}}}
    fake = cluster(kinds=NODES, objects=[_node("a"), _node("b", gpus=3), other])
    assert _pool(fake) == Observation(TODAY, 2, gpus=3, cpu=190_000, memory=1000 * 2**30)


def test_of_labels_of_nodes_those_are_noted_that_templates_name_and_documents_do_not(cluster: Start) -> None:
    names = ["disk", "kubernetes.io/os", "inferfleet.dev/pool", "rack"]
    nodes = [_node("a"), _node("b", unschedulable=True)]
    nodes[0]["metadata"]["labels"] = {**POOL, "disk": "fast", "zone": "a"}
    assert _labels(cluster, names, nodes) == {"disk": (None, "fast"), "rack": (None,)}


@pytest.mark.parametrize(("number", "serials"), [(32, 32), (33, 0)])
def test_of_labels_that_tell_nodes_apart_nothing_is_noted(cluster: Start, number: int, serials: int) -> None:
    nodes = [_node(f"n{index}") for index in range(number)]
    for index, node in enumerate(nodes):
        node["metadata"]["labels"] = {**POOL, "kubernetes.io/hostname": f"n{index}", "serial": f"{index}"}
    labels = _labels(cluster, ["kubernetes.io/hostname", "serial"], nodes)
    assert {key: len(values) for key, values in labels.items()} == ({"serial": serials} if serials else {})


def _labels(cluster: Start, names: list[str], nodes: list[dict[str, Any]]) -> Labels:
    """What is seen of labels that a template names."""
    documents = fleet(class_("l4", 4), documented("east", {"l4": ("l4", 2)}))
    asked = conditions_of({"nodeSelector": dict.fromkeys(names, "x")})
    demands = replace(declared_demands(documents), conditions={("ml/a", "decode"): (asked,)} if asked else {})
    desired = desired_on(east())
    desired = replace(desired, plan=replace(desired.plan, demands=demands))
    fake = cluster(kinds=NODES, objects=nodes)
    seen, _ = capacity_of_pools(
        desired, documents, {"east": fake.kubeconfig}, google=GOOGLE, today=TODAY, seconds=5
    )
    return seen["east", "l4"].labels


def test_slices_and_devices_of_others_are_counted_by_the_resource_of_their_class(cluster: Start) -> None:
    for resource in ("nvidia.com/mig-1g.10gb", "acme.com/gpu"):
        node, pod = _node("a", gpus=8), _pod("theirs", "a", 1)
        node["status"]["allocatable"][resource] = "7"
        pod["spec"]["containers"][0]["resources"]["requests"] = {resource: "2"}
        slices = {"name": "gpu", "driver": "gpu.nvidia.com", "resource": resource, "count": 7}
        found = _pool(cluster(kinds=NODES, objects=[node, pod]), devices=[slices])
        assert (found.gpus, found.foreign) == (7, (2,))


@pytest.mark.parametrize(("nodes", "missing"), [((), 2), (("a",), 1), (("a", "b", "c"), 0)])
def test_nodes_that_documents_declare_and_that_are_not_there_are_missing(
    cluster: Start, nodes: tuple[str, ...], missing: int
) -> None:
    fake = cluster(kinds=NODES, objects=[_node(name) for name in nodes])
    assert _pool(fake).missing == missing


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
    assert (seen.nodes, seen.held, seen.foreign, seen.missing) == (1, (1, 4), (), 0)


def _requesting(pod: dict[str, Any], cpu: str, memory: str, **spec: Any) -> dict[str, Any]:
    requests = {**pod["spec"]["containers"][0]["resources"].get("requests", {}), "cpu": cpu, "memory": memory}
    return {**pod, "spec": {**pod["spec"], **spec, "containers": [{"resources": {"requests": requests}}]}}


def _of(kind: str, pod: dict[str, Any]) -> dict[str, Any]:
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [{"kind": kind}]}}


def test_cores_and_memory_that_other_pods_request_are_noted_by_node(cluster: Start) -> None:
    """Those of engines are left out, which plans count; those of the stack's pickers are not."""
    engine = _requesting(_pod("qwen-1", "a", 2, app="qwen"), "20", "100Gi")
    engine["metadata"]["labels"]["inferfleet.dev/role"] = "decode"
    fake = cluster(
        kinds=NODES,
        objects=[
            *(_node(name) for name in "abc"),
            _node("d", unschedulable=True),
            _ours("qwen"),
            engine,
            _of("DaemonSet", _requesting(_pod("logs-1", "a", 0), "100m", "200Mi")),
            _of("Node", _requesting(_pod("proxy-1", "a", 0), "100m", "1000000")),
            _of("DaemonSet", _requesting(_pod("logs-2", "b", 0), "100m", "300Mi")),
            _requesting(_pod("picker", "b", 0, app="qwen"), "4", "8Gi", overhead={"cpu": "250m"}),
            _requesting(_pod("theirs", "b", 1), "1500m", "1Gi"),
            _requesting(_pod("elsewhere", "d", 0), "7", "7Gi"),
        ],
    )
    seen = _pool(fake)
    assert (seen.daemons, seen.others, seen.foreign) == (
        Amounts(200, 300 * 2**20),
        (Amounts(5750, 9 * 2**30),),
        (1,),
    )


def test_init_containers_count_where_they_need_more_than_what_runs_and_sidecars_beside_it(
    cluster: Start,
) -> None:
    def asking(gpus: int, **more: Any) -> dict[str, Any]:
        return {"resources": {"requests": {"nvidia.com/gpu": str(gpus)}}, **more}

    first = _pod("first", "a", 1)
    first["spec"]["initContainers"] = [asking(2)]
    second = _pod("second", "a", 1)
    second["spec"]["initContainers"] = [asking(1)]
    third = _pod("third", "b", 1)
    third["spec"]["initContainers"] = [asking(2, restartPolicy="Always")]
    fake = cluster(kinds=NODES, objects=[_node("a"), _node("b"), first, second, third])
    assert _pool(fake).foreign == (1, 2, 3)


DRIVER = "gpu.nvidia.com"


def _slice(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {"driver": DRIVER, "pool": {"name": "a", "generation": 2}, "nodeName": "a", **spec},
    }


def _claim(pod: str, *devices: str, **result: Any) -> dict[str, Any]:
    results = [
        {"driver": DRIVER, "pool": "a", "device": name, "request": "gpu", **result} for name in devices
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": f"{pod}-{'-'.join(devices)}", "namespace": "ml"},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": pod, "uid": pod}],
        },
    }


def _claimed(cluster: Start, *objects: dict[str, Any]) -> tuple[int | None, tuple[int, ...]]:
    pods = [_pod(name, "a", 0) for name in ("theirs", "monitor")]
    fake = cluster(kinds={**NODES, **SLICES}, objects=[_node("a", gpus=None), *pods, *objects])
    seen = _pool(fake, allocation="DRA")
    return seen.gpus, seen.foreign


GPUS = [{"name": f"gpu-{number}"} for number in range(8)]


def test_devices_and_claims_count_where_pods_claim_gpus(cluster: Start) -> None:
    slice_, claim = _slice("s", devices=GPUS), _claim("theirs", "gpu-0", "gpu-3")
    assert _claimed(cluster, slice_, claim) == (8, (2,))


def test_claims_with_admin_access_hold_nothing(cluster: Start) -> None:
    watching = _claim("monitor", *(gpu["name"] for gpu in GPUS), adminAccess=True)
    assert _claimed(cluster, _slice("s", devices=GPUS), watching) == (8, ())


def test_slices_of_an_earlier_generation_count_no_more(cluster: Start) -> None:
    before = _slice("s", devices=GPUS, pool={"name": "a", "generation": 1})
    assert _claimed(cluster, before, _slice("t", devices=GPUS[:4])) == (4, ())


def _partitions(gpu: int, *, whole: bool) -> list[dict[str, Any]]:
    """A GPU of 80Gi, its two halves and its four quarters."""
    sizes = [("whole", 80)] * whole + [("half", 40)] * 2 + [("quarter", 20)] * 4
    return [
        {
            "name": f"gpu-{gpu}-{kind}-{place}",
            "consumesCounters": [
                {"counterSet": f"gpu-{gpu}", "counters": {"memory": {"value": f"{size}Gi"}}}
            ],
        }
        for place, (kind, size) in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    ("whole", "devices", "expected"),
    [
        (True, ["gpu-0-quarter-3"], (2, (1,))),
        (True, ["gpu-0-quarter-3", "gpu-0-quarter-4"], (2, (1,))),
        (True, ["gpu-0-quarter-3", "gpu-1-whole-0"], (2, (2,))),
        # Where a GPU is published in parts alone, the largest that there can be at once count.
        (False, ["gpu-0-half-0"], (4, (1,))),
    ],
)
def test_partitions_are_no_devices_of_their_own_and_take_the_whole_one_away(
    cluster: Start, whole: bool, devices: list[str], expected: tuple[int, tuple[int, ...]]
) -> None:
    counters = [{"name": f"gpu-{gpu}", "counters": {"memory": {"value": "80Gi"}}} for gpu in range(2)]
    slices = [
        _slice("counters", sharedCounters=counters),
        _slice("devices", devices=[*_partitions(0, whole=whole), *_partitions(1, whole=whole)]),
    ]
    assert _claimed(cluster, *slices, _claim("theirs", *devices)) == expected


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
    documents = written(tmp_path)
    _, cloud = decided(documents)
    there = {("east", "l4"): 2}
    given, problems = allowed(documents, [cloud], there, google=at(google), until=time.monotonic() + 300)
    assert (given.get(("east", "l4")), problems) == (most, ())


def test_a_named_reservation_says_how_many_nodes_a_pool_may_have(google: FakeGoogle, tmp_path: Path) -> None:
    google.clusters |= {RESERVATION: (200, {"specificReservation": {"count": "5", "inUseCount": "2"}})}
    documents = written(tmp_path)
    _, cloud = decided(documents)
    given, _ = allowed(
        documents, [cloud], {("east", "h100"): 2}, google=at(google), until=time.monotonic() + 300
    )
    assert given == {("east", "h100"): 5}
