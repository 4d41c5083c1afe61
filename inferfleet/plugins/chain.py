"""The plugin chain: checks all links before any pod exists, then runs them over one template.

Chains of class, cluster, stack and deployment run in that order, each link in the order it was written. Each
plugin edits its own copy of the template, and its result is checked before the next plugin runs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from inferfleet.api.problems import Problem
from inferfleet.api.wording import one_of
from inferfleet.plugins.attempt import Malformed, NotPlain, attempt, plain
from inferfleet.plugins.companions import Companion, add, companion
from inferfleet.plugins.contract import Plugin, PluginError, PodTemplate, Request
from inferfleet.plugins.diff import FieldChange, changes
from inferfleet.plugins.guard import PROVENANCE, guard
from inferfleet.plugins.link import ORIGINS, Link, Origin, fingerprint, read
from inferfleet.plugins.registry import Registry


@dataclass(frozen=True)
class Step:
    """What one link changed: fields of the template, and companions it added, such as `ConfigMap web-x`."""

    plugin: str
    origin: Origin
    path: str
    config: str  # fingerprint of the config
    changes: tuple[FieldChange, ...]
    companions: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """The template after the chain. Links that caused problems have not changed it."""

    template: PodTemplate
    companions: tuple[Companion, ...] = ()
    steps: tuple[Step, ...] = ()
    problems: tuple[Problem, ...] = ()


def check(links: Iterable[Link], registry: Registry, *, roles: tuple[str, ...]) -> tuple[Problem, ...]:
    """Return every problem of the links that no pod is needed for. `roles` are those of the deployment."""
    return tuple(problem for link in _in_order(links) for problem in _link_problems(link, registry, roles))


def run(template: PodTemplate, request: Request, links: Iterable[Link], registry: Registry) -> Outcome:
    """Run all links in whose scope the pod is, in the order of chains."""
    try:
        generated = plain(template)
    except NotPlain as error:
        what = f"deployment {request.namespace}/{request.deployment}: in the pod template, {error}"
        return Outcome(template, problems=(Problem(what, "Put dates in quotes, and write keys as text"),))
    outcome = Outcome(generated)
    for link in _in_order(links):
        if link.acts_on(request):
            outcome = _run_one(outcome, link, request, registry, generated=generated)
    return _with_provenance(outcome)


def _in_order(links: Iterable[Link]) -> list[Link]:
    return sorted(links, key=lambda link: ORIGINS.index(link.origin))


def _link_problems(link: Link, registry: Registry, roles: tuple[str, ...]) -> Iterator[Problem]:
    plugin = _registered(link, registry)
    if isinstance(plugin, Problem):
        yield plugin
    elif isinstance(config := read(link, plugin), tuple):
        yield from config
    # Other chains apply to many deployments, which have different roles.
    if link.origin == "deployment":
        for index, role in enumerate(link.spec.scope.roles):
            if role not in roles:
                yield link.problem(
                    f"scope of plugin {link.spec.name} names {role}, a role the deployment does not have",
                    one_of(role, roles, "Its roles"),
                    field=f"scope.roles[{index}]",
                )


def _registered(link: Link, registry: Registry) -> Plugin | Problem:
    name = link.spec.name
    if link.spec.type != "BuiltIn":
        what = f"plugin {name} has unsupported type {link.spec.type}"
        return link.problem(what, "Write type: BuiltIn, or leave type out", field="type")
    if plugin := registry.get(name):
        return plugin
    next_step = one_of(name, registry.names, "Registered are")
    return link.problem(f"plugin {name} is not registered", next_step, field="name")


def _run_one(
    outcome: Outcome, link: Link, request: Request, registry: Registry, *, generated: PodTemplate
) -> Outcome:
    plugin = _registered(link, registry)
    if isinstance(plugin, Problem):
        return replace(outcome, problems=(*outcome.problems, plugin))
    config = read(link, plugin)
    if isinstance(config, tuple):
        return replace(outcome, problems=(*outcome.problems, *config))
    try:
        edited = attempt(plugin, outcome.template, request, config)
        added = tuple(
            companion(manifest, plugin=plugin.name, request=request) for manifest in edited.companions
        )
        companions = outcome.companions
        for manifest in added:
            companions = add(companions, manifest)
    except Malformed as error:
        problems = (_problem(link, request, mistake.what, mistake.next_step) for mistake in error.mistakes)
        return replace(outcome, problems=(*outcome.problems, *problems))
    except PluginError as error:
        problem = _problem(link, request, str(error), "Fix the plugin's config, or what it disagrees with")
        return replace(outcome, problems=(*outcome.problems, problem))
    # Compared with the generated template: a plugin may change what another plugin added.
    if mistakes := guard(generated, edited.template, request):
        problems = (_problem(link, request, mistake.what, mistake.next_step) for mistake in mistakes)
        return replace(outcome, problems=(*outcome.problems, *problems))
    differing = changes(outcome.template, edited.template)
    if not differing and not added:
        return outcome
    objects = tuple(f"{manifest['kind']} {manifest['metadata']['name']}" for manifest in added)
    step = Step(plugin.name, link.origin, link.path, fingerprint(link), differing, objects)
    return replace(outcome, template=edited.template, companions=companions, steps=(*outcome.steps, step))


def _problem(link: Link, request: Request, text: str, next_step: str) -> Problem:
    pod = (
        f"deployment {request.namespace}/{request.deployment}, role {request.role} "
        f"on {request.cluster}/{request.pool}"
    )
    return link.problem(f"plugin {link.spec.name} OnPodCreate: {text.rstrip('.')} ({pod})", next_step)


def _with_provenance(outcome: Outcome) -> Outcome:
    """Name the plugins that changed the template in an annotation of the pod."""
    acted = [f"{step.plugin}@{step.config}" for step in outcome.steps if step.changes]
    if not acted:
        return outcome
    metadata = outcome.template.get("metadata", {})
    annotations = {**metadata.get("annotations", {}), PROVENANCE: ",".join(acted)}
    template = {**outcome.template, "metadata": {**metadata, "annotations": annotations}}
    return replace(outcome, template=template)
