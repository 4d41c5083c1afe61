"""What Google's API refuses though the fields allow it, in the API's words."""

from pathlib import Path
from typing import Any

import pytest
from cloud_double import IDS, create, empty_cloud, inputs, with_cluster
from small_cloud import NETWORK, SUBNET, cluster, l4, network, pool

from sandbox.gcp.rules.cluster import has_inference_pools, has_provisioning_requests
from sandbox.gcp.rules.errors import ApiError
from sandbox.gcp.rules.regions import default_zones, exists, region_of
from sandbox.gcp.rules.versions import VERSION, version_of

NO_RESERVATION = {"reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}}
BLOCK = {
    "consumeReservationType": "SPECIFIC_RESERVATION",
    "key": "compute.googleapis.com/reservation-name",
    "values": ["projects/acme/reservations/r/reservationBlocks/b"],
}
H100 = {"machineType": "a3-highgpu-8g", "guestAccelerators": [{"type": "nvidia-h100-80gb", "count": 8}]}


def _gpu(kind: str, count: int) -> dict[str, Any]:
    return {"guestAccelerators": [{"type": kind, "count": count}]}


def _subnet(name: str, cidr: str, **changes: Any) -> dict[str, Any]:
    network = "https://www.googleapis.com/compute/v1/projects/acme/global/networks/net"
    declared = {"name": name, "project": "acme", "region": "us-east5", "network": network}
    return {"token": SUBNET, "name": name, "inputs": {**declared, "ipCidrRange": cidr, **changes}}


def _network(name: str, profile: str) -> dict[str, Any]:
    inputs = {
        "name": name,
        "project": "acme",
        "networkProfile": f"projects/acme/global/networkProfiles/{profile}",
    }
    return {"token": NETWORK, "name": name, "inputs": inputs}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (pool("Bad"), "Invalid value for field 'nodePool.name'"),
        (pool("p" * 41), "at most 40 characters"),
        (pool("p", nodeLocations=["us-east4-a"]), "is not a zone of region 'us-east5'"),
        (pool("p", nodeLocations=["us-east5-f"]), "is not a zone of region 'us-east5'"),
        (pool("p", {"machineType": "z9-huge-1"}), 'Machine type with name "z9-huge-1" does not exist'),
        (pool("p", _gpu("nvidia-l4", 1)), "It takes: none"),
        (
            pool("p", {"machineType": "g2-standard-48", **_gpu("nvidia-l4", 1)}),
            "Accelerator nvidia-l4 with count 1 cannot be used with machine type g2-standard-48",
        ),
        (
            pool("p", {"machineType": "n1-standard-8", **_gpu("nvidia-tesla-t4", 3)}),
            "nvidia-tesla-t4 x 1/2/4",
        ),
        (pool("p", {"machineType": "g2-standard-48"}), "must be used with its accelerators"),
        (
            pool("p", {**H100, "ephemeralStorageLocalSsdConfig": {"localSsdCount": 8}}),
            "has exactly 16 local SSDs, not 8",
        ),
        (pool("p", maxPodsPerNode=257), "Must be between 8 and 256"),
        (pool("p", {"bootDisk": {"diskType": "floppy"}}), "Invalid value for diskType: 'floppy'"),
        (
            pool("p", {"reservationAffinity": BLOCK}),
            "Reservations of machine type e2-standard-4 have no blocks",
        ),
        (pool("p", {"spot": True}), "Node pools with spot must set reservationAffinity to NO_RESERVATION"),
        (pool("p", {"flexStart": True, **NO_RESERVATION}), "set management.autoRepair to false"),
        (pool("p", queuedProvisioning={"enabled": True}), "Node pools with queuedProvisioning must set"),
        (
            pool("p", NO_RESERVATION, queuedProvisioning={"enabled": True}),
            "must have autoscaling enabled",
        ),
        (
            pool("p", {"reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION"}}),
            "needs key and values",
        ),
        (
            pool("p", placementPolicy={"type": "COMPACT"}, nodeLocations=["us-east5-a", "us-east5-b"]),
            "Compact placement needs exactly one zone, not 2",
        ),
        (
            pool("p", placementPolicy={"type": "COMPACT", "policyName": "near"}),
            "projects/acme/regions/us-east5/resourcePolicies/near' was not found",
        ),
        (
            pool("p", networkConfig={"additionalNodeNetworkConfigs": [{"network": "n", "subnetwork": "s"}]}),
            "need a cluster with enableMultiNetworking and datapathProvider ADVANCED_DATAPATH",
        ),
        (
            pool("p", {"serviceAccount": "no@acme.iam.gserviceaccount.com"}),
            "Service account 'no@acme.iam.gserviceaccount.com' does not exist",
        ),
        (pool("p", {"maxRunDuration": "1h"}), "Invalid value for maxRunDuration: '1h'"),
        (
            pool(
                "p",
                {"flexStart": True, "maxRunDuration": "604801s", **NO_RESERVATION},
                management={"autoRepair": False},
                autoscaling={"totalMaxNodeCount": 1},
            ),
            "604800s at most",
        ),
        (pool("p", {"secondaryBootDisks": [{"diskImage": "i"}]}), "enable gcfsConfig"),
        (pool("p", cluster="west"), "clusters/west' was not found"),
        (
            pool("p", autoscaling={"minNodeCount": 1, "maxNodeCount": 2, "totalMaxNodeCount": 2}),
            "cannot be combined",
        ),
        (pool("p", autoscaling={"totalMinNodeCount": 1}), "needs maxNodeCount or totalMaxNodeCount"),
        (pool("system"), "nodePools/system' already exists, alreadyExists"),
        (cluster(name="west", location="us-east9"), "Location 'us-east9' does not exist"),
        (cluster(name="west", network="no"), "projects/acme/global/networks/no' was not found"),
        (
            cluster(name="west", ipAllocationPolicy={"clusterSecondaryRangeName": "podz"}),
            "Secondary range 'podz' does not exist in subnetwork 'sub'; it has: pods, services",
        ),
        (cluster(name="west", minMasterVersion="1.99"), 'No valid versions with the prefix "1.99" found.'),
        (
            cluster(name="west", minMasterVersion="1.34.1-gke.1829001", releaseChannel={"channel": "STABLE"}),
            'Master version must be one of "STABLE" channel supported versions [1.33.9-gke.1000000, '
            "1.34.9-gke.1000000, 1.35.9-gke.1000000, 1.36.3-gke.1000000].",
        ),
        (cluster(name="west", minMasterVersion="new"), 'Master version "new" is unsupported'),
        (cluster(name="west", enableMultiNetworking=True), "needs datapathProvider ADVANCED_DATAPATH"),
        (
            cluster(name="west", workloadIdentityConfig={"workloadPool": "other.svc.id.goog"}),
            "'acme.svc.id.goog'",
        ),
        (_network("rdma", "us-east5-z-vpc-roce"), "networkProfiles/us-east5-z-vpc-roce' was not found"),
        (_network("rdma", "us-east5-a-vpc-fast"), "networkProfiles/us-east5-a-vpc-fast' was not found"),
        (_network("Net", "us-east5-a-vpc-roce"), "Invalid value for field 'resource.name': 'Net'"),
        (_subnet("two", "10.0.8.0/24"), "conflicts with existing subnetwork range 10.0.0.0/20 of sub"),
        (_subnet("two", "10.5.0.0/20"), "conflicts with existing subnetwork range 10.4.0.0/14 of pods"),
        (_subnet("two", "10.9.0.1/20"), "has host bits set"),
        (_subnet("two", "10.9.0.0/23", purpose="REGIONAL_MANAGED_PROXY"), "needs role ACTIVE"),
    ],
)
def test_what_the_api_refuses_is_never_made(tmp_path: Path, wrong: dict[str, Any], words: str) -> None:
    cloud, kubernetes = with_cluster(tmp_path)
    before, calls = cloud.store.read(), list(kubernetes.calls)
    with pytest.raises(ApiError, match=r"^googleapi: Error 4\d\d: ") as refused:
        create(cloud, wrong)
    assert words in str(refused.value)
    assert (cloud.store.read(), kubernetes.calls) == (before, calls)


def test_a_pool_of_many_networks_finds_them_in_its_cluster(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path, enableMultiNetworking=True, datapathProvider="ADVANCED_DATAPATH")
    create(cloud, {**network()[0], "inputs": {**network()[0]["inputs"], "name": "gpu"}})
    create(cloud, _subnet("gpu", "10.0.0.0/20", network="projects/acme/global/networks/gpu"))
    config = {"network": "gpu", "subnetwork": "gpu"}
    record = create(cloud, pool("p", networkConfig={"additionalNodeNetworkConfigs": [config]}))
    assert record.state["networkConfig"]["additionalNodeNetworkConfigs"] == [config]
    wrong = {"additionalNodeNetworkConfigs": [{"network": "gpu", "subnetwork": "sub"}]}
    with pytest.raises(ApiError, match="is not in network"):
        create(cloud, pool("q", networkConfig=wrong))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("net", "networks/net' is already being used by 'projects/acme/regions/us-east5/subnetworks/sub'"),
        ("sub", "subnetworks/sub' is already being used by 'projects/acme/locations/us-east5/clusters/east'"),
    ],
)
def test_what_is_in_use_cannot_be_deleted(tmp_path: Path, name: str, words: str) -> None:
    cloud, _ = with_cluster(tmp_path)
    with pytest.raises(ApiError, match="resourceInUseByAnotherResource") as refused:
        cloud.delete(IDS[name])
    assert words in str(refused.value)


def test_a_protected_cluster_is_not_deleted_until_the_protection_is_off(tmp_path: Path) -> None:
    cloud, kubernetes = with_cluster(tmp_path, deletionProtection=True)
    with pytest.raises(ApiError, match="deletionProtection is set to true"):
        cloud.delete(IDS["east"])
    cloud.update(cluster()["token"], IDS["east"], inputs(cluster()))
    cloud.delete(IDS["east"])
    assert kubernetes.calls[-1] == "remove east"
    assert [resource_id for resource_id in cloud.store.read() if "clusters" in resource_id] == []


def test_gpus_are_tainted_only_where_other_nodes_can_hold_the_rest(tmp_path: Path) -> None:
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    cloud, _ = empty_cloud(tmp_path)
    for declared in (*network(), cluster()):
        create(cloud, declared)
    alone = create(cloud, l4())
    create(cloud, pool("system", nodeCount=1))
    beside = create(cloud, {**l4(), "inputs": {**l4()["inputs"], "name": "second"}})
    assert [record.state["nodeConfig"]["effectiveTaints"] for record in (alone, beside)] == [[], [taint]]


def test_pools_are_in_ai_zones_that_they_name_and_no_cluster_is_by_itself(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    with pytest.raises(ApiError, match="is not a zone of region"):
        create(cloud, pool("p", nodeLocations=["us-east5-ai9z"]))
    assert (exists("us-central1-ai1a"), region_of("us-central1-ai1a"), default_zones("us-central1")) == (
        True,
        "us-central1",
        ("us-central1-a", "us-central1-b", "us-central1-c"),
    )


@pytest.mark.parametrize(
    ("asked", "version", "requests", "pools"),
    [
        (None, VERSION, True, True),
        ("1.32.2-gke.1297000", "1.32.2-gke.1297000", False, False),
        ("1.32.2-gke.1652000", "1.32.2-gke.1652000", True, False),
        ("1.33", "1.33.9-gke.1000000", True, False),
        ("1.34.0", "1.34.0-gke.1626000", True, True),
        ("1.34.0-gke.1000000", "1.34.0-gke.1000000", True, False),
        ("1.34.0-gke.1626000", "1.34.0-gke.1626000", True, True),
        ("1.35", "1.35.9-gke.1000000", True, True),
        ("1.36", VERSION, True, True),
    ],
)
def test_a_cluster_has_the_version_it_asks_for_and_what_google_brings_with_it(
    asked: str | None, version: str, requests: bool, pools: bool
) -> None:
    made = version_of({"minMasterVersion": asked, "releaseChannel": {"channel": "EXTENDED"}})
    state = {"masterVersion": made}
    assert (made, has_provisioning_requests(state), has_inference_pools(state)) == (version, requests, pools)


def test_a_lower_version_changes_nothing_of_a_cluster_and_a_higher_one_upgrades_it(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path, minMasterVersion="1.34")

    def updated(version: str) -> str:
        cloud.update(cluster()["token"], IDS["east"], inputs(cluster(minMasterVersion=version)))
        return str(cloud.store.read()[IDS["east"]].state["masterVersion"])

    assert [updated("1.33"), updated("1.34.1-gke.1829001"), updated("1.35"), updated("1.34")] == [
        "1.34.9-gke.1000000",
        "1.34.9-gke.1000000",
        "1.35.9-gke.1000000",
        "1.35.9-gke.1000000",
    ]
