"""A Kubernetes object as the API server sends it, and the key under which copies of it are kept."""

from typing import Any

Object = dict[str, Any]


def key(kube_object: Object) -> str:
    """Return `namespace/name`, or `name` for an object without a namespace."""
    metadata = kube_object["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]
