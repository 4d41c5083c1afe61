"""Pools grow for pods that wait and could run on a node of theirs, and give up nodes that stand empty."""

from pathlib import Path
from typing import Any

import pytest
from cloud_double import create, with_cluster
from small_cloud import l4, pool

from sandbox.gcp import faults
from sandbox.gcp.kubernetes_engine import KubernetesEngine
from sandbox.gcp.nodes.autoscaler import Stopwatch, Watcher
from sandbox.gcp.nodes.pool_nodes import pool_node
from sandbox.gcp.nodes.scaling import autoscaled, empty_nodes, growth, without_nodes
from sandbox.gcp.store import Record

ZONE = "us-east5-a"
GPUS = {"key": "nvidia.com/gpu", "operator": "Exists"}
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def _pod(name: str = "p", *, gpus: int = 4, node: str = "", **spec: Any) -> dict[str, Any]:
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"cpu": "2"}}
    pod_spec = {"containers": [{"resources": resources}], "tolerations": [GPUS], **spec}
    if node:
        pod_spec["nodeName"] = node
    status = {"phase": "Running"} if node else {"phase": "Pending", "conditions": [UNSCHEDULABLE]}
    return {"metadata": {"name": name, "uid": name}, "spec": pod_spec, "status": status}


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """A pool of at most two nodes with four GPUs each, without any."""
    return create(with_cluster(tmp_path)[0], l4())


def _more(record: Record, *pods: dict[str, Any], nodes: tuple[dict[str, Any], ...] = ()) -> int:
    return growth(autoscaled([record]), nodes, pods).get(record.id, 0)


@pytest.mark.parametrize(
    ("pods", "more"),
    [
        ([], 0),
        ([_pod()], 1),
        ([_pod("a", gpus=2), _pod("b", gpus=2)], 1),
        ([_pod("a"), _pod("b")], 2),
        ([_pod("a"), _pod("b"), _pod("c")], 2),
        ([_pod(gpus=5)], 0),
        ([_pod(tolerations=[])], 0),
        ([_pod(nodeSelector={"inferfleet.dev/pool": "l4"})], 1),
        ([_pod(nodeSelector={"inferfleet.dev/pool": "h100"})], 0),
        ([_pod(nodeSelector={"cloud.google.com/gke-accelerator": "nvidia-l4"})], 1),
        ([_pod(resourceClaims=[{"name": "gpu"}])], 0),
        ([_pod(node="somewhere")], 0),
    ],
)
def test_a_pool_grows_for_what_waits_and_would_fit(
    record: Record, pods: list[dict[str, Any]], more: int
) -> None:
    assert _more(record, *pods) == more


def test_required_affinity_counts_and_what_init_containers_need(record: Record) -> None:
    def affine(operator: str, *values: str) -> dict[str, Any]:
        expression = {"key": "cloud.google.com/gke-nodepool", "operator": operator, "values": list(values)}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        return _pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})

    affinities = (("In", "l4"), ("NotIn", "l4"), ("Exists",))
    assert [_more(record, affine(*affinity)) for affinity in affinities] == [1, 0, 1]
    hungry = [{"resources": {"requests": {"cpu": "90"}}}]
    assert _more(record, _pod(initContainers=hungry)) == 0


def test_room_on_nodes_that_stand_is_used_before_a_pool_grows(record: Record) -> None:
    node = pool_node(record, ZONE)
    here = node["metadata"]["name"]
    assert _more(record, _pod("new", gpus=2), _pod("old", gpus=2, node=here), nodes=(node,)) == 0
    assert _more(record, _pod("new", gpus=4), _pod("old", gpus=2, node=here), nodes=(node,)) == 1
    assert _more(record.but(zones={ZONE: 2}), _pod("new"), _pod("old", node=here), nodes=(node,)) == 0


def test_of_two_pools_that_fit_the_one_with_smaller_nodes_grows(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    scaling = {"totalMinNodeCount": 0, "totalMaxNodeCount": 3}
    records = [create(cloud, l4()), create(cloud, pool("cpu", autoscaling=scaling))]
    plain = {"containers": [{"resources": {"requests": {"cpu": "1"}}}], "tolerations": [GPUS]}
    pods = [{**_pod(), "spec": plain}]
    assert growth(autoscaled(records), [], pods) == {records[1].id: 1}


def test_empty_nodes_go_but_not_below_the_pool_s_least(record: Record) -> None:
    pools = autoscaled([record.but(zones={ZONE: 2})])
    nodes = [pool_node(record, ZONE) for _ in range(3)]
    names = [node["metadata"]["name"] for node in nodes]
    daemon = _pod("d", node=names[1])
    daemon["metadata"]["ownerReferences"] = [{"kind": "DaemonSet"}]
    assert empty_nodes(pools, nodes, [_pod(node=names[0]), daemon]) == names[1:]
    assert without_nodes(pools[0], nodes[1:]) == ({ZONE: 0}, tuple(names[1:]))
    state = {**record.state, "autoscaling": {"totalMinNodeCount": 1, "totalMaxNodeCount": 2}}
    kept = autoscaled([record.but(zones={ZONE: 2}, state=state)])[0]
    assert without_nodes(kept, nodes[1:]) == ({ZONE: 1}, (names[1],))


def test_what_is_not_to_be_had_is_left_out_and_said(tmp_path: Path) -> None:
    cloud, kubernetes = with_cluster(tmp_path)
    zones = ["us-east5-a", "us-east5-b"]
    record = create(cloud, {**l4(), "inputs": {**l4()["inputs"], "nodeLocations": zones}})
    faults.change(tmp_path, faults.with_stockout("us-east5-a", "nvidia-l4"))
    watcher = Watcher(KubernetesEngine(cloud.store, kubernetes), "east")
    watcher.grow(autoscaled([record])[0], 1)
    assert kubernetes.nodes["l4"] == {"us-east5-a": 0, "us-east5-b": 1}
    faults.change(tmp_path, faults.with_quota("us-east5", "nvidia-l4", 4))
    watcher.grow(autoscaled([cloud.store.read()[record.id]])[0], 1)
    assert kubernetes.nodes["l4"] == {"us-east5-a": 0, "us-east5-b": 1}
    assert "Insufficient regional quota" in cloud.store.read()[record.id].message


def test_a_stopwatch_forgets_keys_that_are_left_out() -> None:
    stopwatch = Stopwatch()
    assert stopwatch.longer_than(0, {"a"}) == {"a"}
    assert stopwatch.longer_than(3600, {"a", "b"}) == set()
    stopwatch.longer_than(3600, {"b"})
    assert list(stopwatch.since) == ["b"]
