"""Access to parts of a pod template for plugins; maps and lists that are missing are added.

A template has passed the check of shapes before each plugin, so types are taken as given.
"""

from typing import Any

from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.wording import path_of
from inferfleet.plugins.contract import DeviceFacts, PluginCodeError, PluginError, PodTemplate, Request


def mapping(template: PodTemplate, *path: str) -> dict[str, Any]:
    """Return the map at `path`, added together with its parents where absent.

    Raises PluginError where something else is there.
    """
    if not isinstance(template, dict):
        raise PluginCodeError(f"{template!r:.60} is no map, and the plugin asks for what is in it")
    here = template
    for place, key in enumerate(path, 1):
        here = here.setdefault(key, {})
        if not isinstance(here, dict):
            raise PluginCodeError(
                f"{path_of(path[:place])} is no map, and the plugin asks for one with mapping()"
            )
    return here


def sequence(template: PodTemplate, *path: str) -> list[Any]:
    """Return the list at `path`, added together with its parents where absent.

    Raises PluginError where something else is there.
    """
    entries: list[Any] = mapping(template, *path[:-1]).setdefault(path[-1], [])
    if not isinstance(entries, list):
        raise PluginCodeError(f"{path_of(path)} is no list, and the plugin asks for one with sequence()")
    return entries


def containers(template: PodTemplate) -> list[dict[str, Any]]:
    """Return all containers, then all init containers; sidecars can be among both."""
    return [*template["spec"]["containers"], *template["spec"].get("initContainers", [])]


def engine(template: PodTemplate) -> dict[str, Any]:
    """Return the container that serves the model."""
    return engine_container(template["spec"])[1]


def accelerator(request: Request) -> DeviceFacts:
    """Return the device that the pod asks for. Raises PluginError for pods that ask for none."""
    if request.accelerator is None:
        raise PluginError(
            "the pods have no accelerator (accelerator: None of the deployment); name the plugin in chains "
            "of classes with accelerators, or of deployments that ask for them"
        )
    return request.accelerator
