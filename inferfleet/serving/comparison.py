"""In which fields a live object differs from a manifest, and whether a workload has the pod template that it
should have.

API servers fill in defaults, write quantities in another form and leave empty values out.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.documents.quantity import amount

# Annotations for the engine, which differ from run to run.
_OF_ENGINE = "pulumi.com/"
# Fields whose values are quantities, which may be written in many ways: 1000m is 1.
_QUANTITIES = ("requests", "limits", "sizeLimit")
# Fields of pods and containers without a default in a pod template (kubernetes/kubernetes,
# pkg/apis/core/v1/defaults.go; from memory, not looked up), so that one that is there was written.
_WRITTEN = frozenset(
    (
        *("command", "args", "env", "envFrom", "lifecycle", "volumeMounts", "ports"),
        *("startupProbe", "livenessProbe", "readinessProbe", "initContainers", "volumes", "nodeSelector"),
        *("affinity", "tolerations", "topologySpreadConstraints"),
    )
)


def differences(wanted: Any, actual: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield path, wanted and actual value of each field of a manifest that the live object has differently.

    What the API server or a controller added is no difference.
    """
    if isinstance(wanted, Mapping) and isinstance(actual, Mapping):
        for key, value in wanted.items():
            if not key.startswith(_OF_ENGINE):
                yield from differences(value, actual.get(key), f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(actual, list):
        yield from _item_differences(wanted, actual, path)
    elif not _same(wanted, actual, path):
        yield path, wanted, actual


def _item_differences(wanted: list[Any], actual: list[Any], path: str) -> Iterator[tuple[str, Any, Any]]:
    """Compare items by their names: between ours there may be items that a controller added."""
    wanted_items, actual_items = _by_name(wanted), _by_name(actual)
    if wanted_items is None or actual_items is None:
        if len(wanted) != len(actual):
            yield path, wanted, actual
            return
        for number, (wanted_item, actual_item) in enumerate(zip(wanted, actual, strict=True)):
            yield from differences(wanted_item, actual_item, f"{path}[{number}]")
        return
    for name, wanted_item in wanted_items.items():
        yield from differences(wanted_item, actual_items.get(name), f"{path}[{name}]")


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """Return the items by name, None where some have no name or the same one."""
    by_name = {item["name"]: item for item in items if isinstance(item, Mapping) and "name" in item}
    return by_name if len(by_name) == len(items) else None


def _same(wanted: Any, actual: Any, path: str) -> bool:
    if wanted == actual or (not wanted and wanted is not False and actual is None):
        return True
    if not any(f".{field}." in f"{path}." for field in _QUANTITIES):
        return False
    return _same_quantity(wanted, actual)


def is_applied(wanted: Any, actual: Any) -> bool:
    """Return whether a part of a template is on the cluster as it is wanted.

    What is wanted must be there, and of what is there and not wanted only fields count to which no API server
    has a default.
    """
    if isinstance(wanted, Mapping) and isinstance(actual, Mapping):
        return all(is_applied(value, actual.get(key)) for key, value in wanted.items()) and not any(
            actual[key] for key in _WRITTEN & actual.keys() - wanted.keys()
        )
    if isinstance(wanted, list | tuple) and isinstance(actual, list | tuple):
        return len(wanted) == len(actual) and all(map(is_applied, wanted, actual))
    return bool(wanted == actual or (not wanted and not actual) or _same_quantity(wanted, actual))


def _same_quantity(wanted: Any, actual: Any) -> bool:
    """Return whether two texts are one quantity: `1000m` is written as `1`."""
    try:
        return amount(wanted) == amount(actual)
    except ValueError:
        return False
