"""Metadata of an object, and the objects that are little more: namespaces, Secrets and Events."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from inferfleet.fleet import names

# What Pulumi waits for before it goes on; see ReadyCondition in pulumi-kubernetes 4.25, pkg/metadata.
WAIT_FOR = "pulumi.com/waitFor"
SKIP_AWAIT = "pulumi.com/skipAwait"
KEYS = f"{names.DOMAIN}/keys"
# Kubernetes takes a pull secret only under its own type, and each type only with its own keys.
_TYPES = {
    frozenset({".dockerconfigjson"}): "kubernetes.io/dockerconfigjson",
    frozenset({".dockercfg"}): "kubernetes.io/dockercfg",
    frozenset({"tls.crt", "tls.key"}): "kubernetes.io/tls",
}
Reason = Literal["PluginReady", "PluginFailed"]
_LONGEST_NOTE = 1024


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


def namespace(name: str, *, stack: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a Namespace, with labels of its own beside the stack's."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": metadata(name, stack=stack, labels=labels),
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


def event(reason: Reason, note: str, *, regarding: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Return an Event about an object that a cluster has, where `kubectl describe` shows it.

    `at` has the time zone UTC. A note has at most 1,024 bytes (EventV1 in api/events/v1/types.go of
    Kubernetes 1.36).
    """
    metadata = regarding["metadata"]
    labels = {
        key: value
        for key, value in (metadata.get("labels") or {}).items()
        if key in (names.MANAGED_BY, names.STACK, names.DEPLOYMENT)
    }
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "labels": labels,
        },
        "eventTime": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "type": "Warning" if reason == "PluginFailed" else "Normal",
        "reason": reason,
        "action": "CallReadyHook",
        "note": note.encode()[:_LONGEST_NOTE].decode(errors="ignore"),
        "regarding": {
            "apiVersion": regarding["apiVersion"],
            "kind": regarding["kind"],
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            # Without it `kubectl describe` would not find the Event.
            "uid": metadata["uid"],
        },
        "reportingController": names.DOMAIN,
        "reportingInstance": names.MANAGER,
    }
