"""placement.lock of a stack that lost it, as it follows from what runs.

Labels of workloads say which deployment, role, pool and revision each is of, and documents how many workers
a replica has, so the numbers of replicas follow. Clusters are asked by GET requests alone. Where it is not
clear what runs (a cluster that does not answer, a workload that was scaled by hand), there is an error and no
lock: what a lock leaves out is placed anew, and so moves.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inferfleet.cloud.provider import provider_of
from inferfleet.cloud.values import CloudCluster, CloudPool
from inferfleet.clusters.connections.api import Api, served_kinds
from inferfleet.clusters.connections.ask import ask
from inferfleet.clusters.connections.gke import GKE, NotThere, path_of
from inferfleet.clusters.connections.google import Addresses
from inferfleet.clusters.connections.kubeconfig import Kubeconfigs
from inferfleet.clusters.preflight.ownership import identity
from inferfleet.clusters.preflight.workloads import running
from inferfleet.clusters.status.drift import drift
from inferfleet.clusters.status.read import LiveCloudCluster, read_cloud
from inferfleet.desired.values import Connection, Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import InvalidDocuments, Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.lock.lock import Lock, LockedCluster
from inferfleet.fleet.names import (
    DEPLOYMENT,
    MANAGED_BY,
    MANAGER,
    PLACEMENT,
    REVISION,
    ROLE,
    SERVICE,
    STACK,
    pool_of,
)
from inferfleet.fleet.roles import roles_of, workers_of
from inferfleet.fleet.spot import Spot
from inferfleet.serving.routes import KIND as ROUTE
from inferfleet.serving.workload import most_of, templates_of

_ROUTES = ("gateway.networking.k8s.io/v1", ROUTE)
_BY_HAND = "Restore placement.lock from version control, or write its lines under `placements` by hand"
# By role, the number of workloads' workers on each pool.
_Roles = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Content:
    """What one cluster has of the stack: its UID, Deployments and LeaderWorkerSets, and services by key."""

    uid: str
    workloads: tuple[dict[str, Any], ...]
    services: frozenset[str]


def lock_from_clusters(
    documents: Documents, desired: Desired, kubeconfigs: Kubeconfigs, *, google: Addresses, seconds: float
) -> Lock:
    """Return the lock that follows from what runs on the clusters. Each of them is asked within `seconds`.

    `desired` is that of the documents and of no lock. What clusters and pools were made with is not in the
    lock: `with_created` adds that. Raises InvalidDocuments with every reason why it is not clear what runs.
    """

    def read_content(_: Connection, api: Api) -> Content:
        return _content(api, desired.stack)

    answers = ask(desired, kubeconfigs.texts, read_content, container_api=google.container, seconds=seconds)
    contents: dict[str, Content] = {}
    problems: list[Problem] = []
    for cluster in desired.clusters:
        connection, name = cluster.connection, cluster.connection.cluster
        if connection.cloud and connection.state == "paused":
            what = f"cluster {name!r} is paused, so the lock cannot say what it and its pools were made with"
            problems.append(cluster_problem(name, what, f"Remove `state: paused`. {_BY_HAND}", "spec.state"))
            continue
        match kubeconfigs.problems.get(name) or answers.get(name):
            case Content() as content:
                contents[name] = content
            case Problem() as problem:
                problems.append(replace(problem, severity="error"))
            case NotThere(notice=Problem() as notice):
                problems.append(replace(notice, severity="error"))
            case NotThere():
                pass
            case _ if connection.state != "abandoned":
                what = f"cluster {name!r} was not asked, so it is not known what runs there"
                lost = connection.state in GIVEN_UP
                step = f"Remove `state: {connection.state}` where it answers again" if lost else "Try again"
                problems.append(cluster_problem(name, what, f"{step}. {_BY_HAND}", path_of(connection)))
    lock, unclear = rebuilt(documents, desired.stack, contents)
    if problems := [*problems, *unclear]:
        raise InvalidDocuments(documents.located(problems))
    return lock


def rebuilt(
    documents: Documents, stack: str, contents: Mapping[str, Content]
) -> tuple[Lock, tuple[Problem, ...]]:
    """Return the lock of what clusters have, and what of it is not clear. Pure."""
    placements: dict[Spot, int] = {}
    problems: list[Problem] = []
    for name, content in contents.items():
        for placement in _placements(name, content.workloads, documents.deployments):
            if isinstance(placement, Problem):
                problems.append(placement)
            else:
                placements[placement[0]] = placement[1]
    clusters = {
        name: LockedCluster(documents.clusters[name].spec.cluster.source, content.uid)
        for name, content in contents.items()
    }
    lock = Lock(stack, clusters=clusters, placements=placements, services=_services(contents))
    return lock, tuple(problems)


def with_created(
    lock: Lock, documents: Documents, desired: Desired, *, google: Addresses, seconds: float
) -> tuple[Lock, tuple[Problem, ...]]:
    """Return the lock with what pools and GKE clusters were made with, and a warning for all that differs.

    `desired` is planned by the lock. Names of node pools end in a digest of what cannot change in place, so
    one that Google has by the name of the plan was created as documents say. An update would change or
    replace what differs, so documents must say first what was created. Raises InvalidDocuments where it is
    not known which addresses a cluster has.
    """
    in_cloud = read_cloud(desired, google=google, seconds=seconds)
    planned = desired.plan.lock
    settings = {name: cluster.settings for name, cluster in planned.clusters.items()}
    missing: set[str] = set()
    problems: list[Problem] = []
    unknown: list[Problem] = []
    for cluster in desired.clusters:
        cloud = cluster.connection.cloud
        if cloud is None:
            continue
        created = in_cloud[cloud.cluster].cluster if cloud.cluster in in_cloud else {}
        existing = {pool["name"] for pool in created.get("nodePools") or ()}
        lacking = [pool for pool in cloud.pools.values() if pool.name not in existing]
        missing |= {pool.key for pool in lacking}
        if cloud.cluster in lock.clusters and not created:
            what = f"Google does not say which addresses and node pools cluster {cloud.cluster!r} has"
            unknown.append(cluster_problem(cloud.cluster, what, "Try again", GKE))
            continue
        if created:
            answer = provider_of(cloud).settings_by_answer(cloud, documents.clusters[cloud.cluster], created)
            if isinstance(answer, Problem):
                unknown.append(answer)
            else:
                settings[cloud.cluster] = answer
        if lacking and created:
            problems.append(_missing_pool_problem(cloud, lacking, existing))
    if unknown:
        raise InvalidDocuments(documents.located(unknown))
    problems += _drift_problems(desired, in_cloud)
    lock_with_created = replace(
        lock,
        clusters={
            name: replace(planned.clusters[name], uid=cluster.uid, settings=settings[name])
            for name, cluster in lock.clusters.items()
        },
        pools={key: pool for key, pool in planned.pools.items() if key not in missing},
        nodes={key: nodes for key, nodes in planned.nodes.items() if key not in missing},
    )
    return lock_with_created, tuple(problems)


def _missing_pool_problem(cloud: CloudCluster, lacking: list[CloudPool], existing: set[str]) -> Problem:
    return cluster_problem(
        cloud.cluster,
        f"Google Cloud has no node pool {listing(pool.name for pool in lacking)} of cluster "
        f"{cloud.cluster!r} (it has: {listing(sorted(existing)) or 'none'}), so an update would create it, "
        "and delete what the stack had",
        "Let the document say what the pool was created with, before any update",
        "spec.nodePools",
        severity="warning",
    )


def _drift_problems(desired: Desired, in_cloud: Mapping[str, LiveCloudCluster]) -> Iterator[Problem]:
    for found in drift(desired, {}, in_cloud):
        yield cluster_problem(
            found.cluster,
            f"{found.thing} has {found.field} {found.found}, and documents say {found.wanted}",
            "Let the document say what is there, before any update",
            severity="warning",
        )


def _content(api: Api, stack: str) -> Content:
    query = {"labelSelector": f"{MANAGED_BY}={MANAGER},{STACK}={stack}"}
    routes = served_kinds(api, [_ROUTES]).get(_ROUTES)
    labelled = (item["metadata"] for item in (api.items(routes.path(), query=query) if routes else ()))
    return Content(
        identity(api),
        tuple(running(api, stack)),
        frozenset(
            f"{metadata['namespace']}/{metadata['labels'][SERVICE]}"
            for metadata in labelled
            if SERVICE in metadata["labels"]
        ),
    )


def _services(contents: Mapping[str, Content]) -> dict[str, tuple[str, ...]]:
    keys = sorted({key for content in contents.values() for key in content.services})
    return {
        key: tuple(sorted(name for name, content in contents.items() if key in content.services))
        for key in keys
    }


def _placements(
    cluster: str, workloads: Iterable[dict[str, Any]], deployments: Mapping[str, ModelDeployment]
) -> Iterator[tuple[Spot, int] | Problem]:
    """Yield the spots of a cluster with their replicas, or why these are not clear.

    Deployments without a document are left out, as are roles that their document has no more: the next update
    ends them.
    """
    found: dict[tuple[str, str], _Roles] = {}
    for workload in workloads:
        template = templates_of(workload)[0]
        labels = (template.get("metadata") or {}).get("labels") or {}
        # Pods of an endpoint picker have the label of their deployment too, but none of a role.
        if not {DEPLOYMENT, ROLE, PLACEMENT} <= labels.keys():
            continue
        key, role = f"{workload['metadata']['namespace']}/{labels[DEPLOYMENT]}", labels[ROLE]
        if key in deployments and role in roles_of(deployments[key]):
            roles = found.setdefault((key, labels.get(REVISION, "")), {})
            roles.setdefault(role, {})[pool_of(labels[PLACEMENT])] = most_of(workload)
    for (key, revision), roles in sorted(found.items()):
        yield from _of_deployment(cluster, deployments[key], revision, roles)


def _of_deployment(
    cluster: str, deployment: ModelDeployment, revision: str, roles: _Roles
) -> Iterator[tuple[Spot, int] | Problem]:
    """Yield the spots of a deployment on a cluster with their replicas, or why its workloads do not tell
    them.
    """
    key = deployment.metadata.key
    replicas: dict[str, dict[int, str]] = {}
    for role, pools in roles.items():
        count = workers_of(deployment, role).count
        for pool, workers in pools.items():
            number, rest = divmod(workers, count)
            if rest or not number:
                yield Problem(
                    f"role {role} of {key} on cluster {cluster!r} has {workers} workers on pool {pool}, and "
                    f"a replica has {count}: it was scaled by hand",
                    f"Scale it back, or write how many a replica has as it runs. {_BY_HAND}",
                    kind="ModelDeployment",
                    key=key,
                )
                return
            if number in replicas.setdefault(role, {}) and len(roles) > 1:
                yield _unclear(cluster, key, roles)
                return
            if len(roles) == 1:
                yield Spot(key, cluster, ((role, pool),), revision), number
            replicas[role][number] = pool
    if len(roles) == 1:
        return
    numbers = {frozenset(of_role) for of_role in replicas.values()}
    if len(numbers) > 1:
        yield _unclear(cluster, key, roles)
        return
    for number in sorted(*numbers):
        together = tuple(sorted((role, of_role[number]) for role, of_role in replicas.items()))
        yield Spot(key, cluster, together, revision), number


def _unclear(cluster: str, key: str, roles: _Roles) -> Problem:
    """Return the problem of roles whose pools cannot be told to go together: only numbers of replicas do."""
    runs = "; ".join(
        f"{role}: {', '.join(f'{workers} on {pool}' for pool, workers in sorted(pools.items()))}"
        for role, pools in sorted(roles.items())
    )
    return Problem(
        f"it is not clear which pools of {key} on cluster {cluster!r} make a replica together (workers of "
        f"{runs})",
        _BY_HAND,
        kind="ModelDeployment",
        key=key,
    )
