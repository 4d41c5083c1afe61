"""A Secret whose values the stack's configuration holds: its type and keys, never a value."""

from collections.abc import Iterable
from typing import Any

from inferfleet.fleet import names
from inferfleet.manifests.metadata import metadata

KEYS = f"{names.DOMAIN}/keys"
# Kubernetes takes a pull secret only under its own type, and each type only with its own keys.
_TYPES = {
    frozenset({".dockerconfigjson"}): "kubernetes.io/dockerconfigjson",
    frozenset({".dockercfg"}): "kubernetes.io/dockercfg",
    frozenset({"tls.crt", "tls.key"}): "kubernetes.io/tls",
}


def secret(name: str, *, namespace: str, keys: Iterable[str], stack: str) -> dict[str, Any]:
    """Without `data`: who registers it adds the values, which exist only there."""
    listed = sorted(keys)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(name, stack=stack, namespace=namespace, annotations={KEYS: ",".join(listed)}),
        "type": _TYPES.get(frozenset(listed), "Opaque"),
    }
