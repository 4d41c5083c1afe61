"""The settings of a pool of accelerators, of its nodes, and of what only that pool needs."""

from typing import Any

from inferfleet.cloud.gke import names as cloud_names
from inferfleet.cloud.gke.described import DescribedCluster, DescribedPool, flex_start
from inferfleet.cloud.gke.facts.create_only import LABELS, create_only, digest, recreating
from inferfleet.cloud.gke.facts.machines import Machine, only_boot_disk
from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL, RESOURCE_POLICY
from inferfleet.cloud.gke.rolls import PodSeconds, timeout
from inferfleet.cloud.gke.settings.passed import merged, with_passed
from inferfleet.cloud.values import CloudComponent, CloudPool, CloudResource
from inferfleet.documents.kinds.base import Taint
from inferfleet.documents.kinds.gke import (
    BlueGreenSettings,
    GkeAccelerator,
    GkeProvisioning,
    StandardRolloutPolicy,
    UpgradeSettings,
)
from inferfleet.documents.kinds.inference_class import HugePages
from inferfleet.documents.kinds.inference_cluster import Capacity
from inferfleet.documents.quantity import parse_quantity
from inferfleet.fleet import names
from inferfleet.tables.devices import GKE_ACCELERATOR
from inferfleet.tables.gke import (
    AUTO_PROFILE,
    DRA_LABELS,
    GPU_TAINT,
    IMAGE_TYPE,
    NETWORK_DRIVER_LABELS,
    NODE_POOL_LABEL,
    RACK_TOPOLOGY,
    RESERVATION_KEY,
    SCOPES,
)

# Racks of GB200 take nodes only with a policy that keeps them in one NVLink domain.
_RACKS = "A4X"
# https://cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest
QUEUED = Taint(key="cloud.google.com/gke-queued", value="true", effect="NoSchedule")
_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
_SHARING = {"TimeSharing": "TIME_SHARING", "MPS": "MPS"}
_MAINTENANCE = {"Periodic": "PERIODIC", "AsNeeded": "AS_NEEDED"}


def gpu_pool(
    cluster: DescribedCluster, pool: DescribedPool, *, pods: PodSeconds, after: tuple[str, ...]
) -> CloudPool:
    """Return the pool with its name in Google Cloud, its resources, and the settings that the lock records.

    The name carries the digest of the immutable settings, so that an old and a new pool can exist side by
    side. A minimum limits how far the autoscaler scales down; it starts no node before the first pod asks
    for one, so creating a pool never waits for accelerators.
    """
    policy = _rack_policy(cluster, pool) if pool.gke_class.machine.family == _RACKS else None
    own = {
        **pool_of(cluster),
        **_nodes(pool),
        **_placement(pool, policy),
        **_network(pool),
        **_upkeep(pool),
        "maxPodsPerNode": pool.gke_class.document.spec.node.pods,
        "nodeConfig": node_config(cluster, pool),
    }
    # What both documents pass on is as that of the pool has it.
    passed = merged(pool.document.provider, pool.gke_class.recipe.provider)
    cloud_name, inputs = with_name(pool.name, with_passed(own, passed))
    resource = CloudResource(
        NODE_POOL,
        cloud_names.cloud_resource(cluster.name, pool.name),
        inputs,
        after=(*after, *([policy.key] if policy else [])),
        ignore=ignored(pool),
        delete_first=pool.gke.replace.order == "DeleteFirst",
        deleted_with=f"{CLUSTER} {cluster.name}",
        timeout=timeout(pool, pods),
    )
    resources = (policy, resource) if policy else (resource,)
    written = cluster.gke.labels | pool.document.resource_labels
    labels = {LABELS: dict(sorted(written.items()))} if written else {}
    gpu, reservation = pool.gke_class.recipe.accelerator, pool.document.capacity.reservation
    return CloudPool(
        cluster=cluster.name,
        pool=pool.name,
        class_name=pool.gke_class.name,
        name=cloud_name,
        component=CloudComponent(
            "GpuNodePool", cloud_names.cloud_resource(cluster.name, pool.name), resources
        ),
        settings=create_only(NODE_POOL, inputs) | recreating(inputs) | labels,
        # GKE sets the first: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus
        labels=({GKE_ACCELERATOR: gpu.type} if gpu else {}) | pool.document.labels,
        node_labels=pool.node_labels
        | {NODE_POOL_LABEL: (cloud_name,)}
        | {key: (value,) for key, value in inputs["nodeConfig"]["labels"].items()},
        # Pods tolerate them besides that of the accelerator.
        taints=(QUEUED,) if pool.document.capacity.model == "Queued" else (),
        zones=pool.zones,
        fixed_size=pool.fixed_size,
        fabric=pool.gke_class.fabric.kind if pool.gke_class.fabric else None,
        networks=tuple(interface.name for interface in pool.interfaces),
        claims_cards=pool.claims_cards,
        reservation=(reservation.project or cluster.gke.project, reservation.name) if reservation else None,
    )


def pool_of(cluster: DescribedCluster) -> dict[str, Any]:
    """Return the settings that say which cluster a pool belongs to."""
    return {
        "cluster": cluster.cloud_name,
        "location": cluster.gke.region,
        "project": cluster.gke.project,
    }


def with_name(pool: str, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of a pool with these inputs, and the inputs with it as name and as node label."""
    cloud_name = cloud_names.gke_pool(pool, digest(create_only(NODE_POOL, inputs)))
    nodes = inputs["nodeConfig"]
    labels = {names.POOL: cloud_name} | nodes.get("labels", {})
    return cloud_name, {"name": cloud_name, **inputs, "nodeConfig": nodes | {"labels": labels}}


def _nodes(pool: DescribedPool) -> dict[str, Any]:
    """Return zones and number of nodes: documents count the whole pool, Google a fixed size per zone."""
    places: dict[str, Any] = {"nodeLocations": list(pool.zones)} if pool.zones else {}
    if pool.fixed_size is None:
        return places | {
            "autoscaling": {
                "totalMinNodeCount": pool.document.min_node_count or 0,
                "totalMaxNodeCount": pool.document.max_node_count,
                # ANY goes where there is capacity; BALANCED spreads what can be bought anywhere.
                "locationPolicy": "BALANCED" if pool.document.capacity.model == "OnDemand" else "ANY",
            },
            # The autoscaler changes the number, which is no drift.
            "ignoreNodeCountChanges": True,
        }
    return places | {"nodeCount": pool.fixed_size // max(1, len(pool.zones))}


def _placement(pool: DescribedPool, policy: CloudResource | None) -> dict[str, Any]:
    queued = {"queuedProvisioning": {"enabled": True}} if pool.document.capacity.model == "Queued" else {}
    if policy:
        return queued | {"placementPolicy": {"type": "COMPACT", "policyName": policy.inputs["name"]}}
    compact = pool.gke_class.recipe.compact_placement
    return queued | ({"placementPolicy": {"type": "COMPACT"}} if compact else {})


def _network(pool: DescribedPool) -> dict[str, Any]:
    if pool.gke_class.auto_network:
        return {"networkConfig": {"acceleratorNetworkProfile": AUTO_PROFILE}}
    if not pool.interfaces:
        return {}
    # By name, also in a Shared VPC: all interfaces of a node are in networks of its host project.
    interfaces = [
        {"network": interface.network, "subnetwork": interface.subnetwork} for interface in pool.interfaces
    ]
    return {"networkConfig": {"additionalNodeNetworkConfigs": interfaces}}


def _upkeep(pool: DescribedPool) -> dict[str, Any]:
    """Return the settings of repairs and upgrades.

    A release channel upgrades nodes by itself, and takes no pool that refuses.

    Nodes of the Dynamic Workload Scheduler are not repaired, which would delete them, and GKE chooses how to
    upgrade them.
    """
    dynamic = pool.document.capacity.model in ("FlexStart", "Queued")
    upkeep: dict[str, Any] = {"management": {"autoRepair": not dynamic, "autoUpgrade": True}}
    if dynamic:
        return upkeep
    return upkeep | {"upgradeSettings": upgrades(pool.document.upgrade_settings)}


def upgrades(upgrade_settings: UpgradeSettings | None) -> dict[str, Any]:
    """Return how nodes of a pool are upgraded. By default one at a time without a surge: there is seldom a
    spare machine with accelerators.
    """
    settings = upgrade_settings or UpgradeSettings()
    if settings.strategy == "BLUE_GREEN":
        steps = _blue_green(settings.blue_green_settings or BlueGreenSettings())
        return {"strategy": "BLUE_GREEN", "blueGreenSettings": steps}
    return {"strategy": "SURGE", "maxSurge": settings.surge, "maxUnavailable": settings.unavailable}


def _blue_green(settings: BlueGreenSettings) -> dict[str, Any]:
    """Return every step, written or not: one that Google fills in could change without a word."""
    soak = {"nodePoolSoakDuration": f"{settings.node_pool_soak_duration}s"}
    if autoscaled := settings.autoscaled_rollout_policy:
        wait = f"{autoscaled.wait_for_drain_duration}s"
        return soak | {"autoscaledRolloutPolicy": {"waitForDrainDuration": wait}}
    batches = settings.standard_rollout_policy or StandardRolloutPolicy()
    size = (
        {"batchPercentage": batches.batch_percentage}
        if batches.batch_percentage is not None
        else {"batchNodeCount": batches.batch_node_count or 1}
    )
    policy = size | {"batchSoakDuration": f"{batches.batch_soak_duration}s"}
    return soak | {"standardRolloutPolicy": policy}


def _rack_policy(cluster: DescribedCluster, pool: DescribedPool) -> CloudResource:
    return CloudResource(
        RESOURCE_POLICY,
        cloud_names.cloud_resource(cluster.name, pool.name),
        {
            "name": cloud_names.gke_part(cluster.cloud_name, pool.name),
            "project": cluster.gke.project,
            "region": cluster.gke.region,
            "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": RACK_TOPOLOGY},
        },
    )


def ignored(pool: DescribedPool) -> tuple[str, ...]:
    """Return the settings that GKE fills in: local SSDs that are, or for an unknown machine may be, built in.

    Reported back by Google and missing in the recipe, they would replace the pool at every update
    (https://github.com/mozilla/terraform-modules/pull/464). Nowhere else, because what is ignored keeps its
    old value even in a replacement: SSDs that somebody takes out of a recipe would come back.
    """
    machine = pool.gke_class.machine
    if pool.gke_class.recipe.local_ssd or (machine.known and not machine.ssds.attached):
        return ()
    return ("nodeConfig.ephemeralStorageLocalSsdConfig", "nodeConfig.localNvmeSsdBlockConfig")


def node_config(cluster: DescribedCluster, pool: DescribedPool) -> dict[str, Any]:
    """Return the settings of a node without its pool label, which holds the digest of these settings."""
    recipe, machine, document = pool.gke_class.recipe, pool.gke_class.machine, pool.document
    gpu = recipe.accelerator
    return {
        "machineType": recipe.machine_type,
        "imageType": IMAGE_TYPE,
        "bootDisk": _boot_disk(recipe, machine),
        **({"guestAccelerators": [_accelerator(gpu, pool.driver)]} if gpu else {}),
        **_local_ssd(recipe),
        **_huge_pages(pool.gke_class.document.spec.node.hugepages),
        "gcfsConfig": {"enabled": recipe.image_streaming},
        **_image_cache(recipe),
        "gvnic": {"enabled": True},
        **_capacity(pool),
        "labels": _labels(pool),
        "taints": [
            *([_taint(GPU_TAINT, "present", "NoSchedule")] if gpu else []),
            *(
                _taint(taint.key, taint.value, taint.effect)
                for taint in document.taints
                if taint.key != GPU_TAINT
            ),
        ],
        # GKE would keep away pods that say nothing about Arm. The taint of GPUs keeps all others away.
        **({"taintConfig": {"architectureTaintBehavior": "NONE"}} if machine.architecture == "arm64" else {}),
        "resourceLabels": cluster.labels_of(pool),
        # GKE's own drivers are signed, those of others may not be.
        **of_all_nodes(cluster, secure_boot=recipe.driver != "INSTALLATION_DISABLED"),
    }


def _boot_disk(recipe: GkeProvisioning, machine: Machine) -> dict[str, Any]:
    kind = recipe.disk_type or machine.boot_disk
    return {"sizeGb": recipe.disk_size_gb, **({"diskType": kind} if kind else {})}


def _accelerator(accelerator: GkeAccelerator, driver: str) -> dict[str, Any]:
    """Return the accelerator's settings, always with a driver: one that GKE fills in would replace the pool.

    https://github.com/GoogleCloudPlatform/magic-modules/pull/11152
    """
    settings: dict[str, Any] = {
        "type": accelerator.type,
        "count": accelerator.count,
        "gpuDriverInstallationConfig": {"gpuDriverVersion": driver},
    }
    if accelerator.partition_size:
        settings["gpuPartitionSize"] = accelerator.partition_size
    if accelerator.sharing:
        settings["gpuSharingConfig"] = {
            "gpuSharingStrategy": _SHARING[accelerator.sharing.strategy],
            "maxSharedClientsPerGpu": accelerator.sharing.max_clients_per_gpu,
        }
    return settings


def _local_ssd(recipe: GkeProvisioning) -> dict[str, Any]:
    if recipe.local_ssd is None:
        return {}
    ephemeral = recipe.local_ssd.use == "EphemeralStorage"
    block = "ephemeralStorageLocalSsdConfig" if ephemeral else "localNvmeSsdBlockConfig"
    return {block: {"localSsdCount": recipe.local_ssd.count}}


def _huge_pages(hugepages: HugePages) -> dict[str, Any]:
    """Return the number of pages of each size that the class has.

    Without any, the block is left out: the provider then takes it from Google's answer, so a pool that exists
    keeps its pages. It sends no zero, and Google takes none.
    """
    pages = {"hugepageSize2m": (hugepages.size_2mi, "2Mi"), "hugepageSize1g": (hugepages.size_1gi, "1Gi")}
    counts = {
        name: count
        for name, (amount, size) in pages.items()
        if (count := int(parse_quantity(amount) / parse_quantity(size)))
    }
    return {"linuxNodeConfig": {"hugepagesConfig": counts}} if counts else {}


def _image_cache(recipe: GkeProvisioning) -> dict[str, Any]:
    """Return the disks from which containerd reads images: https://cloud.google.com/kubernetes-engine/docs/
    how-to/data-container-image-preloading.
    """
    disks = [
        {"diskImage": disk.disk_image, "mode": "CONTAINER_IMAGE_CACHE"}
        for disk in recipe.secondary_boot_disks
    ]
    return {"secondaryBootDisks": disks} if disks else {}


def _capacity(pool: DescribedPool) -> dict[str, Any]:
    capacity = pool.document.capacity
    settings: dict[str, Any] = {}
    if capacity.model == "Spot":
        settings["spot"] = True
    if flex_start(pool.document):
        settings["flexStart"] = True
    if capacity.host_maintenance:
        interval = _MAINTENANCE[capacity.host_maintenance]
        settings["hostMaintenancePolicy"] = {"maintenanceInterval": interval}
    if capacity.max_run_duration:
        settings["maxRunDuration"] = f"{capacity.max_run_duration}s"
    affinity = _reservation(capacity)
    return settings | ({"reservationAffinity": affinity} if affinity else {})


def _reservation(capacity: Capacity) -> dict[str, Any] | None:
    """Return which reservations nodes use, None for Google's default.

    On-demand nodes use any reservation that fits; a reserved pool buys no other machines.
    """
    if capacity.model == "OnDemand":
        return None
    if capacity.model != "Reservation":
        # https://github.com/hashicorp/terraform-provider-google/issues/18341
        return {"consumeReservationType": "NO_RESERVATION"}
    if capacity.reservation is None:
        return {"consumeReservationType": "ANY_RESERVATION_THEN_FAIL"}
    reservation = capacity.reservation
    # https://cloud.google.com/kubernetes-engine/docs/how-to/consuming-reservations
    value = (
        f"projects/{reservation.project}/reservations/{reservation.name}"
        if reservation.project
        else reservation.name
    )
    # https://docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute, 2026-04-06. Of other
    # projects: cluster-toolkit, reservation_definitions.tf; sub-blocks: xpk, core/reservation.py; 2026-06-25
    value += f"/reservationBlocks/{reservation.block}" if reservation.block else ""
    value += f"/reservationSubBlocks/{reservation.sub_block}" if reservation.sub_block else ""
    return {"consumeReservationType": "SPECIFIC_RESERVATION", "key": RESERVATION_KEY, "values": [value]}


def _labels(pool: DescribedPool) -> dict[str, str]:
    """Return the labels of nodes beside that of the pool.

    GKE taints queued nodes by itself and does not label them: cluster-toolkit, gke-node-pool, 2026-06-25.
    """
    of_dra = DRA_LABELS if pool.gke_class.document.spec.allocation == "DRA" else {}
    of_network = NETWORK_DRIVER_LABELS if pool.gke_class.auto_network else {}
    queued = pool.document.capacity.model == "Queued"
    return pool.document.labels | of_dra | of_network | ({QUEUED.key: QUEUED.value} if queued else {})


def _taint(key: str, value: str, effect: str) -> dict[str, str]:
    return {"key": key, "value": value, "effect": _EFFECTS[effect]}


def system_node_config(cluster: DescribedCluster, machine_type: str) -> dict[str, Any]:
    """Return the settings of a node of the system pool, which has neither accelerators nor taints."""
    disk = only_boot_disk(machine_type)
    return {
        "machineType": machine_type,
        "imageType": IMAGE_TYPE,
        "bootDisk": {"sizeGb": cluster.gke.system_pool.disk_size_gb, **({"diskType": disk} if disk else {})},
        "resourceLabels": cluster.labels,
        **of_all_nodes(cluster, secure_boot=True),
    }


def of_all_nodes(cluster: DescribedCluster, *, secure_boot: bool) -> dict[str, Any]:
    """Return the settings that all nodes of a cluster have: tags, key, account; and they are shielded."""
    gke = cluster.gke
    return {
        **({"tags": list(gke.network_tags)} if gke.network_tags else {}),
        **({"bootDiskKmsKey": gke.boot_disk_kms_key} if gke.boot_disk_kms_key else {}),
        "serviceAccount": cluster.account,
        "oauthScopes": list(SCOPES),
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "shieldedInstanceConfig": {"enableSecureBoot": secure_boot, "enableIntegrityMonitoring": True},
    }
