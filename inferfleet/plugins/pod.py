"""Ways into a pod template for plugins: parts are made where they are missing, and odd ones refused."""

from collections.abc import Iterable
from typing import Any

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.plugins.contract import PluginError, PodTemplate


def mapping(template: PodTemplate, *path: str) -> dict[str, Any]:
    """The map at `path`, made together with its parents where absent."""
    here: Any = template
    for depth, key in enumerate(path, start=1):
        if here.get(key) is None:
            here[key] = {}
        here = as_mapping(here[key], ".".join(path[:depth]))
    return as_mapping(here, "content")


def sequence(template: PodTemplate, *path: str) -> list[Any]:
    """The list at `path`, made together with its parents where absent."""
    parent = mapping(template, *path[:-1])
    if parent.get(path[-1]) is None:
        parent[path[-1]] = []
    return as_list(parent[path[-1]], ".".join(path))


def containers(template: PodTemplate) -> list[dict[str, Any]]:
    """All containers, then all init containers, sidecars among them."""
    spec = mapping(template, "spec")
    return [
        as_mapping(one, f"spec.{key}[{index}]")
        for key in ("containers", "initContainers")
        for index, one in enumerate(as_list(spec.get(key) or [], f"spec.{key}"))
    ]


def engine(template: PodTemplate) -> dict[str, Any]:
    """The container that serves the model."""
    for one in containers(template):
        if one.get("name") == ENGINE:
            return one
    raise PluginError(f"the template has no container named {ENGINE}")


def upsert_env(container: dict[str, Any], variables: Iterable[dict[str, Any]]) -> None:
    """Each variable stands once, with the value given: in place where its name stood, else at the end."""
    if not (wanted := {one["name"]: one for one in variables}):
        return
    env: list[Any] = []
    for old in as_list(container.get("env") or [], f"env of container {container.get('name')}"):
        name = old.get("name") if isinstance(old, dict) else None
        if not isinstance(name, str) or name not in wanted:
            env.append(old)
        elif wanted[name] not in env:
            env.append(wanted[name])
    container["env"] = env + [one for one in wanted.values() if one not in env]


def as_mapping(value: Any, path: str) -> dict[str, Any]:
    """The value itself; the template's author is told when it is something else."""
    if not isinstance(value, dict):
        raise PluginError(f"the template's {path} is {value!r:.60}, and must be a mapping")
    return value


def as_list(value: Any, path: str) -> list[Any]:
    """The value itself; the template's author is told when it is something else."""
    if not isinstance(value, list):
        raise PluginError(f"the template's {path} is {value!r:.60}, and must be a list")
    return value
