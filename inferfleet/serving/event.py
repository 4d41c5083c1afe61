"""An Event at a workload, where `kubectl describe` shows it.

Fields: EventV1 in api/events/v1/types.go of Kubernetes 1.36. A note has at most 1,024 bytes.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from inferfleet.fleet import names

Reason = Literal["PluginReady", "PluginFailed"]
_NOTE = 1024


def event(reason: Reason, note: str, *, regarding: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Return an Event about an object that a cluster has; `at` has the time zone UTC."""
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
        "note": note.encode()[:_NOTE].decode(errors="ignore"),
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
