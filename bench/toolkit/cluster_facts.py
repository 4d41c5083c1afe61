"""What Cluster Toolkit sets of clusters, their system pools and the roles of their nodes."""

from bench.toolkit.fact import (
    A3_HIGH,
    A3_MEGA,
    A3_ULTRA,
    A4,
    A4X,
    CHOICE,
    CLUSTER,
    CLUSTER_DEFAULTS,
    FLEX,
    OF_A2,
    OF_A3_HIGH,
    OF_A3_MEGA,
    OF_A3_ULTRA,
    OF_A4,
    OF_A4X,
    OF_CPU,
    OF_G4,
    OF_GATEWAY,
    QUEUE,
    WAITED,
    Fact,
)

_ADDONS = "Cluster.addonsConfig"
_SYSTEM = "SystemPool.nodeConfig"
_EXCLUSION = "Cluster.maintenancePolicy.maintenanceExclusions[0].exclusionOptions"
_UNBLUEPRINTED = ("T4", "A2 Ultra", "A3 High small")
# Blueprints by the recipes they are about, which say of many settings the same.
_FILES = (
    (A3_HIGH, OF_A3_HIGH),
    (A3_ULTRA, OF_A3_ULTRA),
    (A4, OF_A4),
    (A4X, OF_A4X),
    (("G4",), OF_G4),
)
_LARGE = tuple((recipes, file) for recipes, file in _FILES if file != OF_A3_HIGH)
_WITH_NETWORKS = (
    ("G4", OF_G4),
    ("A2", OF_A2),
    *((recipe, OF_A3_HIGH) for recipe in A3_HIGH),
    *((recipe, OF_A3_MEGA) for recipe in A3_MEGA),
    *((recipe, OF_A3_ULTRA) for recipe in A3_ULTRA),
    *((recipe, OF_A4) for recipe in A4),
)
_ANY_QUEUED = ("Queued",)
# The blueprint of an inference gateway has A3 High on demand.
_ON_DEMAND = ("OnDemand",)

_ADDRESSES = (
    Fact("Cluster.networkingMode", "VPC_NATIVE", CLUSTER_DEFAULTS),
    Fact("Cluster.ipAllocationPolicy.clusterSecondaryRangeName", "pods", CLUSTER_DEFAULTS),
    Fact("Cluster.ipAllocationPolicy.servicesSecondaryRangeName", "services", CLUSTER_DEFAULTS),
    *(
        Fact("Cluster.datapathProvider", "ADVANCED_DATAPATH", file, (recipe,))
        for recipe, file in _WITH_NETWORKS
    ),
    Fact("Cluster.datapathProvider", "ADVANCED_DATAPATH", OF_A4X, A4X),
    Fact("Cluster.datapathProvider", "LEGACY_DATAPATH", CLUSTER),
    *(Fact("Cluster.enableMultiNetworking", True, file, (recipe,)) for recipe, file in _WITH_NETWORKS),
    Fact("Cluster.enableMultiNetworking", False, CLUSTER),
    Fact("Cluster.privateIpv6GoogleAccess", "PRIVATE_IPV6_GOOGLE_ACCESS_TO_GOOGLE", CLUSTER_DEFAULTS),
    Fact("Cluster.privateClusterConfig.enablePrivateNodes", True, CLUSTER_DEFAULTS),
    Fact("Cluster.privateClusterConfig.enablePrivateEndpoint", True, CLUSTER_DEFAULTS, _UNBLUEPRINTED),
    Fact("Cluster.privateClusterConfig.enablePrivateEndpoint", False, OF_CPU),
    Fact("Cluster.privateClusterConfig.masterIpv4CidrBlock", "172.16.0.32/28", CLUSTER_DEFAULTS),
    Fact("Cluster.privateClusterConfig.masterGlobalAccessConfig.enabled", False, CLUSTER_DEFAULTS),
    Fact("Cluster.masterAuthorizedNetworksConfig.cidrBlocks", CHOICE, CLUSTER),
    Fact("Cluster.masterAuthorizedNetworksConfig.gcpPublicCidrsAccessEnabled", False, CLUSTER_DEFAULTS),
    Fact(
        "Cluster.controlPlaneEndpointsConfig.dnsEndpointConfig.allowExternalTraffic",
        False,
        CLUSTER_DEFAULTS,
    ),
    Fact("Cluster.controlPlaneEndpointsConfig.ipEndpointsConfig.enabled", None, CLUSTER),
    Fact("Cluster.networkPolicy.enabled", False, CLUSTER_DEFAULTS),
    Fact("Cluster.dnsConfig.clusterDns", "KUBE_DNS", CLUSTER_DEFAULTS),
)

_VERSIONS = (
    Fact("Cluster.releaseChannel.channel", "UNSPECIFIED", QUEUE, A3_ULTRA, _ANY_QUEUED),
    Fact("Cluster.releaseChannel.channel", "UNSPECIFIED", OF_GATEWAY, A3_HIGH, _ON_DEMAND),
    *(Fact("Cluster.releaseChannel.channel", "REGULAR", file, recipes) for recipes, file in _FILES),
    Fact("Cluster.releaseChannel.channel", "STABLE", OF_A2, ("A2",)),
    Fact("Cluster.releaseChannel.channel", "UNSPECIFIED", CLUSTER_DEFAULTS),
    # The newest version that begins with these numbers, as it is when the blueprint is deployed.
    Fact("Cluster.minMasterVersion", "newest 1.32", FLEX, A3_ULTRA, WAITED),
    Fact("Cluster.minMasterVersion", "newest 1.31", OF_GATEWAY, A3_HIGH, _ON_DEMAND),
    Fact("Cluster.minMasterVersion", "newest 1.33", OF_A3_HIGH, A3_HIGH),
    Fact("Cluster.minMasterVersion", "newest 1.32", OF_A3_MEGA, A3_MEGA),
    *(Fact("Cluster.minMasterVersion", "newest 1.35", file, recipes) for recipes, file in _LARGE),
    Fact("Cluster.minMasterVersion", "newest 1.31", CLUSTER_DEFAULTS),
    Fact(
        "Cluster.enableK8sBetaApis.enabledApis",
        [
            f"resource.k8s.io/v1beta1/{kind}"
            for kind in ("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices")
        ],
        OF_A4X,
        A4X,
    ),
    Fact("Cluster.maintenancePolicy.dailyMaintenanceWindow.startTime", "09:00", CLUSTER_DEFAULTS),
    Fact(f"{_EXCLUSION}.scope", None, QUEUE, A3_ULTRA, _ANY_QUEUED),
    Fact(f"{_EXCLUSION}.scope", None, OF_GATEWAY, A3_HIGH, _ON_DEMAND),
    *(Fact(f"{_EXCLUSION}.scope", "NO_MINOR_OR_NODE_UPGRADES", file, recipes) for recipes, file in _FILES),
    Fact(f"{_EXCLUSION}.endTimeBehavior", None, QUEUE, A3_ULTRA, _ANY_QUEUED),
    Fact(f"{_EXCLUSION}.endTimeBehavior", None, OF_GATEWAY, A3_HIGH, _ON_DEMAND),
    *(
        Fact(f"{_EXCLUSION}.endTimeBehavior", "UNTIL_END_OF_SUPPORT", file, recipes)
        for recipes, file in _FILES
    ),
)

_PARTS = (
    Fact("Cluster.gatewayApiConfig.channel", "CHANNEL_STANDARD", OF_GATEWAY, A3_HIGH, _ON_DEMAND),
    Fact("Cluster.gatewayApiConfig.channel", None, CLUSTER),
    Fact(f"{_ADDONS}.httpLoadBalancing.disabled", False, OF_GATEWAY, A3_HIGH, _ON_DEMAND),
    Fact(f"{_ADDONS}.httpLoadBalancing.disabled", None, CLUSTER),
    Fact(f"{_ADDONS}.gcePersistentDiskCsiDriverConfig.enabled", True, CLUSTER_DEFAULTS),
    *(
        Fact(f"{_ADDONS}.gcsFuseCsiDriverConfig.enabled", True, file, recipes)
        for recipes, file in ((A3_MEGA, OF_A3_MEGA), (A3_ULTRA, OF_A3_ULTRA), (A4, OF_A4), (A4X, OF_A4X))
    ),
    Fact(f"{_ADDONS}.gcsFuseCsiDriverConfig.enabled", False, CLUSTER_DEFAULTS),
    Fact(f"{_ADDONS}.lustreCsiDriverConfig.enabled", False, FLEX, A3_ULTRA, WAITED),
    *(
        Fact(f"{_ADDONS}.lustreCsiDriverConfig.enabled", True, file, recipes)
        for recipes, file in ((A3_ULTRA, OF_A3_ULTRA), (A4, OF_A4), (A4X, OF_A4X))
    ),
    Fact(f"{_ADDONS}.lustreCsiDriverConfig.enabled", False, CLUSTER_DEFAULTS),
    Fact(f"{_ADDONS}.gcpFilestoreCsiDriverConfig.enabled", False, CLUSTER_DEFAULTS),
    Fact(f"{_ADDONS}.parallelstoreCsiDriverConfig.enabled", False, CLUSTER_DEFAULTS),
    Fact(f"{_ADDONS}.rayOperatorConfigs.enabled", False, CLUSTER_DEFAULTS),
    Fact(f"{_ADDONS}.dnsCacheConfig.enabled", False, CLUSTER_DEFAULTS),
    Fact(f"{_ADDONS}.networkPolicyConfig.disabled", True, CLUSTER),
    Fact("Cluster.loggingConfig.enableComponents", ["SYSTEM_COMPONENTS", "WORKLOADS"], CLUSTER),
    Fact(
        "Cluster.monitoringConfig.enableComponents",
        [
            "CADVISOR",
            "DAEMONSET",
            "DCGM",
            "DEPLOYMENT",
            "HPA",
            "JOBSET",
            "KUBELET",
            "POD",
            "STATEFULSET",
            "STORAGE",
            "SYSTEM_COMPONENTS",
        ],
        CLUSTER_DEFAULTS,
    ),
    Fact("Cluster.monitoringConfig.managedPrometheus.enabled", True, CLUSTER),
    Fact("Cluster.monitoringConfig.managedPrometheus.autoMonitoringConfig.scope", "NONE", CLUSTER_DEFAULTS),
    Fact("Cluster.verticalPodAutoscaling.enabled", False, CLUSTER_DEFAULTS),
    Fact("Cluster.costManagementConfig.enabled", None, CLUSTER),
    Fact("Cluster.workloadIdentityConfig.workloadPool", "acme-inference.svc.id.goog", CLUSTER),
    Fact("Cluster.enableShieldedNodes", True, CLUSTER_DEFAULTS),
    Fact("Cluster.masterAuth.clientCertificateConfig.issueClientCertificate", False, CLUSTER),
    Fact("Cluster.deletionProtection", False, CLUSTER_DEFAULTS),
    Fact("Cluster.removeDefaultNodePool", True, CLUSTER),
    Fact("Cluster.initialNodeCount", 1, CLUSTER),
    Fact("Cluster.nodeConfig.bootDisk.sizeGb", None, CLUSTER),
    Fact("Cluster.nodeConfig.bootDisk.diskType", None, CLUSTER),
    Fact("Cluster.nodeConfig.oauthScopes", None, CLUSTER),
    Fact("Cluster.nodeConfig.workloadMetadataConfig.mode", None, CLUSTER),
    Fact("Cluster.nodeConfig.shieldedInstanceConfig.enableSecureBoot", True, CLUSTER_DEFAULTS),
    Fact("Cluster.nodeConfig.shieldedInstanceConfig.enableIntegrityMonitoring", True, CLUSTER),
)

_SYSTEM_POOL = (
    *(Fact(f"{_SYSTEM}.machineType", "e2-standard-16", file, recipes) for recipes, file in _LARGE),
    Fact(f"{_SYSTEM}.machineType", "e2-standard-4", CLUSTER_DEFAULTS),
    Fact(f"{_SYSTEM}.imageType", "COS_CONTAINERD", CLUSTER_DEFAULTS),
    Fact(f"{_SYSTEM}.bootDisk.sizeGb", 100, FLEX, A3_ULTRA, WAITED),
    *(
        Fact(f"{_SYSTEM}.bootDisk.sizeGb", 200, file, recipes)
        for recipes, file in ((A3_ULTRA, OF_A3_ULTRA), (A4, OF_A4), (A4X, OF_A4X))
    ),
    Fact(f"{_SYSTEM}.bootDisk.sizeGb", 100, CLUSTER_DEFAULTS),
    *(Fact(f"{_SYSTEM}.taints", None, file, recipes) for recipes, file in _LARGE),
    Fact(
        f"{_SYSTEM}.taints",
        ["components.gke.io/gke-managed-components=true:NO_SCHEDULE"],
        CLUSTER_DEFAULTS,
    ),
    Fact(f"{_SYSTEM}.gvnic.enabled", True, CLUSTER),
    Fact(f"{_SYSTEM}.oauthScopes", ["https://www.googleapis.com/auth/cloud-platform"], CLUSTER_DEFAULTS),
    Fact(f"{_SYSTEM}.workloadMetadataConfig.mode", "GKE_METADATA", CLUSTER),
    Fact(f"{_SYSTEM}.metadata", {"disable-legacy-endpoints": "true"}, CLUSTER),
    Fact(f"{_SYSTEM}.shieldedInstanceConfig.enableSecureBoot", True, CLUSTER_DEFAULTS),
    Fact(f"{_SYSTEM}.shieldedInstanceConfig.enableIntegrityMonitoring", True, CLUSTER),
    Fact("SystemPool.autoscaling.totalMinNodeCount", 2, CLUSTER_DEFAULTS),
    Fact("SystemPool.autoscaling.totalMaxNodeCount", 10, CLUSTER_DEFAULTS),
    Fact("SystemPool.autoscaling.locationPolicy", None, CLUSTER),
    Fact("SystemPool.initialNodeCount", None, CLUSTER),
    Fact("SystemPool.version", "that of the cluster", CLUSTER),
    Fact("SystemPool.ignoreNodeCountChanges", None, CLUSTER),
    Fact("SystemPool.management.autoRepair", True, CLUSTER),
    Fact("SystemPool.management.autoUpgrade", True, CLUSTER),
    Fact("SystemPool.upgradeSettings.strategy", "SURGE", CLUSTER_DEFAULTS),
    Fact("SystemPool.upgradeSettings.maxSurge", 0, CLUSTER_DEFAULTS),
    Fact("SystemPool.upgradeSettings.maxUnavailable", 1, CLUSTER_DEFAULTS),
)

_NODE_ROLES = (
    "roles/artifactregistry.reader",
    "roles/logging.logWriter",
    "roles/monitoring.metricWriter",
    "roles/monitoring.viewer",
    "roles/stackdriver.resourceMetadata.writer",
)
_ROLES = (
    Fact("IAMMembers.role", [*_NODE_ROLES, "roles/storage.objectAdmin"], OF_A4, A4),
    Fact("IAMMembers.role", [*_NODE_ROLES, "roles/storage.objectViewer"], OF_CPU),
)

FACTS = (*_ADDRESSES, *_VERSIONS, *_PARTS, *_SYSTEM_POOL, *_ROLES)
