"""Caches in the stack's own buckets: each region has one, and its first cluster fills it."""

from dataclasses import replace
from typing import Any

import pytest
from small_stack import NOTHING, cache, cluster, components, deployment, find, made, spot, stack
from test_on_cloud import RECIPE

from inferfleet.desired import desired
from inferfleet.desired.transition import unfilled
from inferfleet.desired.values import Desired, KubeObject
from inferfleet.documents import InvalidDocuments
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster


def _cluster(name: str, region: str = "us-east4") -> InferenceCluster:
    return InferenceCluster.model_validate(
        {
            "metadata": {"name": name},
            "spec": {
                "cluster": {"source": "GKE", "gke": {"project": "acme-prod", "region": region}},
                "nodePools": [
                    {"name": "l4", "className": "gke-l4", "nodeCount": 2, "zones": [f"{region}-a"]}
                ],
            },
        }
    )


def _own(*others: Any, **spec: Any) -> Documents:
    documents = stack(cache("qwen3", to={"bucket": {}}, size="20Gi", **spec), *others)
    return replace(documents, classes={**documents.classes, "gke-l4": RECIPE})


def _bucket_of(manifest: dict[str, Any]) -> object:
    volumes = manifest["spec"]["template"]["spec"]["volumes"]
    return next(one["csi"]["volumeAttributes"]["bucketName"] for one in volumes if one["name"] == "weights")


def _job(found: Desired, cluster: str) -> KubeObject:
    objects = (one for each in found.clusters for one in each.objects if one.kind == "Job")
    (job,) = (one for one in objects if one.name.startswith(f"{cluster}/ml/qwen3-weights"))
    return job


def test_the_first_cluster_of_each_region_fills_its_bucket_once_it_may_write_it() -> None:
    found = desired(_own(_cluster("a"), _cluster("b"), _cluster("c", "europe-west4")), NOTHING)
    filling = {name: dict(components(found, name)).get("ModelCache") for name in ("a", "b", "c")}
    assert filling == {"a": "a/ml/qwen3", "b": None, "c": "c/ml/qwen3"}
    buckets = {one.name: one.resources for one in found.buckets}
    for name, region in (("a", "us-east4"), ("c", "europe-west4")):
        (account, job) = next(
            part.objects
            for each in found.clusters
            if each.connection.cluster == name
            for part in each.components
            if part.kind == "ModelCache"
        )
        resources = buckets[f"weights:acme-prod/{region}/ml"]
        assert _bucket_of(job.manifest) == resources[0].inputs["name"]
        assert {one.key for one in resources} <= {*account.after}
        assert account.key in job.after


def test_pods_mount_the_bucket_of_their_region_and_wait_for_its_job() -> None:
    chat = deployment("chat", declared={"model": {"cache": "qwen3"}, "servedNames": []}, replicas=2)
    documents = _own(_cluster("a"), _cluster("b"), _cluster("c", "europe-west4"), chat)
    found = desired(documents, NOTHING)
    job = {name: _job(found, name) for name in ("a", "c")}
    placed = [placement.spot.cluster for placement in found.plan.placements]
    for name in placed:
        workload = find(found, "Deployment", f"{name}/ml/chat-decode-l4")
        assert _bucket_of(workload.manifest) == _bucket_of(job["c" if name == "c" else "a"].manifest)
    done = {("a", "ml", job["a"].kubernetes_name), ("c", "ml", job["c"].kubernetes_name)}
    assert set(unfilled(found, documents, (), ()).starting) == {spot(f"chat {name}/l4") for name in placed}
    assert unfilled(found, documents, done, ()).starting == {}


def test_a_cluster_that_the_stack_does_not_create_has_no_bucket_of_its_own() -> None:
    with pytest.raises(InvalidDocuments) as refused:
        made(cache("qwen3", to={"bucket": {}}, size="20Gi"), cluster("west"))
    assert [(each.path, each.what, each.next_step) for each in refused.value.problems] == [
        (
            "spec.to.bucket",
            "the stack creates buckets in Google Cloud near clusters that it creates, and ModelCache "
            "ml/qwen3 has none of its own for cluster west, which it does not create",
            "Write bucket.name, or select other clusters by clusterSelector",
        )
    ]
