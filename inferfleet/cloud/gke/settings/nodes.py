"""The settings of the nodes of a pool for models, and the taints that GKE puts on them by itself."""

from typing import Any

from inferfleet.cloud.gke.facts.machine import Machine
from inferfleet.cloud.gke.facts.machines import only_boot_disk
from inferfleet.cloud.gke.pool import GkeCluster, GkePool
from inferfleet.documents.kinds.base import Taint
from inferfleet.documents.kinds.gke import GkeAccelerator, GkeProvisioning
from inferfleet.documents.kinds.inference_class import HugePages
from inferfleet.documents.kinds.inference_cluster import Capacity, NodePool
from inferfleet.documents.quantity import parse_quantity
from inferfleet.tables.gke import (
    DRA_LABELS,
    GPU_TAINT,
    IMAGE_TYPE,
    NETWORK_DRIVER_LABELS,
    RESERVATION_KEY,
    SCOPES,
)

# https://cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest
QUEUED = Taint(key="cloud.google.com/gke-queued", value="true", effect="NoSchedule")


def pod_taints(pool: NodePool) -> tuple[Taint, ...]:
    """Return the taints that pods of a pool tolerate besides that of the accelerator."""
    return (QUEUED,) if pool.capacity.model == "Queued" else ()


_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
_SHARING = {"TimeSharing": "TIME_SHARING", "MPS": "MPS"}


def node_config(cluster: GkeCluster, pool: GkePool) -> dict[str, Any]:
    """Return the settings of a node without its pool label, which holds the digest of these settings."""
    recipe, machine, written = pool.recipe, pool.machine, pool.document
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
        "taints": [*([_taint(GPU_TAINT, "present", "NoSchedule")] if gpu else []), *_taints(written.taints)],
        # GKE would keep away pods that say nothing about Arm. The taint of GPUs keeps all others away.
        **({"taintConfig": {"architectureTaintBehavior": "NONE"}} if machine.architecture == "arm64" else {}),
        "resourceLabels": cluster.labels,
        **_identity(cluster.account, secure_boot=_boots_securely(recipe)),
    }


def ignored(pool: GkePool) -> tuple[str, ...]:
    """Return the settings that GKE fills in: local SSDs that are, or for an unknown machine may be, built in.

    Reported back by Google and missing in the recipe, they would replace the pool at every update
    (https://github.com/mozilla/terraform-modules/pull/464). Nowhere else, because what is ignored keeps its
    old value even in a replacement: SSDs that somebody takes out of a recipe would come back.
    """
    if pool.recipe.local_ssd or (pool.machine.known and not pool.machine.ssds.attached):
        return ()
    return ("nodeConfig.ephemeralStorageLocalSsdConfig", "nodeConfig.localNvmeSsdBlockConfig")


def system_node_config(cluster: GkeCluster, machine_type: str) -> dict[str, Any]:
    """Return the settings of a node of the system pool, which has neither accelerators nor taints."""
    disk = only_boot_disk(machine_type)
    return {
        "machineType": machine_type,
        "imageType": IMAGE_TYPE,
        "bootDisk": {"sizeGb": cluster.gke.system_pool.disk_size_gb, **({"diskType": disk} if disk else {})},
        "resourceLabels": cluster.labels,
        **_identity(cluster.account, secure_boot=True),
    }


def _identity(account: str, *, secure_boot: bool) -> dict[str, Any]:
    return {
        "serviceAccount": account,
        "oauthScopes": list(SCOPES),
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "shieldedInstanceConfig": {"enableSecureBoot": secure_boot, "enableIntegrityMonitoring": True},
    }


def _boot_disk(recipe: GkeProvisioning, machine: Machine) -> dict[str, Any]:
    kind = recipe.disk_type or machine.boot_disk
    return {"sizeGb": recipe.disk_size_gb, **({"diskType": kind} if kind else {})}


def _image_cache(recipe: GkeProvisioning) -> dict[str, Any]:
    """Return the disks from which containerd reads images: https://cloud.google.com/kubernetes-engine/docs/
    how-to/data-container-image-preloading.
    """
    disks = [
        {"diskImage": disk.disk_image, "mode": "CONTAINER_IMAGE_CACHE"}
        for disk in recipe.secondary_boot_disks
    ]
    return {"secondaryBootDisks": disks} if disks else {}


def _boots_securely(recipe: GkeProvisioning) -> bool:
    """Return whether nodes boot securely: GKE's own drivers are signed, those of others may not be."""
    return recipe.driver != "INSTALLATION_DISABLED"


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


def _labels(pool: GkePool) -> dict[str, str]:
    """Return the labels of nodes beside that of the pool.

    GKE taints queued nodes by itself and does not label them: cluster-toolkit, gke-node-pool, 2026-06-25.
    """
    of_dra = DRA_LABELS if pool.gke_class.document.spec.allocation == "DRA" else {}
    of_network = NETWORK_DRIVER_LABELS if pool.gke_class.auto_network else {}
    queued = pool.capacity_model == "Queued" and pool.flex_start
    return pool.document.labels | of_dra | of_network | ({QUEUED.key: QUEUED.value} if queued else {})


_MAINTENANCE = {"Periodic": "PERIODIC", "AsNeeded": "AS_NEEDED"}


def _capacity(pool: GkePool) -> dict[str, Any]:
    capacity = pool.document.capacity
    settings: dict[str, Any] = {}
    if capacity.model == "Spot":
        settings["spot"] = True
    if pool.flex_start:
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
    named = capacity.reservation
    # https://cloud.google.com/kubernetes-engine/docs/how-to/consuming-reservations
    value = f"projects/{named.project}/reservations/{named.name}" if named.project else named.name
    # https://docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute, 2026-04-06. Of other
    # projects: cluster-toolkit, reservation_definitions.tf; sub-blocks: xpk, core/reservation.py; 2026-06-25
    value += f"/reservationBlocks/{named.block}" if named.block else ""
    value += f"/reservationSubBlocks/{named.sub_block}" if named.sub_block else ""
    return {"consumeReservationType": "SPECIFIC_RESERVATION", "key": RESERVATION_KEY, "values": [value]}


def _taints(taints: tuple[Taint, ...]) -> list[dict[str, str]]:
    return [_taint(taint.key, taint.value, taint.effect) for taint in taints if taint.key != GPU_TAINT]


def _taint(key: str, value: str, effect: str) -> dict[str, str]:
    return {"key": key, "value": value, "effect": _EFFECTS[effect]}
