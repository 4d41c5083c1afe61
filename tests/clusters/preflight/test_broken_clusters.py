"""A cluster of the stack `local` with things broken one by one: each is told alone, with its command."""

from collections.abc import Callable
from typing import Any

import pytest
from fake_cluster import KINDS, FakeCluster, thing
from fake_google import FakeGoogle
from test_doctor_looks import Start, looked
from test_doctor_looks import programs as programs

NAME = "east"
Break = Callable[[dict[str, Any], list[dict[str, Any]]], None]
# What else the stack makes there, beside the kinds that every fake knows.
MORE = {
    "v1": {**KINDS["v1"], "ServiceAccount": ("serviceaccounts", True)},
    "rbac.authorization.k8s.io/v1": {
        "Role": ("roles", True),
        "RoleBinding": ("rolebindings", True),
        "ClusterRole": ("clusterroles", False),
        "ClusterRoleBinding": ("clusterrolebindings", False),
    },
    "networking.istio.io/v1": {"DestinationRule": ("destinationrules", True)},
}


def _node(name: str) -> dict[str, Any]:
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    has = {"cpu": "47", "memory": "176Gi", "pods": "110", "nvidia.com/gpu": "4"}
    ready = {"type": "Ready", "status": "True"}
    labels = {"inferfleet.dev/pool": "l4"}
    return thing(
        "Node",
        name,
        labels=labels,
        spec={"taints": [taint]},
        status={"allocatable": has, "conditions": [ready]},
    )


def _picker_node() -> dict[str, Any]:
    has = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    return thing(
        "Node",
        "cores",
        spec={},
        status={"allocatable": has, "conditions": [{"type": "Ready", "status": "True"}]},
    )


def _class() -> dict[str, Any]:
    accepted = {"type": "Accepted", "status": "True"}
    spec = {"controllerName": "istio.io/gateway-controller"}
    return thing("GatewayClass", "istio", spec=spec, status={"conditions": [accepted]})


def whole() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Kinds and objects of a cluster on which nothing is missing."""
    return {**KINDS, **MORE}, [_class(), _node("one"), _node("two"), _picker_node()]


def said(kinds: dict[str, Any], objects: list[dict[str, Any]], cluster: Start, google: FakeGoogle) -> Any:
    fake: FakeCluster = cluster(kinds=kinds, objects=objects)
    checks = looked("local", google, {NAME: fake.kubeconfig})
    return [
        (check.problem.what, check.problem.next_step)
        for check in checks
        # One notice is always there: most clouds would make the gateways of this stack public.
        if check.of == f"cluster {NAME}" and check.problem and "serviceType" not in check.problem.what
    ]


def _no_kind(version: str) -> Break:
    return lambda kinds, objects: kinds.pop(version)


def _class_with(**more: Any) -> Break:
    return lambda kinds, objects: objects[0].update(more)


def _no_class(kinds: dict[str, Any], objects: list[dict[str, Any]]) -> None:
    del objects[0]


def _node_with(*path: str, value: Any) -> Break:
    def change(kinds: dict[str, Any], objects: list[dict[str, Any]]) -> None:
        at: Any = objects[1]
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    return change


SIGS = "https://github.com/kubernetes-sigs"
WAITS = {"conditions": [{"type": "Accepted", "status": "Unknown", "message": "Waiting for controller"}]}
BROKEN: dict[str, tuple[Break, str, str]] = {
    "Gateway API": (
        _no_kind("gateway.networking.k8s.io/v1"),
        "does not know Gateway, GatewayClass, HTTPRoute of gateway.networking.k8s.io/v1",
        f"`kubectl apply -f {SIGS}/gateway-api/releases/download/v1.5.1/standard-install.yaml`",
    ),
    "Inference Extension": (
        _no_kind("inference.networking.k8s.io/v1"),
        "does not know InferencePool of inference.networking.k8s.io/v1",
        f"`kubectl apply -f {SIGS}/gateway-api-inference-extension/releases/download/v1.5.0/"
        "v1-manifests.yaml`",
    ),
    "class": (
        _no_class,
        "has no GatewayClass 'istio'",
        "`istioctl install -y --set values.pilot.env.ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true`",
    ),
    "controller": (
        _class_with(status=WAITS),
        "is not accepted by its controller istio.io/gateway-controller: Waiting for controller",
        "`kubectl describe gatewayclass istio`",
    ),
    "label": (
        _node_with("metadata", "labels", value={}),
        "pool east/l4 declares 2 nodes, and the cluster has 1 with inferfleet.dev/pool=l4",
        "`kubectl label node <node> inferfleet.dev/pool=l4`",
    ),
    "cordon": (
        _node_with("spec", "unschedulable", value=True),
        "1 node of pool east/l4 (one) is cordoned",
        "`kubectl uncordon one`",
    ),
    "kubelet": (
        _node_with("status", "conditions", value=[{"type": "Ready", "status": "Unknown"}]),
        "1 node of pool east/l4 (one) is not ready",
        "`kubectl describe node one`",
    ),
    "device plugin": (
        _node_with("status", "allocatable", "nvidia.com/gpu", value="0"),
        "1 node of pool east/l4 (one) offers 0 of 4 nvidia.com/gpu that class nvidia-l4-4x declares",
        "`kubectl describe node one`",
    ),
    "memory": (
        _node_with("status", "allocatable", "memory", value="64Gi"),
        "1 node of pool east/l4 (one) offers 65536 of 180224 MiB memory",
        "`kubectl describe node one`",
    ),
    "taint": (
        _node_with("spec", "taints", value=[]),
        "1 node of pool east/l4 (one) has accelerators and no taint",
        "`kubectl taint node one nvidia.com/gpu=present:NoSchedule`",
    ),
}


def test_a_cluster_that_has_everything_is_fine(cluster: Start, google: FakeGoogle, programs: Any) -> None:
    assert said(*whole(), cluster, google) == []


@pytest.mark.parametrize("thing_broken", BROKEN)
def test_what_is_broken_is_told_alone_and_with_the_command_that_mends_it(
    cluster: Start, google: FakeGoogle, programs: Any, thing_broken: str
) -> None:
    change, what, command = BROKEN[thing_broken]
    kinds, objects = whole()
    change(kinds, objects)
    ((told, next_step),) = said(kinds, objects, cluster, google)
    assert what in told
    assert command in next_step
