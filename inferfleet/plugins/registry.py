"""Which plugins there are, by name. A value: whoever runs a chain says which plugins it may use.

A plugin of your own is a function, a config model and one call:

    class Config(contract.Config):
        size: str

    def edit(template, request, config):
        template["spec"]["priorityClassName"] = config.size
        return template

    registry = builtin().with_(Plugin("priority", Config, edit))
"""

import re
from dataclasses import dataclass

from inferfleet.plugins.builtin import accelerator, demo_pod_tweaks
from inferfleet.plugins.contract import Plugin

# A plugin's name becomes part of the names of its companion objects.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True)
class Registry:
    """ValueError for a name twice, a name Kubernetes would not take, or a config that lets typos pass."""

    plugins: tuple[Plugin, ...] = ()

    def __post_init__(self) -> None:
        for plugin in self.plugins:
            if not _NAME.fullmatch(plugin.name):
                raise ValueError(
                    f"plugin name {plugin.name!r}: at most 63 lower-case letters, digits and '-', "
                    "with a letter or digit at both ends"
                )
            if plugin.config.model_config.get("extra") != "forbid":
                raise ValueError(
                    f"plugin {plugin.name}: its config takes unknown keys, so typos would pass; "
                    "derive it from inferfleet.plugins.contract.Config"
                )
        names = [plugin.name for plugin in self.plugins]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"plugin {name} is registered already; give one of the two another name")

    def with_(self, *plugins: Plugin) -> "Registry":
        """This registry and more plugins."""
        return Registry(self.plugins + plugins)

    def get(self, name: str) -> Plugin | None:
        return next((plugin for plugin in self.plugins if plugin.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(plugin.name for plugin in self.plugins))


def builtin() -> Registry:
    """The plugins that come with inferfleet."""
    return Registry((accelerator.PLUGIN, demo_pod_tweaks.PLUGIN))
