"""The caches of weights on a cluster: which are there, what their Jobs name, and their objects."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from inferfleet.desired.clusters import Site
from inferfleet.desired.secrets import Read
from inferfleet.desired.serving_stack import ServingStack
from inferfleet.desired.values import Component, KubeObject
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_cache import ModelCache
from inferfleet.documents.pods.references import Reference, references
from inferfleet.fleet import names
from inferfleet.serving.weights import claim, fill_job


@dataclass(frozen=True)
class Filling:
    """What a cache holds on a cluster: the claim, and the Job that fetches it."""

    claim: KubeObject
    job: KubeObject

    @property
    def objects(self) -> tuple[KubeObject, ...]:
        return (self.claim, self.job)


def caches_on(documents: Documents, cluster: str) -> Iterator[ModelCache]:
    """Yield the caches that inferfleet fills on a cluster, by key."""
    labels = documents.clusters[cluster].metadata.labels
    for _, cache in sorted(documents.caches.items()):
        if cache.spec.filled_here and cache.spec.cluster_selector.matches(labels):
            yield cache


def cache_reads(documents: Documents, cluster: str) -> Iterator[Read]:
    """Yield what the Jobs and claims of a cluster's caches name, with the keys of the caches."""
    serving = documents.clusters[cluster].spec.serving
    for cache in caches_on(documents, cluster):
        job = fill_job(cache, serving=serving, stack=documents.settings.stack)
        for reference in references(job["spec"]["template"]):
            if reference.kind != "PersistentVolumeClaim":
                yield cache.metadata.key, reference
        yield cache.metadata.key, Reference("StorageClass", cache.spec.to.claim.storage_class_name or "")


def fillings(documents: Documents, site: Site, shared: ServingStack) -> Mapping[str, Filling]:
    """Return the fillings of a cluster's caches, by their keys."""
    stack, serving = documents.settings.stack, documents.clusters[site.cluster].spec.serving
    made = {}
    for cache in caches_on(documents, site.cluster):
        job = fill_job(cache, serving=serving, stack=stack)
        secrets = {each.name for each in references(job["spec"]["template"]) if each.kind == "Secret"}
        needs = shared.needs(cache.metadata.namespace, secrets)
        volume = site.place(claim(cache, stack=stack), after=needs[:1], retain=True)
        made[cache.metadata.key] = Filling(volume, site.place(job, after=(*needs, volume.key)))
    return made


def component(cluster: str, cache: str, filling: Filling, *, held: bool) -> Component:
    """Return the Pulumi component of a cache on a cluster."""
    return Component("ModelCache", names.cache_component(cluster, cache), filling.objects, held=held)
