"""Ways into a pod template for plugins: parts are made where they are missing.

A template has passed the check of shapes before each plugin, so types are taken as given.
"""

from collections.abc import Iterable
from typing import Any

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.plugins.contract import PodTemplate


def mapping(template: PodTemplate, *path: str) -> dict[str, Any]:
    """The map at `path`, made together with its parents where absent."""
    here = template
    for key in path:
        here = here.setdefault(key, {})
    return here


def sequence(template: PodTemplate, *path: str) -> list[Any]:
    """The list at `path`, made together with its parents where absent."""
    entries: list[Any] = mapping(template, *path[:-1]).setdefault(path[-1], [])
    return entries


def containers(template: PodTemplate) -> list[dict[str, Any]]:
    """All containers, then all init containers, sidecars among them."""
    return [*template["spec"]["containers"], *template["spec"].get("initContainers", [])]


def engine(template: PodTemplate) -> dict[str, Any]:
    """The container that serves the model."""
    return next(one for one in template["spec"]["containers"] if one["name"] == ENGINE)


def upsert_env(container: dict[str, Any], variables: Iterable[dict[str, Any]]) -> None:
    """Each variable stands once, with the value given: in place where its name stood, else at the end."""
    if not (wanted := {one["name"]: one for one in variables}):
        return
    env: list[dict[str, Any]] = []
    for old in container.get("env", []):
        if old["name"] not in wanted:
            env.append(old)
        elif wanted[old["name"]] not in env:
            env.append(wanted[old["name"]])
    container["env"] = env + [one for one in wanted.values() if one not in env]
