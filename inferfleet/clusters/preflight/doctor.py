"""What `inferfleet doctor` looks at, all at once: this machine, the state, projects and clusters.

Here is what no preview asks, because an update would find it out by itself; the rest is asked as previews do.
Nothing is changed.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from inferfleet.cloud.values import CloudCluster
from inferfleet.clusters.connections.api import Api, ApiKind, served_kinds
from inferfleet.clusters.connections.ask import ask
from inferfleet.clusters.connections.exec_command import installed
from inferfleet.clusters.connections.gke import NotThere, path_of
from inferfleet.clusters.connections.google import (
    Addresses,
    CloudError,
    ComputeApi,
    ContainerApi,
    GoogleLogin,
    ProjectApi,
    preload,
)
from inferfleet.clusters.connections.kubeconfig import Kubeconfigs
from inferfleet.clusters.connections.pulumi_command import Pulumi
from inferfleet.clusters.connections.questions import Questions
from inferfleet.clusters.preflight.check import Check, unseen
from inferfleet.clusters.preflight.observe import observations
from inferfleet.clusters.preflight.projects import (
    MIN_VERSION,
    ZONES,
    project_checks,
    project_needs,
    version_check,
    zone_checks,
)
from inferfleet.clusters.preflight.quotas import cloud_problems
from inferfleet.desired.values import Connection, Desired, DesiredCluster
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP
from inferfleet.documents.problems import InvalidDocuments, Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.advice.exposure import open_gateway_problems
from inferfleet.fleet.lock.lock import Lock

_GOOGLE = "Google Cloud"
_QUOTAS = "quotas, reservations, subnetworks and policies of the organisation"
_CONTENT = "kinds, controllers, GatewayClass, what pods name, drivers, nodes, and what an update writes"
_TO_COME = "what nobody installs there by then"
MACHINE = "this machine"
_STATE = "the state"
_PULUMI = (
    "Run `curl -fsSL https://get.pulumi.com | sh`, or install it otherwise "
    "(https://www.pulumi.com/docs/install/), and put it on the PATH"
)
# Kubeconfigs of GKE clusters name it, and hold no tokens
# (docs.cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl).
_GOOGLES = "gke-gcloud-auth-plugin"
# Pulumi reads an object, applies it on the server, waits for it and deletes it.
VERBS = ("get", "create", "patch", "delete")
# An update that waits for pods asks for them, and what becomes of them.
_LISTENING = ("list", "watch")


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
    container = ContainerApi(google.container, login)
    for cloud in _clouds(desired):
        of = f"cluster {cloud.cluster}"
        questions[2, of, ZONES] = partial(zone_checks, subject.documents, cloud, compute)
        document = subject.documents.clusters[cloud.cluster]
        version = partial(version_check, document, cloud, container, seconds=seconds)
        questions[2, of, MIN_VERSION] = version
    if needs:
        questions[2, _GOOGLE, _QUOTAS] = lambda: _quotas(subject, google, login, seconds)
    answers = Questions(questions).answers(until=until + 2)
    checks = [*program_checks(desired, installed), *gateway_checks(subject.documents)]
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


def _quotas(subject: Subject, google: Addresses, login: GoogleLogin, seconds: float) -> tuple[Check, ...]:
    """Return what previews say of what clusters need of their projects. They leave out clusters of which
    Google says nothing.
    """
    container = ContainerApi(google.container, login)
    silent = []
    clouds = _clouds(subject.desired)
    for cloud in clouds:
        try:
            container.cluster(cloud, seconds=seconds)
        except CloudError as error:
            silent.append(unseen(f"cluster {cloud.cluster}", _QUOTAS, error.what, error.next_step))
    if len(silent) == len(clouds):
        return tuple(silent)
    warnings = cloud_problems(
        subject.desired, subject.documents, subject.lock, google=google, seconds=seconds
    )
    # What was not answered is of a project, and all else of a field.
    unanswered = [Check(_GOOGLE, _QUOTAS, "unseen", problem) for problem in warnings if not problem.path]
    short = [problem for problem in warnings if problem.path]
    return (*silent, *unanswered, *(_checks(_GOOGLE, _QUOTAS, short) if short or not unanswered else ()))


def _clusters(subject: Subject, google: Addresses, seconds: float) -> Iterator[Check]:
    """Yield the checks of every cluster: whether it is reached, what it has, and what the credentials may
    do.
    """
    desired, texts = subject.desired, subject.kubeconfigs.texts
    clusters = {cluster.connection.cluster: cluster for cluster in desired.clusters}

    def question(connection: Connection, api: Api) -> tuple[Check, ...]:
        return rights(api, clusters[connection.cluster])

    asking = Questions(
        {"rights": partial(ask, desired, texts, question, container_api=google.container, seconds=seconds)}
    )
    seen = observations(
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
        answer, problems = allowed.get(name), seen[name].problems if name in seen else ()
        if isinstance(answer, Problem):
            yield Check(of, _CONTENT, "unseen", answer)
        elif isinstance(answer, NotThere):
            yield Check(of, _CONTENT, "unseen", answer.notice or _absent(connection, answer.why))
            known = [problem for problem in problems if problem != answer.notice]
            yield from (Check(of, _TO_COME, "wrong", problem) for problem in known)
        elif answer is None:
            yield unseen(of, "rights", f"no answer came within {seconds:.0f} s", "Try again")
        else:
            yield from _checks(of, _CONTENT, problems)
            yield from answer


def _checks(of: str, what: str, problems: Iterable[Problem]) -> tuple[Check, ...]:
    return tuple(Check(of, what, "wrong", problem) for problem in problems) or (Check(of, what),)


def _absent(connection: Connection, why: str) -> Problem:
    return cluster_problem(
        connection.cluster,
        f"{why}, so nothing inside it is seen",
        "Run this again once `pulumi up` has made it",
        path_of(connection),
        severity="notice",
    )


def program_checks(desired: Desired, installed: Callable[[str], bool]) -> Iterator[Check]:
    """Yield a check for each program that an update starts. `installed` says whether one is on the PATH."""
    # The language host comes in Pulumi's own archive, beside `pulumi`.
    steps = {"pulumi": _PULUMI, "pulumi-language-python": _PULUMI}
    connections = [cluster.connection for cluster in desired.clusters]
    if any(connection.cloud and connection.state not in GIVEN_UP for connection in connections):
        steps[_GOOGLES] = f"Run `gcloud components install {_GOOGLES}`, and put it on the PATH"
    for program, step in steps.items():
        what = f"program {program}"
        if installed(program):
            yield Check(MACHINE, what)
        else:
            problem = Problem(f"there is no `{program}` on the PATH, and an update starts it", step)
            yield Check(MACHINE, what, "wrong", problem)


def gateway_checks(documents: Documents) -> Iterator[Check]:
    """Yield a check for each gateway that anybody can reach. It may be meant so."""
    for problem in documents.located(open_gateway_problems(documents)):
        yield Check(f"cluster {problem.key}", "who reaches its gateway", "fine", problem)


def state_checks(pulumi: Pulumi, installed: Callable[[str], bool]) -> Iterator[Check]:
    """Ask the backend for the stack's state, and for nothing in it."""
    if not installed("pulumi"):
        yield unseen(_STATE, "backend", "because `pulumi` asks it and is not on the PATH", _PULUMI)
        return
    try:
        backend = pulumi.backend()
    except InvalidDocuments as invalid:
        yield from (Check(_STATE, "backend", "wrong", problem) for problem in invalid.problems)
        return
    try:
        pulumi.busy()
    except InvalidDocuments as invalid:
        yield from (Check(_STATE, f"backend {backend}", "wrong", problem) for problem in invalid.problems)
        return
    if backend.startswith("file:"):
        problem = Problem(
            f"the state is in {backend}, and lost with this machine",
            "For a fleet that others update too, make a bucket and run `pulumi login gs://<bucket>`",
            severity="notice",
        )
        yield Check(_STATE, f"backend {backend}", "fine", problem)
    else:
        yield Check(_STATE, f"backend {backend}")


def rights(api: Api, cluster: DesiredCluster) -> tuple[Check, ...]:
    """Ask for each kind of object of the stack, in all namespaces first, and else in those where it is."""
    namespaces_of: dict[ApiKind, set[str]] = {}
    for obj in cluster.objects:
        namespaces_of.setdefault((obj.api_version, obj.kind), set()).add(obj.namespace or "")
    resources = served_kinds(api, namespaces_of)
    of_objects = (
        check
        for kind in sorted(resources)
        for check in _of_kind(
            cluster,
            kind,
            sorted(_missing(api, VERBS, kind[0], resources[kind].plural, namespaces_of[kind])),
            resources[kind].plural,
        )
    )
    return (*of_objects, *_to_pods(api, cluster))


def _to_pods(api: Api, cluster: DesiredCluster) -> Iterator[Check]:
    """Yield whether pods can be listened to. Updates do without, and do not say why one ends."""
    namespaces = {obj.namespace or "" for obj in cluster.objects if obj.watched}
    missing = sorted(_missing(api, _LISTENING, "v1", "pods", namespaces))
    name = cluster.connection.cluster
    of, what = f"cluster {name}", "rights to pods"
    if namespaces and not missing:
        yield Check(of, what)
    for namespace in dict.fromkeys(space for space, _ in missing):
        verbs = [verb for space, verb in missing if space == namespace]
        problem = cluster_problem(
            name,
            f"the credentials of cluster {name!r} may not {listing(verbs)} pods in namespace {namespace}, so "
            "an update that waits for them does not say why they end or do not start",
            _mend(cluster, "pods", "", _LISTENING, verbs[0], namespace),
            path_of(cluster.connection),
            severity="warning",
        )
        yield Check(of, what, "unseen", problem)


def _missing(
    api: Api, verbs: Iterable[str], version: str, plural: str, namespaces: Iterable[str]
) -> Iterator[tuple[str, str]]:
    group = version.rpartition("/")[0]
    for verb in verbs:
        if not api.may(verb, group, plural, ""):
            yield from (
                (space, verb) for space in namespaces if not space or not api.may(verb, group, plural, space)
            )


def _of_kind(
    cluster: DesiredCluster, kind: ApiKind, missing: list[tuple[str, str]], plural: str
) -> Iterator[Check]:
    name = cluster.connection.cluster
    of, what = f"cluster {name}", f"rights to {plural}"
    if not missing:
        yield Check(of, what)
    for namespace in dict.fromkeys(space for space, _ in missing):
        verbs = [verb for space, verb in missing if space == namespace]
        inside = f" in namespace {namespace}" if namespace else ""
        problem = cluster_problem(
            name,
            f"the credentials of cluster {name!r} may not {listing(verbs)} {plural} of {kind[0]}"
            f"{inside}, which an update does",
            _mend(cluster, plural, kind[0].rpartition("/")[0], VERBS, verbs[0], namespace),
            path_of(cluster.connection),
        )
        yield Check(of, what, "wrong", problem)


def _mend(
    cluster: DesiredCluster, plural: str, group: str, verbs: Iterable[str], lacking: str, namespace: str
) -> str:
    """Return how somebody gives the rights, and sees that one that is lacking is there."""
    if cloud := cluster.connection.cloud:
        return (
            f"Run `gcloud projects add-iam-policy-binding {cloud.project} --member user:<you> --role "
            "roles/container.admin`"
        )
    resource = f"{plural}.{group}" if group else plural
    flag = f"--namespace {namespace}" if namespace else "--all-namespaces"
    return (
        f"Have an administrator run `kubectl create clusterrole inferfleet-{plural} "
        f"--verb={','.join(verbs)} --resource={resource}` and `kubectl create clusterrolebinding "
        f"inferfleet-{plural} --clusterrole=inferfleet-{plural} --user=<you>`, and look with `kubectl "
        f"auth can-i {lacking} {resource} {flag}`"
    )
