"""The plugins that documents may name, as a value: whoever runs a chain says which plugins it may use.

`builtin()` has those that come with inferfleet; `plugins.loading` adds those that the settings of a stack
allow.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any, get_args, is_typeddict

from pydantic import BaseModel

from inferfleet.api.problems import Problem
from inferfleet.plugins.builtin import accelerator, demo_pod_tweaks
from inferfleet.plugins.contract import Plugin

# A plugin's name becomes part of the names of its companion objects.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_VERSION = re.compile(r"[0-9A-Za-z]([-+._0-9A-Za-z]{0,62}[0-9A-Za-z])?")
BUILT_IN = "built in"


@dataclass(frozen=True)
class Registry:
    """Plugins by name.

    `origins` says where plugins come from that are not built in, and `not_allowed` where those are that were
    found and not imported, because the settings do not name them. `refused` has plugins that the settings
    name and that cannot be used, with the reason.

    Raises ValueError for a plugin that `mistakes_of` finds something wrong with, and for a name twice.
    """

    plugins: tuple[Plugin, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    not_allowed: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, Problem] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for plugin in self.plugins:
            for mistake in mistakes_of(plugin):
                raise ValueError(mistake)
        names = [plugin.name for plugin in self.plugins]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"plugin {name} is registered already; give one of the two another name")

    def with_(self, *plugins: Plugin) -> "Registry":
        """Return a registry with these plugins too."""
        return Registry(self.plugins + plugins, self.origins, self.not_allowed, self.refused)

    def get(self, name: str) -> Plugin | None:
        """Return the plugin of this name."""
        return next((plugin for plugin in self.plugins if plugin.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(plugin.name for plugin in self.plugins))

    def origin(self, name: str) -> str:
        """Return where a registered plugin comes from: `built in`, or a file or package."""
        return self.origins.get(name, BUILT_IN)


def mistakes_of(plugin: Plugin) -> Iterator[str]:
    """Yield what keeps a plugin from being registered, each as a sentence with the next step."""
    if not isinstance(plugin.name, str) or not _NAME.fullmatch(plugin.name):
        yield (
            f"plugin name {plugin.name!r}: at most 63 lower-case letters, digits and '-', "
            "with a letter or digit at both ends"
        )
    if not isinstance(plugin.version, str) or not _VERSION.fullmatch(plugin.version):
        yield f"plugin {plugin.name}: its version is {plugin.version!r:.80}, but must be text such as 1.2.0"
    if not callable(plugin.edit):
        yield f"plugin {plugin.name}: its edit is {plugin.edit!r:.60}, but must be a function"
    if not isinstance(plugin.config, type) or not issubclass(plugin.config, BaseModel):
        yield f"plugin {plugin.name}: its config is {plugin.config!r:.60}, but must be derived from Config"
        return
    for path, model in _loose(plugin.config, "config", ()):
        yield (
            f"plugin {plugin.name}: {path} ({model.__name__}) takes unknown keys, so typos would pass; "
            "derive it from inferfleet.plugins.api.Config"
        )


def _loose(model: type[BaseModel], path: str, above: tuple[Any, ...]) -> Iterator[tuple[str, type]]:
    """Yield each model, dataclass or typed dict of the config that takes unknown keys, with its path."""
    if model.model_config.get("extra") != "forbid":
        yield path, model
    for name, described in model.model_fields.items():
        for inner in _types(described.annotation):
            at = f"{path}.{described.alias or name}"
            if not isinstance(inner, type):
                continue
            if issubclass(inner, BaseModel):
                if inner not in (*above, model):
                    yield from _loose(inner, at, (*above, model))
            elif is_typeddict(inner) or is_dataclass(inner):
                yield at, inner


def _types(annotation: Any) -> Iterator[Any]:
    """Yield the type and all types that it is made of, such as `Disk` of `tuple[Disk, ...] | None`."""
    yield annotation
    for inner in get_args(annotation):
        yield from _types(inner)


def builtin() -> Registry:
    """Return the plugins that come with inferfleet."""
    return Registry((accelerator.PLUGIN, demo_pod_tweaks.PLUGIN))
