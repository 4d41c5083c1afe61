"""Metadata of an object, and the objects that are little more: namespaces and Secrets."""

from collections.abc import Iterable, Mapping
from typing import Any

from inferfleet.fleet import names
from inferfleet.fleet.spot import Spot
from inferfleet.tables import pod_security

# What Pulumi waits for before it goes on; see ReadyCondition in pulumi-kubernetes 4.25, pkg/metadata.
WAIT_FOR = "pulumi.com/waitFor"
SKIP_AWAIT = "pulumi.com/skipAwait"


def metadata(
    name: str,
    *,
    stack: str,
    namespace: str | None = None,
    deployment: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return metadata with the stack's labels and `labels`. `deployment` (namespace/name) owns the object."""
    made: dict[str, Any] = {"name": name}
    if namespace:
        made["namespace"] = namespace
    made["labels"] = names.object_labels(stack, deployment=deployment) | dict(labels or {})
    if annotations:
        made["annotations"] = dict(annotations)
    return made


def of_workload(name: str, *, spot: Spot, role: str, stack: str, plugins: str) -> dict[str, Any]:
    """Return the metadata of a role's workload; `plugins` are those that shaped its pods, "" for none."""
    return metadata(
        name,
        stack=stack,
        namespace=spot.namespace,
        deployment=spot.deployment,
        labels=names.workload_selector(spot, role),
        annotations={names.PLUGINS: plugins} if plugins else None,
    )


def namespace(name: str, *, stack: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a Namespace, with labels of its own beside the stack's."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": metadata(name, stack=stack, labels=labels),
    }


def baseline_labels(*, enforced: bool) -> dict[str, str]:
    """Return the labels by which Pod Security admission warns of pods below the baseline, or refuses them.

    Without `enforced` nothing is said of it, so that what the cluster enforces by default stays.
    """
    modes = ("enforce", "warn", "audit") if enforced else ("warn", "audit")
    labels = {f"{pod_security.LABEL}/{mode}": pod_security.LEVEL for mode in modes}
    return labels | {f"{pod_security.LABEL}/{mode}-version": pod_security.VERSION for mode in modes}


KEYS = f"{names.DOMAIN}/keys"
# Kubernetes takes a pull secret only under its own type, and each type only with its own keys.
_TYPES = {
    frozenset({".dockerconfigjson"}): "kubernetes.io/dockerconfigjson",
    frozenset({".dockercfg"}): "kubernetes.io/dockercfg",
    frozenset({"tls.crt", "tls.key"}): "kubernetes.io/tls",
}


def secret(name: str, *, namespace: str, keys: Iterable[str], stack: str) -> dict[str, Any]:
    """Return a Secret without `data`: its values are added when it is registered, and known only there."""
    listed = sorted(keys)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(name, stack=stack, namespace=namespace, annotations={KEYS: ",".join(listed)}),
        "type": _TYPES.get(frozenset(listed), "Opaque"),
    }
