"""Links of a plugin chain: the plugin that a document names, its place in a chain, and its checked config."""

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
# The order in which chains run: from chains for many pods to those for few, so that the specific one wins.
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
        """Return whether role and position of the pod are in scope. The pod of a one-pod worker is Entry."""
        scope = self.spec.scope
        role = not scope.roles or request.role in scope.roles
        return role and scope.target in ("All", request.position)

    def problem(self, what: str, next_step: str, *, field: str = "") -> Problem:
        """Return a problem of this link, or of a field below it."""
        path = f"{self.path}.{field}" if field else self.path
        return Problem(what, next_step, path, kind=self.kind, key=self.key)


def links(
    specs: tuple[PluginSpec, ...], origin: Origin, *, kind: str, key: str, path: str = "spec.plugins"
) -> tuple[Link, ...]:
    """Return the links of the chain at `path` of a document."""
    return tuple(Link(spec, origin, kind, key, f"{path}[{index}]") for index, spec in enumerate(specs))


def read(link: Link, plugin: Plugin) -> BaseModel | tuple[Problem, ...]:
    """Return the validated config, which shares nothing with the document, or every problem of it."""
    try:
        raw = plain(_written(link), "config")
    except NotPlain as error:
        what, next_step = (
            f"build plugin {plugin.name}: {error}",
            "Put dates in quotes, and write keys as text",
        )
        return (link.problem(what, next_step, field="config"),)
    holder, problems = validated(_holder(plugin.config), {"config": raw})
    if holder is None:
        return tuple(
            link.problem(f"build plugin {plugin.name}: {problem.what}", problem.next_step, field=problem.path)
            for problem in problems
        )
    config: BaseModel = holder.config  # type: ignore[attr-defined]  # the one field of a holder
    return config


def fingerprint(link: Link) -> str:
    """Return 8 hex digits that change with the config, and not with the order of its keys."""
    text = json.dumps(_written(link), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _written(link: Link) -> Any:
    """Return the config as written. As in Kthena, an absent config and null are an empty one."""
    return {} if link.spec.config is None else link.spec.config


@cache
def _holder(config: type[BaseModel]) -> type[BaseModel]:
    """Return a model around the config, so that problems call it `config` and not a document."""
    return create_model("Holder", config=(config, ...))
