"""Why settings of clusters are not those of Cluster Toolkit, and what Google takes a missing one for."""

from bench.toolkit.fact import A3_HIGH, A3_ULTRA, A4, A4X
from bench.toolkit.reason import Default, Reason

_NO_IP = "by default the control plane has a name alone, guarded by IAM, and no address that would be limited"
_CHANNEL = (
    "a release channel keeps versions, and a pinned one conflicts with its upgrades; a document may write "
    "`minVersion`"
)
_MAINTENANCE = (
    "a document writes it (`maintenancePolicy`), and without one a warning names the line; it keeps security "
    "fixes from nodes, which is nothing to be done unasked"
)

CLUSTERS = (
    Reason(
        "Cluster.datapathProvider",
        "it cannot be changed later, and pools with several interfaces need it",
    ),
    Reason("Cluster.enableMultiNetworking", "it is set with the first pool whose class has GPUDirect"),
    Reason("Cluster.privateIpv6GoogleAccess", "subnetworks have IPv4 alone"),
    Reason("Cluster.privateClusterConfig.*", _NO_IP),
    Reason("Cluster.masterAuthorizedNetworksConfig.gcpPublicCidrsAccessEnabled", _NO_IP),
    Reason(
        "Cluster.controlPlaneEndpointsConfig.*",
        "it is reached by name from anywhere with IAM; `controlPlaneEndpoint: IP` with "
        "`authorizedNetworks` is the way of theirs",
    ),
    Reason(
        "Cluster.dnsConfig.clusterDns",
        "it is left to GKE",
    ),
    Reason("Cluster.releaseChannel.channel", "clusters are upgraded by a channel; a document names another"),
    Reason("Cluster.minMasterVersion", _CHANNEL),
    Reason(
        "Cluster.enableK8sBetaApis.enabledApis",
        "from 1.34 on these are no longer beta, which is what claims of ours need",
        A4X,
    ),
    Reason("Cluster.maintenancePolicy.dailyMaintenanceWindow.startTime", _MAINTENANCE),
    Reason(
        "Cluster.maintenancePolicy.maintenanceExclusions*",
        _MAINTENANCE,
        ("G4", *A3_HIGH, *A3_ULTRA, *A4, *A4X),
    ),
    Reason("Cluster.gatewayApiConfig.channel", "models are reached by gateways; theirs sets it by an option"),
    Reason(
        "Cluster.addonsConfig.gcsFuseCsiDriverConfig.enabled", "the plugin `model-cache` mounts buckets by it"
    ),
    Reason(
        "Cluster.addonsConfig.lustreCsiDriverConfig.enabled",
        "it is not offered: nothing of ours uses Managed Lustre",
        (*A3_ULTRA, *A4, *A4X),
    ),
    Reason(
        "Cluster.monitoringConfig.enableComponents",
        "metrics about states of objects are read by nothing of ours: `inferfleet status` asks the clusters",
    ),
    Reason(
        "Cluster.monitoringConfig.managedPrometheus.autoMonitoringConfig.scope",
        "it is left to GKE; metrics of engines and pickers are asked for by `serving.monitoring`",
    ),
    Reason("Cluster.costManagementConfig.enabled", "costs are told apart by namespace on Google's bill"),
    Reason("Cluster.deletionProtection", "a cluster goes only after a document says so"),
    Reason(
        "Cluster.nodeConfig.bootDisk.*",
        "the pool that GKE begins with would take 300 GB of a new project's quota of SSDs",
    ),
    Reason(
        "Cluster.nodeConfig.oauthScopes",
        "the pool that GKE begins with uses the cluster's own account; the default one may be gone",
    ),
    Reason(
        "Cluster.nodeConfig.workloadMetadataConfig.mode",
        "the pool that GKE begins with has all that policies ask of nodes",
    ),
    Reason(
        "SystemPool.nodeConfig.machineType",
        "three endpoint pickers of 4 cores fit on a node beside GKE's own pods",
    ),
    Reason(
        "Cluster.loggingConfig.enableComponents",
        "it is Google's default; a document may write others (`provider.cluster.loggingConfig`)",
    ),
    Reason(
        "SystemPool.nodeConfig.bootDisk.sizeGb",
        "it is Google's default; a document may write `systemPool.diskSizeGb`",
    ),
    Reason("SystemPool.nodeConfig.taints", "pickers and controllers of others run there too"),
    Reason(
        "SystemPool.nodeConfig.gvnic.enabled",
        "no reason is known; kept because a change would replace the nodes of clusters that run",
    ),
    Reason(
        "SystemPool.autoscaling.totalMinNodeCount",
        "no reason was written down for one node; the autoscaler adds more as pods ask for them",
    ),
    Reason(
        "SystemPool.autoscaling.totalMaxNodeCount",
        "it follows from what the endpoint pickers on the cluster request",
    ),
    Reason("SystemPool.autoscaling.locationPolicy", "it is written down, where theirs leaves it to GKE"),
    Reason("SystemPool.initialNodeCount", "a new cluster has pods to run before the autoscaler works"),
    Reason(
        "SystemPool.ignoreNodeCountChanges",
        "it is an option of Pulumi's provider: what the autoscaler does is no drift",
    ),
    Reason(
        "SystemPool.upgradeSettings.*",
        "one more node is cheap and easy to get here, and pickers stay up meanwhile",
    ),
    Reason(
        "IAMMembers.role",
        "Google's role for nodes covers logs and metrics; buckets are opened to pods, never to nodes",
        source="https://cloud.google.com/kubernetes-engine/docs/how-to/service-accounts",
    ),
)

# Where each default stands.
_API = "https://docs.cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters"
_PROVIDER = "https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/container_cluster"
_NODES = "NodePool.nodeConfig", "SystemPool.nodeConfig"
DEFAULTS = (
    *(
        Default(
            f"{nodes}.metadata",
            {"disable-legacy-endpoints": "true"},
            "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/protecting-cluster-metadata",
        )
        for nodes in _NODES
    ),
    Default("NodePool.nodeConfig.gcfsConfig.enabled", False, _PROVIDER),
    Default(
        "NodePool.maxPodsPerNode",
        110,
        "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr",
    ),
    Default("SystemPool.version", "that of the cluster", _API),
    Default("Cluster.enableShieldedNodes", True, _PROVIDER),
    Default("Cluster.enableMultiNetworking", False, _PROVIDER),
    Default("Cluster.networkPolicy.enabled", False, _PROVIDER),
    Default("Cluster.verticalPodAutoscaling.enabled", False, _PROVIDER),
    Default("Cluster.masterAuth.clientCertificateConfig.issueClientCertificate", False, _PROVIDER),
    Default("Cluster.addonsConfig.httpLoadBalancing.disabled", False, _PROVIDER),
    Default("Cluster.addonsConfig.networkPolicyConfig.disabled", True, _PROVIDER),
    *(
        Default(f"Cluster.addonsConfig.{addon}.enabled", False, _PROVIDER)
        for addon in (
            "lustreCsiDriverConfig",
            "gcpFilestoreCsiDriverConfig",
            "parallelstoreCsiDriverConfig",
            "rayOperatorConfigs",
            "dnsCacheConfig",
        )
    ),
)
