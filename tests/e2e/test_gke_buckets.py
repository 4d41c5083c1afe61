"""The stack's own bucket on the simulated Google Cloud: filled once for a region, read by pods, and kept."""

import json
from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Any

import pytest
from asking import ask, url
from documents import API, Document, model
from gke_fleet import Fleet, fleet, gke, l4

STACK = "buckets"
SECONDS = 240.0
REGION = "us-central1"


def _cache() -> Document:
    return {
        "apiVersion": API,
        "kind": "ModelCache",
        "metadata": {"name": "tiny", "namespace": "ml"},
        "spec": {
            "source": {"huggingFace": {"repository": "acme/tiny", "revision": "1" * 40}},
            "size": "1Gi",
            "to": {"bucket": {}},
        },
    }


def _chat(on: str) -> Document:
    return model("chat", on=on, engine={"model": {"cache": "tiny"}})


def _pool() -> Document:
    return l4(nodeCount=1, zones=[f"{REGION}-a"])


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    clusters = [gke("first", REGION, _pool()), gke("second", REGION, _pool())]
    models = [_cache(), _chat("second")]
    with fleet(tmp_path_factory.mktemp(STACK), STACK, clusters=clusters, models=models) as made:
        yield made


def _until(true: Callable[[], object]) -> None:
    until = monotonic() + SECONDS
    while not true():
        assert monotonic() < until
        sleep(0.5)


def _fetched(cloud: Fleet) -> list[str]:
    log = cloud.places.hub / "requests.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return [line.rpartition("/")[2] for line in lines if line.startswith("GET /acme")]


def _serves(cloud: Fleet, cluster: str) -> bool:
    return ask(url(cloud, cluster, "ml/deployments/chat"), "x").status == 200


def test_a_bucket_is_filled_once_and_stays(cloud: Fleet) -> None:
    previewed = cloud.preview()
    made = cloud.up()
    assert previewed.operations == made.operations
    place = f"weights:inferfleet-test/{REGION}/ml"
    assert {name for name in made.operations if name.startswith("Bucket")} == {
        f"Bucket {place}",
        f"BucketIAMMember {place}/pods",
        f"BucketIAMMember {place}/tiny-filler",
    }
    _until(lambda: _serves(cloud, "second"))
    fetched = _fetched(cloud)
    assert len(fetched) == len(set(fetched)) == 5
    assert (len(cloud.items("first", "jobs")), cloud.items("second", "jobs")) == (1, [])
    # Pods are made to wait for weights once, and roll no more for it. A move finds them in the bucket.
    cloud.up()
    assert cloud.up().operations == {}
    cloud.project.write("models", _cache(), _chat("first"))
    cloud.up()
    _until(lambda: _serves(cloud, "first"))
    assert _fetched(cloud) == fetched
    # A pod of another namespace is let in nowhere: who reads stands in the policy of the bucket.
    bucket = next(one for one in cloud.records() if one.token.endswith(":Bucket"))
    members = {one.state["member"] for one in cloud.records() if one.token.endswith(":BucketIAMMember")}
    pool = (
        f"{bucket.state['projectNumber']}/locations/global/workloadIdentityPools/inferfleet-test.svc.id.goog"
    )
    assert members == {
        f"principalSet://iam.googleapis.com/projects/{pool}/namespace/ml",
        f"principal://iam.googleapis.com/projects/{pool}/subject/ns/ml/sa/tiny-filler",
    }
    # Without a cache the bucket is still the stack's, and nothing may delete it but who says so.
    cloud.project.write("models")
    refused = cloud.project.up()
    assert refused.code != 0
    assert "protected" in refused.output
    urn = next(one for one in _urns(cloud) if one.endswith(f"::{place}") and "bucket:Bucket" in one)
    cloud.project.run("pulumi", "state", "unprotect", urn, "--yes", "--stack", STACK)
    cloud.destroy()
    assert [one.id for one in cloud.records()] == [bucket.id]
    assert (cloud.places.folder / "buckets" / bucket.id / "ml").is_dir()


def _urns(cloud: Fleet) -> list[str]:
    exported = cloud.project.run("pulumi", "stack", "export", "--stack", STACK)
    resources: list[dict[str, Any]] = json.loads(exported.stdout)["deployment"]["resources"]
    return [one["urn"] for one in resources]
