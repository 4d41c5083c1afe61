"""Organisations that enforce constraints refuse what clusters of documents lack, and let others be made."""

from pathlib import Path
from typing import Any

import pytest
from cloud_double import create, empty_cloud
from small_clouds import clouds, made
from small_clouds import cluster as document

from sandbox.gcp import faults
from sandbox.gcp.rules.errors import ApiError
from sandbox.gcp.rules.policies import refused_gateway

KEY = "projects/keys/locations/us-east5/keyRings/gke/cryptoKeys/nodes"
CLUSTER = "projects/acme-ml/locations/us-east5/clusters/east-51d4d6"
DOCS = (
    "See https://cloud.google.com/resource-manager/docs/organization-policy/org-policy-constraints for more "
    "information."
)


def made_under(folder: Path, *constraints: str, **gke: Any) -> list[str]:
    """The resources of a cluster of documents, as far as an organisation with these constraints lets them be
    made.
    """
    cloud, _ = empty_cloud(folder)
    for constraint in constraints:
        faults.change(folder, faults.with_policy(constraint))
    return [
        create(cloud, {"token": one.token, "name": one.name, "inputs": one.inputs}).id
        for one in made(clouds(document(**gke))).resources
    ]


def test_every_cluster_has_shielded_nodes_its_first_pool_too(tmp_path: Path) -> None:
    assert CLUSTER in made_under(tmp_path, "compute.requireShieldedVm")


def test_keys_of_a_document_are_on_all_that_is_encrypted(tmp_path: Path) -> None:
    keys = {"databaseEncryption": KEY, "bootDiskKmsKey": KEY}
    constraints = ("compute.requireShieldedVm", "gcp.restrictNonCmekServices")
    assert made_under(tmp_path, *constraints, **keys) == made_under(tmp_path / "free", **keys)


@pytest.mark.parametrize(
    ("gke", "why"),
    [
        ({}, "A CMEK key is required for the database of the cluster, in the 'database_encryption' field."),
        (
            {"databaseEncryption": KEY},
            "A CMEK key is required for boot disks, in the 'boot_disk_kms_key' field.",
        ),
    ],
)
def test_without_them_nothing_is_made_of_the_cluster(tmp_path: Path, gke: dict[str, Any], why: str) -> None:
    with pytest.raises(ApiError) as raised:
        made_under(tmp_path, "gcp.restrictNonCmekServices", **gke)
    assert str(raised.value) == (
        f"googleapi: Error 412: Constraint constraints/gcp.restrictNonCmekServices violated for project "
        f"acme-ml. {why} {DOCS}, conditionNotMet"
    )


def test_nodes_with_public_addresses_are_refused_with_the_first_of_them(tmp_path: Path) -> None:
    assert CLUSTER in made_under(tmp_path / "private", "compute.vmExternalIpAccess")
    with pytest.raises(ApiError) as raised:
        made_under(tmp_path, "compute.vmExternalIpAccess", privateNodes=False)
    assert str(raised.value) == (
        "googleapi: Error 412: Constraint constraints/compute.vmExternalIpAccess violated for project "
        "acme-ml. Add the instances of its nodes to the constraint to use external IP with it. "
        f"{DOCS}, conditionNotMet"
    )


def test_a_private_endpoint_has_authorized_networks_though_none_is_named(tmp_path: Path) -> None:
    private = {"controlPlaneEndpoint": "IP", "controlPlaneAccess": "Private"}
    assert CLUSTER in made_under(tmp_path, **private)
    with pytest.raises(ApiError) as raised:
        made_under(tmp_path / "public", **private, authorizedNetworks=["203.0.113.0/24"])
    assert 'network "203.0.113.0/24" is not a reserved network' in str(raised.value)


def test_gateways_from_outside_are_refused_in_googles_words() -> None:
    enforced = ["compute.restrictLoadBalancerCreationForTypes"]
    assert refused_gateway([], "gke-l7-regional-external-managed", "acme", "us-east5") == ""
    assert refused_gateway(enforced, "gke-l7-rilb", "acme", "us-east5") == ""
    assert refused_gateway(enforced, "gke-l7-regional-external-managed", "acme", "us-east5") == (
        "error cause: gceSync: generic::failed_precondition: Insert: Constraint "
        "constraints/compute.restrictLoadBalancerCreationForTypes violated for projects/acme. Forwarding "
        "Rule projects/acme/regions/us-east5/forwardingRules/gkegw1 of type EXTERNAL_MANAGED_HTTP_HTTPS is "
        "not allowed."
    )
