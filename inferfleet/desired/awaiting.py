"""Which engine workloads an update does not wait for, because others must leave their nodes first.

Decided last, on the finished value: it changes one annotation of workloads, and nothing else.
"""

from collections.abc import Iterable
from dataclasses import replace

from inferfleet.api.documents import Documents
from inferfleet.desired.values import Desired, DesiredCluster
from inferfleet.fleet.decisions import Leaving
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.handover import waiting
from inferfleet.fleet.spot import Spot
from inferfleet.manifests.workload import unawaited


def with_leaving(desired: Desired, documents: Documents, lock: Lock, leaving: Iterable[Leaving]) -> Desired:
    """Return what is desired, without awaiting workloads that fit only once the `leaving` ones are gone."""
    waits = waiting(documents, desired.plan, leaving, lock)
    if not waits:
        return desired
    clusters = tuple(_with_unawaited(cluster, waits) for cluster in desired.clusters)
    return replace(desired, clusters=clusters, waiting=waits)


def _with_unawaited(cluster: DesiredCluster, spots: frozenset[Spot]) -> DesiredCluster:
    keys = {key for spot in spots for key in cluster.workloads.get(spot, ())}
    if not keys:
        return cluster
    return replace(
        cluster,
        components=tuple(
            replace(
                component,
                objects=tuple(
                    replace(made, manifest=unawaited(made.manifest)) if made.key in keys else made
                    for made in component.objects
                ),
            )
            for component in cluster.components
        ),
    )
