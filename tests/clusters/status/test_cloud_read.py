"""What status reads of Google Cloud: clusters with their pools, and the sizes of fixed ones."""

from pathlib import Path
from typing import Any

from fake_google import FakeGoogle, error
from small_gke import at, decided, path_of, written

from inferfleet.cloud.values import CloudCluster
from inferfleet.clusters.status.read import LiveCloudCluster, read_cloud

GROUPS = "/compute/v1/projects/acme-ml/zones"
ZONES = ("us-east5-a", "us-east5-b")


def answer(cloud: CloudCluster) -> dict[str, Any]:
    urls = [f"https://www.googleapis.com{GROUPS}/{zone}/instanceGroupManagers/g" for zone in ZONES]
    pools = [
        {"name": cloud.pool_names["l4"], "instanceGroupUrls": urls},
        {"name": "theirs", "instanceGroupUrls": urls},
    ]
    return {"status": "RUNNING", "nodePools": pools}


def test_fixed_pools_have_the_size_of_their_groups_in_all_zones(google: FakeGoogle, tmp_path: Path) -> None:
    desired, cloud = decided(written(tmp_path))
    google.clusters[path_of(cloud)] = 200, answer(cloud)
    google.clusters |= {
        f"{GROUPS}/{zone}/instanceGroupManagers/g": (200, {"targetSize": 2}) for zone in ZONES
    }
    assert read_cloud(desired, google=at(google), seconds=300) == {
        "east": LiveCloudCluster(answer(cloud), {cloud.pool_names["l4"]: 4})
    }


def test_sizes_that_may_not_be_read_are_left_out(google: FakeGoogle, tmp_path: Path) -> None:
    desired, cloud = decided(written(tmp_path))
    google.clusters[path_of(cloud)] = 200, answer(cloud)
    refused = error(403, "PERMISSION_DENIED", "no.")
    google.clusters[f"{GROUPS}/us-east5-a/instanceGroupManagers/g"] = 403, refused
    assert read_cloud(desired, google=at(google), seconds=300) == {"east": LiveCloudCluster(answer(cloud))}


def test_a_cluster_that_is_not_there_or_not_told_is_left_out(google: FakeGoogle, tmp_path: Path) -> None:
    desired, cloud = decided(written(tmp_path))
    assert read_cloud(desired, google=at(google), seconds=300) == {}
    google.clusters[path_of(cloud)] = 403, error(403, "PERMISSION_DENIED", "no.")
    assert read_cloud(desired, google=at(google), seconds=300) == {}
    google.hang = True
    assert read_cloud(desired, google=at(google), seconds=0.3) == {}
