"""PluginSpec: one link of a plugin chain, in Kthena's wire format (name, type, config, scope)."""

from typing import Any, Literal

from pydantic import Field

from inferfleet.api.kinds.base import Model, RoleName


class PluginScope(Model):
    """Which pods a plugin edits: roles by name (none named means all), and the place in the worker."""

    roles: tuple[RoleName, ...] = ()
    target: Literal["All", "Entry", "Worker"] = "All"


class PluginSpec(Model):
    """`name` is the registered plugin; `config` is checked by the plugin's own model."""

    name: str = Field(min_length=1, max_length=63)
    type: Literal["BuiltIn"] = "BuiltIn"
    config: Any = None
    scope: PluginScope = PluginScope()
