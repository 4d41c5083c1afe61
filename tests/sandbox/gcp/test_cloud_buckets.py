"""Buckets of the simulated cloud: their policies let pods read and write, and nobody else."""

from pathlib import Path

import pytest
from cloud_double import empty_cloud

from sandbox.gcp.provider.settings import Settings
from sandbox.gcp.rules.buckets import BUCKET, may, project_number
from sandbox.gcp.rules.errors import ApiError
from sandbox.gcp.store import BUCKET_MEMBER

NUMBER = project_number("acme")
POOL = f"iam.googleapis.com/projects/{NUMBER}/locations/global/workloadIdentityPools/acme.svc.id.goog"
PLACE = {"name": "weights-1", "project": "acme", "location": "US-EAST5"}


def _member(role: str, member: str) -> dict[str, str]:
    return {"bucket": "weights-1", "role": f"roles/storage.{role}", "member": member}


def test_a_bucket_says_the_number_of_its_project_and_its_name_is_taken(tmp_path: Path) -> None:
    cloud, _ = empty_cloud(tmp_path)
    made = cloud.create(BUCKET, PLACE)
    assert (made.id, made.state["projectNumber"], made.state["url"]) == (
        "weights-1",
        NUMBER,
        "gs://weights-1",
    )
    with pytest.raises(ApiError, match="already exists"):
        cloud.create(BUCKET, PLACE)
    with pytest.raises(ApiError, match="Invalid bucket name"):
        cloud.create(BUCKET, {**PLACE, "name": "google-weights"})


def test_members_without_a_project_of_their_own_say_what_pods_may(tmp_path: Path) -> None:
    cloud, _ = empty_cloud(tmp_path)
    cloud.create(BUCKET, PLACE)
    for inputs in (
        _member("objectViewer", f"principalSet://{POOL}/namespace/ml"),
        _member("objectUser", f"principal://{POOL}/subject/ns/ml/sa/tiny-filler"),
    ):
        assert Settings().completed(BUCKET_MEMBER, inputs) == inputs
        cloud.create(BUCKET_MEMBER, inputs)
    records = cloud.store.read()
    pods = [("ml", "default"), ("ml", "tiny-filler"), ("search", "tiny-filler")]
    allowed = {
        (namespace, account): tuple(
            may(records, "weights-1", namespace=namespace, account=account, writes=writes)
            for writes in (False, True)
        )
        for namespace, account in pods
    }
    assert allowed == {
        ("ml", "default"): (True, False),
        ("ml", "tiny-filler"): (True, True),
        ("search", "tiny-filler"): (False, False),
    }


def test_a_member_of_another_projects_pool_or_of_no_bucket_is_refused(tmp_path: Path) -> None:
    cloud, _ = empty_cloud(tmp_path)
    reader = f"principalSet://{POOL}/namespace/ml"
    with pytest.raises(ApiError, match="weights-1"):
        cloud.create(BUCKET_MEMBER, _member("objectViewer", reader))
    cloud.create(BUCKET, PLACE)
    with pytest.raises(ApiError, match="Identity Pool does not exist"):
        cloud.create(BUCKET_MEMBER, _member("objectViewer", reader.replace(str(NUMBER), "PROJECT_NUMBER")))
