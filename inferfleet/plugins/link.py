"""Links of a plugin chain: the plugin that a document names, its place in a chain, and its checked config."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal

from pydantic import BaseModel, create_model

from inferfleet.api.kinds.plugin_spec import PluginSpec
from inferfleet.api.loading.validation import validated
from inferfleet.api.problems import Problem, Where
from inferfleet.api.wording import one_of
from inferfleet.plugins.attempt import NotPlain, plain
from inferfleet.plugins.calling import call, file_of, shortened
from inferfleet.plugins.contract import Plugin, PluginError, Request
from inferfleet.plugins.diff import FieldChange
from inferfleet.plugins.registry import Registry

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


def bind(
    links: Iterable[Link], registry: Registry, *, roles: tuple[str, ...]
) -> tuple[tuple[BoundLink, ...], tuple[Problem, ...]]:
    """Return the links that can run, in their order, and every problem of the others and of their scopes.

    `roles` are those of all deployments that the links can act on.
    """
    bound: list[BoundLink] = []
    problems: list[Problem] = []
    for link in links:
        ready = _bound(link, registry)
        if isinstance(ready, BoundLink):
            bound.append(ready)
        else:
            problems += ready
        problems += _scope_problems(link, roles)
    return tuple(bound), tuple(problems)


def _bound(link: Link, registry: Registry) -> BoundLink | tuple[Problem, ...]:
    plugin = _registered(link, registry)
    if not isinstance(plugin, Plugin):
        return plugin
    config = _read(link, plugin)
    if isinstance(config, tuple):
        return config
    untouched = _read(link, plugin)
    if isinstance(untouched, tuple):
        return untouched
    try:
        # Serializers of a config are code of others, as the plugin itself.
        marks = [call(partial(fingerprint, read), file=file_of(plugin.edit)) for read in (config, untouched)]
    except PluginError as error:
        what = f"build plugin {plugin.name}: its config cannot be written as JSON: {error}"
        return (link.problem(what, "Mend the plugin: fields of a config are plain values", field="config"),)
    if marks[0] != marks[1] or differ(config, untouched):
        what = f"build plugin {plugin.name}: its config is another one each time it is read"
        return (link.problem(what, "Mend its validators and defaults", field="config"),)
    return BoundLink(link, plugin, config, untouched, marks[0])


def differ(config: BaseModel, other: BaseModel) -> bool:
    """Return whether two readings of a config differ. What cannot be compared counts as equal."""
    try:
        # Without pydantic's own comparison, which takes as long as a copy of a template.
        return bool(vars(config) != vars(other))
    except Exception:  # noqa: BLE001 (types of a config are code of others)
        return False


def _scope_problems(link: Link, roles: tuple[str, ...]) -> Iterator[Problem]:
    whose = "the deployment does not have" if link.origin == "deployment" else "no deployment has"
    for index, role in enumerate(link.spec.scope.roles):
        if role not in roles:
            yield link.problem(
                f"scope of plugin {link.spec.name} names {role}, a role {whose}",
                one_of(role, roles, "Its roles" if link.origin == "deployment" else "Roles"),
                field=f"scope.roles[{index}]",
            )


def _registered(link: Link, registry: Registry) -> Plugin | tuple[Problem, ...]:
    name = link.spec.name
    if link.spec.type != "BuiltIn":
        what = f"plugin {name} has unsupported type {link.spec.type}"
        return (link.problem(what, "Write type: BuiltIn, or leave type out", field="type"),)
    if plugin := registry.get(name):
        return plugin
    if name in registry.unusable:
        return ()  # the registry says why
    if origin := registry.not_allowed.get(name):
        what = f"plugin {name} ({origin}) is not allowed in this stack"
        # A module of the project is reviewed with the settings.
        version = "" if origin.endswith(".py") else ", version: ..."
        next_step = f"Review it, and add {{name: {name}{version}}} to inferfleet:allowedPlugins"
        return (link.problem(what, next_step, field="name"),)
    next_step = one_of(name, registry.names, "Registered are")
    return (link.problem(f"plugin {name} is not registered", next_step, field="name"),)


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


def _read(link: Link, plugin: Plugin) -> BaseModel | tuple[Problem, ...]:
    """Return the validated config, which shares nothing with the document, or every problem of it."""
    try:
        # As in Kthena, an absent config and null are an empty one.
        raw = plain({} if link.spec.config is None else link.spec.config, "config")
    except NotPlain as error:
        what, next_step = (
            f"build plugin {plugin.name}: {error}",
            "Put dates in quotes, and write keys as text",
        )
        return (link.problem(what, next_step, field="config"),)
    try:
        # Validators of a config are code of others, as the plugin itself.
        holder, problems = call(
            lambda: validated(_holder(plugin.config), {"config": raw}), file=file_of(plugin.edit)
        )
    except PluginError as error:
        what = f"build plugin {plugin.name}: {shortened(str(error))}"
        next_step = "Mend the plugin: validators raise ValueError, or mistaken(what, next_step)"
        return (link.problem(what, next_step, field="config"),)
    if holder is None:
        return tuple(
            link.problem(
                shortened(f"build plugin {plugin.name}: {problem.what}"),
                problem.next_step,
                field=problem.path,
            )
            for problem in problems
        )
    config: BaseModel = holder.config  # type: ignore[attr-defined]  # the one field of a holder
    return config


def fingerprint(config: BaseModel) -> str:
    """Return 8 hex digits that change with what the config says.

    They depend neither on the order of keys nor on whether a default is written, so that what means the same
    is the same.
    """
    said = config.model_dump(by_alias=True, exclude_defaults=True)
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), default=_in_json)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _in_json(value: Any) -> Any:
    """Return what JSON has no form for, such as a set, as what it has one for."""
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value)


@cache
def _holder(config: type[BaseModel]) -> type[BaseModel]:
    """Return a model around the config, so that problems call it `config` and not a document."""
    return create_model("Holder", config=(config, ...))
