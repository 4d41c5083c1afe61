"""Everything that `inferfleet doctor` looks at, all at once, and what previews look at besides."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from inferfleet.cloud.gke.pool import gke_clusters
from inferfleet.cloud.gke.values import CloudCluster
from inferfleet.clusters.connections.api import Api
from inferfleet.clusters.connections.asked import Asked
from inferfleet.clusters.connections.at_once import ask
from inferfleet.clusters.connections.exec_command import installed
from inferfleet.clusters.connections.gke import NotThere, path_of
from inferfleet.clusters.connections.google.project import ProjectApi
from inferfleet.clusters.connections.google_apis import ComputeApi, ContainerApi
from inferfleet.clusters.connections.google_login import Addresses, GoogleLogin, preload
from inferfleet.clusters.connections.kubeconfig import GIVEN_UP, Kubeconfigs
from inferfleet.clusters.connections.pulumi_command import Pulumi
from inferfleet.clusters.connections.refusals import CloudError
from inferfleet.clusters.doctor.machine import program_checks, state_checks
from inferfleet.clusters.doctor.project import project_checks, project_needs
from inferfleet.clusters.doctor.rights import rights
from inferfleet.clusters.doctor.values import Check, unseen
from inferfleet.clusters.doctor.versions import MIN_VERSION, version_check
from inferfleet.clusters.doctor.zones import ZONES, zone_checks
from inferfleet.clusters.preflight.capacity import capacity_warnings
from inferfleet.clusters.preflight.observe import observe
from inferfleet.desired.values import Connection, Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.fleet.lock.lock import Lock

_GOOGLE = "Google Cloud"
_ROOM = "quotas, reservations and proxy-only subnetworks"
_CONTENT = "kinds, controllers, GatewayClass, Secrets, device drivers, nodes, and what an update writes"


@dataclass(frozen=True)
class Subject:
    """What is looked at: a stack, and how its clusters are reached."""

    desired: Desired
    documents: Documents
    lock: Lock
    kubeconfigs: Kubeconfigs


def look(subject: Subject, pulumi: Pulumi, google: Addresses, *, seconds: float) -> tuple[Check, ...]:
    """Return every check, in the order: this machine, the state, projects, clusters."""
    until = time.monotonic() + seconds
    desired = subject.desired
    needs = project_needs(desired)
    if needs:
        preload()
    login = GoogleLogin()
    questions: dict[tuple[int, str, str], Callable[[], tuple[Check, ...]]] = {
        (1, "the state", "backend"): lambda: tuple(state_checks(pulumi, installed)),
        (3, "clusters", _CONTENT): lambda: tuple(_clusters(subject, google, seconds)),
    }
    for need in needs:
        api = ProjectApi(google, login, seconds=seconds)
        questions[2, need.called, "APIs and permissions"] = partial(project_checks, need, api)
    compute = ComputeApi(google, login, seconds=seconds)
    container, described = ContainerApi(google.container, login), gke_clusters(subject.documents)
    for cloud in _clouds(desired):
        of = f"cluster {cloud.cluster}"
        questions[2, of, ZONES] = partial(zone_checks, cloud, compute)
        version = partial(version_check, described[cloud.cluster], cloud, container, seconds=seconds)
        questions[2, of, MIN_VERSION] = version
    if needs:
        questions[2, _GOOGLE, _ROOM] = lambda: _room(subject, google, login, seconds)
    answers = Asked(questions).answers(until=until + 2)
    checks = list(program_checks(desired, installed))
    for key in sorted(questions):
        _, of, what = key
        late = unseen(of, what, f"no answer came within {seconds:.0f} s", "Try again")
        checks += answers.get(key, (late,))
    return tuple(checks)


def _clouds(desired: Desired) -> list[CloudCluster]:
    """Return the clusters in Google Cloud that are not given up."""
    return [
        cluster.connection.cloud
        for cluster in desired.clusters
        if cluster.connection.cloud and cluster.connection.state not in GIVEN_UP
    ]


def _room(subject: Subject, google: Addresses, login: GoogleLogin, seconds: float) -> tuple[Check, ...]:
    """Return what previews say of quotas. They leave out clusters of which Google says nothing."""
    container = ContainerApi(google.container, login)
    silent = []
    clouds = _clouds(subject.desired)
    for cloud in clouds:
        try:
            container.cluster(cloud, seconds=seconds)
        except CloudError as error:
            silent.append(unseen(f"cluster {cloud.cluster}", _ROOM, error.what, error.next_step))
    if len(silent) == len(clouds):
        return tuple(silent)
    warnings = capacity_warnings(
        subject.desired, subject.documents, subject.lock, google=google, seconds=seconds
    )
    # What was not answered is of a project, and all else of a field.
    unanswered = [Check(_GOOGLE, _ROOM, "unseen", problem) for problem in warnings if not problem.path]
    short = [problem for problem in warnings if problem.path]
    return (*silent, *unanswered, *(_told(_GOOGLE, _ROOM, short) if short or not unanswered else ()))


def _clusters(subject: Subject, google: Addresses, seconds: float) -> Iterator[Check]:
    desired, texts = subject.desired, subject.kubeconfigs.texts
    clusters = {cluster.connection.cluster: cluster for cluster in desired.clusters}

    def question(connection: Connection, api: Api) -> tuple[Check, ...]:
        return rights(api, clusters[connection.cluster])

    asking = Asked(
        {"rights": partial(ask, desired, texts, question, container_api=google.container, seconds=seconds)}
    )
    seen = observe(
        desired,
        texts,
        deployments=subject.documents.deployments,
        container_api=google.container,
        seconds=seconds,
    )
    allowed: Mapping[str, tuple[Check, ...] | Problem | NotThere] = asking.answers(
        until=time.monotonic() + seconds
    ).get("rights", {})
    for name, cluster in sorted(clusters.items()):
        of, connection = f"cluster {name}", cluster.connection
        if connection.state in GIVEN_UP:
            yield unseen(of, _CONTENT, f"its state is {connection.state}", "Remove `state` to have it asked")
            continue
        if name in subject.kubeconfigs.problems:
            yield Check(of, "its kubeconfig", "unseen", subject.kubeconfigs.problems[name])
            continue
        if connection.config_key and name not in texts:
            yield Check(of, _CONTENT, "unseen", _by_key(connection))
            continue
        answer = allowed.get(name)
        if isinstance(answer, Problem):
            yield Check(of, _CONTENT, "unseen", answer)
        elif isinstance(answer, NotThere):
            yield Check(of, _CONTENT, "unseen", answer.notice or _absent(connection, answer.why))
        elif answer is None:
            yield unseen(of, "rights", f"no answer came within {seconds:.0f} s", "Try again")
        else:
            yield from _told(of, _CONTENT, [problem for problem in seen.problems if problem.key == name])
            yield from answer


def _told(of: str, what: str, problems: Iterable[Problem]) -> tuple[Check, ...]:
    return tuple(Check(of, what, "wrong", problem) for problem in problems) or (Check(of, what),)


def _absent(connection: Connection, why: str) -> Problem:
    return cluster_problem(
        connection.cluster,
        f"{why}, so nothing inside it is seen",
        "Run this again once `pulumi up` has made it",
        path_of(connection),
        severity="notice",
    )


def _by_key(connection: Connection) -> Problem:
    return cluster_problem(
        connection.cluster,
        f"cluster {connection.cluster!r} is not asked: its kubeconfig is the configuration key "
        f"{connection.config_key!r}, which only Pulumi reads",
        "Name a file by kubeconfig.path, or read the preview: it asks this cluster",
        path_of(connection),
        severity="warning",
    )
