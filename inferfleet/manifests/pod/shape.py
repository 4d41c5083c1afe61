"""Whether the fields of a template that we add to have the shape Kubernetes gives them."""

from collections.abc import Callable, Iterator
from typing import Any

from inferfleet.api.problems import Problem, Where

_NAMES = {
    dict: "a mapping",
    list: "a list",
    int: "a whole number of seconds, 0 or more",
    str: "text",
}
_POD: dict[str, type] = {
    "volumes": list,
    "nodeSelector": dict,
    "tolerations": list,
    "affinity": dict,
    "affinity.podAffinity": dict,
    "affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution": list,
    "terminationGracePeriodSeconds": int,
}
_CONTAINER: dict[str, type] = {
    "ports": list,
    "volumeMounts": list,
    "lifecycle": dict,
    "resources": dict,
    "resources.limits": dict,
    "resources.requests": dict,
}


def malformed(
    spec: dict[str, Any], *, base: str, where: Callable[[str], Where | None]
) -> tuple[Problem, ...]:
    """A problem for every field of another shape. `base` is the path of the pod's `spec`."""
    wrong = list(_of(spec, base, _POD))
    for kind in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(kind) or []):
            wrong += _of(container, f"{base}.{kind}[{i}]", _CONTAINER)
    return tuple(
        Problem(f"{value!r} is not {_NAMES[kind]}", f"Write {_NAMES[kind]} here", path, where(path))
        for path, value, kind in wrong
    )


def _of(owner: dict[str, Any], base: str, shapes: dict[str, type]) -> Iterator[tuple[str, Any, type]]:
    for path, kind in shapes.items():
        value: Any = owner
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        here = f"{base}.{path}"
        if value is not None and not _is(value, kind):
            yield here, value, kind
        elif kind is list:
            for i, one in enumerate(value or []):
                if not isinstance(one, dict):
                    yield f"{here}[{i}]", one, dict
                elif path == "volumeMounts" and not isinstance(one.get("mountPath"), str):
                    yield f"{here}[{i}].mountPath", one.get("mountPath"), str


def _is(value: Any, kind: type) -> bool:
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return isinstance(value, kind)
