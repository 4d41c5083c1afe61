"""Nodes that are not what documents declare, and gateways that nobody makes, are told before an update."""

from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import thing
from own_cluster import east_problem
from test_observe import OURS, Start, east, look
from test_remade import LABELS, single

from inferfleet.desired.values import Component, Connection, DesiredCluster, ExpectedNodes, KubeObject
from inferfleet.documents.problems import Problem
from inferfleet.fleet.node_conditions import conditions_of
from inferfleet.fleet.spot import Spot

NVIDIA = ("gpu.nvidia.com", "nvidia.com/gpu")
POOL = ExpectedNodes("h100", 1, "h100-8x", {"pool": "h100"}, 2, 3, *NVIDIA, 8, False, 100_000, 2**40)
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def picker(name: str) -> dict[str, Any]:
    """A picker's Deployment."""
    container = {"name": "epp", "image": "epp:v1", "args": []}
    return thing(
        "Deployment",
        f"{name}-epp",
        "ml",
        labels={**OURS, "inferfleet.dev/deployment": name},
        spec={"replicas": 1, "template": {"spec": {"containers": [container]}}},
    )


def node(name: str, *, gpus: int = 8, cpu: str = "100", memory: str = "1Ti", **spec: Any) -> dict[str, Any]:
    allocatable = {"cpu": cpu, "memory": memory, "pods": "110", "nvidia.com/gpu": str(gpus)}
    return thing(
        "Node",
        name,
        labels={"pool": "h100"},
        spec={"taints": [TAINT], **spec},
        status={"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]},
    )


def test_nodes_as_declared_are_not_spoken_of(cluster: Start) -> None:
    there = cluster(objects=[node("a"), node("b")])
    assert look(there, east(pools=(POOL,))).problems == ()


def test_a_cluster_without_nodes_is_a_warning(cluster: Start) -> None:
    assert look(cluster(), east(pools=(POOL,))).problems == (
        east_problem(
            "pool east/h100 declares 2 nodes, and the cluster has 0 with pool=h100; 3 replicas are placed "
            "there",
            "Add nodes, label those that are there (`kubectl label node <node> pool=h100`), or correct the "
            "pool",
            "spec.nodePools[1].nodeCount",
            severity="warning",
        ),
    )


DOWN = {"conditions": [{"type": "Ready", "status": "Unknown"}]}


@pytest.mark.parametrize(
    ("closed", "how", "command"),
    [
        (node("a", unschedulable=True), "cordoned", "kubectl uncordon a"),
        ({**node("a"), "status": {**node("a")["status"], **DOWN}}, "not ready", "kubectl describe node a"),
    ],
)
def test_a_node_that_takes_no_pods_is_a_warning_where_too_few_do(
    cluster: Start, closed: dict[str, Any], how: str, command: str
) -> None:
    assert look(cluster(objects=[closed, node("b")]), east(pools=(POOL,))).problems == (
        east_problem(
            f"1 node of pool east/h100 (a) is {how}, so new pods find no place there; 3 replicas are placed "
            "in the pool",
            f"Run `{command}`, or correct the pool",
            "spec.nodePools[1].nodeCount",
            severity="warning",
        ),
    )
    assert look(cluster(objects=[closed, node("b"), node("c")]), east(pools=(POOL,))).problems == ()


@pytest.mark.parametrize(
    ("lacking", "offers"),
    [
        ({"gpus": 4}, "4 of 8 nvidia.com/gpu"),
        ({"cpu": "96"}, "96000m of 100000m cpu"),
        ({"memory": "512Gi"}, "524288 of 1048576 MiB memory"),
    ],
)
def test_a_node_that_offers_less_than_its_class_is_a_warning(
    cluster: Start, lacking: dict[str, Any], offers: str
) -> None:
    there = cluster(objects=[node("a", **lacking), node("b")])
    assert look(there, east(pools=(POOL,))).problems == (
        east_problem(
            f"1 node of pool east/h100 (a) offers {offers} that class h100-8x declares",
            "Compare with `kubectl describe node a`: correct the class, or install what offers "
            "nvidia.com/gpu there (device plugin, DRA driver)",
            "spec.nodePools[1].className",
            severity="warning",
        ),
    )


@pytest.mark.parametrize(("fast", "number"), [("", "none"), ("a", "1")])
def test_labels_that_pods_need_and_not_all_nodes_have_are_a_warning(
    cluster: Start, fast: str, number: str
) -> None:
    nodes = [node("a"), node("b")]
    for each in nodes:
        each["metadata"]["labels"] |= {"disk": "fast"} if each["metadata"]["name"] == fast else {}
    asked = conditions_of({"nodeSelector": {"pool": "h100", "disk": "fast"}}, without={"pool": "h100"})
    assert asked is not None
    pool = replace(POOL, conditions={asked: ("ml/a", "ml/b")})
    assert look(cluster(objects=nodes), east(pools=(pool,))).problems == (
        east_problem(
            "pods of ml/a, ml/b need disk=fast, and of 2 nodes of pool east/h100, where they are placed, "
            f"{number} would do",
            "Label the nodes (`kubectl label node <node> ...`), or correct the template: pods that find none "
            "stay Pending",
            "spec.nodePools[1].nodeSelector",
            severity="warning",
        ),
    )
    labelled = [thing("Node", one, labels={"pool": "h100", "disk": "fast"}, **_rest(one)) for one in "ab"]
    assert look(cluster(objects=labelled), east(pools=(pool,))).problems == ()


PLAIN, FAST = {"pool": "h100"}, {"pool": "h100", "disk": "fast"}


def _updated(there: Start, before: Any, after: Any, **pool: Any) -> tuple[Problem, ...]:
    """What is said of a workload that runs and will be another, on two nodes of no fast disk."""
    asked = conditions_of(after["spec"]["template"]["spec"], without=PLAIN)
    assert asked is not None
    wanted = KubeObject("n", after)
    desired = DesiredCluster(
        Connection("east", "existing/east", "active", config_key="east"),
        (Component("ModelReplicas", "east", (wanted,)),),
        workloads={Spot("ml/a", "east", (("decode", "h100"),)): (wanted.key,)},
        pools=(replace(POOL, conditions={asked: ("ml/a", "ml/b")}, **pool),),
    )
    runs = thing("Deployment", "a-decode-h", "ml", labels=before["metadata"]["labels"], spec=before["spec"])
    return tuple(
        problem
        for problem in look(there(objects=[node("a"), node("b"), runs]), desired).problems
        if "disk=fast" in problem.what
    )


def _pods(selector: dict[str, str], **more: Any) -> Any:
    return single(labels={**OURS, **LABELS}, nodeSelector=selector, **more)


NONE_WOULD_DO = (
    "pods of ml/a, ml/b need disk=fast, and of 2 nodes of pool east/h100, where they are placed, none would "
    "do"
)


@pytest.mark.parametrize(
    ("before", "after"),
    [(_pods(PLAIN), _pods(FAST)), (_pods(FAST), _pods(FAST, hostNetwork=True))],
    ids=["by another selector", "by another field"],
)
def test_pods_that_run_do_not_end_for_others_that_no_node_of_a_fixed_pool_takes(
    cluster: Start, before: Any, after: Any
) -> None:
    assert _updated(cluster, before, after) == (
        east_problem(
            f"{NONE_WOULD_DO}; pods of ml/a that run there would end first",
            "Label the nodes (`kubectl label node <node> ...`), correct the template, or write rollout: "
            "Surge, which ends pods once others are ready",
            "spec.nodePools[1].nodeSelector",
        ),
    )


@pytest.mark.parametrize(
    ("before", "after", "pool"),
    [
        pytest.param(_pods(FAST), _pods(FAST), {}, id="pods that do not change"),
        pytest.param(_pods(PLAIN), _pods(FAST, surge=1), {}, id="others are ready first"),
        pytest.param(_pods(PLAIN), _pods(FAST), {"autoscaled": True}, id="nodes may be added"),
        pytest.param(_pods(PLAIN, replicas=0), _pods(FAST), {}, id="none run"),
    ],
)
def test_pods_that_find_no_node_are_a_warning_where_none_end_for_them(
    cluster: Start, before: Any, after: Any, pool: dict[str, Any]
) -> None:
    assert _updated(cluster, before, after, **pool) == (
        east_problem(
            NONE_WOULD_DO,
            "Label the nodes (`kubectl label node <node> ...`), or correct the template: pods that find none "
            "stay Pending",
            "spec.nodePools[1].nodeSelector",
            severity="warning",
        ),
    )


def _rest(name: str) -> dict[str, Any]:
    return {part: node(name)[part] for part in ("spec", "status")}


def test_slices_are_looked_for_by_the_resource_of_their_class(cluster: Start) -> None:
    slices = replace(POOL, resource="nvidia.com/mig-1g.10gb", devices=7)
    there = cluster(objects=[node("a"), node("b", gpus=0)])
    (problem,) = look(there, east(pools=(slices,))).problems
    assert (problem.what, problem.next_step) == (
        "2 nodes of pool east/h100 (a, b) offer 0 of 7 nvidia.com/mig-1g.10gb that class h100-8x declares",
        "Compare with `kubectl describe node a`: correct the class, or install what offers "
        "nvidia.com/mig-1g.10gb there (device plugin, DRA driver)",
    )


@pytest.mark.parametrize(
    ("product", "unlike"),
    [
        ("NVIDIA-H100-80GB-HBM3", False),
        ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", False),
        ("NVIDIA-H100-80GB-HBM3-SHARED", False),
        ("NVIDIA-H100-PCIe", True),
        ("", False),
    ],
)
def test_another_product_than_the_class_says_is_a_warning(cluster: Start, product: str, unlike: bool) -> None:
    named = replace(POOL, products={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"})
    there = [node("a"), node("b")]
    if product:
        there[0]["metadata"]["labels"]["nvidia.com/gpu.product"] = product
    warning = east_problem(
        f"1 node of pool east/h100 (a) has {product} (nvidia.com/gpu.product), and class h100-8x says "
        "NVIDIA-H100-80GB-HBM3",
        "Correct productName in the class, or give the pool the class of its nodes",
        "spec.nodePools[1].className",
        severity="warning",
    )
    assert look(cluster(objects=there), east(pools=(named,))).problems == ((warning,) if unlike else ())


def test_nodes_with_gpus_that_pickers_may_take_are_a_notice(cluster: Start) -> None:
    there = cluster(objects=[node(name, taints=[]) for name in "ab"])
    told = [one for one in look(there, east(picker("qwen"), pools=(POOL,))).problems if "taint" in one.what]
    assert told == [
        east_problem(
            "2 nodes of pool east/h100 (a, b) have accelerators and no taint, so endpoint pickers and pods "
            "of others may take cores and memory there",
            "If models must have them alone, `kubectl taint node a nvidia.com/gpu=present:NoSchedule`, and "
            "write the taint into the pool",
            "spec.nodePools[1].taints",
            severity="notice",
        )
    ]


def test_who_may_not_list_nodes_is_told_nothing_of_them(cluster: Start) -> None:
    assert look(cluster(status={"/api/v1/nodes": 403}), east(pools=(POOL,))).problems == ()


def test_pools_without_replicas_are_not_looked_at(cluster: Start) -> None:
    fake = cluster()
    unused = ExpectedNodes("l4", 0, "l4", {"pool": "l4"}, 2, 0, *NVIDIA, 1, False, 1, 1)
    assert look(fake, east(pools=(unused,))).problems == ()


def accepted(status: str) -> dict[str, Any]:
    condition = {"type": "Accepted", "status": status, "message": "Waiting for controller"}
    return thing(
        "GatewayClass", "istio", spec={"controllerName": "istio.io/x"}, status={"conditions": [condition]}
    )


@pytest.mark.parametrize("status", ["Unknown", "False"])
def test_a_gateway_class_that_no_controller_accepted_is_a_warning(cluster: Start, status: str) -> None:
    assert look(cluster(objects=[accepted(status)]), gateway()).problems == (
        Problem(
            "GatewayClass 'istio' on cluster 'east' is not accepted by its controller istio.io/x: Waiting "
            "for controller. An update would wait for its Gateway",
            "See whether that controller runs (`kubectl describe gatewayclass istio`, `kubectl get pods "
            "--all-namespaces`), or name another class",
            "spec.serving.gateway.className",
            kind="InferenceCluster",
            key="east",
            severity="warning",
        ),
    )


def test_an_accepted_gateway_class_is_not_spoken_of(cluster: Start) -> None:
    assert look(cluster(objects=[accepted("True")]), gateway()).problems == ()


def gateway() -> Any:
    return east(thing("Gateway", "inferfleet", "inferfleet-system"), gateway_class="istio")
