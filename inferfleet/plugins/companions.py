"""Objects that plugins put beside a workload: one name, one namespace, no two of a kind."""

from typing import Any

from inferfleet.fleet import names
from inferfleet.plugins.attempt import NotPlain, plain
from inferfleet.plugins.contract import PluginError, Request

Companion = dict[str, Any]


def companion(raw: Any, *, plugin: str, request: Request) -> Companion:
    """The object as it will be registered, in the workload's namespace; PluginError when it cannot be."""
    try:
        one = plain(raw)
    except NotPlain as error:
        raise PluginError(f"in a companion, {error}") from error
    if not isinstance(one, dict) or not all(isinstance(one.get(key), str) for key in ("apiVersion", "kind")):
        raise PluginError(f"a companion is {raw!r:.60}, and must be an object with apiVersion and kind")
    metadata = one.get("metadata")
    wanted = names.companion(request.workload, plugin)
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or name != wanted:
        raise PluginError(f"the companion {one['kind']} is named {name}, and must be named {wanted}")
    if metadata.get("namespace", request.namespace) != request.namespace:
        raise PluginError(
            f"the companion {one['kind']} {name} is in namespace {metadata['namespace']}, "
            f"and must be beside its workload in {request.namespace}"
        )
    labels = metadata.get("labels") or {}
    if not isinstance(labels, dict):
        raise PluginError(
            f"the companion {one['kind']} {name} has labels {labels!r:.60}, and they must be a mapping"
        )
    for key in labels:
        if key.startswith(f"{names.DOMAIN}/") or key == names.MANAGED_BY:
            raise PluginError(
                f"the companion {one['kind']} {name} has the label {key}, which only the system sets"
            )
    return {**one, "metadata": {"name": name, "namespace": request.namespace, **metadata}}


def add(known: tuple[Companion, ...], new: Companion) -> tuple[Companion, ...]:
    """An equal one is the same object, asked for twice; another one of the same kind and name is a clash."""
    for old in known:
        if _identity(old) == _identity(new) and old != new:
            raise PluginError(
                f"the companion {new['kind']} {new['metadata']['name']} clashes with another of that name; "
                "let the plugin run once"
            )
    return known if new in known else (*known, new)


def _identity(one: Companion) -> tuple[str, str, str]:
    group = one["apiVersion"].rpartition("/")[0]
    return (group, one["kind"], one["metadata"]["name"])
