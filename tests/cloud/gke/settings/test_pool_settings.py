"""What a pool's document and its class become in Google's words, one rule each."""

from typing import Any

import pytest
from small_clouds import BARE, L4, clouds, cluster, made, node_pool, pool, recipe, resources

from inferfleet.cloud.gke.facts.schema import CLUSTER
from inferfleet.documents.kinds.inference_class import Node

ZONE = ["us-east5-a"]
NO_RESERVATION = {"consumeReservationType": "NO_RESERVATION"}


def inputs(spec: dict[str, Any], *classes: Any, **gke: Any) -> dict[str, Any]:
    return node_pool(spec["name"], clouds(cluster("east", spec, **gke), classes=classes)).inputs


def chosen(found: dict[str, Any], *paths: str) -> dict[str, Any]:
    """What stands at some paths; None where nothing does."""
    values: dict[str, Any] = {}
    for path in paths:
        value: Any = found
        for part in path.split("."):
            value = (value or {}).get(part)
        values[path] = value
    return values


@pytest.mark.parametrize(
    ("capacity", "expected"),
    [
        ({"model": "OnDemand"}, {}),
        ({"model": "Spot"}, {"spot": True, "reservationAffinity": NO_RESERVATION}),
        (
            {"model": "FlexStart", "maxRunDuration": "12h"},
            {"flexStart": True, "maxRunDuration": "43200s", "reservationAffinity": NO_RESERVATION},
        ),
        (
            {"model": "Queued", "maxRunDuration": "1h"},
            {"flexStart": True, "maxRunDuration": "3600s", "reservationAffinity": NO_RESERVATION},
        ),
        (
            {"model": "Reservation"},
            {"reservationAffinity": {"consumeReservationType": "ANY_RESERVATION_THEN_FAIL"}},
        ),
        (
            {"model": "Reservation", "reservation": {"name": "ml", "block": "b1"}},
            {
                "reservationAffinity": {
                    "consumeReservationType": "SPECIFIC_RESERVATION",
                    "key": "compute.googleapis.com/reservation-name",
                    "values": ["ml/reservationBlocks/b1"],
                }
            },
        ),
    ],
)
def test_each_capacity_model_says_how_nodes_are_had(
    capacity: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = inputs(pool(capacity=capacity))["nodeConfig"]
    about = ("spot", "flexStart", "maxRunDuration", "reservationAffinity")
    assert {key: found[key] for key in about if key in found} == expected


@pytest.mark.parametrize("model", ["FlexStart", "Queued"])
def test_nodes_that_were_waited_for_are_not_repaired_and_upgraded_as_google_likes(model: str) -> None:
    found = inputs(pool(capacity={"model": model}))
    assert chosen(found, "management", "upgradeSettings", "queuedProvisioning") == {
        "management": {"autoRepair": False, "autoUpgrade": True},
        "upgradeSettings": None,
        "queuedProvisioning": {"enabled": True} if model == "Queued" else None,
    }


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (
            {"minNodeCount": 2, "maxNodeCount": 9},
            {
                "autoscaling": {"totalMinNodeCount": 2, "totalMaxNodeCount": 9, "locationPolicy": "BALANCED"},
                "ignoreNodeCountChanges": True,
            },
        ),
        ({"nodeCount": 6}, {"nodeCount": 3}),
        ({"nodeCount": 0}, {"nodeCount": 0}),
        ({"maxNodeCount": 0}, {"nodeCount": 0}),
    ],
)
def test_sizes_of_a_pool_over_two_zones(size: dict[str, int], expected: dict[str, Any]) -> None:
    found = inputs(pool(zones=["us-east5-a", "us-east5-b"], **size))
    about = ("autoscaling", "ignoreNodeCountChanges", "nodeCount", "initialNodeCount")
    assert {key: found[key] for key in about if key in found} == expected


def test_zones_of_the_cluster_are_those_of_pools_that_name_none() -> None:
    zones = ["us-east5-c", "us-east5-a"]
    found = inputs(pool(nodeCount=4), zones=zones)
    assert chosen(found, "nodeLocations", "nodeCount") == {
        "nodeLocations": ["us-east5-a", "us-east5-c"],
        "nodeCount": 2,
    }


@pytest.mark.parametrize(
    ("hugepages", "expected"),
    [
        ({}, None),
        ({"2Mi": "4Gi"}, {"hugepagesConfig": {"hugepageSize2m": 2048}}),
        ({"2Mi": "2Mi", "1Gi": "3Gi"}, {"hugepagesConfig": {"hugepageSize2m": 1, "hugepageSize1g": 3}}),
        ({"1Gi": 0}, None),
    ],
)
def test_huge_pages_are_counted_and_no_zero_is_sent(
    hugepages: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    node = Node.model_validate({"cpu": "4", "memory": "8Gi", "hugepages": hugepages})
    paged = L4.model_copy(update={"spec": L4.spec.model_copy(update={"node": node})})
    assert inputs(pool(), paged)["nodeConfig"].get("linuxNodeConfig") == expected


def test_the_driver_partitions_and_sharing_of_gpus() -> None:
    split = recipe(
        "split",
        "a2-ultragpu-1g",
        "nvidia-a100-80gb",
        1,
        accelerator={
            "type": "nvidia-a100-80gb",
            "count": 1,
            "partitionSize": "1g.10gb",
            "sharing": {"strategy": "TimeSharing", "maxClientsPerGpu": 4},
        },
        driver="LATEST",
    )
    assert inputs(pool("split", "split"), split)["nodeConfig"]["guestAccelerators"] == [
        {
            "type": "nvidia-a100-80gb",
            "count": 1,
            "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
            "gpuPartitionSize": "1g.10gb",
            "gpuSharingConfig": {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 4},
        }
    ]


def test_gpus_by_dra_keep_googles_device_plugin_away_and_let_pools_start_from_zero() -> None:
    dra = recipe("dra", "g2-standard-48", "nvidia-l4", 4, allocation="DRA", driver="INSTALLATION_DISABLED")
    found = inputs(pool("dra", "dra", labels={"tier": "prod"}), dra)
    name = found["name"]
    assert chosen(found, "nodeConfig.labels", "nodeConfig.shieldedInstanceConfig") == {
        "nodeConfig.labels": {
            "inferfleet.dev/pool": name,
            "tier": "prod",
            "cloud.google.com/gke-nvidia-gpu-dra-driver": "true",
            "gke-no-default-nvidia-gpu-device-plugin": "true",
            "nvidia.com/gpu.present": "true",
        },
        # A driver that somebody else installs may not be signed.
        "nodeConfig.shieldedInstanceConfig": {"enableSecureBoot": False, "enableIntegrityMonitoring": True},
    }


def test_disks_images_and_pods_follow_the_class() -> None:
    told = recipe(
        "told",
        "g2-standard-48",
        "nvidia-l4",
        4,
        pods=64,
        diskSizeGb=300,
        diskType="pd-ssd",
        imageStreaming=True,
        localSsd={"count": 4, "use": "BlockDevice"},
        compactPlacement=True,
    )
    found = inputs(pool("told", "told", zones=ZONE), told)
    expected = {
        "maxPodsPerNode": 64,
        "placementPolicy": {"type": "COMPACT"},
        "nodeConfig.bootDisk": {"sizeGb": 300, "diskType": "pd-ssd"},
        "nodeConfig.gcfsConfig": {"enabled": True},
        "nodeConfig.localNvmeSsdBlockConfig": {"localSsdCount": 4},
        "nodeConfig.ephemeralStorageLocalSsdConfig": None,
    }
    assert chosen(found, *expected) == expected


def test_a_rack_has_its_policy_its_disk_and_no_taint_for_its_architecture() -> None:
    documents = clouds(cluster("east", pool("rack", "gb200", zones=ZONE)))
    policy = resources(made(documents))["gcp:compute/resourcePolicy:ResourcePolicy east/rack"]
    assert policy.inputs == {
        "name": "east-51d4d6-rack",
        "project": "acme-ml",
        "region": "us-east5",
        "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "1x72"},
    }
    rack = node_pool("rack", documents)
    expected = {
        "placementPolicy": {"type": "COMPACT", "policyName": "east-51d4d6-rack"},
        "nodeConfig.bootDisk": {"sizeGb": 100, "diskType": "hyperdisk-balanced"},
        "nodeConfig.taintConfig": {"architectureTaintBehavior": "NONE"},
    }
    assert chosen(rack.inputs, *expected) == expected
    assert policy.key in rack.after


def test_interfaces_of_rdma_are_one_of_gvnic_and_one_per_gpu_in_networks_that_pools_share() -> None:
    documents = clouds(
        cluster(
            "east",
            pool("rack", "gb200", zones=ZONE),
            pool("h200", "h200", zones=ZONE),
            pool("far", "h200", zones=["us-east5-b"]),
        )
    )

    def wired(name: str) -> list[str]:
        config = node_pool(name, documents).inputs["networkConfig"]["additionalNodeNetworkConfigs"]
        return [f"{one['network']} {one['subnetwork']}".replace("east-51d4d6-", "") for one in config]

    def rails(zone: str, count: int) -> list[str]:
        return ["gvnic gvnic", *(f"rdma-{zone} rdma-{zone}-{rail}" for rail in range(count))]

    assert [wired(name) for name in ("rack", "h200", "far")] == [rails("a", 4), rails("a", 8), rails("b", 8)]
    networks = [
        one for one in resources(made(documents)).values() if one.token == "gcp:compute/network:Network"
    ]
    assert [chosen(one.inputs, "name", "mtu", "networkProfile") for one in networks[1:]] == [
        {"name": "east-51d4d6-gvnic", "mtu": 8896, "networkProfile": None},
        *(
            {
                "name": f"east-51d4d6-rdma-{zone}",
                "mtu": None,
                "networkProfile": f"projects/acme-ml/global/networkProfiles/us-east5-{zone}-vpc-roce",
            }
            for zone in "ab"
        ),
    ]


def test_what_cannot_be_made_is_left_out() -> None:
    bare, torn = pool("bare", BARE.metadata.name), pool("torn", "h200")
    found = made(clouds(cluster("east", bare, torn)))
    assert list(found.pools) == ["torn"]
    assert "networkConfig" not in node_pool("torn", clouds(cluster("east", torn))).inputs


def test_an_existing_network_is_named_by_its_path_and_gets_nothing() -> None:
    host = {
        "name": "shared",
        "subnetwork": "ml",
        "podsRange": "p",
        "servicesRange": "s",
        "project": "acme-host",
    }
    found = made(clouds(cluster("east", network={"existing": host}, privateNodes=False)))
    assert [component.kind for component in found.components] == ["GkeCluster", "GpuNodePool"]
    expected = {
        "network": "projects/acme-host/global/networks/shared",
        "subnetwork": "projects/acme-host/regions/us-east5/subnetworks/ml",
        "ipAllocationPolicy": {"clusterSecondaryRangeName": "p", "servicesSecondaryRangeName": "s"},
        "privateClusterConfig": {"enablePrivateNodes": False},
    }
    assert chosen(resources(found)[f"{CLUSTER} east"].inputs, *expected) == expected


def test_the_ip_endpoint_can_be_limited_to_networks() -> None:
    allowed = ["10.1.0.0/16", "10.0.0.0/16", "10.1.0.0/16"]
    documents = clouds(cluster("east", controlPlaneEndpoint="IP", authorizedNetworks=allowed))
    expected = {
        "controlPlaneEndpointsConfig": {
            "dnsEndpointConfig": {"allowExternalTraffic": False},
            "ipEndpointsConfig": {"enabled": True},
        },
        "masterAuthorizedNetworksConfig": {
            "cidrBlocks": [{"cidrBlock": "10.0.0.0/16"}, {"cidrBlock": "10.1.0.0/16"}]
        },
    }
    assert chosen(resources(made(documents))[f"{CLUSTER} east"].inputs, *expected) == expected


def test_an_api_server_can_be_closed_to_everything_outside() -> None:
    documents = clouds(cluster("east", controlPlaneEndpoint="IP", controlPlaneAccess="Private"))
    expected = {
        "privateClusterConfig": {"enablePrivateNodes": True, "enablePrivateEndpoint": True},
        "controlPlaneEndpointsConfig": {
            "dnsEndpointConfig": {"allowExternalTraffic": False},
            "ipEndpointsConfig": {"enabled": True},
        },
        "masterAuthorizedNetworksConfig": {},
    }
    found = made(documents)
    assert chosen(resources(found)[f"{CLUSTER} east"].inputs, *expected) == expected
    assert found.endpoint == "private IP"


def test_pools_made_before_private_nodes_were_turned_off_keep_their_way_out() -> None:
    before, after = (resources(made(clouds(cluster("east", privateNodes=on)))) for on in (True, False))
    assert {key for key in before if before[key] != after[key]} == {f"{CLUSTER} east"}
    assert before.keys() == after.keys()
