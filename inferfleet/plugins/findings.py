"""What is found wrong while chains run over pods, told once per link however many pods it concerns."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from inferfleet.api.problems import Problem
from inferfleet.plugins.contract import Request
from inferfleet.plugins.link import Link


@dataclass(frozen=True)
class Finding:
    """What is wrong with a link on one pod, in a sentence without a full stop, and the next step."""

    link: Link
    what: str
    next_step: str
    request: Request


def told(findings: Iterable[Finding]) -> Iterator[Problem]:
    """Yield a problem for each link and thing that is wrong with it, which names the first of its pods.

    Messages about several pods count as one if they differ in names of the pod alone.
    """
    groups: dict[tuple[str, str, str, str], list[Finding]] = {}
    for finding in findings:
        link = finding.link
        groups.setdefault((link.kind, link.key, link.path, _without_names(finding)), []).append(finding)
    for group in groups.values():
        first = group[0]
        pods = len(dict.fromkeys(_pod(finding.request) for finding in group))
        more = f", and {pods - 1} more" if pods > 1 else ""
        what = f"plugin {first.link.spec.name} OnPodCreate: {first.what} ({_pod(first.request)}{more})"
        yield first.link.problem(what, first.next_step)


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
