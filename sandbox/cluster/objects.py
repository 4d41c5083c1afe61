"""Kubernetes objects as the API server sends them: keys, readiness, and its way of writing times."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]


def key(kube_object: Object) -> str:
    """Return `namespace/name`, or `name` for an object without a namespace."""
    metadata = kube_object["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]


def is_ready(kube_object: Object) -> bool:
    """Return whether the object's condition Ready is True."""
    conditions = kube_object.get("status", {}).get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def oldest_first(objects: Iterable[Object]) -> list[Object]:
    """Return the objects in the Gateway API's order for ties: by age, then by namespace and name."""

    def age(kube_object: Object) -> tuple[str, str]:
        return kube_object["metadata"].get("creationTimestamp", ""), key(kube_object)

    return sorted(objects, key=age)


def now() -> str:
    """Return the current time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
