"""The stack's own buckets: one for each namespace in a region, which only fillers write."""

from dataclasses import replace
from typing import Any

from small_clouds import clouds, cluster

from inferfleet.cloud.gke.settings.buckets import bucket, buckets
from inferfleet.cloud.values import CloudComponent, CloudResource
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_cache import ModelCache

POOL = "iam.googleapis.com/projects/PROJECT_NUMBER/locations/global/workloadIdentityPools/acme-ml.svc.id.goog"
NAME = "weights-1f2cf6f556c2e4ec"


def _cache(name: str, namespace: str = "ml", bucket: str | None = None, **spec: Any) -> ModelCache:
    source = {"huggingFace": {"repository": "acme/tiny", "revision": "1" * 40}}
    to = {"bucket": {"name": bucket} if bucket else {}}
    return ModelCache.model_validate(
        {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"source": source, "size": "1Gi", "to": to, **spec},
        }
    )


def _of(*documents: ModelCache | InferenceCluster) -> Documents:
    found = clouds(*(one for one in documents if isinstance(one, InferenceCluster)))
    return replace(found, caches={one.metadata.key: one for one in documents if isinstance(one, ModelCache)})


def test_a_bucket_is_protected_and_stays_and_is_read_by_the_namespace_and_written_by_fillers_alone() -> None:
    found = _of(cluster("east"), _cache("tiny"), _cache("large"))
    place = "weights:acme-ml/us-east5/ml"
    made = CloudResource(
        "gcp:storage/bucket:Bucket",
        place,
        {
            "name": NAME,
            "project": "acme-ml",
            "location": "US-EAST5",
            "uniformBucketLevelAccess": True,
            "publicAccessPrevention": "enforced",
            "labels": {"managed-by": "inferfleet", "inferfleet-stack": "prod"},
        },
        protect=True,
        retain=True,
    )

    def member(part: str, role: str, member: str) -> CloudResource:
        return CloudResource(
            "gcp:storage/bucketIAMMember:BucketIAMMember",
            f"{place}/{part}",
            {"bucket": NAME, "role": f"roles/storage.{role}", "member": member},
            after=(made.key,),
            project_number_of=made.key,
        )

    assert buckets(found) == (
        CloudComponent(
            "WeightsBucket",
            place,
            (
                made,
                member("pods", "objectViewer", f"principalSet://{POOL}/namespace/ml"),
                member("tiny-filler", "objectUser", f"principal://{POOL}/subject/ns/ml/sa/tiny-filler"),
                member("large-filler", "objectUser", f"principal://{POOL}/subject/ns/ml/sa/large-filler"),
            ),
        ),
    )
    assert bucket(found, "east", "ml") == NAME


def test_there_is_one_for_each_region_and_namespace_with_clusters_of_a_cache() -> None:
    found = _of(
        cluster("a", own_labels={"tier": "prod"}),
        cluster("b", own_labels={"tier": "prod"}),
        cluster("c", own_labels={"tier": "prod"}, region="europe-west4"),
        cluster("d", region="asia-east1"),
        _cache("tiny", clusterSelector={"matchLabels": {"tier": "prod"}}),
        _cache("tiny", "search", clusterSelector={"matchLabels": {"tier": "none"}}),
        _cache("theirs", "audio", bucket="acme-weights"),
    )
    assert [one.name for one in buckets(found)] == [
        "weights:acme-ml/europe-west4/ml",
        "weights:acme-ml/us-east5/ml",
    ]
    names = {bucket(found, one, space) for one in ("a", "b", "c") for space in ("ml", "search")}
    assert len(names) == 4
