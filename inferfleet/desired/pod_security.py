"""Pods that ask for more than a container should, or hold secrets in plain text: whose doing that is.

The pod template after the plugin chain counts. What the document already says is the document's, wherever
its replicas run, in its template or in args of a written command; the rest is of the plugin that changed that
place last. Each secret is told by itself; all that the Pod Security Standards forbid is one line per
deployment, and one per plugin of another document that gives it to deployments. What `network-fabric` gives,
without which the hardware that somebody chose is not reached, is told where namespaces would refuse it, and
else nowhere.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from inferfleet.desired.pods import Pods
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.pods.diff import place as place_of
from inferfleet.documents.pods.security import Forbidden, forbidden, listed
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import path_of
from inferfleet.fleet.roles import path_of_args, template_path, workers_of
from inferfleet.fleet.spot import Spot
from inferfleet.serving.pod.risks import risks

_FABRIC = "network-fabric"
# What it gives, and a template that was written before may have too.
_FABRIC_GIVES = ("capabilities.add", "IPC_LOCK")
_FORBIDDEN = "what level baseline of the Pod Security Standards forbids"
_REFUSED = "a namespace that enforces the level takes their workload and refuses the pods"


def risk_problems(documents: Documents, templates: Mapping[Spot, tuple[Pods, ...]]) -> Iterator[Problem]:
    """Yield a warning or, as the stack's settings say, an error for everything; nothing with `ignore`."""
    settings = documents.settings
    if settings.pod_security == "ignore":
        return
    every = [_Written.of(documents, pods) for made in templates.values() for pods in made]
    for each in every:
        yield from (_by_policy(problem, settings) for problem in _secrets(each))
    for problem in _below_baseline(every, enforced=settings.pod_security == "enforce"):
        yield _by_policy(problem, settings)


@dataclass(frozen=True)
class _Written:
    """Pods, and what their document says of them: the template as written, and the path of it and of args."""

    pods: Pods
    template: dict[str, Any]
    path: str
    args: str

    @classmethod
    def of(cls, documents: Documents, pods: Pods) -> "_Written":
        deployment = documents.deployments[pods.spot.deployment]
        written = workers_of(deployment, pods.role).of(pods.position)
        return cls(
            pods,
            {"metadata": {"annotations": written.metadata.annotations}, "spec": written.spec}
            if written
            else {"spec": {"containers": []}},
            template_path(deployment, pods.role, pods.position),
            path_of_args(deployment, pods.role),
        )

    @property
    def has_fabric(self) -> bool:
        """Return whether the plugin of networks between GPUs is for these pods."""
        return any(step.plugin == _FABRIC and step.in_scope for step in self.pods.outcome.steps)


def _secrets(each: _Written) -> Iterator[Problem]:
    written = {(risk.place, risk.what): risk for risk in risks(each.template)}
    for risk in risks(each.pods.outcome.template):
        own = written.get((risk.place, risk.what))
        link = None if own else each.pods.link_at(risk.place)
        key = each.pods.spot.deployment
        if link is None:
            path = f"{each.path}.{own.path}" if own else each.args
            yield Problem(risk.what, risk.next_step, path, kind="ModelDeployment", key=key)
        else:
            what = f"plugin {link.spec.name} gives pods of {key} this at {risk.place}: {risk.what}"
            yield link.problem(what, "Change its config, or remove the plugin")


@dataclass
class _Line:
    """What is forbidden by the doing of one document: whose pods have it, the words before and after their
    names, and what makes the problem of the document.
    """

    before: str
    after: str
    problem: Callable[[str, str], Problem]
    deployments: dict[str, None] = field(default_factory=dict)
    found: list[Forbidden] = field(default_factory=list)


def _below_baseline(every: list[_Written], *, enforced: bool) -> Iterator[Problem]:
    lines: dict[tuple[str, str, str], _Line] = {}
    for each in every:
        key, template = each.pods.spot.deployment, each.pods.outcome.template
        if not (here := tuple(forbidden(template, level="baseline"))):
            continue
        own = {
            (place_of(each.template, found.at), found.what): found
            for found in forbidden(each.template, level="baseline")
        }
        for found in here:
            place = place_of(template, found.at)
            written = own.get((place, found.what))
            link = None if written else each.pods.link_at(place)
            of_fabric = link.spec.name == _FABRIC if link else (found.field, found.value) == _FABRIC_GIVES
            if of_fabric and each.has_fabric and not enforced:
                continue
            if link and link.kind != "ModelDeployment":
                of_link = _Line(f"plugin {link.spec.name} gives pods of ", " ", link.problem)
                line = lines.setdefault((link.kind, link.key, link.path), of_link)
            else:
                if link:
                    found = replace(found, part=f"{found.part} (by plugin {link.spec.name})")
                path = link.path if link else f"{each.path}.{path_of(written.at)}" if written else each.path
                of_deployment = _Line("pods of ", " have ", _of_deployment(key, path))
                line = lines.setdefault(("ModelDeployment", key, ""), of_deployment)
            line.deployments[key] = None
            line.found.append(found)
    for line in lines.values():
        first, *others = line.deployments
        more = f" and {len(others)} more" if others else ""
        yield line.problem(
            f"{line.before}{first}{more}{line.after}{_FORBIDDEN}: {listed(line.found)}",
            f"Remove what is not needed: {_REFUSED}",
        )


def _of_deployment(key: str, path: str) -> Callable[[str, str], Problem]:
    return lambda what, next_step: Problem(what, next_step, path, kind="ModelDeployment", key=key)


def _by_policy(problem: Problem, settings: Settings) -> Problem:
    if settings.pod_security == "warn":
        return replace(problem, severity="warning")
    return replace(problem, next_step=f"{problem.next_step}; setting podSecurity: warn would only warn of it")
