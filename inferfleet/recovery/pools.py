"""Node pools in status ERROR: GKE found no machines or no quota, and goes on trying.

The next update refreshes a pool that the state has. A pool that the state does not have is in the way: the
update would create it, and its name is taken.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from inferfleet.cloud.gke.facts.schema import NODE_POOL
from inferfleet.cloud.gke.import_ids import cloud_id
from inferfleet.cloud.gke.values import CloudCluster
from inferfleet.clusters.connections.gke import GKE
from inferfleet.clusters.connections.google_apis import ContainerApi
from inferfleet.clusters.connections.kubeconfig import GIVEN_UP
from inferfleet.clusters.connections.refusals import CloudError
from inferfleet.desired.values import Desired
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.recovery.state import State

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


def broken_pools(
    desired: Desired, state: State, *, stack: str, container_api: str, seconds: float
) -> Iterator[BrokenPool | Problem]:
    """Yield the broken pools of every GKE cluster of the stack, or why Google did not say."""
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
                inputs = {"cluster": plan.cloud_name, "name": pool.name}
                place = {"project": plan.project, "location": plan.region}
                urn = state.urn_of(cloud_id(NODE_POOL, {**place, **inputs}))
                commands = tuple(_commands(plan, pool.name, urn, stack))
                yield BrokenPool(plan.cluster, pool.name, pool.message, urn is not None, commands)


def _commands(plan: CloudCluster, pool: str, urn: str | None, stack: str) -> Iterator[str]:
    place = ["--cluster", plan.cloud_name, "--region", plan.region, "--project", plan.project]
    yield shlex.join(["gcloud", "container", "node-pools", "delete", pool, *place])
    if urn:
        # Without it the state would still have the pool.
        yield shlex.join(["pulumi", "refresh", "--stack", stack, "--target", urn])
