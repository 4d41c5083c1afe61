"""The plugins that documents may name, as a value: whoever runs a chain says which plugins it may use.

Documents can name those that come with inferfleet. A registry with more plugins can be given to
`desired(...)` in Python; the program and the command do not take one yet.
"""

import re
from dataclasses import dataclass

from inferfleet.plugins.builtin import accelerator, demo_pod_tweaks
from inferfleet.plugins.contract import Plugin

# A plugin's name becomes part of the names of its companion objects.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True)
class Registry:
    """Plugins by name.

    Raises ValueError for a name twice, a name that Kubernetes does not allow, or a config model that takes
    unknown keys.
    """

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
        """Return a registry with these plugins too."""
        return Registry(self.plugins + plugins)

    def get(self, name: str) -> Plugin | None:
        """Return the plugin of this name."""
        return next((plugin for plugin in self.plugins if plugin.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(plugin.name for plugin in self.plugins))


def builtin() -> Registry:
    """Return the plugins that come with inferfleet."""
    return Registry((accelerator.PLUGIN, demo_pod_tweaks.PLUGIN))
