"""What Cluster Toolkit sets of a node pool: the blueprint's own settings first, then those of its module."""

from bench.toolkit.fact import (
    A3_HIGH,
    A3_MEGA,
    A3_ULTRA,
    A4,
    A4X,
    CHOICE,
    FLEX,
    GPUS_OF_MACHINES,
    NAMED,
    OF_A2,
    OF_A3_HIGH,
    OF_A3_MEGA,
    OF_A3_ULTRA,
    OF_A4,
    OF_A4X,
    OF_G4,
    OF_GATEWAY,
    OF_L4,
    POLICY,
    POOL,
    POOL_DEFAULTS,
    POOL_DISKS,
    POOL_RESERVATIONS,
    POOL_THREADS,
    QUEUE,
    RESERVED,
    SPOT_TESTS,
    WAITED,
    Fact,
)

_NODE = "NodePool.nodeConfig"
_GPU = f"{_NODE}.guestAccelerators[0]"
_AFFINITY = f"{_NODE}.reservationAffinity"
_KUBELET = f"{_NODE}.kubeletConfig"
_INTERFACES = "NodePool.networkConfig.additionalNodeNetworkConfigs (number)"
_UNWAITED = ("OnDemand", "Spot", *RESERVED)
# Families with a blueprint of their own, which names machine and GPUs: recipes, machine, GPU, number, file.
_NAMED_MACHINES = (
    (("L4",), "g2-standard-4", "", 0, OF_L4),
    (("A2",), "a2-highgpu-2g", "", 0, OF_A2),
    (A3_HIGH, "a3-highgpu-8g", "nvidia-h100-80gb", 8, OF_A3_HIGH),
    (A3_MEGA, "a3-megagpu-8g", "nvidia-h100-mega-80gb", 8, OF_A3_MEGA),
    (A3_ULTRA, "a3-ultragpu-8g", "nvidia-h200-141gb", 8, OF_A3_ULTRA),
    (A4, "a4-highgpu-8g", "nvidia-b200", 8, OF_A4),
    (A4X, "a4x-highgpu-4g", "nvidia-gb200", 4, OF_A4X),
)
_WITH_GPUS = ("T4", "G4", "A2 Ultra", "A3 High small")

_MACHINES = (
    *(Fact(f"{_NODE}.machineType", type_, file, of) for of, type_, _, _, file in _NAMED_MACHINES),
    Fact(f"{_NODE}.machineType", CHOICE, POOL_DEFAULTS),
    # Two name the machine alone, and get its GPUs.
    Fact(f"{_GPU}.type", "nvidia-l4", GPUS_OF_MACHINES, ("L4",)),
    Fact(f"{_GPU}.type", "nvidia-tesla-a100", GPUS_OF_MACHINES, ("A2",)),
    Fact(f"{_GPU}.count", 1, GPUS_OF_MACHINES, ("L4",)),
    Fact(f"{_GPU}.count", 2, GPUS_OF_MACHINES, ("A2",)),
    *(Fact(f"{_GPU}.type", gpu, file, of) for of, _, gpu, _, file in _NAMED_MACHINES if gpu),
    Fact(f"{_GPU}.type", "nvidia-rtx-pro-6000", OF_G4, ("G4",)),
    Fact(f"{_GPU}.type", CHOICE, POOL_DEFAULTS, _WITH_GPUS),
    *(Fact(f"{_GPU}.count", count, file, of) for of, _, _, count, file in _NAMED_MACHINES if count),
    Fact(f"{_GPU}.count", CHOICE, POOL_DEFAULTS, _WITH_GPUS),
    Fact(f"{_GPU}.gpuDriverInstallationConfig.gpuDriverVersion", "LATEST", OF_G4, ("G4",)),
    Fact(
        f"{_GPU}.gpuDriverInstallationConfig.gpuDriverVersion",
        "DEFAULT",
        POOL_DEFAULTS,
        (*_WITH_GPUS, *(recipe for of, *_ in _NAMED_MACHINES for recipe in of)),
    ),
    Fact(f"{_NODE}.imageType", "UBUNTU_CONTAINERD", OF_A2, ("A2",)),
    Fact(f"{_NODE}.imageType", "COS_CONTAINERD", POOL_DEFAULTS),
    Fact(f"{_NODE}.gvnic.enabled", False, POOL, ("A2",)),
    Fact(f"{_NODE}.gvnic.enabled", True, POOL),
    # Two for a machine whose name ends in a number of cores, such as g2-standard-4, and not for others.
    Fact(f"{_NODE}.advancedMachineFeatures.threadsPerCore", 1, POOL_THREADS, ("CPU", "T4", "L4", "G4")),
    Fact(f"{_NODE}.taintConfig.architectureTaintBehavior", None, POOL, A4X),
)

_DISKS = (
    Fact(f"{_NODE}.bootDisk.sizeGb", 100, POOL_DEFAULTS),
    Fact(f"{_NODE}.bootDisk.diskType", "pd-balanced", OF_L4, ("L4",)),
    Fact(f"{_NODE}.bootDisk.diskType", "hyperdisk-balanced", OF_A4X, A4X),
    Fact(f"{_NODE}.bootDisk.diskType", None, POOL_DEFAULTS),
    Fact(f"{_NODE}.ephemeralStorageLocalSsdConfig.localSsdCount", 16, POOL_DISKS, (*A3_HIGH, *A3_MEGA)),
    Fact(f"{_NODE}.ephemeralStorageLocalSsdConfig.localSsdCount", 32, POOL_DISKS, (*A3_ULTRA, *A4)),
    Fact(f"{_NODE}.ephemeralStorageLocalSsdConfig.localSsdCount", None, POOL_DISKS),
    Fact(f"{_NODE}.gcfsConfig.enabled", None, POOL_DEFAULTS),
)

_NODES = (
    Fact(f"{_NODE}.labels", {"cloud.google.com/gke-networking-dra-driver": "true"}, OF_A4X, A4X),
    Fact(f"{_NODE}.labels", {"cloud.google.com/gke-queued": "true"}, POOL, (), ("Queued",)),
    Fact(f"{_NODE}.labels", None, POOL, ("A4 DRANET",)),
    Fact(f"{_NODE}.taints", None, POOL, ("CPU",)),
    Fact(f"{_NODE}.taints", ["nvidia.com/gpu=present:NO_SCHEDULE"], POOL),
    Fact(f"{_NODE}.oauthScopes", ["https://www.googleapis.com/auth/cloud-platform"], POOL_DEFAULTS),
    Fact(f"{_NODE}.workloadMetadataConfig.mode", "GKE_METADATA", POOL),
    Fact(f"{_NODE}.metadata", {"disable-legacy-endpoints": "true"}, POOL),
    Fact(f"{_NODE}.shieldedInstanceConfig.enableSecureBoot", True, POOL_DEFAULTS),
    Fact(f"{_NODE}.shieldedInstanceConfig.enableIntegrityMonitoring", True, POOL),
    Fact(
        f"{_NODE}.linuxNodeConfig.sysctls",
        {"net.ipv4.tcp_rmem": "4096 87380 16777216", "net.ipv4.tcp_wmem": "4096 16384 16777216"},
        POOL_DEFAULTS,
    ),
    Fact(f"{_KUBELET}.cpuManagerPolicy", "static", OF_G4, ("G4",)),
    Fact(f"{_KUBELET}.topologyManager.policy", "restricted", OF_G4, ("G4",)),
    Fact(f"{_KUBELET}.memoryManager.policy", "Static", OF_G4, ("G4",)),
    Fact("NodePool.maxPodsPerNode", None, POOL_DEFAULTS),
)

_CAPACITY = (
    Fact(f"{_NODE}.spot", True, POOL, (), ("Spot",)),
    Fact(f"{_NODE}.flexStart", True, FLEX, (), ("FlexStart",)),
    Fact(f"{_NODE}.flexStart", True, QUEUE, (), ("Queued",)),
    Fact("NodePool.queuedProvisioning.enabled", True, QUEUE, (), ("Queued",)),
    Fact(f"{_AFFINITY}.consumeReservationType", "ANY_RESERVATION", POOL_DEFAULTS, (), ("Reservation, any",)),
    Fact(f"{_AFFINITY}.consumeReservationType", "SPECIFIC_RESERVATION", POOL_DEFAULTS, (), NAMED),
    Fact(f"{_AFFINITY}.consumeReservationType", "NO_RESERVATION", POOL_DEFAULTS),
    Fact(f"{_AFFINITY}.key", "compute.googleapis.com/reservation-name", POOL_RESERVATIONS, (), NAMED),
    Fact(
        f"{_AFFINITY}.values",
        ["projects/acme-inference/reservations/capacity"],
        POOL_RESERVATIONS,
        (),
        ("Reservation, named",),
    ),
    Fact(
        f"{_AFFINITY}.values",
        [
            "projects/acme-shared/reservations/capacity/reservationBlocks/block-1"
            "/reservationSubBlocks/sub-block-1"
        ],
        POOL_RESERVATIONS,
        (),
        ("Reservation, sub-block",),
    ),
    Fact("NodePool.placementPolicy.type", "COMPACT", POLICY, A4X),
    Fact("NodePool.placementPolicy.type", "COMPACT", OF_A2, ("A2",), _UNWAITED),
    *(
        Fact("NodePool.placementPolicy.type", "COMPACT", SPOT_TESTS.format(test), recipes, ("Spot",))
        for recipes, test in (
            (A3_HIGH, "a3-highgpu"),
            (A3_MEGA, "a3-megagpu"),
            (A3_ULTRA, "a3-ultragpu"),
            (A4, "a4"),
        )
    ),
    Fact("ResourcePolicy.workloadPolicy.type", "HIGH_THROUGHPUT", OF_A4X, A4X),
    Fact("ResourcePolicy.workloadPolicy.acceleratorTopology", "1x72", OF_A4X, A4X),
    Fact("NodePool.autoscaling.locationPolicy", "ANY", POOL, (), ("OnDemand", "Spot", *WAITED)),
    Fact("NodePool.ignoreNodeCountChanges", None, POOL),
)

_UPKEEP = (
    Fact("NodePool.management.autoRepair", False, POOL, (), WAITED),
    Fact("NodePool.management.autoRepair", True, POOL_DEFAULTS),
    Fact("NodePool.management.autoUpgrade", False, QUEUE, A3_ULTRA, ("Queued",)),
    Fact("NodePool.management.autoUpgrade", False, OF_GATEWAY, A3_HIGH, ("OnDemand",)),
    *(
        Fact("NodePool.management.autoUpgrade", True, file, recipes)
        for recipes, file in (
            (("G4",), OF_G4),
            (("A2",), OF_A2),
            (A3_HIGH, OF_A3_HIGH),
            (A3_ULTRA, OF_A3_ULTRA),
            (A4, OF_A4),
            (A4X, OF_A4X),
        )
    ),
    Fact("NodePool.management.autoUpgrade", False, POOL_DEFAULTS),
    Fact("NodePool.upgradeSettings.strategy", "SURGE", POOL_DEFAULTS),
    Fact("NodePool.upgradeSettings.maxSurge", 0, POOL_DEFAULTS),
    Fact("NodePool.upgradeSettings.maxUnavailable", 1, POOL_DEFAULTS),
)

_NETWORKS = (
    Fact(_INTERFACES, 1, OF_G4, ("G4",)),
    Fact(_INTERFACES, 4, OF_A2, ("A2",)),
    Fact(_INTERFACES, 4, OF_A3_HIGH, A3_HIGH),
    Fact(_INTERFACES, 8, OF_A3_MEGA, A3_MEGA),
    Fact(_INTERFACES, 9, OF_A3_ULTRA, A3_ULTRA),
    Fact(_INTERFACES, 9, OF_A4, A4),
    Fact(_INTERFACES, None, OF_A4X, A4X),
    Fact("NodePool.networkConfig.acceleratorNetworkProfile", "auto", OF_A4X, A4X),
    Fact("NodePool.networkConfig.acceleratorNetworkProfile", None, POOL, ("A4 DRANET",)),
    Fact("NodePool.networkConfig.enablePrivateNodes", True, POOL_DEFAULTS),
)

FACTS = (*_MACHINES, *_DISKS, *_NODES, *_CAPACITY, *_UPKEEP, *_NETWORKS)
