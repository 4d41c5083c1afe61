"""Objects that plugins add beside a workload, in its namespace and with a name made from its own."""

from typing import Any

from inferfleet.api.pods.objects import object_mistakes
from inferfleet.api.pods.template import without_nulls
from inferfleet.fleet import names
from inferfleet.plugins.attempt import Malformed
from inferfleet.plugins.contract import PluginError, Request

Companion = dict[str, Any]


def companion(raw: Any, *, plugin: str, request: Request) -> Companion:
    """Return the object, a plain value, as it will be registered: in the workload's namespace.

    Raises PluginError for an object of another name or namespace, or with labels of the system, and for one
    that the API server would refuse.
    """
    if not isinstance(raw, dict) or not all(isinstance(raw.get(key), str) for key in ("apiVersion", "kind")):
        raise PluginError(f"a companion is {raw!r:.60}, but it must be an object with apiVersion and kind")
    manifest: Companion = raw
    metadata = manifest.get("metadata")
    wanted = names.companion(request.workload, plugin)
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or name != wanted:
        raise PluginError(f"the companion {manifest['kind']} is named {name}, but it must be named {wanted}")
    if metadata.get("namespace", request.namespace) != request.namespace:
        raise PluginError(
            f"the companion {manifest['kind']} {name} is in namespace {metadata['namespace']}, "
            f"but it must be beside its workload in {request.namespace}"
        )
    labels = metadata.get("labels") or {}
    if not isinstance(labels, dict):
        raise PluginError(
            f"the companion {manifest['kind']} {name} has labels {labels!r:.60}, but labels must be a map"
        )
    for key in labels:
        if key.startswith(f"{names.DOMAIN}/") or key == names.MANAGED_BY:
            raise PluginError(
                f"the companion {manifest['kind']} {name} has the label {key}, which only the system sets"
            )
    whole = {**manifest, "metadata": {"name": name, "namespace": request.namespace, **metadata}}
    if mistakes := tuple(object_mistakes(whole)):
        raise Malformed(f"a {whole['kind']} {name}", mistakes)
    kept: Companion = without_nulls(whole)
    return kept


def add(known: tuple[Companion, ...], new: Companion) -> tuple[Companion, ...]:
    """Return the companions with a new one; equal ones count once.

    Raises PluginError for another object of the same kind and name.
    """
    for old in known:
        if _identity(old) == _identity(new) and old != new:
            raise PluginError(
                f"the companion {new['kind']} {new['metadata']['name']} clashes with another of that name; "
                "let the plugin run once"
            )
    return known if new in known else (*known, new)


def _identity(manifest: Companion) -> tuple[str, str, str]:
    group = manifest["apiVersion"].rpartition("/")[0]
    return (group, manifest["kind"], manifest["metadata"]["name"])
