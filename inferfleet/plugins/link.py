"""Links of a plugin chain: the plugin that a document names, bound to its config, and one run of it.

A plugin keeps its word, since one that asks the clock or draws lots would restart pods at each update, and
one that adds to its own output would add again where two chains name it. So a link runs its plugin three
times: twice on a template, and on what came out. Two runs are enough where that is the template itself, and
one where the link gave the same for the same template before.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Literal

from pydantic import BaseModel, create_model

from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.documents.loading.validation import validated
from inferfleet.documents.pods.diff import FieldChange, changes, compared, in_words, leaves
from inferfleet.documents.pods.plain import NotPlain, packed, plain, unpacked
from inferfleet.documents.problems import Problem, Where
from inferfleet.documents.wording import one_of
from inferfleet.fleet import names
from inferfleet.plugins.calling import (
    HEED_OUTPUT,
    EditResult,
    Injected,
    call,
    capture_output,
    edit_result,
    file_of,
    shortened,
    text_of,
)
from inferfleet.plugins.contract import Companion, Plugin, PluginCodeError, PluginError, PodTemplate, Request
from inferfleet.plugins.registry import Registry

Origin = Literal["class", "cluster", "stack", "deployment"]
# The order in which chains run: from chains for many pods to those for few, so that the specific one wins.
ORIGINS: tuple[Origin, ...] = ("class", "cluster", "stack", "deployment")
_DETERMINISTIC, _IDEMPOTENT = "is not deterministic", "is not idempotent"


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


def differences(before: PodTemplate, after: PodTemplate) -> Differences:
    """Return what a link changed in a template."""
    comparison = compared(before, after)
    return Differences(
        comparison.changes, tuple(leaves(change) for change in comparison.changes), comparison.renamed
    )


def bind(
    links: Iterable[Link], registry: Registry, *, roles: tuple[str, ...]
) -> tuple[tuple[BoundLink, ...], tuple[Problem, ...]]:
    """Return the links that can run, in their order, and every problem of the others and of their scopes.

    `roles` are those of all deployments that the links can act on.
    """
    bound: list[BoundLink] = []
    problems: list[Problem] = []
    for link in links:
        output: list[str] = []
        with capture_output(output):
            ready = _bound(link, registry)
        if isinstance(ready, BoundLink):
            bound.append(ready)
        else:
            problems += ready
        problems += _output_problems(link, output)
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
            lambda: validated(_holder(plugin.config), {"config": raw}),
            file=file_of(plugin.edit),
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


@cache
def _holder(config: type[BaseModel]) -> type[BaseModel]:
    """Return a model around the config, so that problems call it `config` and not a document."""
    return create_model("Holder", config=(config, ...))


def fingerprint(config: BaseModel) -> str:
    """Return 8 hex digits that change with what the config says.

    They depend neither on the order of keys nor on whether a default is written, so that what means the same
    is the same.
    """
    said = config.model_dump(by_alias=True, exclude_defaults=True)
    return names.digest(said, default=_in_json)


def _in_json(value: Any) -> Any:
    """Return what JSON has no form for, such as a set, as what it has one for."""
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value)


def _output_problems(link: Link, output: Iterable[str]) -> Iterator[Problem]:
    """Yield the warning of what a plugin printed while the config of a link was read."""
    if text := text_of(output):
        problem = link.problem(f"plugin {link.spec.name} says: {text}", HEED_OUTPUT, field="config")
        yield replace(problem, severity="warning")


def differ(config: object, other: object) -> bool:
    """Return whether two readings of a config differ. What cannot be compared counts as equal."""
    try:
        # Without pydantic's own comparison, which takes as long as a copy of a template.
        return bool(vars(config) != vars(other))
    except Exception:  # noqa: BLE001 (types of a config are code of others)
        return False


@dataclass(frozen=True)
class LinkResult:
    """What a run of a link gave: the template, packed, and what it adds beside it and says about it.

    Packed, because a plugin may keep a part of what it returned, such as a container written as a constant,
    and change that for the next pod. `trial` is the same for the same template before and after.
    """

    data: bytes
    trial: bytes
    companions: tuple[Companion, ...]
    remarks: tuple[str, ...]
    injected: Injected


def run_link(bound: BoundLink, before: bytes, request: Request, *, checked: bool) -> LinkResult:
    """Run a link on a packed template, again, and on its own output.

    Unless `checked`, neither types nor shape of the template are looked at: see `chain`. Raises PluginError
    for what the plugin raises, and for results that differ, with the field.
    """
    try:
        return _tried(bound, before, request, checked=checked)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"plugin {bound.plugin.name} ({file_of(bound.plugin.edit)})")
        raise
    finally:
        if differ(bound.config, bound.untouched):
            raise PluginCodeError(
                "changes its config, which other pods get too; copy what it puts into a template"
            )


def _tried(bound: BoundLink, before: bytes, request: Request, *, checked: bool) -> LinkResult:
    """Return the result of a link after two runs and one on its own output, which must be equal.

    Raises PluginCodeError where they are not.
    """

    def once(template: PodTemplate) -> EditResult:
        return call(
            lambda: edit_result(bound.plugin, bound.config, template, request, checked=checked),
            file=file_of(bound.plugin.edit),
        )

    first = once(unpacked(before))
    data = packed(first.template)
    # Pods of one deployment on many clusters have equal templates, so their second and third run are those
    # of the first of them: a plugin that gives another result for another cluster is tried again.
    trial = hashlib.blake2b(b"%d %b%b" % (len(before), before, data), digest_size=16).digest()
    if trial in bound.trials and not checked and not first.companions:
        return LinkResult(data, trial, (), first.remarks, first.injected)
    if data != before:
        again = once(unpacked(before))
        _compare(first, again, "run twice on one template, it gives", cause=_DETERMINISTIC)
        if again.remarks != first.remarks:
            what = f"{_DETERMINISTIC}: run twice on one template, it makes different remarks"
            raise PluginCodeError(what, cause=_DETERMINISTIC)
        own_input, first = first.template, again
    else:
        # With nothing to do, a run on the output is the second run on the input as well.
        own_input = unpacked(before)
    what = "run on its own output, it"
    try:
        own = once(own_input)
    except PluginError as error:
        raise PluginCodeError(f"{_IDEMPOTENT}: {what} fails: {error}", cause=_IDEMPOTENT) from error
    _compare(first, own, f"{what} changes", cause=_IDEMPOTENT)
    return LinkResult(data, trial, first.companions, first.remarks, first.injected)


def _compare(first: EditResult, second: EditResult, what: str, *, cause: str) -> None:
    """Raise PluginCodeError where two runs of one plugin over equal pods gave different results."""
    if first.template != second.template:
        change = changes(first.template, second.template)[0]
        before, after = (in_words(change.path, value) for value in (change.before, change.after))
        raise PluginCodeError(f"{cause}: {what} {change.path}: {before} and then {after}", cause=cause)
    if first.companions != second.companions:
        raise PluginCodeError(f"{cause}: {what} other companions", cause=cause)
    if first.injected != second.injected:
        raise PluginCodeError(f"{cause}: {what} what it says is injected", cause=cause)
