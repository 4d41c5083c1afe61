"""A namespace that the stack's objects stand in."""

from typing import Any

from inferfleet.manifests.metadata import metadata


def namespace(name: str, *, stack: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name, stack=stack)}
