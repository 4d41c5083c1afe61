"""A Kubernetes object as it comes, and what copies of it are filed under."""

from typing import Any

Object = dict[str, Any]


def key(one: Object) -> str:
    """`namespace/name`, or `name` of what has no namespace."""
    metadata = one["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]
