"""What the Container API says of a cluster that is as its documents want it, but for what a test changes.

As clusters.get answers: what is unset, false or zero is left out, numbers of 64 bits are strings, and much
that nobody asked for is there too.
"""

from typing import Any

from small_clouds import clouds, cluster, made, pool

from inferfleet.cloud.values import CloudCluster

TAINT = {"key": "team", "value": "ml", "effect": "NoSchedule"}
PLAN: CloudCluster = made(
    clouds(
        cluster(
            "east",
            pool(minNodeCount=1, zones=["us-east5-a"], taints=[TAINT], labels={"team": "ml"}),
            pool("mega", "mega", nodeCount=2, zones=["us-east5-a"], capacity={"model": "Spot"}),
            labels={"cost": "ai"},
            authorizedNetworks=["10.0.0.0/8"],
            controlPlaneEndpoint="IP",
            maintenancePolicy={
                "recurringWindow": {
                    "startTime": "2026-12-05T01:00:00Z",
                    "endTime": "2026-12-05T07:00:00Z",
                    "recurrence": "FREQ=WEEKLY;BYDAY=SA,SU",
                },
                "maintenanceExclusions": [
                    {
                        "name": "kept",
                        "scope": "NO_MINOR_OR_NODE_UPGRADES",
                        "startTime": "2026-12-01T00:00:00Z",
                        "endTimeBehavior": "UNTIL_END_OF_SUPPORT",
                    }
                ],
            },
        )
    )
)
SYSTEM, L4, MEGA = "system-bf0723", "l4-cda308", "mega-0ed7ad"


def answer() -> dict[str, Any]:
    return {
        "name": "east-51d4d6",
        "location": "us-east5",
        "locations": ["us-east5-a", "us-east5-b", "us-east5-c"],
        "network": "east-51d4d6-network",
        "networkConfig": {
            "network": "projects/acme-ml/global/networks/east-51d4d6-network",
            "datapathProvider": "ADVANCED_DATAPATH",
            "enableMultiNetworking": True,
            "gatewayApiConfig": {"channel": "CHANNEL_STANDARD"},
            "defaultEnablePrivateNodes": True,
        },
        "controlPlaneEndpointsConfig": {
            "dnsEndpointConfig": {"endpoint": "gke-1.us-east5.gke.goog"},
            "ipEndpointsConfig": {
                "enabled": True,
                "publicEndpoint": "34.1.2.3",
                "authorizedNetworksConfig": {
                    "enabled": True,
                    "cidrBlocks": [{"displayName": "office", "cidrBlock": "10.0.0.0/8"}],
                },
            },
        },
        "maintenancePolicy": {
            "window": {
                "recurringWindow": {
                    "window": {"startTime": "2026-12-05T01:00:00Z", "endTime": "2026-12-05T07:00:00Z"},
                    "recurrence": "FREQ=WEEKLY;BYDAY=SA,SU",
                },
                "maintenanceExclusions": {
                    "kept": {
                        "startTime": "2026-12-01T00:00:00Z",
                        "endTime": "2027-08-31T00:00:00Z",
                        "maintenanceExclusionOptions": {
                            "scope": "NO_MINOR_OR_NODE_UPGRADES",
                            "endTimeBehavior": "UNTIL_END_OF_SUPPORT",
                        },
                    },
                },
            },
            "resourceVersion": "1a2b",
        },
        "releaseChannel": {"channel": "REGULAR"},
        "currentMasterVersion": "1.35.1-gke.100",
        "workloadIdentityConfig": {"workloadPool": "acme-ml.svc.id.goog"},
        "addonsConfig": {
            "httpLoadBalancing": {},
            "horizontalPodAutoscaling": {},
            "gcePersistentDiskCsiDriverConfig": {"enabled": True},
            "gcsFuseCsiDriverConfig": {"enabled": True},
        },
        "loggingConfig": {"componentConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS"]}},
        "monitoringConfig": {
            "componentConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "DCGM", "CADVISOR", "KUBELET"]},
            "managedPrometheusConfig": {"enabled": True},
        },
        "costManagementConfig": {"enabled": True},
        "resourceLabels": dict(_LABELS),
        "status": "RUNNING",
        "nodePools": [
            {
                "name": SYSTEM,
                "locations": ["us-east5-a", "us-east5-b", "us-east5-c"],
                "autoscaling": {**_scaling("1", 4), "locationPolicy": "BALANCED"},
                "management": {"autoRepair": True, "autoUpgrade": True},
                "upgradeSettings": {"strategy": "SURGE", "maxSurge": 1},
                "config": _node("e2-standard-16", SYSTEM),
            },
            {
                "name": L4,
                "locations": ["us-east5-a"],
                "autoscaling": {**_scaling(1, 4), "locationPolicy": "BALANCED"},
                **_UPKEEP,
                "config": {
                    **_node("g2-standard-48", L4, team="ml"),
                    "accelerators": [_accelerator("nvidia-l4", "4")],
                    "taints": [_GPU, {"key": "team", "value": "ml", "effect": "NO_SCHEDULE"}],
                    "gcfsConfig": {},
                    "gvnic": {"enabled": True},
                },
            },
            {
                "name": MEGA,
                "locations": ["us-east5-a"],
                "initialNodeCount": 2,
                **_UPKEEP,
                "config": {
                    **_node("a3-megagpu-8g", MEGA),
                    "accelerators": [_accelerator("nvidia-h100-mega-80gb", "8")],
                    "taints": [_GPU],
                    "gvnic": {"enabled": True},
                    "spot": True,
                    "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
                    "ephemeralStorageLocalSsdConfig": {"localSsdCount": 16},
                },
            },
        ],
    }


_LABELS = {
    "cost": "ai",
    "managed-by": "inferfleet",
    "inferfleet-cluster": "east",
    "inferfleet-stack": "prod",
    "goog-pulumi-provisioned": "true",
}
_GPU = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
_UPKEEP = {
    "version": "1.35.1-gke.100",
    "management": {"autoRepair": True, "autoUpgrade": True},
    "upgradeSettings": {"strategy": "SURGE", "maxUnavailable": 1},
    "maxPodsConstraint": {"maxPodsPerNode": "110"},
}


def _scaling(least: int | str, most: int) -> dict[str, Any]:
    return {"enabled": True, "totalMinNodeCount": least, "totalMaxNodeCount": most}


def _node(machine_type: str, pool_name: str, **labels: str) -> dict[str, Any]:
    return {
        "machineType": machine_type,
        "labels": {"inferfleet.dev/pool": pool_name, "goog-gke-node-pool": "x", **labels},
        "serviceAccount": "if-4fc28d546363@acme-ml.iam.gserviceaccount.com",
        "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "imageType": "COS_CONTAINERD",
        "diskSizeGb": 100,
        "diskType": "pd-balanced",
        "metadata": {"disable-legacy-endpoints": "true"},
        "shieldedInstanceConfig": {"enableSecureBoot": True, "enableIntegrityMonitoring": True},
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "resourceLabels": dict(_LABELS),
    }


def _accelerator(kind: str, count: str) -> dict[str, Any]:
    driver = {"gpuDriverVersion": "LATEST"}
    return {"acceleratorType": kind, "acceleratorCount": count, "gpuDriverInstallationConfig": driver}
