"""Under which quotas Google counts GPUs, vCPUs and disks. Data, and the rule of preemptible capacity.

Metrics of regions.get and projects.get: https://cloud.google.com/compute/docs/reference/rest/v1/regions.
Families of newer GPUs: the quota GPUS-PER-GPU-FAMILY-per-project-region of the Cloud Quotas API
(https://cloud.google.com/docs/quotas/implement-common-use-cases), whose preemptible part the Compute API has
under metrics of its own.
"""

from inferfleet.documents.kinds.inference_cluster import CapacityModel

# Metrics of the whole project, which count every region.
ALL_GPUS = "GPUS_ALL_REGIONS"
ALL_CPUS = "CPUS_ALL_REGIONS"
# GB of disks in a region, of these types. Balanced ones are GKE's default since 1.24 and have another quota
# than standard ones: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/custom-boot-disks, read on
# 2026-11-24. That it is this one: https://github.com/kubeflow/pipelines/issues/10907 (2024-06-15). Of
# Hyperdisk nothing was found.
SSD_GB = "SSD_TOTAL_GB"
BALANCED = "pd-balanced"
_SSDS = (BALANCED, "pd-ssd")
# The family follows the colon: no metric of the Compute API has this form.
FAMILY = "GPUS_PER_GPU_FAMILY:"
# GPUs by the middle part of their metric: PREEMPTIBLE_NVIDIA_L4_GPUS.
_GPUS = {
    "nvidia-tesla-t4": "NVIDIA_T4",
    "nvidia-tesla-v100": "NVIDIA_V100",
    "nvidia-tesla-p100": "NVIDIA_P100",
    "nvidia-tesla-p4": "NVIDIA_P4",
    "nvidia-l4": "NVIDIA_L4",
    "nvidia-tesla-a100": "NVIDIA_A100",
    "nvidia-a100-80gb": "NVIDIA_A100_80GB",
}
_FAMILIES = {
    "nvidia-rtx-pro-6000": "NVIDIA_RTX_PRO_6000",
    "nvidia-h100-80gb": "NVIDIA_H100",
    "nvidia-h100-mega-80gb": "NVIDIA_H100_MEGA",
    "nvidia-h200-141gb": "NVIDIA_H200",
    "nvidia-b200": "NVIDIA_B200",
    "nvidia-gb200": "NVIDIA_GB200",
    "nvidia-gb300": "NVIDIA_GB300",
}
# Nodes of the Dynamic Workload Scheduler count against the preemptible quota, as spot ones do:
# https://cloud.google.com/kubernetes-engine/docs/concepts/dws
_PREEMPTIBLE: frozenset[CapacityModel] = frozenset({"Spot", "FlexStart", "Queued"})
# vCPUs by the series of the machine; other series are limited by GPUs alone, or by families.
_CPUS = {"n1": ("CPUS",), "e2": ("CPUS",), "n2": ("N2_CPUS",), "a2": ("A2_CPUS",)}


def gpu_metric(accelerator: str, capacity: CapacityModel) -> str | None:
    """Return the regional metric of GPUs; None for unknown ones and for reserved ones, which need none."""
    if capacity == "Reservation":
        return None
    name = _GPUS.get(accelerator) or _FAMILIES.get(accelerator)
    if name is None:
        return None
    if capacity in _PREEMPTIBLE:
        return f"PREEMPTIBLE_{name}_GPUS"
    return f"{FAMILY}{name}" if accelerator in _FAMILIES else f"{name}_GPUS"


def cpu_metrics(machine_type: str) -> tuple[str, ...]:
    """Return the regional metrics of vCPUs bought on demand."""
    return _CPUS.get(machine_type.partition("-")[0], ())


def disk_metric(disk_type: str) -> str | None:
    """Return the regional metric of GB of boot disks; None for types that SSD_TOTAL_GB does not count."""
    return SSD_GB if disk_type in _SSDS else None
