"""Whether a pod fits a node: selectors, taints and requests, as the scheduler weighs them.

Of affinities only required node affinity counts; what is preferred keeps no pod waiting.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from inferfleet.api.kinds.quantity import parse_quantity

Object = dict[str, Any]
Amounts = dict[str, Decimal]


def fits(pod: Object, node: Object, free: Mapping[str, Decimal]) -> bool:
    """True when the pod could run on the node, of which `free` is left."""
    labels = node["metadata"]["labels"]
    return (
        all(free.get(name, Decimal(0)) >= amount for name, amount in requests(pod).items())
        and all(labels.get(key) == value for key, value in pod["spec"].get("nodeSelector", {}).items())
        and _has_affinity(pod, labels)
        and all(_tolerated(pod, taint) for taint in node["spec"].get("taints") or [])
    )


def requests(pod: Object) -> Amounts:
    """What the pod takes of a node: its containers, or an init container that needs more; and one pod."""
    spec = pod["spec"]
    first = spec.get("initContainers", [])
    beside = [*spec["containers"], *(one for one in first if one.get("restartPolicy") == "Always")]
    total = _sum(_requests(one) for one in beside)
    for one in first:
        for name, amount in _requests(one).items():
            total[name] = max(total.get(name, Decimal(0)), amount)
    return {**total, "pods": Decimal(1)}


def free_of(node: Object, pods: Iterable[Object]) -> Amounts:
    """What the node has left beside these pods."""
    left = {name: parse_quantity(str(text)) for name, text in node["status"].get("allocatable", {}).items()}
    for pod in pods:
        take(left, requests(pod))
    return left


def take(left: Amounts, amounts: Mapping[str, Decimal]) -> None:
    """Takes the amounts from what is left."""
    for name, amount in amounts.items():
        left[name] = left.get(name, Decimal(0)) - amount


def _requests(container: Object) -> Amounts:
    resources = container.get("resources", {})
    # Kubernetes fills requests in from limits.
    named = {**resources.get("limits", {}), **resources.get("requests", {})}
    return {name: parse_quantity(str(text)) for name, text in named.items()}


def _sum(amounts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for one in amounts:
        for name, amount in one.items():
            total[name] = total.get(name, Decimal(0)) + amount
    return total


def _has_affinity(pod: Object, labels: Mapping[str, str]) -> bool:
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(
        all(_matches(one, labels) for one in term.get("matchExpressions", []))
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
        one.get("effect", taint["effect"]) in ("", taint["effect"])
        and (
            (one.get("operator") == "Exists" and one.get("key", taint["key"]) in ("", taint["key"]))
            or (one.get("key") == taint["key"] and one.get("value", "") == taint.get("value", ""))
        )
        for one in pod["spec"].get("tolerations", [])
    )
