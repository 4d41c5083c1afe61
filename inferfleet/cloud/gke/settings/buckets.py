"""The stack's own buckets, for the weights of ModelCaches: one for each namespace in each region.

Fillers of a namespace write its buckets and all of its pods read them, so a bucket holds nothing that another
namespace may not see. It belongs to no cluster: those of a region share it, and one that goes takes nothing
along. It is protected, because a state that had forgotten it could not make it again under its name, and it
is retained, because what it holds took hours to fetch.
"""

from collections.abc import Iterator

from inferfleet.cloud.gke import names as cloud_names
from inferfleet.cloud.gke.described import SOURCE
from inferfleet.cloud.gke.facts.schema import BUCKET, BUCKET_MEMBER
from inferfleet.cloud.values import PROJECT_NUMBER, CloudComponent, CloudResource
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.gke import Gke
from inferfleet.documents.kinds.model_cache import ModelCache
from inferfleet.serving.weights import filler_account

_READS, _WRITES = "roles/storage.objectViewer", "roles/storage.objectUser"


def bucket(documents: Documents, cluster: str, namespace: str) -> str:
    """Return the name of the bucket of a namespace in the project and region of a cluster."""
    gke = _gke(documents, cluster)
    return cloud_names.own_bucket(
        namespace, stack=documents.settings.stack, project=gke.project, region=gke.region
    )


def buckets(documents: Documents) -> tuple[CloudComponent, ...]:
    """Return the buckets by project, region and namespace, each with the members of its policy."""
    caches: dict[tuple[str, str, str], dict[str, ModelCache]] = {}
    for key, cache in documents.caches.items():
        for name, cluster in documents.clusters.items():
            here = cache.spec.cluster_selector.matches(cluster.metadata.labels)
            if cache.in_own_bucket and here and cluster.spec.cluster.source == SOURCE:
                gke = _gke(documents, name)
                caches.setdefault((gke.project, gke.region, cache.metadata.namespace), {})[key] = cache
    return tuple(
        _component(documents.settings.stack, place, tuple(of_place.values()))
        for place, of_place in sorted(caches.items())
    )


def _gke(documents: Documents, cluster: str) -> Gke:
    gke = documents.clusters[cluster].spec.cluster.gke
    if gke is None:
        raise ValueError(f"cluster {cluster} is not on GKE")
    return gke


def _component(stack: str, place: tuple[str, str, str], caches: tuple[ModelCache, ...]) -> CloudComponent:
    project, region, namespace = place
    name = cloud_names.bucket_resource(namespace, project=project, region=region)
    made = CloudResource(
        BUCKET,
        name,
        {
            "name": cloud_names.own_bucket(namespace, stack=stack, project=project, region=region),
            "project": project,
            # As Google answers it.
            "location": region.upper(),
            "uniformBucketLevelAccess": True,
            "publicAccessPrevention": "enforced",
            "labels": cloud_names.cloud_labels(stack, cluster=None),
        },
        protect=True,
        retain=True,
    )
    return CloudComponent("WeightsBucket", name, (made, *_members(made, project, namespace, caches)))


def _members(
    bucket: CloudResource, project: str, namespace: str, caches: tuple[ModelCache, ...]
) -> Iterator[CloudResource]:
    """Yield who may do what: all pods of the namespace read, and the Jobs of its caches write.

    Pods are told apart by Workload Identity Federation for GKE, without accounts of Google's:
    https://docs.cloud.google.com/kubernetes-engine/docs/concepts/workload-identity#principal-id-examples
    """
    pool = (
        f"iam.googleapis.com/projects/{PROJECT_NUMBER}/locations/global/workloadIdentityPools/"
        f"{project}.svc.id.goog"
    )
    members = {"pods": (_READS, f"principalSet://{pool}/namespace/{namespace}")}
    for account in map(filler_account, caches):
        members[account] = _WRITES, f"principal://{pool}/subject/ns/{namespace}/sa/{account}"
    for part, (role, member) in members.items():
        yield CloudResource(
            BUCKET_MEMBER,
            f"{bucket.name}/{part}",
            {"bucket": bucket.inputs["name"], "role": role, "member": member},
            after=(bucket.key,),
            project_number_of=bucket.key,
        )
