"""Everything that an update left behind, in one value: files, locks, operations, broken pools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inferfleet.api.problems import Problem
from inferfleet.desired.values import Desired
from inferfleet.fleet.names import PROJECT
from inferfleet.gke.ids import cloud_id
from inferfleet.reach.kubeconfig import read_kubeconfigs
from inferfleet.recovery.decide import KUBERNETES, Decision, Standing, decide
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
from inferfleet.recovery.objects import standing
from inferfleet.recovery.pools import BrokenPool, broken_pools
from inferfleet.recovery.pulumi_command import Pulumi
from inferfleet.recovery.state import CREATING, StackResource, State

# For all clusters together, and for each answer of Google.
SECONDS = 20.0


@dataclass(frozen=True)
class Survey:
    """`busy`: the backend says that an update is under way, and not whose. `hidden`: the backend keeps its
    locks where only the engine can read them. `files` are half-written; while there are any, the state cannot
    be read and nothing else is known. `unknown` says what could not be looked at.
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
        """Whether something is in the way of the next update, or known to nobody."""
        unknown = any(not one.known for one in self.pools)
        return bool(self.files or self.decisions or self.locked or unknown)

    @property
    def nothing(self) -> bool:
        return not (self.unfinished or self.pools)

    @property
    def locked(self) -> bool:
        return self.busy or bool(self.locks)

    @property
    def in_use(self) -> bool:
        """Whether somebody may be at work on the stack: all that is not known to be over."""
        return self.busy or any(held is not Holder.GONE for _, held in self.locks)


def survey(pulumi: Pulumi, desired: Desired | None, *, container_api: str) -> Survey:
    """Look, and change nothing. `desired` is None where the documents have problems.

    Raises InvalidDocuments where `pulumi` does not work.
    """
    backend = pulumi.backend()
    folder = folder_of(backend, pulumi.root)
    found = read_locks(folder, project=PROJECT, stack=pulumi.stack) if folder else ()
    locks = tuple((one, holder(one, host=this_host(), started=process_started)) for one in found)
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
            _standing(pulumi, state, desired, container_api),
            wanted(desired) if desired else None,
        ),
        locks=locks,
        busy=backend.startswith("http") and pulumi.busy(),
        hidden=folder is None and not backend.startswith("http"),
        pools=tuple(one for one in pools if isinstance(one, BrokenPool)),
        unknown=tuple(one for one in pools if isinstance(one, Problem)),
    )


def wanted(desired: Desired) -> dict[tuple[str, str], str | None]:
    """The IDs of all cloud resources that the documents ask for, by type and Pulumi name."""
    return {
        (one.token, one.name): cloud_id(one.token, one.inputs)
        for cluster in desired.clusters
        if cluster.connection.cloud
        for component in cluster.connection.cloud.components
        for one in component.resources
    }


def _standing(
    pulumi: Pulumi, state: State, desired: Desired | None, container_api: str
) -> dict[str, Standing]:
    objects: list[StackResource] = [
        one.resource
        for one in state.pending
        if one.kind == CREATING
        and one.resource.token.startswith(KUBERNETES)
        and not state.current(one.resource.urn)
    ]
    if not objects:
        return {}
    if desired is None:
        step = "Mend them (inferfleet validate), so that the clusters can be asked"
        unread = Problem("its cluster is not known while the documents have problems", step)
        return {one.urn: unread for one in objects}
    needed = {one.cluster for one in objects}
    connections = [
        one.connection
        for one in desired.clusters
        if one.connection.cluster in needed and not one.connection.cloud
    ]
    given = {one.config_key: pulumi.setting(one.config_key) for one in connections if one.config_key}
    texts, unreadable = read_kubeconfigs(connections, given)
    return standing(objects, desired, texts, unreadable, container_api=container_api, seconds=SECONDS)
