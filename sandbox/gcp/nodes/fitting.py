"""Whether a pod fits a node: selectors, taints and requests, as the scheduler filters nodes.

Of affinities only required node affinity counts; what is preferred keeps no pod waiting.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from inferfleet.documents.quantity import parse_quantity

Object = dict[str, Any]
Amounts = dict[str, Decimal]


def fits(pod: Object, node: Object, free: Mapping[str, Decimal]) -> bool:
    """Return True when the pod could run on the node, which has `free` left."""
    labels = node["metadata"]["labels"]
    return (
        all(free.get(name, Decimal(0)) >= amount for name, amount in requests(pod).items())
        and all(labels.get(key) == value for key, value in pod["spec"].get("nodeSelector", {}).items())
        and _has_affinity(pod, labels)
        and all(_tolerated(pod, taint) for taint in node["spec"].get("taints") or [])
    )


def requests(pod: Object) -> Amounts:
    """Return what the pod takes of a node, by resource; of the resource "pods" it takes one.

    That is the sum of its containers and sidecars, or an init container that needs more.
    """
    spec = pod["spec"]
    init_containers = spec.get("initContainers", [])
    sidecars = [container for container in init_containers if container.get("restartPolicy") == "Always"]
    total: Amounts = {}
    for container in [*spec["containers"], *sidecars]:
        for name, amount in _requests(container).items():
            total[name] = total.get(name, Decimal(0)) + amount
    for container in init_containers:
        for name, amount in _requests(container).items():
            total[name] = max(total.get(name, Decimal(0)), amount)
    return {**total, "pods": Decimal(1)}


def free_of(node: Object, pods: Iterable[Object]) -> Amounts:
    """Return what the node has left beside these pods."""
    free = {name: parse_quantity(str(text)) for name, text in node["status"].get("allocatable", {}).items()}
    for pod in pods:
        take(free, requests(pod))
    return free


def take(free: Amounts, amounts: Mapping[str, Decimal]) -> None:
    """Subtract the amounts from `free`, in place."""
    for name, amount in amounts.items():
        free[name] = free.get(name, Decimal(0)) - amount


def _requests(container: Object) -> Amounts:
    resources = container.get("resources", {})
    # Kubernetes takes a limit for the request that is missing.
    quantities = {**resources.get("limits", {}), **resources.get("requests", {})}
    return {name: parse_quantity(str(text)) for name, text in quantities.items()}


def _has_affinity(pod: Object, labels: Mapping[str, str]) -> bool:
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(
        all(_matches(expression, labels) for expression in term.get("matchExpressions", []))
        for term in required["nodeSelectorTerms"]
    )


def _matches(expression: Object, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values", [])
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and int(value) > int(values[0])
        case _:
            return value is not None and int(value) < int(values[0])


def _tolerated(pod: Object, taint: Mapping[str, str]) -> bool:
    return taint["effect"] == "PreferNoSchedule" or any(
        _tolerates(toleration, taint) for toleration in pod["spec"].get("tolerations", [])
    )


def _tolerates(toleration: Object, taint: Mapping[str, str]) -> bool:
    if toleration.get("effect", taint["effect"]) not in ("", taint["effect"]):
        return False
    if toleration.get("operator") == "Exists" and toleration.get("key", taint["key"]) in ("", taint["key"]):
        return True
    return bool(
        toleration.get("key") == taint["key"] and toleration.get("value", "") == taint.get("value", "")
    )
