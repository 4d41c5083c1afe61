"""Links of a plugin chain: the plugin that a document names, its place in a chain, and its checked config."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from inferfleet.documents.kinds.plugin_spec import PluginSpec
from inferfleet.documents.pods.diff import FieldChange
from inferfleet.documents.problems import Problem, Where
from inferfleet.plugins.contract import Plugin, Request

Origin = Literal["class", "cluster", "stack", "deployment"]
# The order in which chains run: from chains for many pods to those for few, so that the specific one wins.
ORIGINS: tuple[Origin, ...] = ("class", "cluster", "stack", "deployment")


@dataclass(frozen=True)
class Link:
    """One plugin of a chain, at `path` (`spec.plugins[0]`) of the document that `kind` and `key` name.

    `where` is its line, for messages about another link.
    """

    spec: PluginSpec
    origin: Origin
    kind: str
    key: str
    path: str = "spec.plugins[0]"
    where: Where | None = field(default=None, compare=False)

    def acts_on(self, request: Request) -> bool:
        """Return whether role and position of the pod are in scope. The pod of a one-pod worker is Entry."""
        return self.in_scope(request.role, request.position)

    def in_scope(self, role: str, position: str) -> bool:
        """Return whether pods of the role at this position of a worker are in scope."""
        return self.spec.scope.has(role, position)

    def problem(self, what: str, next_step: str, *, field: str = "") -> Problem:
        """Return a problem of this link, or of a field below it."""
        path = f"{self.path}.{field}" if field else self.path
        return Problem(what, next_step, path, kind=self.kind, key=self.key)


@dataclass(frozen=True)
class Differences:
    """What a link changed in a template, and the leaves of each change: identity, before, after.

    `renamed` are entries of lists that have another identity after the link: old, new.
    """

    changes: tuple[FieldChange, ...] = ()
    leaves: tuple[list[tuple[str, Any, Any]], ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class BoundLink:
    """A link with its plugin and its validated config, ready to run.

    `untouched` is a second reading of the config, to find a plugin that changes it. `trials` remembers of
    which templates the plugin was found to keep its word, and what it changed.
    """

    link: Link
    plugin: Plugin
    config: BaseModel
    untouched: BaseModel
    fingerprint: str
    trials: dict[bytes, Differences] = field(default_factory=dict, compare=False, repr=False)


def links(
    specs: Sequence[PluginSpec],
    origin: Origin,
    *,
    kind: str,
    key: str,
    path: str = "spec.plugins",
    where: Callable[[str, str, str], Where | None] = lambda kind, key, path: None,
) -> tuple[Link, ...]:
    """Return the links of the chain at `path` of a document; `where` says on which line each of them is."""
    places = [f"{path}[{index}]" for index, _ in enumerate(specs)]
    return tuple(
        Link(spec, origin, kind, key, place, where(kind, key, place))
        for spec, place in zip(specs, places, strict=True)
    )
