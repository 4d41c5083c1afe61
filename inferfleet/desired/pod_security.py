"""Pods that ask for more than a container should, or hold secrets in plain text: whose doing that is.

The pod template after the plugin chain counts. What the document already says is the document's, wherever
its replicas run, in its template or in args of a written command; the rest is of the plugin that changed that
place last.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from inferfleet.api.kinds.settings import Settings
from inferfleet.api.problems import Problem
from inferfleet.fleet.roles import path_of_args
from inferfleet.manifests.pod.risks import Risk, risks
from inferfleet.manifests.pod.stand import Stand
from inferfleet.plugins.calling import Step
from inferfleet.plugins.chain import Outcome
from inferfleet.plugins.link import Link, Origin


def risk_problems(
    stand: Stand, outcome: Outcome, links: Iterable[Link], settings: Settings
) -> Iterator[Problem]:
    """Yield a warning or, as the stack's settings say, an error for everything; nothing with `ignore`.

    `links` are the chain that led to the outcome, which are the pods that stand there.
    """
    if settings.pod_security == "ignore":
        return
    made = {(link.origin, link.path): link for link in links}
    written = {(risk.place, risk.what): risk for risk in risks(_written(stand))}
    for risk in risks(outcome.template):
        own = written.get((risk.place, risk.what))
        step = None if own else outcome.changed_by(risk.place)
        if step is None:
            at = f"{stand.path}.{own.path}" if own else path_of_args(stand.deployment, stand.role)
            problem = _of_document(own or risk, at, stand)
        else:
            problem = _of_plugin(risk, step, made, f"pods of {stand.spot.deployment}")
        yield _by_policy(problem, settings)


def _written(stand: Stand) -> dict[str, Any]:
    template = stand.written
    return {"metadata": {"annotations": template.metadata.annotations}, "spec": template.spec}


def _of_document(risk: Risk, path: str, stand: Stand) -> Problem:
    return Problem(risk.what, risk.next_step, path, kind="ModelDeployment", key=stand.spot.deployment)


def _of_plugin(risk: Risk, step: Step, made: Mapping[tuple[Origin, str], Link], where: str) -> Problem:
    what = f"plugin {step.plugin} gives {where} this at {risk.place}: {risk.what}"
    return made[step.origin, step.path].problem(what, "Change its config, or remove the plugin")


def _by_policy(problem: Problem, settings: Settings) -> Problem:
    if settings.pod_security == "warn":
        return replace(problem, severity="warning")
    return replace(problem, next_step=f"{problem.next_step}; setting podSecurity: warn would only warn of it")
