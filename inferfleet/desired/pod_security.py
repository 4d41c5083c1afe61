"""Pods that ask for more than a container should, or hold secrets in plain text: whose doing that is.

The pod template after the plugin chain counts. What the document already says is the document's, wherever
its replicas run; the rest is of the plugin that changed that place last.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.settings import Settings
from inferfleet.api.problems import Problem
from inferfleet.manifests.pod.risks import Risk, risks
from inferfleet.plugins.chain import Outcome, Step
from inferfleet.plugins.link import Link, Origin

_TEMPLATE = "spec.workers.template"


def risk_problems(
    deployment: ModelDeployment, outcome: Outcome, links: Iterable[Link], settings: Settings
) -> Iterator[Problem]:
    """Yield a warning or, as the stack's settings say, an error for everything; nothing with `ignore`.

    `links` are the chain that led to the outcome.
    """
    if settings.pod_security == "ignore":
        return
    made = {(link.origin, link.path): link for link in links}
    written = {(risk.place, risk.what): risk for risk in risks(_written(deployment))}
    for risk in risks(outcome.template):
        own = written.get((risk.place, risk.what))
        step = None if own else _by_step(risk, outcome.steps)
        if step is None:
            problem = _of_document(own or risk, deployment)
        else:
            problem = _of_plugin(risk, step, made, f"pods of {deployment.metadata.key}")
        yield _by_policy(problem, settings)
    for name, template in _companions(outcome.companions):
        step = next(step for step in outcome.steps if name in step.companions)
        for risk in risks(template):
            yield _by_policy(_of_plugin(risk, step, made, f"its {name}"), settings)


def _written(deployment: ModelDeployment) -> dict[str, Any]:
    template = deployment.spec.workers.template
    return {"metadata": {"annotations": template.metadata.annotations}, "spec": template.spec}


def _of_document(risk: Risk, deployment: ModelDeployment) -> Problem:
    path, key = f"{_TEMPLATE}.{risk.path}", deployment.metadata.key
    return Problem(risk.what, risk.next_step, path, kind="ModelDeployment", key=key)


def _by_step(risk: Risk, steps: Iterable[Step]) -> Step | None:
    """Return the last step that changed the place of the risk, something around it, or something in it."""
    for step in reversed(tuple(steps)):
        if any(_holds(change.path, risk.place) or _holds(risk.place, change.path) for change in step.changes):
            return step
    return None


def _holds(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


def _of_plugin(risk: Risk, step: Step, made: Mapping[tuple[Origin, str], Link], where: str) -> Problem:
    what = f"plugin {step.plugin} gives {where} this at {risk.place}: {risk.what}"
    return made[step.origin, step.path].problem(what, "Change its config, or remove the plugin")


def _by_policy(problem: Problem, settings: Settings) -> Problem:
    if settings.pod_security == "warn":
        return replace(problem, severity="warning")
    return replace(problem, next_step=f"{problem.next_step}; setting podSecurity: warn would only warn of it")


def _companions(companions: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield kind and name of each companion that makes pods, with its pod template."""
    for companion in companions:
        path = {"Pod": (), "CronJob": ("spec", "jobTemplate", "spec", "template")}.get(
            companion["kind"], ("spec", "template")
        )
        template: Any = companion
        for key in path:
            template = template.get(key) if isinstance(template, dict) else None
        if isinstance(template, dict):
            yield f"{companion['kind']} {companion['metadata']['name']}", template
