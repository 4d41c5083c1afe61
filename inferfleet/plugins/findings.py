"""What links did to pods, and what is found wrong with them, told once per link for all pods it concerns."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from inferfleet.api.problems import Mistake, Problem
from inferfleet.plugins.attempt import Injected
from inferfleet.plugins.contract import Companion, PodTemplate, Request
from inferfleet.plugins.diff import FieldChange
from inferfleet.plugins.link import Link, Origin

_CONTAINERS = ("containers", "initContainers")
_ONCE = "Remove the container, or let the plugin inject none of its name"


@dataclass(frozen=True)
class Step:
    """What one link did: fields of the template, companions that it added, remarks, what it says is injected.

    A link that is out of scope, or that changes nothing, has a step as well.
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
    def effect(self) -> Literal["changed", "none", "out of scope"]:
        """Return whether the link did anything to this pod, and if not, why."""
        if not self.in_scope:
            return "out of scope"
        return "changed" if self.changes or self.companions or self.injected else "none"

    def changed(self, place: str) -> bool:
        """Return whether the link changed a place, something around it, or something in it."""
        paths = [change.path for change in self.changes]
        paths += [f"spec.initContainers[{name}]" for name in self.injected]
        return any(_holds(path, place) or _holds(place, path) for path in paths)


@dataclass(frozen=True)
class Finding:
    """What is wrong with a link on one pod, in a sentence without a full stop, and the next step.

    Findings of a link with one `cause` are about the same thing, whatever their sentences say.
    """

    link: Link
    what: str
    next_step: str
    request: Request
    cause: str = ""


def told(findings: Iterable[Finding]) -> Iterator[Problem]:
    """Yield a problem for each link and thing that is wrong with it, which names the first of its pods.

    Messages about several pods count as one if they have one cause, or differ in names of the pod alone.
    """
    groups: dict[tuple[str, str, str, str], list[Finding]] = {}
    for finding in findings:
        link = finding.link
        about = finding.cause or _without_names(finding)
        groups.setdefault((link.kind, link.key, link.path, about), []).append(finding)
    for group in groups.values():
        first = group[0]
        pods = len(dict.fromkeys(_pod(finding.request) for finding in group))
        more = f", and {pods - 1} more" if pods > 1 else ""
        what = f"plugin {first.link.spec.name}: {first.what} ({_pod(first.request)}{more})"
        yield first.link.problem(what, first.next_step)


def injected_otherwise(steps: Iterable[Step], injected: Injected) -> list[str]:
    """Return what a link says of sidecars of which an earlier link says something else."""
    earlier = {name: step for step in steps for name in step.injected}
    return [
        f"plugin {earlier[name].plugin} of the {earlier[name].origin} chain, {earlier[name].path}, says that "
        f"the injected container {name} requests {in_amounts(earlier[name].injected[name])}, and this link "
        f"says {in_amounts(requests)}"
        for name, requests in injected.items()
        if name in earlier and earlier[name].injected[name] != requests
    ]


def injected_twice(steps: Iterable[Step], injected: Injected, template: PodTemplate) -> list[Mistake]:
    """Return what a link, or a link before it, says of a sidecar whose container is in the template itself.

    Kubernetes would refuse a second container of its name, or the webhook merges the two by rules of its own.
    """
    said = {
        name: f"container {name} is in the template already, and plugin {step.plugin} of the {step.origin} "
        f"chain, {step.path}, says that a webhook injects it"
        for step in steps
        for name in step.injected
    } | {
        name: f"container {name} is in the template already, and this link says that a webhook injects it"
        for name in injected
    }
    if not said:
        return []
    spec = template["spec"]
    names = [container["name"] for part in _CONTAINERS for container in spec.get(part, ())]
    return [Mistake(said[name], _ONCE) for name in names if name in said]


def _holds(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


def in_amounts(requests: Mapping[str, str]) -> str:
    """Return requests in words, such as `cpu 100m, memory 128Mi`."""
    return ", ".join(f"{resource} {amount}" for resource, amount in requests.items()) or "nothing"


def _pod(request: Request) -> str:
    return (
        f"deployment {request.namespace}/{request.deployment.name}, role {request.role} "
        f"on {request.cluster.name}/{request.pool.name}"
    )


def _without_names(finding: Finding) -> str:
    request = finding.request
    own = (
        request.workload,
        request.deployment.name,
        request.namespace,
        request.cluster.name,
        request.pool.name,
    )
    names = "|".join(re.escape(name) for name in sorted(own, key=len, reverse=True))
    return re.sub(rf"(?<![A-Za-z0-9])({names})(?![A-Za-z0-9])", "…", finding.what)
