"""Accelerators by the DRA driver that would publish them: extended resources, and node labels of products."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

# Names as the vendors' device plugins register them with the kubelet.
RESOURCE_BY_DRIVER = {
    "gpu.nvidia.com": "nvidia.com/gpu",
    "gpu.amd.com": "amd.com/gpu",
    "gaudi.intel.com": "habana.ai/gaudi",
    "tpu.google.com": "google.com/tpu",
    # Atlas A2 and A3. The plugin registers other chips under other names (huawei.com/Ascend310P).
    "npu.huawei.com": "huawei.com/Ascend910",
}
# So slices and shares of an accelerator begin in NVIDIA's device plugin: nvidia.com/mig-1g.5gb,
# nvidia.com/gpu.shared.
SLICES = ("nvidia.com/mig-", "nvidia.com/gpu.")
# What images of engines that profiles name are for.
NVIDIA_DRIVERS = ("gpu.nvidia.com",)
# Driver of network cards for Dynamic Resource Allocation: https://github.com/kubernetes-sigs/dranet.
NETWORK_DRIVER = "dra.net"
# Attribute that says of which network a card is, whatever its driver.
LINK_TYPE = "linkType"
# Where the vendors' device plugins register what they hand out: whole devices, slices and shares of them.
ACCELERATOR_DOMAINS = frozenset(resource.partition("/")[0] for resource in RESOURCE_BY_DRIVER.values())

# Labels that GKE sets: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus and .../how-to/tpus.
GKE_ACCELERATOR = "cloud.google.com/gke-accelerator"
GKE_TPU, GKE_TPU_TOPOLOGY = "cloud.google.com/gke-tpu-accelerator", "cloud.google.com/gke-tpu-topology"

# Labels that hold the name of the product outside of GKE, and what stands in them for a space.
# NVIDIA: GPU feature discovery (NVIDIA/k8s-device-plugin, internal/lm: `sanitise`). AMD: the node labeller
# (ROCm/k8s-device-plugin, cmd/k8s-node-labeller), AMD_Instinct_MI300X_OAM. TPU: TPU nodes are GKE's.
# Ascend: https://www.hiascend.com/document/detail/zh/mindcluster/60rc3/clustersched/reference/api/dlug_api_039.html
# Gaudi is missing: Intel's feature discovery documents a label for "has one", and none for which.
PRODUCT_LABELS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "gpu.nvidia.com": ("nvidia.com/gpu.product", "-"),
        "gpu.amd.com": ("amd.com/gpu.product-name", "_"),
        "tpu.google.com": (GKE_TPU, "-"),
        "npu.huawei.com": ("node.kubernetes.io/npu.chip.name", "-"),
    }
)
# By one of these a node tells that it has accelerators. GPU feature discovery sets `gpu.present`
# (NVIDIA/k8s-device-plugin, docs/gpu-feature-discovery).
ACCELERATED_NODE_LABELS = (
    GKE_ACCELERATOR,
    "nvidia.com/gpu.present",
    *(label for label, _ in PRODUCT_LABELS.values()),
)


def is_network(driver: str, attributes: Iterable[str]) -> bool:
    """Return whether a device with attributes of these names joins the GPUs of different nodes."""
    return driver == NETWORK_DRIVER or LINK_TYPE in (name.rpartition("/")[2] for name in attributes)
