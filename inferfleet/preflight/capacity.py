"""Before anything is made: whether quotas and reservations hold the nodes that an update adds.

What is missing is a warning, because nodes may come later, and others may give theirs back meanwhile.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.desired.values import Desired
from inferfleet.fleet.lock.lock import Lock
from inferfleet.gke.quota.answers import Quota, family_quotas, quotas, shortages
from inferfleet.gke.quota.metrics import FAMILY
from inferfleet.gke.quota.needs import Need, needs
from inferfleet.gke.quota.reservations import Reserved, reservation_problems, reserved
from inferfleet.gke.values import CloudCluster
from inferfleet.reach.asked import Asked
from inferfleet.reach.google_apis import Answer, ComputeApi, ContainerApi
from inferfleet.reach.google_login import Addresses, GoogleLogin, ready
from inferfleet.reach.kubeconfig import GIVEN_UP
from inferfleet.reach.refusals import CloudError

# A preview is not kept waiting for what is only a warning.
SECONDS = 8.0
T = TypeVar("T")


def capacity_warnings(
    desired: Desired, documents: Documents, lock: Lock, *, google: Addresses, seconds: float = SECONDS
) -> tuple[Problem, ...]:
    """What quotas and reservations do not hold, and of each project at most one notice that it was not told.

    Google is asked only when an update adds nodes, and within so many seconds. Where clusters cannot be
    asked for, somebody else says so.
    """
    clusters = [
        one.connection.cloud
        for one in desired.clusters
        if one.connection.cloud and one.connection.state not in GIVEN_UP
    ]
    if not clusters:
        return ()
    ready()
    until = time.monotonic() + seconds
    login = GoogleLogin()
    there = _pools(clusters, ContainerApi(google.container, login), until)
    known = [one for one in clusters if one.cluster in there]
    wanted = needs(documents, known, lock, desired.plan, there)
    on_reservations = reserved(documents, known, there)
    compute = ComputeApi(google, login, seconds=max(until - time.monotonic(), 0.1))
    questions: dict[str, Callable[[], Answer | None]] = {
        _key(one): partial(_question, compute, one) for one in wanted
    }
    questions |= {
        _in_zone(one, zone): partial(compute.reservation, one.project, zone, one.name)
        for one in on_reservations
        for zone in one.zones
    }
    found, untold = _ask(questions, until)
    problems = [_at_pool(one, need, documents) for need, one in shortages(_quotas(wanted, found))]
    for one in on_reservations:
        answers = {zone: found[key] for zone in one.zones if (key := _in_zone(one, zone)) in found}
        if answers and len(answers) == len(one.zones):
            cluster = one.pool.partition("/")[0]
            problems += [
                replace(problem, kind="InferenceCluster", key=cluster)
                for problem in reservation_problems(one, answers)
            ]
    return documents.located((*problems, *untold))


def _pools(clusters: Iterable[CloudCluster], container: ContainerApi, until: float) -> dict[str, set[str]]:
    """By cluster the names of pools that stand; a cluster that is not there has none, an unknown one is left
    out. A pool in status ERROR may have no nodes.
    """

    def of(plan: CloudCluster) -> set[str]:
        body = container.cluster(plan, seconds=max(until - time.monotonic(), 0.1))
        pools = (body or {}).get("nodePools") or ()
        return {str(one.get("name")) for one in pools if one.get("status") != "ERROR"}

    answers = Asked({one.cluster: partial(_tried, partial(of, one)) for one in clusters}).answers(until=until)
    return {name: found for name, found in answers.items() if not isinstance(found, CloudError)}


def _ask(
    questions: Mapping[str, Callable[[], Answer | None]], until: float
) -> tuple[dict[str, Answer | None], tuple[Problem, ...]]:
    """All at once; keys begin with the project. The answers, and what of a project was not told first."""
    tried = {key: partial(_tried, question) for key, question in questions.items()}
    answers = Asked(tried).answers(until=until)
    silent = CloudError("nothing came in time", "Try again, or see what `pulumi up` says")
    untold: dict[str, Problem] = {}
    for key in sorted(questions):
        answer, project = answers.get(key, silent), key.partition("/")[0]
        if isinstance(answer, CloudError):
            what = f"quotas and reservations of project {project} are not all known: {answer.what}"
            untold.setdefault(project, Problem(what, answer.next_step))
    found = {key: answer for key, answer in answers.items() if not isinstance(answer, CloudError)}
    return found, tuple(untold.values())


def _key(need: Need) -> str:
    return f"{need.project}/{'families' if need.metric.startswith(FAMILY) else need.region}"


def _in_zone(need: Reserved, zone: str) -> str:
    return f"{need.project}/{zone}/{need.name}"


def _question(compute: ComputeApi, need: Need) -> Answer:
    if need.metric.startswith(FAMILY):
        return compute.gpu_families(need.project)
    return compute.region(need.project, need.region) if need.region else compute.project(need.project)


def _tried(question: Callable[[], T]) -> T | CloudError:
    try:
        return question()
    except CloudError as error:
        return error


def _quotas(wanted: Iterable[Need], found: Mapping[str, Answer | None]) -> dict[Need, Quota | None]:
    def of(need: Need) -> Quota | None:
        answer = found.get(_key(need)) or {}
        if need.metric.startswith(FAMILY):
            return family_quotas(answer, need.region).get(need.metric)
        return quotas(answer).get(need.metric)

    return {need: of(need) for need in wanted}


def _at_pool(problem: Problem, need: Need, documents: Documents) -> Problem:
    """With the line of the first pool that takes it."""
    cluster, _, pool = need.pools[0].partition("/")
    names = [one.name for one in documents.clusters[cluster].spec.node_pools]
    path = f"spec.nodePools[{names.index(pool)}]" if pool in names else "spec.cluster.gke.systemPool"
    return replace(problem, path=path, kind="InferenceCluster", key=cluster)
