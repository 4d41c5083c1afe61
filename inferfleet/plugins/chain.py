"""The plugin chain: runs the links in whose scope a pod is over its template.

Chains of class, cluster, stack and deployment run in that order, each link in the order it was written. Each
plugin edits its own copy of the template. A link must not change what an earlier one changed, unless it says
`override: true`: whether it does is seen from the difference, field by field. What only the document wrote,
it may change. A plugin that holds pods to something is asked what is wrong with them after the whole chain,
because a link can break that with fields of its own.

Links are bound to their plugins and configs once, however many pods they act on. Most chains are sound, and a
fleet has thousands of templates. So a chain runs first without a check between links, and its result alone is
checked. Only where that finds anything does it run again, with every check after every link, to find out
which of them it was; what they return then is left out.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from inferfleet.documents.pods.diff import FieldChange, field_path, in_words
from inferfleet.documents.pods.plain import NotPlain, is_plain, packed, plain, unpacked
from inferfleet.documents.pods.template import containers_of, packed_mistakes
from inferfleet.documents.problems import Mistake, Problem, Severity
from inferfleet.plugins.calling import (
    HEED_OUTPUT,
    Injected,
    PluginMistakes,
    call,
    capture_output,
    file_of,
    shortened,
    text_of,
)
from inferfleet.plugins.companions import add, checked_companion, companion_mistakes, with_fingerprints
from inferfleet.plugins.contract import Companion, PluginCodeError, PluginError, PodTemplate, Request
from inferfleet.plugins.guard import guard_mistakes
from inferfleet.plugins.link import (
    ORIGINS,
    BoundLink,
    Differences,
    Link,
    LinkResult,
    Origin,
    differences,
    run_link,
)

# What yields the mistakes of an edited template; `at` of each is the one path of its field.
TemplateCheck = Callable[[PodTemplate], Iterable[Mistake]]
_MEND = "Mend the plugin"
# A patch of a person's own may hold for a template and not for what it makes of it.
_KEEP_WORD = "Mend the plugin, or what its config tells it to do"
_STEP = "Fix the plugin's config, or what it disagrees with"
_OVERRIDE = "Remove one of the two, or write override: true in the later link"
_ONCE = "Remove the container, or let the plugin inject none of its name"


@dataclass(frozen=True)
class LinkEffect:
    """What one link did: fields of the template, companions that it added, remarks, what it says is injected.

    A link that is out of scope, or that changes nothing, has an effect as well.
    """

    plugin: str
    origin: Origin
    path: str
    config: str  # fingerprint of the config
    changes: tuple[FieldChange, ...] = ()
    companions: tuple[Companion, ...] = ()
    version: str = ""
    in_scope: bool = True
    remarks: tuple[str, ...] = ()
    injected: Injected = field(default_factory=dict)

    @property
    def status(self) -> Literal["changed", "none", "out of scope"]:
        """Return whether the link did anything to this pod, and if not, why."""
        if not self.in_scope:
            return "out of scope"
        return "changed" if self.changes or self.companions or self.injected else "none"

    def changed(self, place: str) -> bool:
        """Return whether the link changed a place, something around it, or something in it."""
        paths = [change.path for change in self.changes]
        paths += [f"spec.initContainers[{name}]" for name in self.injected]
        return any(_holds(path, place) or _holds(place, path) for path in paths)


def _holds(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


@dataclass(frozen=True)
class LinkProblem:
    """A problem of a link on one pod, before `chain_problems` tells it once for all pods that have it.

    `what` is a sentence without a full stop. Those of a link with one `cause` are about the same thing,
    whatever their sentences say.
    """

    link: Link
    what: str
    next_step: str
    request: Request
    cause: str = ""
    severity: Severity = "error"


@dataclass(frozen=True)
class Outcome:
    """The template after the chain. A link with problems has no effect, unless the whole chain showed them.

    `output` has warnings of what plugins print, log and warn of.
    """

    template: PodTemplate
    companions: tuple[Companion, ...] = ()
    effects: tuple[LinkEffect, ...] = ()
    link_problems: tuple[LinkProblem, ...] = ()
    output: tuple[LinkProblem, ...] = ()
    problems: tuple[Problem, ...] = ()  # of the generated template, and warnings of what links override

    @property
    def provenance(self) -> str:
        """Return which plugins did anything to this pod, in their order: `name@version/fingerprint,...`.

        Links without effect are left out: to add one changes nothing, not even the workload's metadata.
        """
        acted = [effect for effect in self.effects if effect.status == "changed"]
        return ",".join(f"{effect.plugin}@{effect.version}/{effect.config}" for effect in acted)

    def changed_by(self, place: str) -> LinkEffect | None:
        """Return the last effect that changed a place, something around it, or something in it."""
        return next((effect for effect in reversed(self.effects) if effect.changed(place)), None)


def run(template: PodTemplate, request: Request, links: Iterable[BoundLink], check: TemplateCheck) -> Outcome:
    """Run all links in whose scope the pod is, in the order of chains.

    `check` is the one that the template of a document passes too: what it finds in an edited template
    and not in the generated one is a problem of the link.
    """
    try:
        generated: PodTemplate = unpacked(packed(template)) if is_plain(template) else plain(template)
    except NotPlain as error:
        what = f"deployment {request.namespace}/{request.deployment.name}: in the pod template, {error}"
        return Outcome(template, problems=(Problem(what, "Put dates in quotes, and write keys as text"),))
    if not (ordered := in_order(links)):
        return Outcome(generated)
    chain_input = _ChainInput(generated, request, check)
    outcome = _run(chain_input, ordered, checked=False)
    if outcome.link_problems or not _is_sound(outcome, chain_input):
        outcome = _run(chain_input, ordered, checked=True)
    return replace(outcome, template=with_fingerprints(outcome.template, outcome.companions))


@dataclass(frozen=True)
class _ChainInput:
    """What a chain starts from: the generated template, what plugins are told of its pod, and the check of
    what they make of it.
    """

    generated: PodTemplate
    request: Request
    check: TemplateCheck

    def edit_mistakes(self, edited: PodTemplate) -> list[Mistake]:
        """Return what plugins removed or changed that they must keep, and what the document's check finds in
        the edited template and did not find in the generated one.
        """
        device, port = self.request.accelerator, self.request.deployment.port
        resource = device.resource if device else None
        mistakes = list(guard_mistakes(self.generated, edited, port=port, resource=resource))
        guarded = {mistake.field_path for mistake in mistakes if mistake.field_path}
        unguarded = [mistake for mistake in self.check(edited) if mistake.field_path not in guarded]
        if unguarded:
            of_generated = {(mistake.field_path, mistake.what) for mistake in self.check(self.generated)}
            mistakes += (
                Mistake(f"{mistake.field_path[0]}: {mistake.what}", mistake.next_step)
                for mistake in unguarded
                if (mistake.field_path, mistake.what) not in of_generated
            )
        return mistakes


def _is_sound(outcome: Outcome, chain_input: _ChainInput) -> bool:
    """Return whether a run without checks between links left nothing that a checked run would find."""
    if any(effect.changes for effect in outcome.effects) and (
        packed_mistakes(packed(outcome.template)) or chain_input.edit_mistakes(outcome.template)
    ):
        return False
    return not _injected_twice_mistakes(outcome.effects, {}, outcome.template)


def in_order(links: Iterable[BoundLink]) -> list[BoundLink]:
    """Return the links in the order in which they run."""
    return sorted(links, key=lambda bound: ORIGINS.index(bound.link.origin))


@dataclass
class _WrittenFields:
    """The fields that links of a chain changed so far, with the last link and its value."""

    by_identity: dict[str, tuple[Link, object]] = field(default_factory=dict)

    def conflicts(self, differing: Differences) -> Iterator[str]:
        """Yield what changes of fields do to those that earlier links changed to another value."""
        for fields in differing.leaves:
            for identity, before, after in fields:
                link, value = self.by_identity.get(identity, (None, after))
                if link is not None and value != after:
                    yield _conflict(link, identity, before, after)
                    break  # an entry that is removed has many fields

    def add(self, link: Link, differing: Differences) -> None:
        """Remember what the link changed."""
        for identity, _, after in chain.from_iterable(differing.leaves):
            self.by_identity[identity] = (link, after)
        for old, new in differing.renamed:
            self._rename(old, new)

    def _rename(self, old: str, new: str) -> None:
        """Let what links wrote into an entry of a list be found under the identity that it has now."""
        for identity in [identity for identity in self.by_identity if identity.startswith(old)]:
            if (rest := identity.removeprefix(old))[:1] in ("", ".", "["):
                self.by_identity[new + rest] = self.by_identity.pop(identity)


def _conflict(link: Link, identity: str, before: object, after: object) -> str:
    does = "removes it" if after is None else f"changes it to {in_words(identity, after)}"
    place = f" ({link.where})" if link.where else ""
    return (
        f"{identity} was set to {in_words(identity, before)} by plugin {link.spec.name} of the "
        f"{link.origin} chain, {link.path}{place}, and this link {does}"
    )


@dataclass
class _Progress:
    """How far a chain came, with the template packed, so that no plugin holds a part of it."""

    data: bytes
    companions: tuple[Companion, ...] = ()
    effects: list[LinkEffect] = field(default_factory=list)
    link_problems: list[LinkProblem] = field(default_factory=list)
    output: list[LinkProblem] = field(default_factory=list)
    written: _WrittenFields = field(default_factory=_WrittenFields)


def _run(chain_input: _ChainInput, links: list[BoundLink], *, checked: bool) -> Outcome:
    """Run the chain. An unchecked run ends as soon as there is anything to look at."""
    progress = _Progress(packed(chain_input.generated))
    for bound in links:
        if not bound.link.acts_on(chain_input.request):
            progress.effects.append(_link_effect(bound, None))
        elif checked or not progress.link_problems:
            output: list[str] = []
            with capture_output(output):
                _run_link(progress, bound, chain_input, checked=checked)
            progress.output += _output_problems(bound.link, output, chain_input.request)
    warnings = tuple(_broken_hold_problems(progress, links, chain_input.request))
    return Outcome(
        unpacked(progress.data),
        progress.companions,
        tuple(progress.effects),
        tuple(progress.link_problems),
        tuple(progress.output),
        warnings,
    )


def _run_link(progress: _Progress, bound: BoundLink, chain_input: _ChainInput, *, checked: bool) -> None:
    """Run one link, and take over what it did unless something is wrong with it."""
    cause = ""
    try:
        change = _change(progress, bound, chain_input.request, checked=checked)
        mistakes = _mistakes(progress, bound, chain_input, change, checked=checked)
    except PluginMistakes as error:
        mistakes = error.mistakes
    except PluginCodeError as error:
        mistakes, cause = (Mistake(str(error), _KEEP_WORD if error.cause else _MEND),), error.cause
    except PluginError as error:
        mistakes = (_with_step(str(error)),)
    except ValueError as error:
        # The template cannot be packed, which a checked run says in words.
        mistakes = (Mistake(str(error), _STEP),)
    if mistakes:
        progress.link_problems += (
            LinkProblem(
                bound.link, shortened(mistake.what.rstrip(".")), mistake.next_step, chain_input.request, cause
            )
            for mistake in mistakes
        )
        return
    bound.trials[change.result.trial] = change.differences
    progress.written.add(bound.link, change.differences)
    progress.effects.append(_link_effect(bound, change))
    progress.data, progress.companions = change.data, change.companions


@dataclass(frozen=True)
class _Change:
    """What a run of a link would change: the template after it, packed, and the companions so far."""

    result: LinkResult
    differences: Differences
    data: bytes
    added: tuple[Companion, ...]
    companions: tuple[Companion, ...]


def _change(progress: _Progress, bound: BoundLink, request: Request, *, checked: bool) -> _Change:
    """Run a link and compare what it gave with what it got. Raises PluginError."""
    result = run_link(bound, progress.data, request, checked=checked)
    added = tuple(
        checked_companion(given, plugin=bound.plugin.name, request=request) for given in result.companions
    )
    companions = progress.companions
    for companion in added:
        companions = add(companions, companion)
    differing = bound.trials.get(result.trial)
    if differing is None:
        try:
            differing = differences(unpacked(progress.data), unpacked(result.data))
        except TypeError:  # only an unchecked template can have such keys
            raise PluginCodeError("a key is no text") from None
        if not checked and any(
            change.after is None or not is_plain(change.after, nulls=False) for change in differing.changes
        ):
            raise PluginCodeError("something was removed, or is no JSON value")
    # Where only the order of keys differs, the template stays as it was.
    data = result.data if differing.changes else progress.data
    return _Change(result, differing, data, added, companions)


def _mistakes(
    progress: _Progress, bound: BoundLink, chain_input: _ChainInput, change: _Change, *, checked: bool
) -> Sequence[Mistake]:
    """Return what is wrong with a change, by the first rule that finds anything. Raises PluginError."""
    # Compared with the generated template: a plugin may change what another plugin added.
    if checked:
        template = unpacked(change.data)
        mistakes = chain_input.edit_mistakes(template)
        mistakes += _injected_twice_mistakes(progress.effects, change.result.injected, template)
        if mistakes:
            return mistakes
    if bound.plugin.holds and (hold_mistakes := _hold_mistakes(bound, unpacked(change.data))):
        return (
            Mistake(f"its holds finds fault with what its own edit made: {hold_mistakes[0].what}", _MEND),
        )
    # To unpack templates is what most of the time of a chain goes to.
    if change.companions and (mistakes := companion_mistakes(unpacked(change.data), change.companions)):
        return mistakes
    if bound.link.spec.override:
        return ()
    conflicts = (
        *progress.written.conflicts(change.differences),
        *_injected_otherwise(progress.effects, change.result.injected),
    )
    return [Mistake(what, _OVERRIDE) for what in conflicts]


def _with_step(text: str) -> Mistake:
    """Return what a plugin says is wrong, and the next step, which it says behind the last semicolon."""
    what, _, step = text.rstrip(".").rpartition("; ")
    return Mistake(what, step[0].upper() + step[1:]) if what and step else Mistake(text, _STEP)


def _link_effect(bound: BoundLink, change: _Change | None) -> LinkEffect:
    """Return the effect of a link on a pod. Without a change the pod is out of its scope."""
    return LinkEffect(
        bound.plugin.name,
        bound.link.origin,
        bound.link.path,
        bound.fingerprint,
        change.differences.changes if change else (),
        change.added if change else (),
        bound.plugin.version,
        change is not None,
        change.result.remarks if change else (),
        change.result.injected if change else {},
    )


def _injected_otherwise(effects: Iterable[LinkEffect], injected: Injected) -> list[str]:
    """Return what a link says of sidecars of which an earlier link says something else."""
    earlier = {name: effect for effect in effects for name in effect.injected}
    return [
        f"plugin {earlier[name].plugin} of the {earlier[name].origin} chain, {earlier[name].path}, says that "
        f"the injected container {name} requests {in_amounts(earlier[name].injected[name])}, and this link "
        f"says {in_amounts(requests)}"
        for name, requests in injected.items()
        if name in earlier and earlier[name].injected[name] != requests
    ]


def _injected_twice_mistakes(
    effects: Iterable[LinkEffect], injected: Injected, template: PodTemplate
) -> list[Mistake]:
    """Return what a link, or a link before it, says of a sidecar whose container is in the template itself.

    Kubernetes would refuse a second container of its name, or the webhook merges the two by rules of its own.
    """
    whose = {
        name: f"plugin {effect.plugin} of the {effect.origin} chain, {effect.path},"
        for effect in effects
        for name in effect.injected
    } | dict.fromkeys(injected, "this link")
    if not whose:
        return []
    names = [container["name"] for _, container in containers_of(template["spec"])]
    return [
        Mistake(
            f"container {name} is in the template already, and {whose[name]} says that a webhook injects it",
            _ONCE,
        )
        for name in names
        if name in whose
    ]


def in_amounts(requests: Mapping[str, str]) -> str:
    """Return requests in words, such as `cpu 100m, memory 128Mi`."""
    return ", ".join(f"{resource} {amount}" for resource, amount in requests.items()) or "nothing"


def _broken_hold_problems(progress: _Progress, links: list[BoundLink], request: Request) -> Iterator[Problem]:
    """Find the links that broke what earlier ones hold pods to; yield a warning of those that override."""
    bound_of = {(bound.link.origin, bound.link.path): bound for bound in links}
    for number, effect in enumerate(progress.effects):
        holder, later = bound_of[effect.origin, effect.path], progress.effects[number + 1 :]
        # After its own link nothing was wrong, so without a change there is none to look for.
        if (
            holder.plugin.holds is None
            or not effect.in_scope
            or not any(later_effect.changes for later_effect in later)
        ):
            continue
        template = unpacked(progress.data)
        try:
            with capture_output([]):  # it prints what it printed after its own link
                mistakes = _hold_mistakes(holder, unpacked(progress.data))
        except PluginCodeError as error:
            progress.link_problems.append(LinkProblem(holder.link, shortened(str(error)), _MEND, request))
            continue
        for mistake in mistakes:
            at = field_path(template, mistake.field_path)
            changed = [later_effect for later_effect in later if later_effect.changes]
            breaker = next(
                (later_effect for later_effect in reversed(changed) if later_effect.changed(at)), changed[-1]
            )
            link = bound_of[breaker.origin, breaker.path].link
            what, next_step = _broken(holder.link, mistake)
            if link.spec.override:
                yield replace(link.problem(f"plugin {breaker.plugin} {what}", next_step), severity="warning")
            else:
                progress.link_problems.append(LinkProblem(link, shortened(what), next_step, request))


def _hold_mistakes(bound: BoundLink, template: PodTemplate) -> tuple[Mistake, ...]:
    """Return what the plugin of a link finds wrong with a template. Raises PluginCodeError."""
    function = bound.plugin.holds
    if function is None:
        return ()
    try:
        mistakes = call(lambda: function(template, bound.config), file=file_of(function))
    except PluginError as error:
        raise PluginCodeError(str(error)) from error
    if not isinstance(mistakes, list | tuple) or not all(
        isinstance(mistake, Mistake) for mistake in mistakes
    ):
        raise PluginCodeError(f"its holds returns {type(mistakes).__name__}, but must return Mistakes")
    return tuple(mistakes)


def _broken(holder: Link, mistake: Mistake) -> tuple[str, str]:
    """Return what to say of the link that broke what an earlier one holds pods to, and the next step."""
    what = (
        f"breaks what plugin {holder.spec.name} of the {holder.origin} chain, {holder.path}, holds pods to: "
        f"{mistake.what}"
    )
    return what, f"{mistake.next_step}, or name {holder.spec.name} behind this link too"


def _output_problems(link: Link, output: Iterable[str], request: Request) -> Iterator[LinkProblem]:
    """Yield the warning of what the plugin of a link printed while it edited the pods."""
    if text := text_of(output):
        yield LinkProblem(link, text, HEED_OUTPUT, request, severity="warning")


def chain_problems(link_problems: Iterable[LinkProblem]) -> Iterator[Problem]:
    """Yield a problem for each link and thing that is wrong with it, which names the first of its pods.

    Problems on several pods count as one if they have one cause, or differ in names of the pod alone.
    """
    groups: dict[tuple[str, str, str, str, Severity], list[LinkProblem]] = {}
    for problem in link_problems:
        link = problem.link
        about = problem.cause or _without_names(problem)
        groups.setdefault((link.kind, link.key, link.path, about, problem.severity), []).append(problem)
    for group in groups.values():
        first = group[0]
        pods = len(dict.fromkeys(_pod(problem.request) for problem in group))
        and_others = f", and {pods - 1} more" if pods > 1 else ""
        verb = "" if first.severity == "error" else " says"
        what = f"plugin {first.link.spec.name}{verb}: {first.what} ({_pod(first.request)}{and_others})"
        yield replace(first.link.problem(what, first.next_step), severity=first.severity)


def _pod(request: Request) -> str:
    return (
        f"deployment {request.namespace}/{request.deployment.name}, role {request.role} "
        f"on {request.cluster.name}/{request.pool.name}"
    )


def _without_names(problem: LinkProblem) -> str:
    request = problem.request
    names_of_pod = (
        request.workload,
        request.deployment.name,
        request.namespace,
        request.cluster.name,
        request.pool.name,
    )
    names = "|".join(re.escape(name) for name in sorted(names_of_pod, key=len, reverse=True))
    return re.sub(rf"(?<![A-Za-z0-9])({names})(?![A-Za-z0-9])", "…", problem.what)
