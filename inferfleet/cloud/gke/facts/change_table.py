"""What a change of each field of the documents does in the cloud.

A field without a row of its own has its nearest parent's. Tests hold every row against the settings that are
made from the documents, and against the provider's field table (schema.json), which has what is immutable.

What changes in place was read against the calls that the provider makes for it (nodePoolUpdate and
nodePoolNodeConfigUpdate, resource_container_node_pool.go and node_config.go; resourceContainerClusterUpdate,
resource_container_cluster.go) at https://github.com/hashicorp/terraform-provider-google-beta, 93c65b2d60,
2026-08-21: each has one. What Google does with the calls is where it is said, or in `create_only`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from inferfleet.tables.gke import NETWORK_DRIVER_LABELS

DocumentKind = Literal["InferenceClass", "InferenceCluster"]
RECIPE = "spec.provisioning.gke."
POOL = "spec.nodePools[]."
GKE = "spec.cluster.gke."


class Effect(StrEnum):
    """What happens in the cloud, from the least to the most severe."""

    NOTHING = "nothing in the cloud"
    CREATES = "creates a pool"
    IN_PLACE = "in place"
    ZONES = "in place, GKE deletes the nodes of removed zones"
    NODES = "in place, GKE replaces the nodes"
    DELETES = "deletes the pool"
    ANOTHER = "creates another pool, deletes this one"
    REPLACES = "replaces the pool"
    PROVIDER = "as the provider has it of each input"
    REFUSED = "refused"


@dataclass(frozen=True)
class Row:
    """One field of a document, and what its change does.

    `wire` holds the paths that it decides, without places in lists, after the resource they are of:
    "Cluster.location", "NodePool.nodeConfig.spot", "SystemPool.nodeConfig.machineType".
    """

    kind: DocumentKind
    path: str
    effect: Effect
    why: str
    wire: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name that `replace.allow` and messages use: `accelerator.type`, `capacity.model`."""
        return self.path.removeprefix(RECIPE).removeprefix(POOL).removeprefix(GKE).removeprefix("spec.")


def fields_of(wire: str) -> tuple[Row, ...]:
    """Return the rows that decide a path such as "NodePool.nodeConfig.spot", without places in lists."""
    return tuple(row for row in ROWS if any(f"{wire}.".startswith(f"{path}.") for path in row.wire))


def _recipe(name: str, effect: Effect, why: str, *wire: str) -> Row:
    return Row("InferenceClass", f"{RECIPE}{name}", effect, why, wire)


def _pool(name: str, effect: Effect, why: str, *wire: str) -> Row:
    return Row("InferenceCluster", f"{POOL}{name}", effect, why, wire)


def _gke(name: str, effect: Effect, why: str, *wire: str) -> Row:
    return Row("InferenceCluster", f"{GKE}{name}", effect, why, wire)


_NODE = "NodePool.nodeConfig"
_GPU = f"{_NODE}.guestAccelerators"
_RESERVED = f"{_NODE}.reservationAffinity"
_INTERFACES = "NodePool.networkConfig.additionalNodeNetworkConfigs"
_PROFILE = "NodePool.networkConfig.acceleratorNetworkProfile"
# https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools
# (locations): nodes are added and removed. Those of zones that stay are not touched.
_ZONES = "a zone more restarts nothing; with RDMA the pool is replaced, as its networks are of one zone"
# Labels and taints of Kubernetes reach nodes that run, as Google's console says:
# https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/1412
_CREATED = "immutable: GKE sets it when the pool is created"
_SIZE = "GKE adds or deletes nodes"
_UPGRADE = "GKE replaces the nodes of the pool, some at a time, as upgradeSettings say"
# UpdateNodePoolRequest of Google's API takes accelerators, flexStart, maxRunDuration and queuedProvisioning:
# https://docs.cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools/update
_IN_PROVIDER = "immutable in the provider (GKE could change it)"

_PASSED = "the plan names the inputs whose change replaces the resource, or the nodes"

_CLASS = (
    Row("InferenceClass", "apiVersion", Effect.NOTHING, "it has a single value"),
    Row("InferenceClass", "kind", Effect.NOTHING, "it says what the document is"),
    Row(
        "InferenceClass",
        "metadata.name",
        Effect.NOTHING,
        "pools refer to the class by it",
    ),
    Row("InferenceClass", "metadata.labels", Effect.NOTHING, "they are for people"),
    Row("InferenceClass", "spec.description", Effect.NOTHING, "it is for people"),
    Row("InferenceClass", "spec.node.cpu", Effect.NOTHING, "it describes the nodes for placement"),
    Row("InferenceClass", "spec.node.memory", Effect.NOTHING, "it describes the nodes for placement"),
    Row(
        "InferenceClass",
        "spec.node.pods",
        Effect.REPLACES,
        "immutable: the range of a node's pods is fixed when the pool is created",
        ("NodePool.maxPodsPerNode",),
    ),
    Row(
        "InferenceClass",
        "spec.node.hugepages",
        Effect.NODES,
        _UPGRADE,
        (f"{_NODE}.linuxNodeConfig.hugepagesConfig",),
    ),
    Row("InferenceClass", "spec.devices", Effect.NOTHING, "they describe the nodes for placement"),
    Row("InferenceClass", "spec.resources", Effect.NOTHING, "they describe the nodes for placement"),
    Row(
        "InferenceClass",
        "spec.allocation",
        Effect.IN_PLACE,
        "labels of the nodes decide whether GKE runs the device plugin or the DRA driver there",
        (f"{_NODE}.labels",),
    ),
    Row("InferenceClass", "spec.plugins", Effect.NOTHING, "they edit pods"),
    Row("InferenceClass", "spec.price", Effect.NOTHING, "new replicas are placed by it"),
    Row("InferenceClass", "spec.provisioning.provider", Effect.REFUSED, "only GKE provisions pools"),
    *(
        Row("InferenceClass", f"spec.provisioning.{other}", Effect.NOTHING, "it is a description")
        for other in ("eks", "aks", "nebius", "vultr")
    ),
    _recipe("machineType", Effect.NODES, _UPGRADE, f"{_NODE}.machineType"),
    _recipe("accelerator.type", Effect.REPLACES, _CREATED, f"{_GPU}.type"),
    _recipe("accelerator.count", Effect.REPLACES, _CREATED, f"{_GPU}.count"),
    _recipe("accelerator.partitionSize", Effect.REPLACES, _CREATED, f"{_GPU}.gpuPartitionSize"),
    _recipe(
        "accelerator.sharing",
        Effect.REPLACES,
        _IN_PROVIDER,
        f"{_GPU}.gpuSharingConfig",
    ),
    _recipe("diskSizeGb", Effect.NODES, _UPGRADE, f"{_NODE}.bootDisk.sizeGb"),
    _recipe("diskType", Effect.NODES, _UPGRADE, f"{_NODE}.bootDisk.diskType"),
    _recipe(
        "localSsd",
        Effect.REPLACES,
        _CREATED,
        f"{_NODE}.ephemeralStorageLocalSsdConfig",
        f"{_NODE}.localNvmeSsdBlockConfig",
    ),
    _recipe(
        "driver",
        Effect.REPLACES,
        _IN_PROVIDER,
        f"{_GPU}.gpuDriverInstallationConfig",
        f"{_NODE}.shieldedInstanceConfig.enableSecureBoot",
    ),
    _recipe("imageStreaming", Effect.NODES, _UPGRADE, f"{_NODE}.gcfsConfig"),
    _recipe("secondaryBootDisks", Effect.REPLACES, _CREATED, f"{_NODE}.secondaryBootDisks"),
    _recipe(
        "networking.gpuDirect",
        Effect.REPLACES,
        "immutable: the networks of a node are set when its pool is created",
        _INTERFACES,
        "Cluster.enableMultiNetworking",
    ),
    _recipe(
        "networking.acceleratorNetworkProfile",
        Effect.REPLACES,
        "immutable: the networks of a node are set when its pool is created",
        _PROFILE,
        _INTERFACES,
        "Cluster.enableMultiNetworking",
        *(f"{_NODE}.labels.{label}" for label in NETWORK_DRIVER_LABELS),
    ),
    _recipe(
        "compactPlacement",
        Effect.REPLACES,
        "immutable: placement of machines is set when the pool is created",
        "NodePool.placementPolicy",
    ),
    _recipe("provider", Effect.PROVIDER, _PASSED),
    _recipe("verified", Effect.NOTHING, "it turns problems of the recipe into warnings"),
)

_ANOTHER = "another place is another cluster; allowed once no replica is placed there (state: drained)"
_CLUSTER = (
    Row("InferenceCluster", "apiVersion", Effect.NOTHING, "it has a single value"),
    Row("InferenceCluster", "kind", Effect.NOTHING, "it says what the document is"),
    Row("InferenceCluster", "metadata.name", Effect.REFUSED, "another name is another cluster"),
    Row("InferenceCluster", "metadata.labels", Effect.NOTHING, "deployments select clusters by them"),
    Row("InferenceCluster", "spec.state", Effect.NOTHING, "it says what the stack may do there"),
    Row(
        "InferenceCluster",
        "spec.cluster.source",
        Effect.REFUSED,
        "another source is another cluster; allowed once no replica is placed there (state: drained)",
    ),
    Row("InferenceCluster", "spec.cluster.existing", Effect.NOTHING, "it is not managed by the stack"),
    _gke("project", Effect.REFUSED, _ANOTHER, "Cluster.project", "Cluster.network", "Cluster.subnetwork"),
    _gke("region", Effect.REFUSED, _ANOTHER, "Cluster.location", "Cluster.subnetwork"),
    _gke(
        "zones",
        Effect.ZONES,
        f"of pools without zones of their own, and the cluster's stay as it began: {_ZONES}",
        "Cluster.nodeLocations",
        "SystemPool.nodeLocations",
        "NodePool.nodeLocations",
        _INTERFACES,
    ),
    _gke("releaseChannel", Effect.IN_PLACE, "versions may follow the channel", "Cluster.releaseChannel"),
    _gke(
        "minVersion",
        Effect.IN_PLACE,
        "the control plane is upgraded, nodes later by the channel",
        "Cluster.minMasterVersion",
    ),
    _gke(
        "maintenancePolicy",
        Effect.IN_PLACE,
        "upgrades by GKE follow it; exclusions stay at Google where the whole block is removed",
        "Cluster.maintenancePolicy",
    ),
    _gke("network.block", Effect.REFUSED, "immutable: a cluster keeps its ranges", "Cluster.block"),
    _gke(
        "network.existing",
        Effect.REFUSED,
        "immutable: a cluster stays in its network",
        "Cluster.network",
        "Cluster.subnetwork",
        "Cluster.ipAllocationPolicy.clusterSecondaryRangeName",
        "Cluster.ipAllocationPolicy.servicesSecondaryRangeName",
    ),
    _gke("network.gpuDirect", Effect.NOTHING, "it is about objects inside the cluster"),
    _gke(
        "privateNodes",
        Effect.IN_PLACE,
        "pools that are created later use it",
        "Cluster.privateClusterConfig.enablePrivateNodes",
    ),
    _gke(
        "controlPlaneEndpoint",
        Effect.IN_PLACE,
        "the kubeconfig changes with it",
        "Cluster.controlPlaneEndpointsConfig.dnsEndpointConfig.allowExternalTraffic",
        "Cluster.controlPlaneEndpointsConfig.ipEndpointsConfig.enabled",
    ),
    _gke(
        "controlPlaneAccess",
        Effect.IN_PLACE,
        "the kubeconfig may change with it",
        "Cluster.privateClusterConfig.enablePrivateEndpoint",
    ),
    _gke("connection", Effect.NOTHING, "it says how machines reach the API server"),
    _gke(
        "authorizedNetworks",
        Effect.IN_PLACE,
        "it is about the control plane",
        "Cluster.masterAuthorizedNetworksConfig.cidrBlocks",
    ),
    _gke(
        "deletionProtection", Effect.IN_PLACE, "it takes an update of its own", "Cluster.deletionProtection"
    ),
    _gke(
        "labels",
        Effect.NODES,
        f"labels of machines and disks in Google Cloud, not of pods: {_UPGRADE}",
        "Cluster.resourceLabels",
        f"{_NODE}.resourceLabels",
        "SystemPool.nodeConfig.resourceLabels",
    ),
    _gke(
        "serviceAccount",
        Effect.REPLACES,
        _CREATED,
        f"{_NODE}.serviceAccount",
        "SystemPool.nodeConfig.serviceAccount",
    ),
    _gke("iam", Effect.NOTHING, "bindings on the project are made or deleted"),
    _gke(
        "networkTags",
        Effect.IN_PLACE,
        "nodes that run get them too",
        f"{_NODE}.tags",
        "SystemPool.nodeConfig.tags",
    ),
    _gke(
        "databaseEncryption",
        Effect.IN_PLACE,
        "Google encrypts the database anew",
        "Cluster.databaseEncryption",
    ),
    _gke(
        "bootDiskKmsKey",
        Effect.REPLACES,
        _CREATED,
        f"{_NODE}.bootDiskKmsKey",
        "SystemPool.nodeConfig.bootDiskKmsKey",
    ),
    _gke(
        "confidentialNodes",
        Effect.REFUSED,
        "immutable: a cluster's nodes are confidential from its beginning, or never",
        "Cluster.confidentialNodes",
    ),
    _gke("provider", Effect.PROVIDER, _PASSED),
    _gke(
        "systemPool.maxPodsPerNode",
        Effect.REPLACES,
        _CREATED,
        "SystemPool.maxPodsPerNode",
        "Cluster.defaultMaxPodsPerNode",
    ),
    _gke("systemPool.provider", Effect.PROVIDER, _PASSED),
    _gke("systemPool.machineType", Effect.NODES, _UPGRADE, "SystemPool.nodeConfig.machineType"),
    _gke("systemPool.diskSizeGb", Effect.NODES, _UPGRADE, "SystemPool.nodeConfig.bootDisk.sizeGb"),
    _gke("replace", Effect.NOTHING, "it says how the stack may replace pools"),
    Row("InferenceCluster", "spec.taints", Effect.NOTHING, "deployments tolerate them, or stay away"),
    Row("InferenceCluster", "spec.serving", Effect.NOTHING, "it is about objects in the cluster"),
    *(
        Row("InferenceCluster", f"spec.serving.images.{name}", Effect.NOTHING, why)
        for name, why in (
            ("epp", "endpoint pickers are replaced"),
            ("prefillEpp", "endpoint pickers of deployments with prefill are replaced"),
            ("engine", "pods whose template names none roll; with prefill both roles get another workload"),
            ("proxy", "pods of decode roll where there is prefill, unless the deployment names an image"),
            ("kit", "pods roll for which the plugin model-cache unpacks models"),
        )
    ),
    Row("InferenceCluster", "spec.plugins", Effect.NOTHING, "they edit pods"),
)

# These rows are about whole pools; every field of a pool has its own row as well.
POOLS = "spec.nodePools[]"
_POOLS = (
    Row(
        "InferenceCluster",
        POOLS,
        Effect.CREATES,
        "an entry is a pool; without it the pool is deleted, which is refused while replicas are on it",
    ),
    _pool("name", Effect.ANOTHER, "a pool is known by its name; refused while replicas are on the old one"),
    _pool("className", Effect.REPLACES, "as the fields do in which the two classes differ"),
    _pool("nodeCount", Effect.IN_PLACE, _SIZE, "NodePool.nodeCount"),
    _pool("minNodeCount", Effect.IN_PLACE, _SIZE, "NodePool.autoscaling.totalMinNodeCount"),
    _pool("maxNodeCount", Effect.IN_PLACE, _SIZE, "NodePool.autoscaling.totalMaxNodeCount"),
    _pool("nodeSelector", Effect.NOTHING, "it is for existing clusters"),
    _pool(
        "taints",
        Effect.IN_PLACE,
        "NoExecute evicts pods that do not tolerate it",
        f"{_NODE}.taints",
    ),
    _pool("labels", Effect.IN_PLACE, "running nodes get them too", f"{_NODE}.labels"),
    _pool("zones", Effect.ZONES, _ZONES, "NodePool.nodeLocations", _INTERFACES),
    _pool(
        "capacity.model",
        Effect.REPLACES,
        _CREATED,
        f"{_NODE}.spot",
        f"{_NODE}.flexStart",
        "NodePool.queuedProvisioning",
        _RESERVED,
        "NodePool.autoscaling.locationPolicy",
        "NodePool.management",
        "NodePool.upgradeSettings",
    ),
    _pool("capacity.reservation", Effect.REPLACES, _CREATED, _RESERVED),
    _pool("capacity.maxRunDuration", Effect.REPLACES, _IN_PROVIDER, f"{_NODE}.maxRunDuration"),
    _pool("upgradeSettings", Effect.IN_PLACE, "the next upgrade goes by it", "NodePool.upgradeSettings"),
    _pool(
        "additionalNodeNetworkConfigs",
        Effect.REPLACES,
        "immutable: the networks of a node are set when its pool is created",
        _INTERFACES,
    ),
    _pool(
        "resourceLabels", Effect.NODES, f"labels of machines and disks: {_UPGRADE}", f"{_NODE}.resourceLabels"
    ),
    _pool("provider", Effect.PROVIDER, _PASSED),
    _pool("capacity.hostMaintenance", Effect.REPLACES, _CREATED, f"{_NODE}.hostMaintenancePolicy"),
)
# All rows, classes before clusters, in the order of the documents.
ROWS = (*_CLASS, *_CLUSTER, *_POOLS)
