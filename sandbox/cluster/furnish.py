"""Makes a running cluster with its CRDs what a platform team would hand over: nodes and GatewayClasses."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.nodes import MADE_FROM
from sandbox.cluster.podnet import PodNetwork, holds, with_networks
from sandbox.problem import SandboxProblem

if TYPE_CHECKING:
    from sandbox.plans import ClusterPlan

# Names who serves the classes.
CONTROLLER = "sandbox.inferfleet.dev/gateway"


def furnish(plan: "ClusterPlan", kubectl: Kubectl, network: PodNetwork) -> None:
    """Brings GatewayClasses and nodes to what the plan says. Pods of nodes that go, go with them."""
    gateway_classes(kubectl, plan.gateway_classes)
    _nodes(plan, kubectl, kubectl.items("nodes"), network)


def gateway_classes(kubectl: Kubectl, names: tuple[str, ...]) -> None:
    """The sandbox's gateway serves the classes of these names and no others."""
    existing = kubectl.items("gatewayclasses")
    ours = {one["metadata"]["name"] for one in existing if one["spec"]["controllerName"] == CONTROLLER}
    extra = sorted(ours - set(names))
    if extra:
        kubectl("delete", "gatewayclass", *extra)
    missing = [name for name in names if name not in {one["metadata"]["name"] for one in existing}]
    if missing:
        kubectl.create([_gateway_class(name) for name in missing])


def _gateway_class(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": {"name": name},
        "spec": {"controllerName": CONTROLLER},
    }


def _nodes(
    plan: "ClusterPlan", kubectl: Kubectl, existing: list[dict[str, Any]], network: PodNetwork
) -> None:
    """Nodes are replaced, not edited, as clouds do it: a node of another kind is another node."""
    wanted = {_made_from(node): node for node in plan.nodes}
    standing = [node for node in existing if _made_from(node) in wanted and holds(network, node)]
    gone = [node["metadata"]["name"] for node in existing if node not in standing]
    remove_nodes(kubectl, gone)
    stand = {_made_from(node) for node in standing}
    missing = [node for made_from, node in wanted.items() if made_from not in stand]
    if missing:
        kubectl.create(with_networks(missing, standing, network))
    wait(kubectl, "--for=condition=Ready", "nodes", "--all")


def remove_nodes(kubectl: Kubectl, names: Iterable[str]) -> None:
    """The nodes are gone, and the pods on them."""
    gone = list(names)
    if gone:
        kubectl("delete", "nodes", *gone)
    for name in gone:
        # Nobody would end them: their kubelet is the simulation, and the node is gone.
        on_it = ("--field-selector", f"spec.nodeName={name}")
        kubectl("delete", "pods", "-A", *on_it, "--force", "--grace-period=0")


def wait(kubectl: Kubectl, condition: str, *which: str) -> None:
    """Waits for objects by name, or for those of a kind (and `--all`, or a selector), a minute at most.

    `kubectl wait` gives up at once on an object that is so new that its conditions are null.
    """
    until = time.monotonic() + 60
    while True:
        try:
            kubectl("wait", condition, *which, "--timeout=60s")
        except SandboxProblem:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)
        else:
            return


def _made_from(node: dict[str, Any]) -> str:
    made_from: str = node["metadata"].get("annotations", {}).get(MADE_FROM, "")
    return made_from
