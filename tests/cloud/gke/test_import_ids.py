"""IDs of cloud resources, derived from what was asked for."""

from typing import Any

import pytest
from small_clouds import clouds, cluster, made, pool, resources

from inferfleet.cloud.gke.names import import_id

PLACE = {"project": "acme", "region": "us-east5", "name": "n"}


@pytest.mark.parametrize(
    ("token", "inputs", "expected"),
    [
        (
            "gcp:container/cluster:Cluster",
            {"project": "acme", "location": "us-east5", "name": "east-1a2b3c", "nodeConfig": {}},
            "projects/acme/locations/us-east5/clusters/east-1a2b3c",
        ),
        (
            "gcp:container/nodePool:NodePool",
            {"project": "acme", "location": "us-east5", "cluster": "east-1a2b3c", "name": "h100-0a1b2c"},
            "projects/acme/locations/us-east5/clusters/east-1a2b3c/nodePools/h100-0a1b2c",
        ),
        ("gcp:compute/network:Network", PLACE, "projects/acme/global/networks/n"),
        ("gcp:compute/firewall:Firewall", PLACE, "projects/acme/global/firewalls/n"),
        ("gcp:compute/subnetwork:Subnetwork", PLACE, "projects/acme/regions/us-east5/subnetworks/n"),
        ("gcp:compute/router:Router", PLACE, "projects/acme/regions/us-east5/routers/n"),
        ("gcp:compute/routerNat:RouterNat", {**PLACE, "router": "r"}, "acme/us-east5/r/n"),
        (
            "gcp:compute/resourcePolicy:ResourcePolicy",
            PLACE,
            "projects/acme/regions/us-east5/resourcePolicies/n",
        ),
        (
            "gcp:serviceaccount/account:Account",
            {"project": "acme.com:ml", "accountId": "if-1"},
            "projects/acme.com:ml/serviceAccounts/if-1@ml.acme.com.iam.gserviceaccount.com",
        ),
        (
            "gcp:projects/iAMMember:IAMMember",
            {"project": "acme", "role": "roles/x", "member": "serviceAccount:a@b"},
            "acme roles/x serviceAccount:a@b",
        ),
        ("gcp:storage/bucket:Bucket", {"name": "weights-1", "project": "acme"}, "acme/weights-1"),
        (
            "gcp:storage/bucketIAMMember:BucketIAMMember",
            {"bucket": "weights-1", "role": "roles/x", "member": "principal://a/b"},
            "b/weights-1 roles/x principal://a/b",
        ),
        # Encrypted, missing, and of a type that this program does not make.
        ("gcp:compute/network:Network", {"project": "acme", "name": {"ciphertext": "v1:"}}, None),
        ("gcp:compute/network:Network", {"project": "acme"}, None),
        ("gcp:sql/databaseInstance:DatabaseInstance", {"name": "b", "project": "acme"}, None),
    ],
)
def test_the_id_is_the_one_the_provider_reads(
    token: str, inputs: dict[str, Any], expected: str | None
) -> None:
    assert import_id(token, inputs) == expected


def test_whatever_the_program_makes_in_the_cloud_has_an_id() -> None:
    found = resources(made(clouds(cluster("east", pool("h100", "h100"), pool("gb200", "gb200")))))
    kinds = {one.token for one in found.values()}
    without = [one.key for one in found.values() if import_id(one.token, one.inputs) is None]
    assert (without, len(kinds)) == ([], 10)
