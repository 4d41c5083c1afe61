"""The plugin chain: runs the links in whose scope a pod is over its template.

Chains of class, cluster, stack and deployment run in that order, each link in the order it was written. Each
plugin edits its own copy of the template. A link must not change what an earlier one changed, unless it says
`override: true`: whether it does is seen from the difference, field by field.

Most chains are sound, and a fleet has thousands of templates. So a chain runs first without a check between
links, and its result alone is checked. Only where that finds anything does it run again, with every check
after every link, to find out which of them it was; what they return then is left out.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Literal

from inferfleet.api.pods.template import template_mistakes
from inferfleet.api.problems import Problem
from inferfleet.plugins.attempt import Malformed, NotPlain, is_plain, packed, plain, unpacked
from inferfleet.plugins.companions import Companion, add, companion
from inferfleet.plugins.contract import PluginError, PodTemplate, Request
from inferfleet.plugins.diff import FieldChange, changes, in_words, leaves
from inferfleet.plugins.findings import Finding
from inferfleet.plugins.guard import PROVENANCE, guard
from inferfleet.plugins.honesty import tried
from inferfleet.plugins.link import ORIGINS, BoundLink, Differences, Link, Origin

_STEP = "Fix the plugin's config, or what it disagrees with"
_OVERRIDE = "Remove one of the two, or write override: true in the later link"


@dataclass(frozen=True)
class Step:
    """What one link did: fields of the template, companions that it added such as `ConfigMap web-x`, remarks.

    A link that is out of scope, or that changes nothing, has a step as well.
    """

    plugin: str
    origin: Origin
    path: str
    config: str  # fingerprint of the config
    changes: tuple[FieldChange, ...] = ()
    companions: tuple[str, ...] = ()
    version: str = ""
    in_scope: bool = True
    remarks: tuple[str, ...] = ()

    @property
    def effect(self) -> Literal["changed", "none", "out of scope"]:
        """Return whether the link did anything to this pod, and if not, why."""
        if not self.in_scope:
            return "out of scope"
        return "changed" if self.changes or self.companions else "none"


@dataclass(frozen=True)
class Outcome:
    """The template after the chain. Links with findings have not changed it, and have no step."""

    template: PodTemplate
    companions: tuple[Companion, ...] = ()
    steps: tuple[Step, ...] = ()
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()  # of the generated template, before any plugin


def run(template: PodTemplate, request: Request, links: Iterable[BoundLink]) -> Outcome:
    """Run all links in whose scope the pod is, in the order of chains."""
    try:
        generated: PodTemplate = unpacked(packed(template)) if is_plain(template) else plain(template)
    except NotPlain as error:
        what = f"deployment {request.namespace}/{request.deployment.name}: in the pod template, {error}"
        return Outcome(template, problems=(Problem(what, "Put dates in quotes, and write keys as text"),))
    if not (ordered := in_order(links)):
        return Outcome(generated)
    outcome = _run(generated, request, ordered, checked=False)
    if outcome.findings or not _is_sound(outcome, generated, request):
        outcome = _run(generated, request, ordered, checked=True)
    return outcome


def _is_sound(outcome: Outcome, generated: PodTemplate, request: Request) -> bool:
    if not any(step.changes for step in outcome.steps):
        return True
    return _is_taken(packed(outcome.template)) and not guard(generated, outcome.template, request)


# Pods of a deployment on several clusters come one after another, with equal templates.
@lru_cache(maxsize=256)
def _is_taken(template: bytes) -> bool:
    return not any(template_mistakes(unpacked(template)))


def in_order(links: Iterable[BoundLink]) -> list[BoundLink]:
    """Return the links in the order in which they run."""
    return sorted(links, key=lambda bound: ORIGINS.index(bound.link.origin))


@dataclass
class _Progress:
    """How far a chain came, with the template packed, so that no plugin holds a part of it.

    `written` has the fields that links changed, with the last link and its value.
    """

    data: bytes
    companions: tuple[Companion, ...] = ()
    steps: list[Step] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    written: dict[str, tuple[Link, object]] = field(default_factory=dict)


def _run(generated: PodTemplate, request: Request, links: list[BoundLink], *, checked: bool) -> Outcome:
    """Run the chain. An unchecked run ends as soon as there is anything to look at."""
    progress = _Progress(packed(generated))
    for bound in links:
        if not bound.link.acts_on(request):
            progress.steps.append(_step(bound, in_scope=False))
        elif checked or not progress.findings:
            _link(progress, bound, request, generated=generated, checked=checked)
    steps, findings = tuple(progress.steps), tuple(progress.findings)
    return Outcome(_with_provenance(progress), progress.companions, steps, findings)


def _link(
    progress: _Progress, bound: BoundLink, request: Request, *, generated: PodTemplate, checked: bool
) -> None:
    """Run one link, and take over what it did unless there is something against it."""

    def finding(what: str, next_step: str = _STEP) -> None:
        progress.findings.append(Finding(bound.link, what.rstrip("."), next_step, request))

    try:
        edited = tried(bound, progress.data, request, checked=checked)
        added = tuple(
            companion(manifest, plugin=bound.plugin.name, request=request) for manifest in edited.companions
        )
        companions = progress.companions
        for manifest in added:
            companions = add(companions, manifest)
    except Malformed as error:
        for mistake in error.mistakes:
            finding(mistake.what, mistake.next_step)
        return
    except (PluginError, ValueError) as error:
        # A ValueError says that the template cannot be packed, which a checked run says in words.
        finding(str(error))
        return
    differing = bound.trials.get(edited.trial)
    if differing is None:
        differing = _differences(unpacked(progress.data), unpacked(edited.data))
        if not checked and any(
            change.after is None or not is_plain(change.after, nulls=False) for change in differing.changes
        ):
            finding("something was removed, or is no JSON value")
            return
    # Where only the order of keys differs, the template stays as it was.
    data = edited.data if differing.changes else progress.data
    # Compared with the generated template: a plugin may change what another plugin added.
    if checked and (mistakes := guard(generated, unpacked(data), request)):
        for mistake in mistakes:
            finding(mistake.what, mistake.next_step)
        return
    if not bound.link.spec.override and (conflicts := _conflicts(progress, differing)):
        for what in conflicts:
            finding(what, _OVERRIDE)
        return
    bound.trials[edited.trial] = differing
    for identity, _, after in chain.from_iterable(differing.leaves):
        progress.written[identity] = (bound.link, after)
    objects = tuple(f"{manifest['kind']} {manifest['metadata']['name']}" for manifest in added)
    progress.steps.append(_step(bound, differing.changes, objects, edited.remarks))
    progress.data, progress.companions = data, companions


def _differences(before: PodTemplate, after: PodTemplate) -> Differences:
    differing = changes(before, after)
    return Differences(differing, tuple(leaves(change) for change in differing))


def _conflicts(progress: _Progress, differing: Differences) -> list[str]:
    """What changes of fields do to those that earlier links changed to another value."""
    conflicts = []
    for fields in differing.leaves:
        for identity, before, after in fields:
            link, value = progress.written.get(identity, (None, after))
            if link is not None and value != after:
                conflicts.append(_conflict(link, identity, before, after))
                break  # an entry that is removed has many fields
    return conflicts


def _conflict(link: Link, identity: str, before: object, after: object) -> str:
    does = "removes it" if after is None else f"changes it to {in_words(identity, after)}"
    place = f" ({link.where})" if link.where else ""
    return (
        f"{identity} was set to {in_words(identity, before)} by plugin {link.spec.name} of the "
        f"{link.origin} chain, {link.path}{place}, and this link {does}"
    )


def _step(
    bound: BoundLink,
    differing: tuple[FieldChange, ...] = (),
    companions: tuple[str, ...] = (),
    remarks: tuple[str, ...] = (),
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
        remarks,
    )


def _with_provenance(progress: _Progress) -> PodTemplate:
    """Return the template with an annotation that names the plugins that changed it."""
    template: PodTemplate = unpacked(progress.data)
    acted = [f"{step.plugin}@{step.config}" for step in progress.steps if step.changes]
    if not acted:
        return template
    metadata = template.get("metadata", {})
    annotations = {**metadata.get("annotations", {}), PROVENANCE: ",".join(acted)}
    return {**template, "metadata": {**metadata, "annotations": annotations}}
