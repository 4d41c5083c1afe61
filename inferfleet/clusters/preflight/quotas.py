"""Before anything is created: whether Google Cloud has space for what an update adds, and lets it be made.

A shortage of quotas and reservations is a warning, because nodes may be added later, and others may release
theirs meanwhile. What would keep a new cluster from being made or reached is an error.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.gateways import ProxyNeed, proxy_needs, proxy_problems
from inferfleet.cloud.gke.quotas import (
    FAMILY,
    Quota,
    family_quotas,
    gpu_metric,
    quota_problems,
    quota_uses,
    quotas,
)
from inferfleet.cloud.gke.reservations import (
    ReservationUse,
    free_machines,
    reservation_problems,
    reservation_uses,
)
from inferfleet.cloud.values import CloudCluster, QuotaUse
from inferfleet.clusters.connections.google import (
    Addresses,
    Answer,
    CloudError,
    ComputeApi,
    ContainerApi,
    GoogleLogin,
    ProjectApi,
    preload,
)
from inferfleet.clusters.connections.questions import Questions
from inferfleet.clusters.preflight.surroundings import (
    surrounding_problems,
    surrounding_questions,
    surroundings,
)
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP
from inferfleet.documents.problems import Problem
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.shapes import PoolKey

# A preview is not kept waiting for what is only a warning.
SECONDS = 8.0
T = TypeVar("T")


def cloud_problems(
    desired: Desired, documents: Documents, lock: Lock, *, google: Addresses, seconds: float = SECONDS
) -> tuple[Problem, ...]:
    """Return a warning for each quota and reservation that is too small, or that Google did not answer about,
    and what networks of others and policies of an organisation keep from new clusters.

    Google is asked for at most `seconds`, and only about nodes, clusters and pools that are to come; of
    networks that somebody else keeps always whether they have what gateways need. Clusters that cannot be
    asked about are reported by `observe`.
    """
    clusters = [
        cluster.connection.cloud
        for cluster in desired.clusters
        if cluster.connection.cloud and cluster.connection.state not in (*GIVEN_UP, "paused")
    ]
    if not clusters:
        return ()
    preload()
    until = time.monotonic() + seconds
    login = GoogleLogin()
    found = _clusters(clusters, ContainerApi(google.container, login), until)
    existing = {name: _pools(answer) for name, answer in found.items()}
    existing_clusters = [cluster for cluster in clusters if cluster.cluster in existing]
    of_quotas = quota_uses(documents, existing_clusters, lock, desired.plan, existing)
    compute = ComputeApi(google, login, seconds=max(until - time.monotonic(), 0.1))
    sizes, sizeless = _sizes(existing_clusters, existing, compute, until)
    of_reservations = reservation_uses(documents, existing_clusters, existing, sizes)
    questions: dict[str, Callable[[], Answer | None]] = {
        _quota_key(need): partial(_quota_question, compute, need) for need in of_quotas
    }
    questions |= {
        _zone_key(need, zone): partial(compute.reservation, need.project, zone, need.name)
        for need in of_reservations
        for zone in need.pool.zones
    }
    of_proxies = proxy_needs(documents, clusters)
    questions |= {
        _proxy_key(need): partial(compute.proxy_subnetworks, need.project, need.region) for need in of_proxies
    }
    to_come = [cluster for cluster in existing_clusters if found[cluster.cluster] is None]
    looked_at = surroundings(documents, to_come, existing_clusters, existing)
    projects = ProjectApi(google, login, seconds=max(until - time.monotonic(), 0.1))
    of_surroundings = surrounding_questions(looked_at, compute, projects)
    all_answers = _answers(questions | of_surroundings, until)
    answers, unanswered = _split({key: all_answers[key] for key in questions})
    return (
        *surrounding_problems(looked_at, all_answers),
        *quota_problems(_quotas(of_quotas, answers)),
        *_reservation_problems(of_reservations, answers),
        *_proxy_problems(of_proxies, answers),
        *dict.fromkeys((*sizeless, *unanswered)),
    )


def allowed(
    documents: Documents,
    clusters: Iterable[CloudCluster],
    there: Mapping[PoolKey, int],
    *,
    google: Addresses,
    until: float,
) -> tuple[dict[PoolKey, int], tuple[Problem, ...]]:
    """Return how many nodes each pool may have in all by its quota of GPUs or its named reservation.

    `there` has the nodes that exist. Pools that share a quota are each told all of what is left. Where Google
    does not say how much of a quota is in use, its limit counts.
    """
    described = described_clusters(documents)
    pools = [
        (described[cluster.cluster].pool(name), cluster)
        for cluster in clusters
        for name in cluster.pools
        if (cluster.cluster, name) in there
    ]
    if not pools:
        return {}, ()
    preload()
    compute = ComputeApi(google, GoogleLogin(), seconds=max(until - time.monotonic(), 0.1))
    by_quota: dict[PoolKey, QuotaUse] = {}
    by_name: dict[PoolKey, ReservationUse] = {}
    questions: dict[str, Callable[[], Answer | None]] = {}
    for pool, cluster in pools:
        key, gpus = (pool.cluster, pool.name), pool.gke_class.recipe.accelerator
        if reservation := cluster.pools[pool.name].reservation:
            need = ReservationUse(pool, *reservation)
            by_name[key] = need
            questions |= {
                _zone_key(need, zone): partial(compute.reservation, need.project, zone, need.name)
                for zone in pool.zones
            }
        elif gpus and (metric := gpu_metric(gpus.type, pool.document.capacity.model)):
            quota = QuotaUse(cluster.project, cluster.region, metric, 0, 0, (pool.key,), pool.path())
            by_quota[key] = quota
            questions[_quota_key(quota)] = partial(_quota_question, compute, quota)
    answers, unanswered = _ask(questions, until)
    limits = _quotas(by_quota.values(), answers)
    most: dict[PoolKey, int] = {}
    for pool, _ in pools:
        key, gpus = (pool.cluster, pool.name), pool.gke_class.recipe.accelerator
        limit = limits.get(by_quota[key]) if key in by_quota else None
        if limit is not None and gpus:
            quota_left = limit.limit if limit.used is None else limit.limit - limit.used
            most[key] = max(0, quota_left) // gpus.count + (0 if limit.used is None else there[key])
        elif key in by_name:
            zones = [answers.get(_zone_key(by_name[key], zone)) for zone in pool.zones]
            free = [free_machines(answer) for answer in zones if answer]
            if len(free) == len(zones) and None not in free:
                most[key] = there[key] + sum(number or 0 for number in free)
    return most, unanswered


def _clusters(
    clusters: Iterable[CloudCluster], container: ContainerApi, until: float
) -> dict[str, Answer | None]:
    """Return what Google Cloud says of each cluster, None of one that it does not have.

    One that could not be asked about is left out.
    """

    def answer(plan: CloudCluster) -> Answer | None:
        return container.cluster(plan, seconds=max(until - time.monotonic(), 0.1))

    answers = _answers({cluster.cluster: partial(answer, cluster) for cluster in clusters}, until)
    return {name: answer for name, answer in answers.items() if not isinstance(answer, CloudError)}


def _pools(cluster: Answer | None) -> dict[str, Answer]:
    """Return the pools of a cluster by name. Those in status ERROR are left out: they may have no nodes."""
    pools = (cluster or {}).get("nodePools") or ()
    return {str(pool.get("name")): pool for pool in pools if pool.get("status") != "ERROR"}


def _sizes(
    clusters: Iterable[CloudCluster],
    existing: Mapping[str, Mapping[str, Answer]],
    compute: ComputeApi,
    until: float,
) -> tuple[dict[str, int], tuple[Problem, ...]]:
    """Return the nodes of pools that exist and have a named reservation, by `cluster/pool`."""
    pools = {
        f"{cluster.project}/nodes/{pool.key}": (pool.key, existing[cluster.cluster][pool.name])
        for cluster in clusters
        for pool in cluster.pools.values()
        if pool.reservation and pool.name in existing[cluster.cluster]
    }
    answers, unanswered = _ask(
        {question: partial(compute.pool_size, pool) for question, (_, pool) in pools.items()}, until
    )
    sizes = {pools[question][0]: size for question, size in answers.items() if size is not None}
    return sizes, unanswered


def _ask(
    questions: Mapping[str, Callable[[], T | None]], until: float
) -> tuple[dict[str, T | None], tuple[Problem, ...]]:
    """Return the answers to the questions, asked all at once, and a warning per project that lacks some.

    Each key begins with the project; the warning says why the first answer is missing.
    """
    return _split(_answers(questions, until))


def _answers(
    questions: Mapping[str, Callable[[], T | None]], until: float
) -> dict[str, T | CloudError | None]:
    """Return the answer to each of the questions, asked all at once, or why there is none."""
    answers = Questions({key: partial(_tried, question) for key, question in questions.items()}).answers(
        until=until
    )
    silent = CloudError("no answer came in time", "Try again, or see what `pulumi up` says")
    return {key: answers.get(key, silent) for key in questions}


def _split(
    answers: Mapping[str, T | CloudError | None],
) -> tuple[dict[str, T | None], tuple[Problem, ...]]:
    unanswered: dict[str, Problem] = {}
    for key, answer in sorted(answers.items(), key=lambda item: item[0]):
        if isinstance(answer, CloudError):
            project = key.partition("/")[0]
            asked = "quotas, reservations and subnetworks"
            what = f"{asked} of project {project} are not all known: {answer.what}"
            unanswered.setdefault(project, Problem(what, answer.next_step, severity="warning"))
    given = {key: answer for key, answer in answers.items() if not isinstance(answer, CloudError)}
    return given, tuple(unanswered.values())


def _quota_key(need: QuotaUse) -> str:
    return f"{need.project}/{'families' if need.metric.startswith(FAMILY) else need.region}"


def _zone_key(need: ReservationUse, zone: str) -> str:
    return f"{need.project}/{zone}/{need.name}"


def _proxy_key(need: ProxyNeed) -> str:
    return f"{need.project}/proxies/{need.region}"


def _quota_question(compute: ComputeApi, need: QuotaUse) -> Answer:
    if need.metric.startswith(FAMILY):
        return compute.gpu_families(need.project)
    return compute.region(need.project, need.region) if need.region else compute.project(need.project)


def _tried(question: Callable[[], T]) -> T | CloudError:
    try:
        return question()
    except CloudError as error:
        return error


def _quotas(wanted: Iterable[QuotaUse], answers: Mapping[str, Answer | None]) -> dict[QuotaUse, Quota | None]:
    def quota(need: QuotaUse) -> Quota | None:
        answer = answers.get(_quota_key(need)) or {}
        if need.metric.startswith(FAMILY):
            return family_quotas(answer, need.region).get(need.metric)
        return quotas(answer).get(need.metric)

    return {need: quota(need) for need in wanted}


def _reservation_problems(
    uses: Iterable[ReservationUse], answers: Mapping[str, Answer | None]
) -> Iterator[Problem]:
    """Yield the problems of those reservations about which Google answered in every zone."""
    for need in uses:
        by_zone = {
            zone: answers[key] for zone in need.pool.zones if (key := _zone_key(need, zone)) in answers
        }
        if by_zone and len(by_zone) == len(need.pool.zones):
            yield from reservation_problems(need, by_zone)


def _proxy_problems(wanted: Iterable[ProxyNeed], answers: Mapping[str, Answer | None]) -> Iterator[Problem]:
    for need in wanted:
        if answer := answers.get(_proxy_key(need)):
            yield from proxy_problems(need, answer)
