"""The caches of weights on a cluster: which are there, what their Jobs name, and their objects."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from inferfleet.cloud.values import CloudComponent
from inferfleet.desired.clusters import Site
from inferfleet.desired.own_buckets import cache_on
from inferfleet.desired.secrets import Read
from inferfleet.desired.serving_stack import ServingStack
from inferfleet.desired.values import Component, KubeObject
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP
from inferfleet.documents.kinds.model_cache import ModelCache
from inferfleet.documents.pods.references import Reference, references
from inferfleet.fleet import names
from inferfleet.serving.weights import CLAIM, account, claim, fill_job, is_deleted


@dataclass(frozen=True)
class Filling:
    """What a cache holds: the claim on a cluster, or who writes a bucket, and the Job that fetches it."""

    first: KubeObject
    job: KubeObject

    @property
    def objects(self) -> tuple[KubeObject, ...]:
        return (self.first, self.job)

    @property
    def claim_key(self) -> tuple[str, ...]:
        """Return the key of the claim that workloads come after, none for a bucket."""
        return (self.first.key,) if self.first.kind == CLAIM else ()


def filling_cluster(documents: Documents, cache: ModelCache, cluster: str) -> str | None:
    """Return where the Job runs that fills a cache for a cluster: there, and a bucket on the first of those
    that share it and are not given up; None where no cluster is.
    """
    if cache.spec.to.bucket is None:
        return cluster
    shared = cache_on(documents, cache, cluster).spec.to.bucket
    clusters = (
        name
        for name, document in sorted(documents.clusters.items())
        if cache.spec.cluster_selector.matches(document.metadata.labels)
        and document.spec.state not in GIVEN_UP
        and cache_on(documents, cache, name).spec.to.bucket == shared
    )
    return next(clusters, None)


def caches_on(documents: Documents, cluster: str) -> Iterator[ModelCache]:
    """Yield the caches that Jobs on a cluster fill, by key, as they are there."""
    labels = documents.clusters[cluster].metadata.labels
    for _, cache in sorted(documents.caches.items()):
        here = cache.spec.filled_here and cache.spec.cluster_selector.matches(labels)
        if here and filling_cluster(documents, cache, cluster) == cluster:
            yield cache_on(documents, cache, cluster)


def cache_reads(documents: Documents, cluster: str) -> Iterator[Read]:
    """Yield what the Jobs and claims of a cluster's caches name, with the keys of the caches."""
    serving = documents.clusters[cluster].spec.serving
    for cache in caches_on(documents, cluster):
        job = fill_job(cache, serving=serving, stack=documents.settings.stack)
        for reference in references(job["spec"]["template"]):
            if reference.kind not in (CLAIM, "ServiceAccount"):
                yield cache.metadata.key, reference
        if cache.spec.to.claim and cache.spec.to.claim.storage_class_name:
            yield cache.metadata.key, Reference("StorageClass", cache.spec.to.claim.storage_class_name)


def fillings(
    documents: Documents, site: Site, shared: ServingStack, buckets: Iterable[CloudComponent]
) -> Mapping[str, Filling]:
    """Return the fillings of a cluster's caches, by their keys. Those in a bucket of the stack's own come
    after who may write it.
    """
    members = {
        component.resources[0].inputs["name"]: tuple(each.key for each in component.resources)
        for component in buckets
    }
    stack, serving = documents.settings.stack, documents.clusters[site.cluster].spec.serving
    made = {}
    for cache in caches_on(documents, site.cluster):
        job = fill_job(cache, serving=serving, stack=stack)
        secrets = {each.name for each in references(job["spec"]["template"]) if each.kind == "Secret"}
        needs = shared.needs(cache.metadata.namespace, secrets)
        if cache.spec.to.bucket:
            rights = members.get(cache.spec.to.bucket.name, ())
            first = site.place(account(cache, stack=stack), after=(*needs[:1], *rights))
        else:
            first = site.place(claim(cache, stack=stack), after=needs[:1], retain=not is_deleted(cache))
        made[cache.metadata.key] = Filling(first, site.place(job, after=(*needs, first.key)))
    return made


def component(cluster: str, cache: str, filling: Filling, *, held: bool) -> Component:
    """Return the Pulumi component of a cache on a cluster."""
    return Component("ModelCache", names.cache_component(cluster, cache), filling.objects, held=held)
