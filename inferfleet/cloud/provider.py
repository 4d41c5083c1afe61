"""The seam to clouds: what each has to say of its clusters, who says it, and what follows for all of them.

Clusters of `source: Existing` are of no cloud. For every other source there is a provider in PROVIDERS, a
module of its own room, and nobody outside of that room knows what is inside: `desired`, digests, recovery,
components and the command ask here. A provider decides and touches nothing outside. How its clusters are
asked over the network is in `clusters`.

Another cloud is a room beside `gke`, a line here, its blocks in `documents`, its resource types in
`components`, and what asks it in `clusters`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from inferfleet.cloud.gke import provider as gke
from inferfleet.cloud.values import (
    CloudChange,
    CloudCluster,
    CloudComponent,
    CloudPool,
    CloudResource,
    Comparison,
    Drift,
    Manifest,
    NodeRequest,
    QuotaUse,
    Setting,
    Verdict,
)
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import CapacityModel, InferenceCluster, NodePool
from inferfleet.documents.problems import Problem, of_severity
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock, LockedCluster, LockedPool
from inferfleet.fleet.scheduling import Scheduling
from inferfleet.fleet.spot import Spot

# The finished pod templates of each spot, with their roles.
Templates = Mapping[Spot, Collection[tuple[str, Mapping[str, Any]]]]


class Provider(Protocol):
    """What is asked of a cloud in which the stack creates clusters. All answers follow from the arguments."""

    def pools(self, documents: Documents, lock: Lock) -> Mapping[str, Mapping[str, CloudPool]]:
        """Return its pools by cluster and name, which are the same whatever is placed on them.

        There are none while documents have errors.
        """
        ...

    def clusters(
        self, documents: Documents, lock: Lock, planned: Plan
    ) -> tuple[tuple[CloudCluster, ...], tuple[Problem, ...]]:
        """Return its clusters by name, with everything that should exist of them, and what is wrong with the
        documents; no clusters while that has errors.
        """
        ...

    def changes(
        self, documents: Documents, lock: Lock, clusters: tuple[CloudCluster, ...]
    ) -> tuple[tuple[CloudChange, ...], tuple[Problem, ...]]:
        """Return the changes that an update makes to clusters and pools that exist by `lock`, and problems
        for refused and risky ones.
        """
        ...

    def pod_problems(
        self,
        documents: Documents,
        planned: Plan,
        lock: Lock,
        clusters: Mapping[str, CloudCluster],
        templates: Templates,
    ) -> Iterator[Problem]:
        """Yield the problems of finished pods that do not fit the pools where they are placed."""
        ...

    def node_request(
        self,
        manifest: Manifest,
        pool: CloudPool,
        document: NodePool,
        scheduling: Scheduling | None,
        *,
        spot: Spot,
        stack: str,
    ) -> NodeRequest:
        """Return the workload of a role on a pool, with what asks for its nodes, where something does."""
        ...

    def compared(self, before: CloudResource, after: CloudResource) -> Comparison | None:
        """Return how an update changes a resource, None where it does not."""
        ...

    def quota_uses(
        self,
        documents: Documents,
        clusters: Collection[CloudCluster],
        lock: Lock,
        planned: Plan,
        existing: Mapping[str, Collection[str]],
    ) -> tuple[QuotaUse, ...]:
        """Return the quotas of which the update takes more than clusters and pools take now, sorted.

        What they take now is what `lock` has of them, for pools that exist. `existing` has by cluster the
        names of the pools that the cloud has.
        """
        ...

    def settings(self, cluster: CloudCluster, pool: str) -> tuple[Setting, ...]:
        """Return every setting of a pool of the document, with the fields behind it."""
        ...

    def drift(
        self, cluster: CloudCluster, answer: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> tuple[Drift, ...]:
        """Return what somebody changed, by what the cloud answers of the cluster, and by the numbers of nodes
        of fixed pools, by their names in the cloud, as far as they are known.
        """
        ...

    def bucket(self, documents: Documents, cluster: str, namespace: str) -> str | None:
        """Return the name of the stack's own bucket for a namespace's weights in the region of a cluster;
        None where the cloud has none.
        """
        ...

    def buckets(self, documents: Documents) -> tuple[CloudComponent, ...]:
        """Return the stack's own buckets, each with who reads and writes it."""
        ...

    def import_id(self, token: str, inputs: Mapping[str, Any]) -> str | None:
        """Return the ID under which Pulumi imports a resource; None for one that is not of this cloud."""
        ...

    def kubeconfig(self, cluster: str, *, host: str, ca: str | None, proxy: str | None = None) -> str:
        """Return a kubeconfig without credentials for an API server at `host`, a name or an address.

        `ca` is its certificate authority as base64 of PEM, None where any system trusts it; `proxy` is the
        address of a proxy on the way.
        """
        ...

    def made_with(self, settings: Mapping[str, Any], path: str) -> str | None:
        """Return the value of a field of its block when a cluster was created, by the settings in the lock;
        None where these do not have it.
        """
        ...

    def settings_by_answer(
        self, cluster: CloudCluster, document: InferenceCluster, answer: Mapping[str, Any]
    ) -> Mapping[str, Any] | Problem:
        """Return what the lock keeps of a cluster that exists, where some of that was chosen when it was made
        and only the cloud knows it; or why its answer does not say that.
        """
        ...

    def capacity_models(self, hardware: InferenceClass) -> Mapping[CapacityModel, Verdict] | None:
        """Return whether the machines of a class are offered by each capacity model; None for a class whose
        nodes are not of this cloud.
        """
        ...


# By `spec.cluster.source` of documents.
PROVIDERS: dict[str, Provider] = {"GKE": gke}


@dataclass(frozen=True)
class Clouds:
    """What should exist in all clouds, and what an update changes there."""

    clusters: Mapping[str, CloudCluster] = field(default_factory=dict)
    """By name; none while anything has errors."""
    changes: tuple[CloudChange, ...] = ()
    """In comparison with the lock that was loaded."""
    problems: tuple[Problem, ...] = ()
    lock: Lock = field(default_factory=Lock)
    """The next one, with the settings of clusters and pools."""


def provider_of(cluster: CloudCluster) -> Provider:
    """Return the provider of a cluster."""
    return PROVIDERS[cluster.source]


def own_bucket(documents: Documents, cluster: str, namespace: str) -> str | None:
    """Return the name of the stack's own bucket for a namespace's weights near a cluster; None for a cluster
    that the stack does not create.
    """
    provider = PROVIDERS.get(documents.clusters[cluster].spec.cluster.source)
    return provider.bucket(documents, cluster, namespace) if provider else None


def own_buckets(documents: Documents) -> tuple[CloudComponent, ...]:
    """Return the stack's own buckets in all clouds."""
    return tuple(bucket for provider in PROVIDERS.values() for bucket in provider.buckets(documents))


def cloud_pools(documents: Documents, lock: Lock) -> dict[str, Mapping[str, CloudPool]]:
    """Return the pools that the stack creates, by cluster and name."""
    return {
        cluster: pools
        for provider in PROVIDERS.values()
        for cluster, pools in provider.pools(documents, lock).items()
    }


def decide(documents: Documents, lock: Lock, planned: Plan) -> Clouds:
    """Return everything about clouds. Changes are worked out only where nothing else is refused."""
    clusters: list[CloudCluster] = []
    problems: list[Problem] = []
    for provider in PROVIDERS.values():
        found, wrong = provider.clusters(documents, lock, planned)
        clusters += found
        problems += wrong
    if of_severity(problems, "error"):
        return Clouds(problems=tuple(problems), lock=planned.lock)
    changes, refused = cloud_changes(documents, lock, clusters)
    return Clouds(
        clusters={cluster.cluster: cluster for cluster in clusters},
        changes=changes,
        problems=(*problems, *refused),
        lock=locked(documents, planned.lock, clusters),
    )


def cloud_changes(
    documents: Documents, lock: Lock, clusters: Iterable[CloudCluster]
) -> tuple[tuple[CloudChange, ...], tuple[Problem, ...]]:
    """Return the changes that an update makes in all clouds, and problems for refused and risky ones."""
    every = tuple(clusters)
    changes: list[CloudChange] = []
    problems: list[Problem] = []
    for source, provider in PROVIDERS.items():
        clusters_of_provider = tuple(cluster for cluster in every if cluster.source == source)
        changed, refused = provider.changes(documents, lock, clusters_of_provider)
        changes += changed
        problems += refused
    return tuple(changes), tuple(problems)


def locked(documents: Documents, lock: Lock, clusters: Iterable[CloudCluster]) -> Lock:
    """Return the lock with the settings that `clusters` and their pools have now, and no others.

    Entries of clusters that are paused or lost stay as they are. A cluster that is replaced loses its UID.
    """
    held = {name for name, document in documents.clusters.items() if document.spec.held}
    now = {cluster.cluster: cluster for cluster in clusters if cluster.cluster in lock.clusters.keys() - held}
    pools = {key: pool for key, pool in lock.pools.items() if key.partition("/")[0] in held}
    for cluster in now.values():
        pools |= {pool.key: LockedPool(pool.name, pool.settings) for pool in cluster.pools.values()}
    return replace(
        lock,
        clusters={
            name: _locked_cluster(before, now[name]) if name in now else before
            for name, before in lock.clusters.items()
        },
        pools=dict(sorted(pools.items())),
    )


def _locked_cluster(before: LockedCluster, cluster: CloudCluster) -> LockedCluster:
    another = bool(before.settings) and before.settings != cluster.settings
    return replace(
        before,
        settings=cluster.settings,
        uid=None if another else before.uid,
        protected=cluster.protected,
        installed={} if another else before.installed,
    )


def made_with(locked: Mapping[str, LockedCluster], cluster: str, path: str) -> str | None:
    """Return what a field of the block of a cloud was when the cluster was created; None for a cluster that
    the lock does not know.
    """
    before = locked.get(cluster)
    if before is None or before.source not in PROVIDERS:
        return None
    return PROVIDERS[before.source].made_with(before.settings, path)


def pod_problems(
    documents: Documents,
    planned: Plan,
    lock: Lock,
    clusters: Mapping[str, CloudCluster],
    templates: Templates,
) -> Iterator[Problem]:
    """Yield the problems of finished pods that do not fit the pools where they are placed, in all clouds."""
    for source, provider in PROVIDERS.items():
        clusters_of_provider = {
            name: cluster for name, cluster in clusters.items() if cluster.source == source
        }
        yield from provider.pod_problems(documents, planned, lock, clusters_of_provider, templates)


def quota_uses(
    documents: Documents,
    clusters: Collection[CloudCluster],
    lock: Lock,
    planned: Plan,
    existing: Mapping[str, Collection[str]],
) -> tuple[QuotaUse, ...]:
    """Return the quotas of all clouds of which the update takes more than clusters and pools take now."""
    return tuple(
        need
        for source, provider in PROVIDERS.items()
        if (clusters_of_provider := [cluster for cluster in clusters if cluster.source == source])
        for need in provider.quota_uses(documents, clusters_of_provider, lock, planned, existing)
    )


def import_id(token: str, inputs: Mapping[str, Any]) -> str | None:
    """Return the ID under which Pulumi imports a resource of any cloud; None where it does not follow."""
    ids = (provider.import_id(token, inputs) for provider in PROVIDERS.values())
    return next(filter(None, ids), None)


def capacity_models(hardware: InferenceClass) -> Mapping[CapacityModel, Verdict] | None:
    """Return whether the machines of a class are offered by each capacity model, None where nobody knows."""
    models = (provider.capacity_models(hardware) for provider in PROVIDERS.values())
    return next((verdicts for verdicts in models if verdicts is not None), None)
