"""Links of a plugin chain: what a person wrote, in which of the four chains, and the config checked."""

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, create_model

from inferfleet.api.kinds.plugin_spec import PluginSpec
from inferfleet.api.loading.validation import validated
from inferfleet.api.problems import Problem
from inferfleet.plugins.attempt import NotPlain, plain
from inferfleet.plugins.contract import Plugin, Request

Origin = Literal["class", "cluster", "stack", "deployment"]
# The order in which chains run: what speaks of more pods first, so that the nearer word is the last.
ORIGINS: tuple[Origin, ...] = ("class", "cluster", "stack", "deployment")


@dataclass(frozen=True)
class Link:
    """One plugin of a chain, at `path` (`spec.plugins[0]`) of the document that `kind` and `key` name."""

    spec: PluginSpec
    origin: Origin
    kind: str
    key: str
    path: str = "spec.plugins[0]"

    def acts_on(self, request: Request) -> bool:
        """Both parts of the scope must hold; a worker of one pod is an Entry."""
        scope = self.spec.scope
        role = not scope.roles or request.role in scope.roles
        return role and scope.target in ("All", request.position)

    def problem(self, what: str, next_step: str, *, field: str = "") -> Problem:
        """A problem at this link, or at a field below it."""
        path = f"{self.path}.{field}" if field else self.path
        return Problem(what, next_step, path, kind=self.kind, key=self.key)


def links(
    specs: tuple[PluginSpec, ...], origin: Origin, *, kind: str, key: str, path: str = "spec.plugins"
) -> tuple[Link, ...]:
    """The links of the chain that stands at `path` of one document."""
    return tuple(Link(spec, origin, kind, key, f"{path}[{index}]") for index, spec in enumerate(specs))


def read(link: Link, plugin: Plugin) -> BaseModel | tuple[Problem, ...]:
    """The validated config, sharing nothing with the document; or all that is wrong with it."""
    try:
        raw = plain(_written(link), "config")
    except NotPlain as error:
        what, next_step = (
            f"build plugin {plugin.name}: {error}",
            "Put dates in quotes, and write keys as text",
        )
        return (link.problem(what, next_step, field="config"),)
    found, problems = validated(_holder(plugin.config), {"config": raw})
    if found is None:
        return tuple(
            link.problem(f"build plugin {plugin.name}: {one.what}", one.next_step, field=one.path)
            for one in problems
        )
    config: BaseModel = found.config  # type: ignore[attr-defined]  # the one field of a holder
    return config


def fingerprint(link: Link) -> str:
    """8 hex digits that change when the config does, and not when its keys change places."""
    text = json.dumps(_written(link), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _written(link: Link) -> Any:
    """As in Kthena, no config and null both mean an empty one."""
    return {} if link.spec.config is None else link.spec.config


@cache
def _holder(config: type[BaseModel]) -> type[BaseModel]:
    """A model around the config, so that problems call it `config` and not a document."""
    return create_model("Holder", config=(config, ...))
