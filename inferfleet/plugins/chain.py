"""The plugin chain: runs the links in whose scope a pod is over its template.

Chains of class, cluster, stack and deployment run in that order, each link in the order it was written. Each
plugin edits its own copy of the template. A link must not change what an earlier one changed, unless it says
`override: true`: whether it does is seen from the difference, field by field.

Links are bound to their plugins and configs once, however many pods they act on. Most chains are sound, and a
fleet has thousands of templates. So a chain runs first without a check between links, and its result alone is
checked. Only where that finds anything does it run again, with every check after every link, to find out
which of them it was; what they return then is left out.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from pydantic import BaseModel, create_model

from inferfleet.documents.loading.validation import validated
from inferfleet.documents.pods.diff import FieldChange, place
from inferfleet.documents.problems import Mistake, Problem
from inferfleet.documents.wording import one_of
from inferfleet.fleet import names
from inferfleet.plugins.calling import (
    Finding,
    Refusing,
    Step,
    Tried,
    call,
    config_warnings,
    differ,
    edit_warnings,
    file_of,
    injected_otherwise,
    injected_twice,
    packed_mistakes,
    shortened,
    tried,
)
from inferfleet.plugins.companions import add, checked_companion, misread, with_fingerprints
from inferfleet.plugins.conflicts import WrittenFields, broken, differences, held
from inferfleet.plugins.contract import (
    Companion,
    Plugin,
    PluginCodeError,
    PluginError,
    PodTemplate,
    Request,
)
from inferfleet.plugins.guard import guard
from inferfleet.plugins.hearing import hearing
from inferfleet.plugins.link import ORIGINS, BoundLink, Link
from inferfleet.plugins.plain import NotPlain, is_plain, packed, plain, unpacked
from inferfleet.plugins.registry import Registry

# What yields the mistakes of an edited template; `at` of each is the one path of its field.
TemplateCheck = Callable[[PodTemplate], Iterable[Mistake]]
_MEND = "Mend the plugin"
# A patch of a person's own may hold for a template and not for what it makes of it.
_KEEP_WORD = "Mend the plugin, or what its config tells it to do"
_STEP = "Fix the plugin's config, or what it disagrees with"
_OVERRIDE = "Remove one of the two, or write override: true in the later link"


@dataclass(frozen=True)
class Outcome:
    """The template after the chain. A link with findings has no step, unless the whole chain showed them.

    `said` are warnings of what plugins print, log and warn of.
    """

    template: PodTemplate
    companions: tuple[Companion, ...] = ()
    steps: tuple[Step, ...] = ()
    findings: tuple[Finding, ...] = ()
    said: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()  # of the generated template, and warnings of what links override

    @property
    def provenance(self) -> str:
        """Return which plugins did anything to this pod, in their order: `name@version/fingerprint,...`.

        Links without effect are left out: to add one changes nothing, not even the workload's metadata.
        """
        acted = [step for step in self.steps if step.effect == "changed"]
        return ",".join(f"{step.plugin}@{step.version}/{step.config}" for step in acted)

    def changed_by(self, place: str) -> Step | None:
        """Return the last step that changed a place, something around it, or something in it."""
        return next((step for step in reversed(self.steps) if step.changed(place)), None)


def run(template: PodTemplate, request: Request, links: Iterable[BoundLink], check: TemplateCheck) -> Outcome:
    """Run all links in whose scope the pod is, in the order of chains.

    `check` is the one that the template of a document passes too: what it finds in an edited template
    and not in the generated one is a finding.
    """
    try:
        generated: PodTemplate = unpacked(packed(template)) if is_plain(template) else plain(template)
    except NotPlain as error:
        what = f"deployment {request.namespace}/{request.deployment.name}: in the pod template, {error}"
        return Outcome(template, problems=(Problem(what, "Put dates in quotes, and write keys as text"),))
    if not (ordered := in_order(links)):
        return Outcome(generated)
    pod = _Pod(generated, request, check)
    outcome = _run(pod, ordered, checked=False)
    if outcome.findings or not _is_sound(outcome, pod):
        outcome = _run(pod, ordered, checked=True)
    return replace(outcome, template=with_fingerprints(outcome.template, outcome.companions))


@dataclass(frozen=True)
class _Pod:
    """The generated template, what plugins are told of it, and what an edited one is checked by."""

    generated: PodTemplate
    request: Request
    check: TemplateCheck

    def mistakes(self, edited: PodTemplate) -> list[Mistake]:
        """Return what is gone of the generated template, and what contradicts its place and document."""
        mistakes = list(guard(self.generated, edited))
        told = {mistake.at for mistake in mistakes if mistake.at}
        against = [mistake for mistake in self.check(edited) if mistake.at not in told]
        if against:
            written = {(mistake.at, mistake.what) for mistake in self.check(self.generated)}
            mistakes += (
                Mistake(f"{mistake.at[0]}: {mistake.what}", mistake.next_step)
                for mistake in against
                if (mistake.at, mistake.what) not in written
            )
        return mistakes


def _is_sound(outcome: Outcome, pod: _Pod) -> bool:
    if any(step.changes for step in outcome.steps) and (
        packed_mistakes(packed(outcome.template)) or pod.mistakes(outcome.template)
    ):
        return False
    return not injected_twice(outcome.steps, {}, outcome.template)


def in_order(links: Iterable[BoundLink]) -> list[BoundLink]:
    """Return the links in the order in which they run."""
    return sorted(links, key=lambda bound: ORIGINS.index(bound.link.origin))


@dataclass
class _Progress:
    """How far a chain came, with the template packed, so that no plugin holds a part of it."""

    data: bytes
    companions: tuple[Companion, ...] = ()
    steps: list[Step] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    said: list[Finding] = field(default_factory=list)
    written: WrittenFields = field(default_factory=WrittenFields)


def _run(pod: _Pod, links: list[BoundLink], *, checked: bool) -> Outcome:
    """Run the chain. An unchecked run ends as soon as there is anything to look at."""
    progress = _Progress(packed(pod.generated))
    for bound in links:
        if not bound.link.acts_on(pod.request):
            progress.steps.append(_step(bound, in_scope=False))
        elif checked or not progress.findings:
            said: list[str] = []
            with hearing(said):
                _link(progress, bound, pod, checked=checked)
            progress.said += edit_warnings(bound.link, said, pod.request)
    warnings = tuple(_holds_still(progress, links, pod.request))
    return Outcome(
        unpacked(progress.data),
        progress.companions,
        tuple(progress.steps),
        tuple(progress.findings),
        tuple(progress.said),
        warnings,
    )


def _holds_still(progress: _Progress, links: list[BoundLink], request: Request) -> Iterator[Problem]:
    """Find the links that broke what earlier ones hold pods to; yield a warning of those that override."""
    bound_of = {(bound.link.origin, bound.link.path): bound for bound in links}
    for number, step in enumerate(progress.steps):
        holder, later = bound_of[step.origin, step.path], progress.steps[number + 1 :]
        # After its own link nothing was wrong, so without a change there is none to look for.
        if holder.plugin.holds is None or not step.in_scope or not any(other.changes for other in later):
            continue
        template = unpacked(progress.data)
        try:
            with hearing([]):  # it says what it said after its own link
                mistakes = held(holder, unpacked(progress.data))
        except PluginError as error:
            progress.findings.append(Finding(holder.link, shortened(str(error)), _MEND, request))
            continue
        for mistake in mistakes:
            at = place(template, mistake.at)
            changed = [other for other in later if other.changes]
            breaker = next((other for other in reversed(changed) if other.changed(at)), changed[-1])
            link = bound_of[breaker.origin, breaker.path].link
            what, next_step = broken(holder.link, mistake)
            if link.spec.override:
                yield replace(link.problem(f"plugin {breaker.plugin} {what}", next_step), severity="warning")
            else:
                progress.findings.append(Finding(link, shortened(what), next_step, request))


def _link(progress: _Progress, bound: BoundLink, pod: _Pod, *, checked: bool) -> None:
    """Run one link, and take over what it did unless there is something against it."""
    request = pod.request

    def finding(what: str, next_step: str = _STEP, *, cause: str = "") -> None:
        progress.findings.append(Finding(bound.link, shortened(what.rstrip(".")), next_step, request, cause))

    try:
        edited = tried(bound, progress.data, request, checked=checked)
        added = tuple(
            checked_companion(given, plugin=bound.plugin.name, request=request) for given in edited.companions
        )
        companions = progress.companions
        for new in added:
            companions = add(companions, new)
    except Refusing as error:
        for mistake in error.mistakes:
            finding(mistake.what, mistake.next_step)
        return
    except PluginCodeError as error:
        finding(str(error), _KEEP_WORD if error.cause else _MEND, cause=error.cause)
        return
    except PluginError as error:
        finding(*_with_step(str(error)))
        return
    except ValueError as error:
        # The template cannot be packed, which a checked run says in words.
        finding(str(error))
        return
    differing = bound.trials.get(edited.trial)
    if differing is None:
        try:
            differing = differences(unpacked(progress.data), unpacked(edited.data))
        except TypeError:  # only an unchecked template can have such keys
            finding("a key is no text")
            return
        if not checked and any(
            change.after is None or not is_plain(change.after, nulls=False) for change in differing.changes
        ):
            finding("something was removed, or is no JSON value")
            return
    # Where only the order of keys differs, the template stays as it was.
    data = edited.data if differing.changes else progress.data
    # Compared with the generated template: a plugin may change what another plugin added.
    if checked and (mistakes := _mistakes(progress, pod, edited, unpacked(data))):
        for mistake in mistakes:
            finding(mistake.what, mistake.next_step)
        return
    try:
        if bound.plugin.holds and (own := held(bound, unpacked(data))):
            finding(f"its holds finds fault with what its own edit made: {own[0].what}", _MEND)
            return
    except PluginError as error:
        finding(str(error), _MEND)
        return
    # To unpack templates is what most of the time of a chain goes to.
    if companions and (mistakes := misread(unpacked(data), companions)):
        for mistake in mistakes:
            finding(mistake.what, mistake.next_step)
        return
    if not bound.link.spec.override:
        conflicts = [
            *progress.written.conflicts(differing),
            *injected_otherwise(progress.steps, edited.injected),
        ]
        for what in conflicts:
            finding(what, _OVERRIDE)
        if conflicts:
            return
    bound.trials[edited.trial] = differing
    progress.written.add(bound.link, differing)
    progress.steps.append(_step(bound, differing.changes, added, edited))
    progress.data, progress.companions = data, companions


def _with_step(text: str) -> tuple[str, str]:
    """Return what a plugin says is wrong, and the next step, which it says behind the last semicolon."""
    what, _, step = text.rstrip(".").rpartition("; ")
    return (what, step[0].upper() + step[1:]) if what and step else (text, _STEP)


def _mistakes(progress: _Progress, pod: _Pod, edited: Tried, template: PodTemplate) -> list[Mistake]:
    return pod.mistakes(template) + injected_twice(progress.steps, edited.injected, template)


def _step(
    bound: BoundLink,
    differing: tuple[FieldChange, ...] = (),
    companions: tuple[Companion, ...] = (),
    edited: Tried | None = None,
    *,
    in_scope: bool = True,
) -> Step:
    link = bound.link
    return Step(
        bound.plugin.name,
        link.origin,
        link.path,
        bound.fingerprint,
        differing,
        companions,
        bound.plugin.version,
        in_scope,
        edited.remarks if edited else (),
        edited.injected if edited else {},
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
        said: list[str] = []
        with hearing(said):
            ready = _bound(link, registry)
        if isinstance(ready, BoundLink):
            bound.append(ready)
        else:
            problems += ready
        problems += config_warnings(link, said, field="config")
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


@cache
def _holder(config: type[BaseModel]) -> type[BaseModel]:
    """Return a model around the config, so that problems call it `config` and not a document."""
    return create_model("Holder", config=(config, ...))
