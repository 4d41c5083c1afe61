"""Links of a plugin chain: what a person wrote, in which of the four chains, and where."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from inferfleet.api.plugin_spec import PluginSpec
from inferfleet.api.problems import Problem, Where
from inferfleet.plugins.contract import Request

Origin = Literal["class", "cluster", "stack", "deployment"]
# The order in which chains run: what speaks of more pods first, so that the nearer word is the last.
ORIGINS: tuple[Origin, ...] = ("class", "cluster", "stack", "deployment")


@dataclass(frozen=True)
class Link:
    """`path` is the link's field in its document (`spec.plugins[0]`), `where` its line.

    `locate` finds the line of a field below it, as `Documents.where` does for one document.
    """

    spec: PluginSpec
    origin: Origin
    where: Where | None = None
    path: str = "spec.plugins[0]"
    locate: Callable[[str], Where | None] | None = field(default=None, compare=False)

    def acts_on(self, request: Request) -> bool:
        """Both parts of the scope must hold; a worker of one pod is an Entry."""
        scope = self.spec.scope
        role = not scope.roles or request.role in scope.roles
        return role and scope.target in ("All", request.position)

    def line_below(self, path: str) -> Where | None:
        """The line of a field below this link, such as `config.env[0]`; the link's own if nobody knows."""
        return (self.locate(f"{self.path}.{path}") if self.locate else None) or self.where

    def problem(self, what: str, next_step: str, *, field: str = "") -> Problem:
        """A problem at this link, or at a field below it."""
        if not field:
            return Problem(what, next_step, self.path, self.where)
        return Problem(what, next_step, f"{self.path}.{field}", self.line_below(field))


def links(
    specs: tuple[PluginSpec, ...],
    origin: Origin,
    *,
    locate: Callable[[str], Where | None],
    path: str = "spec.plugins",
) -> tuple[Link, ...]:
    """The links of one document's chain, which stands at `path` in it."""
    return tuple(
        Link(spec, origin, locate(f"{path}[{index}]"), f"{path}[{index}]", locate)
        for index, spec in enumerate(specs)
    )
