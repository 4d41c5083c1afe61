"""PluginSpec: one plugin of a chain, in the format of Kthena (name, type, config, scope)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from inferfleet.documents.kinds.base import Model, RoleName


class PluginScope(Model):
    """Which pods a plugin edits; a pod must meet both fields."""

    roles: Annotated[tuple[RoleName, ...], Field(min_length=1)] = ()
    """Roles whose pods are edited, such as `decode`. Default: all roles."""
    target: Literal["All", "Entry", "Worker"] = "All"
    """Which pods of a worker are edited: `Entry` (the pod that serves requests), `Worker` (the others) or
    `All`.
    """

    def has(self, role: str, position: str) -> bool:
        """Return whether pods of the role at this position of a worker, Entry or Worker, are in scope."""
        return (not self.roles or role in self.roles) and self.target in ("All", position)


class PluginSpec(Model):
    """One plugin of a chain. Plugins edit generated pod templates in the order class, cluster, stack,
    deployment.
    """

    name: str = Field(min_length=1, max_length=63)
    """Name of a plugin: one that comes with inferfleet, such as `accelerator`, or one that the setting
    `inferfleet:allowedPlugins` names.
    """
    type: Literal["BuiltIn"] = "BuiltIn"
    """How the plugin runs. `BuiltIn`, the only value, means in the program, also for plugins of your own."""
    config: Any = None
    """Configuration of the plugin, checked against the plugin's own model. Default: empty."""
    scope: PluginScope = PluginScope()
    """Which pods the plugin edits. Default: all pods that the chain is for."""
    override: bool = False
    """Whether the plugin may change fields that an earlier link of the chains changed. Without it, that is an
    error that names both links.
    """
