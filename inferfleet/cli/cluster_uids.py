"""The UIDs that `plan --write` records, so that another cluster under the same name is noticed."""

from dataclasses import replace

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.cli.environment import container_api
from inferfleet.desired.values import Desired
from inferfleet.fleet.lock import Lock
from inferfleet.live.gke import path_of
from inferfleet.live.kubeconfig import GIVEN_UP, read_kubeconfigs
from inferfleet.live.lines import located
from inferfleet.live.observe import identify
from inferfleet.live.prepare import remade, with_uids

# Writing a lock on a train must not take long; `pulumi up` records what is missed here.
SECONDS = 4.0


def with_reachable_uids(desired: Desired, documents: Documents, before: Lock) -> tuple[Lock, list[Problem]]:
    """The plan's lock with the UIDs of clusters that answer at once, and a warning for each that does not.

    `before` is the lock that the plan was made from: clusters that are made anew get their UID later.
    """
    lock = desired.plan.lock
    unknown = {name for name, cluster in lock.clusters.items() if cluster.uid is None} - remade(before, lock)
    clusters = tuple(
        one
        for one in desired.clusters
        if one.connection.cluster in unknown and one.connection.state not in GIVEN_UP
    )
    connections = [one.connection for one in clusters]
    if not connections:
        return lock, []
    # Values of configuration keys may be encrypted: only Pulumi can read them.
    texts, unread = read_kubeconfigs([one for one in connections if one.kubeconfig], {})
    uids, silent = identify(
        replace(desired, clusters=clusters), texts, container_api=container_api(), seconds=SECONDS
    )
    reasons = {name: problem.what for name, problem in (unread | silent).items()} | {
        one.cluster: f"the kubeconfig of cluster {one.cluster!r} is in the configuration, which Pulumi reads"
        for one in connections
        if one.config_key
    }
    step = "`pulumi up` records it, or run this again where the cluster answers"
    paths = {one.cluster: path_of(one) for one in connections}
    return with_uids(lock, uids), [
        located(Problem(f"no UID recorded: {what}", step, paths[name]), name, documents)
        for name, what in sorted(reasons.items())
    ]
