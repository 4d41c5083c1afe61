"""Caches in the stack's own buckets: in which one on each cluster, and where there is none."""

from collections.abc import Iterator

from inferfleet.cloud.provider import own_bucket
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_cache import ModelCache
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing


def cache_on(documents: Documents, cache: ModelCache, cluster: str) -> ModelCache:
    """Return a cache as it is on a cluster: where it names no bucket, in the stack's own."""
    if not cache.in_own_bucket:
        return cache
    name = own_bucket(documents, cluster, cache.metadata.namespace)
    return cache.in_bucket(name) if name else cache


def own_bucket_problems(documents: Documents) -> Iterator[Problem]:
    """Yield caches that the stack's own buckets are to hold on clusters that it does not create: whose they
    are, and where, nobody says.
    """
    for key, cache in documents.caches.items():
        others = [
            name
            for name, cluster in documents.clusters.items()
            if cache.in_own_bucket
            and cache.spec.cluster_selector.matches(cluster.metadata.labels)
            and own_bucket(documents, name, cache.metadata.namespace) is None
        ]
        if others:
            yield Problem(
                f"the stack creates buckets in Google Cloud near clusters that it creates, and ModelCache "
                f"{key} has none of its own for cluster {listing(others)}, which it does not create",
                "Write bucket.name, or select other clusters by clusterSelector",
                "spec.to.bucket",
                kind="ModelCache",
                key=key,
            )
