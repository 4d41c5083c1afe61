"""Access to parts of a pod template for plugins; maps and lists that are missing are added.

A template has passed the check of shapes before each plugin, so types are taken as given.
"""

from typing import Any

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.plugins.contract import PodTemplate


def mapping(template: PodTemplate, *path: str) -> dict[str, Any]:
    """Return the map at `path`, added together with its parents where absent."""
    here = template
    for key in path:
        here = here.setdefault(key, {})
    return here


def sequence(template: PodTemplate, *path: str) -> list[Any]:
    """Return the list at `path`, added together with its parents where absent."""
    entries: list[Any] = mapping(template, *path[:-1]).setdefault(path[-1], [])
    return entries


def containers(template: PodTemplate) -> list[dict[str, Any]]:
    """Return all containers, then all init containers; sidecars can be among both."""
    return [*template["spec"]["containers"], *template["spec"].get("initContainers", [])]


def engine(template: PodTemplate) -> dict[str, Any]:
    """Return the container that serves the model."""
    return next(container for container in template["spec"]["containers"] if container["name"] == ENGINE)
