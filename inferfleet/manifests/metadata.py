"""Metadata of an object: name, namespace, whose it is, and annotations if there are any."""

from collections.abc import Mapping
from typing import Any

from inferfleet.fleet import names

# What Pulumi waits for before it goes on; see ReadyCondition in pulumi-kubernetes 4.25, pkg/metadata.
WAIT_FOR = "pulumi.com/waitFor"


def metadata(
    name: str,
    *,
    stack: str,
    namespace: str | None = None,
    deployment: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """`deployment` (namespace/name) is whom the object serves; `labels` come on top of the stack's own."""
    made: dict[str, Any] = {"name": name}
    if namespace:
        made["namespace"] = namespace
    made["labels"] = names.object_labels(stack, deployment=deployment) | dict(labels or {})
    if annotations:
        made["annotations"] = dict(annotations)
    return made
