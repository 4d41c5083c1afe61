"""Look for everything that an update left behind: files, locks, operations, broken pools."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from inferfleet.cloud.provider import import_id
from inferfleet.cloud.values import CloudCluster
from inferfleet.clusters.connections.api import Api, RefusedError, served_kinds
from inferfleet.clusters.connections.ask import ask
from inferfleet.clusters.connections.git import Repository
from inferfleet.clusters.connections.gke import GKE, NotThere
from inferfleet.clusters.connections.google import CloudError, ContainerApi
from inferfleet.clusters.connections.kubeconfig import Kubeconfigs, read_kubeconfigs
from inferfleet.clusters.connections.pulumi_command import Pulumi
from inferfleet.clusters.preflight import ownership
from inferfleet.desired.values import COMPONENTS, Connection, Desired
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP, HELD
from inferfleet.documents.loading.project import StackFiles, name_of
from inferfleet.documents.loading.settings import keys_in_repository
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.fleet.names import MANAGED_BY, MANAGER, STACK
from inferfleet.recovery.locks import (
    Holder,
    StackLock,
    folder_of,
    half_written,
    holder,
    process_started,
    read_locks,
    this_host,
)
from inferfleet.recovery.state import (
    CREATING,
    KUBERNETES,
    LOST,
    Absent,
    Action,
    Decision,
    Presence,
    Present,
    StackResource,
    State,
    decide,
    missing,
)

# Seconds for all clusters together, and for each answer of Google.
SECONDS = 20.0
# Seconds for each object where there are many.
SECONDS_EACH = 0.1
_ENGINE = "pulumi-kubernetes-"
# Objects of these kinds carry no label of a stack, because an existing one is used.
_SHARED = ("Namespace", "CustomResourceDefinition")
_BROKEN = "ERROR"


@dataclass(frozen=True)
class BrokenPool:
    """A pool in status ERROR. `known` says whether the state has it. `commands` delete it, so that the next
    update creates it again.
    """

    cluster: str
    name: str
    message: str
    known: bool
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Survey:
    """What an update left behind.

    `files` are half-written; while there are any, the state cannot be read and only locks are known. `busy`
    says that according to the backend an update is running, `hidden` that the backend keeps its locks where
    only the engine can read them. `unknown` are problems that kept something from being read.

    Of a state that was lost, `providers` are the URNs to create before anything can be taken over, and
    `components` are put into the state with what is. `passed_over` names what is paused or lost, of which no
    update creates anything, so that it is not looked for.
    """

    export: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    decisions: tuple[Decision, ...] = ()
    locks: tuple[tuple[StackLock, Holder], ...] = ()
    busy: bool = False
    hidden: bool = False
    pools: tuple[BrokenPool, ...] = ()
    unknown: tuple[Problem, ...] = ()
    providers: tuple[str, ...] = ()
    components: tuple[Mapping[str, Any], ...] = ()
    passed_over: tuple[Problem, ...] = ()

    @property
    def unfinished(self) -> bool:
        """Return whether something is in the way of the next update, or missing in the state."""
        missing_pools = any(not pool.known for pool in self.pools)
        return bool(self.files or self.decisions or self.locked or missing_pools or self.providers)

    @property
    def nothing(self) -> bool:
        """Return whether there is nothing to report."""
        return not (self.unfinished or self.pools)

    @property
    def locked(self) -> bool:
        """Return whether the stack is locked."""
        return self.busy or bool(self.locks)

    @property
    def in_use(self) -> bool:
        """Return whether an update may be running: there is a lock whose process is not known to be gone."""
        return self.busy or any(state is not Holder.GONE for _, state in self.locks)


def survey(
    pulumi: Pulumi,
    files: StackFiles,
    desired: Desired | None,
    *,
    trusted: bool = False,
    container_api: str,
    lost_state: bool = False,
) -> Survey:
    """Return what an update left behind; change nothing. `files` are those of a stack, or of a Fleet in a
    program of the stack of `pulumi`. `desired` is None where the documents have problems.

    Kubeconfigs in the repository are used where they are `trusted`. With `lost_state`, and where nothing was
    left behind, it is what exists of that which an update would create. Raises InvalidDocuments where
    `pulumi` does not work.
    """
    backend = pulumi.backend()
    folder, project = folder_of(backend, pulumi.root), name_of(pulumi.root)
    locks = tuple(
        (lock, holder(lock, host=this_host(), started=process_started))
        for lock in (read_locks(folder, project=project, stack=pulumi.stack) if folder else ())
    )
    broken = half_written(folder, project=project, stack=pulumi.stack) if folder else ()
    if broken:
        return Survey(files=broken, locks=locks)
    export = pulumi.export()
    state = State(export)
    pools = (
        tuple(broken_pools(desired, state, stack=pulumi.stack, container_api=container_api, seconds=SECONDS))
        if desired
        else ()
    )
    look = partial(_presence, pulumi, files, desired, container_api=container_api, trusted=trusted)
    wanted_ids = wanted(desired, files.prefix) if desired else None
    findings = Survey(
        export=export,
        decisions=decide(state, look(state), wanted_ids),
        locks=locks,
        busy=backend.startswith("http") and pulumi.busy(),
        hidden=folder is None and not backend.startswith("http"),
        pools=tuple(pool for pool in pools if isinstance(pool, BrokenPool)),
        unknown=tuple(problem for problem in pools if isinstance(problem, Problem)),
    )
    if not lost_state or findings.unfinished or desired is None:
        return findings
    lacking = missing(export, pulumi.preview(), partial(_is_ours, files))
    to_create = State({"deployment": {**state.deployment, "pending_operations": lacking.operations}})
    decisions = decide(to_create, look(to_create), wanted_ids)
    kept = tuple(decision for decision in decisions if decision.action is not Action.FORGET)
    return replace(
        findings,
        decisions=tuple(replace(decision, kind=LOST) for decision in kept),
        providers=lacking.providers,
        components=lacking.components if kept else (),
        passed_over=tuple(_passed_over_problems(desired)),
    )


def _is_ours(files: StackFiles, resource: StackResource) -> bool:
    """Return whether a resource is of a stack or Fleet. All of a project's own stack is."""
    if files.settings is None:
        return True
    return COMPONENTS in resource.urn and f"{resource.name}/".startswith(files.prefix)


def _passed_over_problems(desired: Desired) -> Iterator[Problem]:
    """Yield a warning for each cluster and deployment of which the preview creates nothing."""
    for cluster in desired.clusters:
        name, state = cluster.connection.cluster, cluster.connection.state
        if state in HELD:
            what = f"cluster {name!r} is {state}, so it was not looked for what the state lacks of it"
            step = f"Remove `state: {state}`{' where it answers again' if state == 'lost' else ''}"
            yield cluster_problem(name, what, f"{step}, and run this again", "spec.state", severity="warning")
    for key in desired.plan.paused:
        what = f"{key} is paused, so it was not looked for what the state lacks of it"
        yield Problem(
            what,
            "Remove `paused`, and run this again",
            "spec.paused",
            kind="ModelDeployment",
            key=key,
            severity="warning",
        )


def wanted(desired: Desired, prefix: str) -> dict[tuple[str, str], str | None]:
    """Return the IDs of all cloud resources that the documents ask for, by type and Pulumi name."""
    return {
        (resource.token, prefix + resource.name): import_id(resource.token, resource.inputs)
        for cluster in desired.clusters
        if cluster.connection.cloud
        for resource in cluster.connection.cloud.resources
    }


def _presence(
    pulumi: Pulumi,
    files: StackFiles,
    desired: Desired | None,
    state: State,
    *,
    container_api: str,
    trusted: bool,
) -> dict[str, Presence]:
    """Return by URN whether the objects exist whose creation was pending in a state."""
    objects: list[StackResource] = [
        pending.resource
        for pending in state.pending
        if pending.kind == CREATING
        and pending.resource.token.startswith(KUBERNETES)
        and not state.current(pending.resource.urn)
    ]
    others: dict[str, Presence] = {
        resource.urn: _foreign(resource) for resource in objects if not _is_ours(files, resource)
    }
    objects = [resource for resource in objects if resource.urn not in others]
    if not objects:
        return others
    if desired is None:
        step = "Fix them (inferfleet validate), so that the clusters can be asked"
        unread = Problem("its cluster is not known while the documents have problems", step)
        return others | {resource.urn: unread for resource in objects}
    needed = {_cluster(resource, files.prefix) for resource in objects}
    clusters = [cluster.connection for cluster in desired.clusters if cluster.connection.cluster in needed]
    read = kubeconfigs_of(pulumi, files, clusters, trusted=trusted)
    return others | presence(
        objects,
        desired,
        read.texts,
        read.problems,
        prefix=files.prefix,
        container_api=container_api,
        seconds=max(SECONDS, len(objects) * SECONDS_EACH),
    )


def _foreign(resource: StackResource) -> Problem:
    step = "Answer for it yourself: `pulumi refresh` asks about each in a terminal; then run this again"
    return Problem(f"{resource.title} is not of this Fleet", step)


def _cluster(resource: StackResource, prefix: str) -> str:
    """Return the cluster of a resource, with whose name its own begins."""
    return resource.name.removeprefix(prefix).partition("/")[0]


def kubeconfigs_of(
    pulumi: Pulumi, files: StackFiles, clusters: Iterable[Connection], *, trusted: bool
) -> Kubeconfigs:
    """Return the kubeconfigs of existing clusters, also those in the configuration, which Pulumi reads."""
    connections = [connection for connection in clusters if not connection.cloud]
    keys = [connection.config_key for connection in connections if connection.config_key]
    keys_in_files = keys_in_repository(files, keys)
    # `pulumi` is not asked for what would not be used.
    given = {key: pulumi.setting(key) for key in keys if trusted or key not in keys_in_files}
    repository = Repository(pulumi.root, trusted, keys_in_files)
    return read_kubeconfigs(connections, given, repository)


def presence(
    resources: Iterable[StackResource],
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    unreadable: Mapping[str, Problem],
    *,
    prefix: str = "",
    container_api: str,
    seconds: float,
) -> dict[str, Presence]:
    """Return by URN whether each object exists on its cluster. All clusters are asked at once.

    `unreadable` has the problems of kubeconfigs that are not in `kubeconfigs`; names begin with `prefix`.
    """
    by_cluster: dict[str, list[StackResource]] = {}
    for resource in resources:
        by_cluster.setdefault(_cluster(resource, prefix), []).append(resource)
    clusters = {cluster.connection.cluster: cluster for cluster in desired.clusters}

    def look(connection: Connection, api: Api) -> dict[str, Presence] | Problem:
        for swapped in ownership.cluster_identity_problems(
            clusters[connection.cluster], ownership.identity(api)
        ):
            return swapped
        return _look(api, by_cluster[connection.cluster], desired.stack)

    needed = Desired(
        desired.stack,
        tuple(cluster for name, cluster in clusters.items() if name in by_cluster),
        desired.plan,
        desired.waiting,
        (),
    )
    answers = ask(needed, kubeconfigs, look, container_api=container_api, seconds=seconds)
    by_urn: dict[str, Presence] = {}
    for name, of_cluster in by_cluster.items():
        connection = clusters[name].connection if name in clusters else None
        answer = answers.get(name) or unreadable.get(name) or _not_asked(name, connection)
        if isinstance(answer, NotThere):
            answer = answer.notice or Absent(answer.why)
        by_urn |= answer if isinstance(answer, dict) else {resource.urn: answer for resource in of_cluster}
    return by_urn


def _not_asked(cluster: str, connection: Connection | None) -> Presence:
    if connection is None:
        step = "Put its document back, with `state: abandoned` if it is to be given up"
        return Problem(f"cluster {cluster!r} has no document any more", step)
    if connection.state in GIVEN_UP:
        return Absent(f"cluster {cluster!r} is {connection.state}; an update finds it by its name")
    return cluster_problem(cluster, f"cluster {cluster!r} was not asked", "Try again")


def _look(api: Api, resources: Iterable[StackResource], stack: str) -> dict[str, Presence]:
    kinds = {
        resource.urn: (str(resource.inputs.get("apiVersion")), str(resource.inputs.get("kind")))
        for resource in resources
    }
    served = served_kinds(api, kinds.values())
    by_urn: dict[str, Presence] = {}
    for resource in resources:
        kind = kinds[resource.urn]
        metadata = resource.inputs.get("metadata") or {}
        if kind not in served:
            by_urn[resource.urn] = Absent("its cluster does not know the kind")
            continue
        try:
            path = served[kind].path(metadata.get("namespace"), metadata.get("name"))
            by_urn[resource.urn] = _judged(api.get(path, metadata_only=True)["metadata"], kind[1], stack)
        except RefusedError as refused:
            if refused.status != 404:
                raise
            by_urn[resource.urn] = Absent()
    return by_urn


def _judged(metadata: Mapping[str, Any], kind: str, stack: str) -> Presence:
    labels = metadata.get("labels") or {}
    if kind not in _SHARED and (labels.get(MANAGED_BY), labels.get(STACK)) != (MANAGER, stack):
        return Absent("what is on its cluster under that name is not this stack's")
    managers = [
        str(entry.get("manager"))
        for entry in metadata.get("managedFields") or ()
        if entry.get("operation") == "Apply" and str(entry.get("manager")).startswith(_ENGINE)
    ]
    return Present(managers[-1] if managers else None)


def broken_pools(
    desired: Desired, state: State, *, stack: str, container_api: str, seconds: float
) -> Iterator[BrokenPool | Problem]:
    """Yield the broken pools of every GKE cluster of the stack, or why Google did not say.

    GKE found no machines or no quota for them, and goes on trying. The next update refreshes a pool that the
    state has. A pool that the state does not have is in the way: the update would create it, and its name is
    taken.
    """
    google = ContainerApi(container_api)
    for cluster in desired.clusters:
        plan = cluster.connection.cloud
        if plan is None or cluster.connection.state in GIVEN_UP:
            continue
        try:
            pools = google.node_pools(plan, seconds=seconds)
        except CloudError as error:
            what = f"the node pools of cluster {plan.cluster!r} cannot be read: {error.what}"
            yield cluster_problem(plan.cluster, what, error.next_step, GKE)
            continue
        for pool in pools:
            if pool.status == _BROKEN:
                any_pool = plan.resource(plan.system_key)
                urn = state.urn_of(import_id(any_pool.token, {**any_pool.inputs, "name": pool.name}))
                commands = tuple(_commands(plan, pool.name, urn, stack))
                yield BrokenPool(plan.cluster, pool.name, pool.message, urn is not None, commands)


def _commands(plan: CloudCluster, pool: str, urn: str | None, stack: str) -> Iterator[str]:
    place = ["--cluster", plan.cloud_name, "--region", plan.region, "--project", plan.project]
    yield shlex.join(["gcloud", "container", "node-pools", "delete", pool, *place])
    if urn:
        # Without it the state would still have the pool.
        yield shlex.join(["pulumi", "refresh", "--stack", stack, "--target", urn])
