"""Gives a running cluster what a platform team would provide: its nodes and GatewayClasses."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.nodes import MADE_FROM, Node
from sandbox.cluster.podnet import PodNetwork, contains, with_networks
from sandbox.devices.published import publish
from sandbox.problem import SandboxProblem

# The controllerName of the GatewayClasses that the sandbox's gateway serves.
CONTROLLER = "sandbox.inferfleet.dev/gateway"
# Annotation of a GatewayClass: in what words the simulated cloud refuses load balancers for its Gateways.
_REFUSED = "sandbox.inferfleet.dev/refused"


def populate(
    kubectl: Kubectl,
    network: PodNetwork,
    *,
    nodes: Iterable[Node],
    classes: tuple[str, ...] | None,
    devices: Iterable[dict[str, Any]] = (),
) -> None:
    """Make the cluster have exactly these nodes, GatewayClasses and `devices`, as drivers publish them.

    Pods of removed nodes are deleted with them. With None as `classes` it has none, because the stack defines
    their kind.
    """
    if classes is not None:
        gateway_classes(kubectl, classes)
    publish(kubectl, devices)
    _replace_nodes(kubectl, network, {_made_from(node): node for node in nodes})


def gateway_classes(kubectl: Kubectl, names: tuple[str, ...]) -> None:
    """Make the sandbox's gateway serve the GatewayClasses of these names and no others."""
    existing = kubectl.items("gatewayclasses")
    present = {gateway_class["metadata"]["name"]: gateway_class for gateway_class in existing}
    ours = {name for name in present if present[name]["spec"]["controllerName"] == CONTROLLER}
    extra = sorted(ours - set(names))
    if extra:
        kubectl("delete", "gatewayclass", *extra)
    missing = [name for name in names if name not in present]
    if missing:
        kubectl.create([_gateway_class(name) for name in missing])


def refuse_gateways(kubectl: Kubectl, words: Mapping[str, str]) -> None:
    """Note at GatewayClasses in what words the cloud refuses their Gateways load balancers; "" for not."""
    for said in dict.fromkeys(words.values()):
        names = [name for name, text in words.items() if text == said]
        kubectl("annotate", "gatewayclass", *names, f"{_REFUSED}={said}", "--overwrite")


def refusal(gateway_class: dict[str, Any]) -> str:
    """Return what `refuse_gateways` noted at the GatewayClass."""
    return str((gateway_class["metadata"].get("annotations") or {}).get(_REFUSED) or "")


def _gateway_class(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": {"name": name},
        "spec": {"controllerName": CONTROLLER},
    }


def _replace_nodes(kubectl: Kubectl, network: PodNetwork, wanted: dict[str, Node]) -> None:
    """Replace nodes that differ from the wanted ones, as clouds do: a node's hardware is immutable."""
    existing = kubectl.items("nodes")
    kept = [node for node in existing if _made_from(node) in wanted and contains(network, node)]
    remove_nodes(kubectl, [node["metadata"]["name"] for node in existing if node not in kept])
    kept_digests = {_made_from(node) for node in kept}
    missing = [node for digest, node in wanted.items() if digest not in kept_digests]
    if missing:
        kubectl.create(with_networks(missing, kept, network))
    wait(kubectl, "--for=condition=Ready", "nodes", "--all")


def remove_nodes(kubectl: Kubectl, names: Iterable[str]) -> None:
    """Delete the nodes and the pods on them."""
    removed = list(names)
    if removed:
        kubectl("delete", "nodes", *removed)
    for name in removed:
        # No kubelet is left to end the pods of a node that is gone.
        on_node = ("--field-selector", f"spec.nodeName={name}")
        kubectl("delete", "pods", "-A", *on_node, "--force", "--grace-period=0")


def wait(kubectl: Kubectl, condition: str, *which: str) -> None:
    """Wait at most five minutes for objects by name, or for those of a kind with `--all` or a selector.

    `kubectl wait` gives up at once on an object that is so new that its conditions are null.
    """
    until = time.monotonic() + 300
    while True:
        try:
            kubectl("wait", condition, *which, "--timeout=300s")
        except SandboxProblem:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)
        else:
            return


def _made_from(node: dict[str, Any]) -> str:
    made_from: str = node["metadata"].get("annotations", {}).get(MADE_FROM, "")
    return made_from
