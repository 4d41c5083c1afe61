"""Look for everything that an update left behind: files, locks, operations, broken pools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inferfleet.cloud.gke.import_ids import cloud_id
from inferfleet.clusters.connections.kubeconfig import read_kubeconfigs
from inferfleet.clusters.connections.pulumi_command import Pulumi
from inferfleet.clusters.connections.repository import Repository
from inferfleet.desired.values import Desired
from inferfleet.documents.loading.stack_files import StackFiles, keys_in_repository
from inferfleet.documents.problems import Problem
from inferfleet.fleet.names import PROJECT
from inferfleet.recovery.decide import KUBERNETES, Decision, Presence, decide
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
from inferfleet.recovery.objects import presence
from inferfleet.recovery.pools import BrokenPool, broken_pools
from inferfleet.recovery.state import CREATING, StackResource, State

# Seconds for all clusters together, and for each answer of Google.
SECONDS = 20.0


@dataclass(frozen=True)
class Survey:
    """What an update left behind.

    `files` are half-written; while there are any, the state cannot be read and only locks are known. `busy`
    says that according to the backend an update is running, `hidden` that the backend keeps its locks where
    only the engine can read them. `unknown` are problems that kept something from being read.
    """

    export: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    decisions: tuple[Decision, ...] = ()
    locks: tuple[tuple[StackLock, Holder], ...] = ()
    busy: bool = False
    hidden: bool = False
    pools: tuple[BrokenPool, ...] = ()
    unknown: tuple[Problem, ...] = ()

    @property
    def unfinished(self) -> bool:
        """Return whether something is in the way of the next update, or missing in the state."""
        return bool(self.files or self.decisions or self.locked or any(not pool.known for pool in self.pools))

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


def survey(pulumi: Pulumi, desired: Desired | None, *, trusted: bool = False, container_api: str) -> Survey:
    """Return what an update left behind; change nothing. `desired` is None where the documents have problems.

    Kubeconfigs in the repository are used where they are `trusted`. Raises InvalidDocuments where `pulumi`
    does not work.
    """
    backend = pulumi.backend()
    folder = folder_of(backend, pulumi.root)
    locks = tuple(
        (lock, holder(lock, host=this_host(), started=process_started))
        for lock in (read_locks(folder, project=PROJECT, stack=pulumi.stack) if folder else ())
    )
    files = half_written(folder, project=PROJECT, stack=pulumi.stack) if folder else ()
    if files:
        return Survey(files=files, locks=locks)
    export = pulumi.export()
    state = State(export)
    pools = (
        tuple(broken_pools(desired, state, stack=pulumi.stack, container_api=container_api, seconds=SECONDS))
        if desired
        else ()
    )
    return Survey(
        export=export,
        decisions=decide(
            state,
            _presence(pulumi, state, desired, container_api, trusted=trusted),
            wanted(desired) if desired else None,
        ),
        locks=locks,
        busy=backend.startswith("http") and pulumi.busy(),
        hidden=folder is None and not backend.startswith("http"),
        pools=tuple(pool for pool in pools if isinstance(pool, BrokenPool)),
        unknown=tuple(problem for problem in pools if isinstance(problem, Problem)),
    )


def wanted(desired: Desired) -> dict[tuple[str, str], str | None]:
    """Return the IDs of all cloud resources that the documents ask for, by type and Pulumi name."""
    return {
        (resource.token, resource.name): cloud_id(resource.token, resource.inputs)
        for cluster in desired.clusters
        if cluster.connection.cloud
        for component in cluster.connection.cloud.components
        for resource in component.resources
    }


def _presence(
    pulumi: Pulumi, state: State, desired: Desired | None, container_api: str, *, trusted: bool
) -> dict[str, Presence]:
    objects: list[StackResource] = [
        pending.resource
        for pending in state.pending
        if pending.kind == CREATING
        and pending.resource.token.startswith(KUBERNETES)
        and not state.current(pending.resource.urn)
    ]
    if not objects:
        return {}
    if desired is None:
        step = "Fix them (inferfleet validate), so that the clusters can be asked"
        unread = Problem("its cluster is not known while the documents have problems", step)
        return {resource.urn: unread for resource in objects}
    needed = {resource.cluster for resource in objects}
    connections = [
        cluster.connection
        for cluster in desired.clusters
        if cluster.connection.cluster in needed and not cluster.connection.cloud
    ]
    keys = [connection.config_key for connection in connections if connection.config_key]
    written = keys_in_repository(StackFiles(pulumi.root, pulumi.stack), keys)
    # `pulumi` is not asked for what would not be used.
    given = {key: pulumi.setting(key) for key in keys if trusted or key not in written}
    repository = Repository(pulumi.root, trusted, written)
    read = read_kubeconfigs(connections, given, repository)
    return presence(objects, desired, read.texts, read.problems, container_api=container_api, seconds=SECONDS)
