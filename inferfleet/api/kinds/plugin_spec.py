"""PluginSpec: one plugin of a chain, in the format of Kthena (name, type, config, scope)."""

from typing import Any, Literal

from pydantic import Field

from inferfleet.api.kinds.base import Model, RoleName


class PluginScope(Model):
    """Which pods a plugin edits; a pod must meet both fields."""

    roles: tuple[RoleName, ...] = ()
    """Roles whose pods are edited, such as `decode`. Default: all roles."""
    target: Literal["All", "Entry", "Worker"] = "All"
    """Which pods of a worker are edited: `Entry` (the pod that serves requests), `Worker` (the others) or
    `All`.
    """


class PluginSpec(Model):
    """One plugin of a chain. Plugins edit generated pod templates in the order class, cluster, stack,
    deployment.
    """

    name: str = Field(min_length=1, max_length=63)
    """Name of a registered plugin, such as `demo-pod-tweaks` or `accelerator`."""
    type: Literal["BuiltIn"] = "BuiltIn"
    """Where the plugin comes from. `BuiltIn`, the only value, means the plugins registered in the program."""
    config: Any = None
    """Configuration of the plugin, checked against the plugin's own model. Default: empty."""
    scope: PluginScope = PluginScope()
    """Which pods the plugin edits. Default: all pods that the chain is for."""
