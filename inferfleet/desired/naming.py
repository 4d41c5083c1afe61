"""From a manifest to the object registered for it: its Pulumi name, and what must stand first."""

from collections.abc import Iterable
from typing import Any

from inferfleet.desired.values import KubeObject
from inferfleet.fleet import names


def kube_object(
    cluster: str,
    manifest: dict[str, Any],
    *,
    after: Iterable[str] = (),
    timeout: int | None = None,
    retain: bool = False,
) -> KubeObject:
    """`manifest` as registered on the cluster. Keys in `after` may repeat; each counts once."""
    metadata = manifest["metadata"]
    name = names.pulumi_object(cluster, metadata["name"], namespace=metadata.get("namespace"))
    return KubeObject(name, manifest, after=tuple(dict.fromkeys(after)), timeout=timeout, retain=retain)
