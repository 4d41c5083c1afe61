"""The exact settings of two stacks: what Google is asked for, to the letter."""

from typing import Any

from small_clouds import clouds, cluster, made, pool, resources

from inferfleet.cloud.gke.settings.addresses import BLOCK

NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
FIREWALL = "gcp:compute/firewall:Firewall"
CLOUD = {"name": "east-51d4d6", "project": "acme-ml", "location": "us-east5"}
HERE = {"project": "acme-ml", "region": "us-east5"}
ACCOUNT = "if-4fc28d546363@acme-ml.iam.gserviceaccount.com"
LABELS = {"managed-by": "inferfleet", "inferfleet-cluster": "east", "inferfleet-stack": "prod"}
IDENTITY = {
    "serviceAccount": ACCOUNT,
    "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
    "workloadMetadataConfig": {"mode": "GKE_METADATA"},
    "shieldedInstanceConfig": {"enableSecureBoot": True, "enableIntegrityMonitoring": True},
}
IN_POOL = {"cluster": "east-51d4d6", "location": "us-east5", "project": "acme-ml"}
OWN_NETWORK: dict[str, dict[str, Any]] = {
    f"{NETWORK} east/network": {
        "name": "east-51d4d6-network",
        "project": "acme-ml",
        "autoCreateSubnetworks": False,
        "routingMode": "REGIONAL",
    },
    f"{SUBNETWORK} east/nodes": {
        "name": "east-51d4d6-nodes",
        **HERE,
        "network": "projects/acme-ml/global/networks/east-51d4d6-network",
        "ipCidrRange": "10.3.0.0/18",
        "privateIpGoogleAccess": True,
        "secondaryIpRanges": [
            {"rangeName": "pods", "ipCidrRange": "10.0.0.0/15"},
            {"rangeName": "services", "ipCidrRange": "10.3.64.0/18"},
        ],
    },
    f"{SUBNETWORK} east/proxies": {
        "name": "east-51d4d6-proxies",
        **HERE,
        "network": "projects/acme-ml/global/networks/east-51d4d6-network",
        "ipCidrRange": "10.3.128.0/23",
        "purpose": "REGIONAL_MANAGED_PROXY",
        "role": "ACTIVE",
    },
    "gcp:compute/router:Router east/nat": {
        "name": "east-51d4d6-nat",
        **HERE,
        "network": "projects/acme-ml/global/networks/east-51d4d6-network",
    },
    "gcp:compute/routerNat:RouterNat east/nat": {
        "name": "east-51d4d6-nat",
        **HERE,
        "router": "east-51d4d6-nat",
        "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
        "enableDynamicPortAllocation": True,
        "enableEndpointIndependentMapping": False,
    },
}
NODE_ACCOUNT: dict[str, dict[str, Any]] = {
    "gcp:serviceaccount/account:Account east/nodes": {
        "accountId": "if-4fc28d546363",
        "displayName": "Nodes of east (prod)",
        "project": "acme-ml",
    },
    **{
        f"gcp:projects/iAMMember:IAMMember east/nodes/{role}": {
            "member": f"serviceAccount:{ACCOUNT}",
            "project": "acme-ml",
            "role": f"roles/{role}",
        }
        for role in ("artifactregistry.reader", "container.defaultNodeServiceAccount")
    },
}
CONTROL_PLANE: dict[str, Any] = {
    **CLOUD,
    "network": "projects/acme-ml/global/networks/east-51d4d6-network",
    "subnetwork": "projects/acme-ml/regions/us-east5/subnetworks/east-51d4d6-nodes",
    "networkingMode": "VPC_NATIVE",
    "ipAllocationPolicy": {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"},
    "datapathProvider": "ADVANCED_DATAPATH",
    "privateClusterConfig": {"enablePrivateNodes": True},
    "controlPlaneEndpointsConfig": {
        "dnsEndpointConfig": {"allowExternalTraffic": True},
        "ipEndpointsConfig": {"enabled": False},
    },
    "releaseChannel": {"channel": "REGULAR"},
    "removeDefaultNodePool": True,
    "initialNodeCount": 1,
    "nodeConfig": {
        "bootDisk": {"sizeGb": 30, "diskType": "pd-standard"},
        "resourceLabels": LABELS,
        **IDENTITY,
    },
    "workloadIdentityConfig": {"workloadPool": "acme-ml.svc.id.goog"},
    "gatewayApiConfig": {"channel": "CHANNEL_STANDARD"},
    "addonsConfig": {
        "httpLoadBalancing": {"disabled": False},
        "gcePersistentDiskCsiDriverConfig": {"enabled": True},
        "gcsFuseCsiDriverConfig": {"enabled": True},
    },
    "monitoringConfig": {
        "enableComponents": ["CADVISOR", "DCGM", "KUBELET", "SYSTEM_COMPONENTS"],
        "managedPrometheus": {"enabled": True},
    },
    "costManagementConfig": {"enabled": True},
    "resourceLabels": LABELS,
    "deletionProtection": True,
}
SYSTEM: dict[str, Any] = {
    **IN_POOL,
    "initialNodeCount": 1,
    "autoscaling": {"totalMinNodeCount": 1, "totalMaxNodeCount": 4, "locationPolicy": "BALANCED"},
    "ignoreNodeCountChanges": True,
    "management": {"autoRepair": True, "autoUpgrade": True},
    "upgradeSettings": {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 0},
}
SYSTEM_NODE = {
    "machineType": "e2-standard-16",
    "imageType": "COS_CONTAINERD",
    "bootDisk": {"sizeGb": 100},
    **IDENTITY,
}
GPU_POOL: dict[str, Any] = {
    **IN_POOL,
    "ignoreNodeCountChanges": True,
    "management": {"autoRepair": True, "autoUpgrade": True},
    "upgradeSettings": {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1},
    "maxPodsPerNode": 110,
}
GPU_NODE: dict[str, Any] = {
    "imageType": "COS_CONTAINERD",
    "bootDisk": {"sizeGb": 100},
    "gcfsConfig": {"enabled": False},
    "gvnic": {"enabled": True},
    **IDENTITY,
}
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}


def gpus(kind: str, count: int) -> list[dict[str, Any]]:
    driver = {"gpuDriverVersion": "LATEST"}
    return [{"type": kind, "count": count, "gpuDriverInstallationConfig": driver}]


def test_a_cluster_with_l4_on_demand_in_two_zones() -> None:
    zones = ["us-east5-a", "us-east5-b"]
    taint = {"key": "team", "value": "ml", "effect": "NoSchedule"}
    l4 = pool(
        zones=["us-east5-b", "us-east5-a"],
        minNodeCount=1,
        maxNodeCount=6,
        labels={"tier": "prod"},
        taints=[taint],
    )
    found = made(clouds(cluster("east", l4, zones=zones, minVersion="1.34", labels={"cost": "ml"})))
    labels = {"cost": "ml", **LABELS}
    assert (found.cloud_name, found.settings[BLOCK], found.pool_names) == (
        "east-51d4d6",
        "10.0.0.0/14",
        {"l4": "l4-cda308"},
    )
    assert {key: one.inputs for key, one in resources(found).items()} == {
        **OWN_NETWORK,
        **NODE_ACCOUNT,
        "gcp:container/cluster:Cluster east": {
            **CONTROL_PLANE,
            "nodeLocations": zones,
            "minMasterVersion": "1.34",
            "resourceLabels": labels,
            "nodeConfig": {**CONTROL_PLANE["nodeConfig"], "resourceLabels": labels},
        },
        "gcp:container/nodePool:NodePool east/system": {
            **SYSTEM,
            "name": "system-bf0723",
            "nodeLocations": zones,
            "nodeConfig": {
                **SYSTEM_NODE,
                "resourceLabels": labels,
                "labels": {"inferfleet.dev/pool": "system-bf0723"},
            },
        },
        "gcp:container/nodePool:NodePool east/l4": {
            **GPU_POOL,
            "name": "l4-cda308",
            "nodeLocations": zones,
            "autoscaling": {"totalMinNodeCount": 1, "totalMaxNodeCount": 6, "locationPolicy": "BALANCED"},
            "nodeConfig": {
                **GPU_NODE,
                "machineType": "g2-standard-48",
                "guestAccelerators": gpus("nvidia-l4", 4),
                "labels": {"inferfleet.dev/pool": "l4-cda308", "tier": "prod"},
                "taints": [GPU_TAINT, {"key": "team", "value": "ml", "effect": "NO_SCHEDULE"}],
                "resourceLabels": labels,
            },
        },
    }


def test_a_cluster_with_a_reservation_of_h100_mega_and_networks_between_its_gpus() -> None:
    reserved = {
        "model": "Reservation",
        "reservation": {"name": "ml-2026", "project": "acme-core", "block": "b1"},
    }
    mega = pool("mega", "mega", zones=["us-east5-a"], maxNodeCount=8, capacity=reserved)
    found = made(clouds(cluster("east", mega)))
    called = found.pool_names["mega"]
    assert called == "mega-5af276"
    between: dict[str, dict[str, Any]] = {}
    for number in range(8):
        name = f"east-51d4d6-tcpxo-{number}"
        within = {"name": name, "project": "acme-ml"}
        network = {"network": f"projects/acme-ml/global/networks/{name}"}
        block = f"10.2.{8 + 2 * number}.0/23"
        between[f"{NETWORK} east/tcpxo-{number}"] = {**within, "autoCreateSubnetworks": False, "mtu": 8244}
        between[f"{SUBNETWORK} east/tcpxo-{number}"] = {**within, **HERE, **network, "ipCidrRange": block}
        between[f"{FIREWALL} east/tcpxo-{number}"] = {
            **within,
            **network,
            "direction": "INGRESS",
            "sourceRanges": [block],
            "allows": [
                {"protocol": "icmp"},
                {"protocol": "tcp", "ports": ["0-65535"]},
                {"protocol": "udp", "ports": ["0-65535"]},
            ],
        }
    assert {key: one.inputs for key, one in resources(found).items()} == {
        **OWN_NETWORK,
        **between,
        **NODE_ACCOUNT,
        "gcp:container/cluster:Cluster east": {**CONTROL_PLANE, "enableMultiNetworking": True},
        "gcp:container/nodePool:NodePool east/system": {
            **SYSTEM,
            "name": "system-bf0723",
            "nodeConfig": {
                **SYSTEM_NODE,
                "resourceLabels": LABELS,
                "labels": {"inferfleet.dev/pool": "system-bf0723"},
            },
        },
        "gcp:container/nodePool:NodePool east/mega": {
            **GPU_POOL,
            "name": called,
            "nodeLocations": ["us-east5-a"],
            "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 8, "locationPolicy": "ANY"},
            "networkConfig": {
                "additionalNodeNetworkConfigs": [
                    {"network": f"east-51d4d6-tcpxo-{number}", "subnetwork": f"east-51d4d6-tcpxo-{number}"}
                    for number in range(8)
                ]
            },
            "nodeConfig": {
                **GPU_NODE,
                "machineType": "a3-megagpu-8g",
                "guestAccelerators": gpus("nvidia-h100-mega-80gb", 8),
                "reservationAffinity": {
                    "consumeReservationType": "SPECIFIC_RESERVATION",
                    "key": "compute.googleapis.com/reservation-name",
                    "values": ["projects/acme-core/reservations/ml-2026/reservationBlocks/b1"],
                },
                "labels": {"inferfleet.dev/pool": called},
                "taints": [GPU_TAINT],
                "resourceLabels": LABELS,
            },
        },
    }
