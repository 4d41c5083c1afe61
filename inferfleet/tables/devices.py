"""Accelerators by the DRA driver that publishes them: extended resources, node labels of products, and
Kubernetes' API for Dynamic Resource Allocation with its limits and NVIDIA's kinds.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

VendorName = Literal["NVIDIA", "AMD", "Gaudi", "TPU", "Ascend"]


class Vendor(NamedTuple):
    """A vendor of accelerators."""

    name: VendorName
    """As documents name it."""
    driver: str
    """DRA driver that publishes its accelerators."""
    resource: str
    """Extended resource of a whole device, as the vendor's device plugin registers it with the kubelet."""

    @property
    def domain(self) -> str:
        """Return where its device plugins register what they hand out: devices, slices and shares of them."""
        return self.resource.partition("/")[0]


VENDORS = (
    Vendor("NVIDIA", "gpu.nvidia.com", "nvidia.com/gpu"),
    Vendor("AMD", "gpu.amd.com", "amd.com/gpu"),
    Vendor("Gaudi", "gaudi.intel.com", "habana.ai/gaudi"),
    Vendor("TPU", "tpu.google.com", "google.com/tpu"),
    # Atlas A2 and A3. The plugin registers other chips under other names (huawei.com/Ascend310P).
    Vendor("Ascend", "npu.huawei.com", "huawei.com/Ascend910"),
)
VENDOR_BY_NAME: Mapping[str, Vendor] = MappingProxyType({vendor.name: vendor for vendor in VENDORS})
VENDOR_BY_DRIVER: Mapping[str, Vendor] = MappingProxyType({vendor.driver: vendor for vendor in VENDORS})
_VENDOR_BY_DOMAIN = {vendor.domain: vendor for vendor in VENDORS}
# What images of engines that profiles name are for.
NVIDIA_DRIVERS = ("gpu.nvidia.com",)
# Driver of network cards for Dynamic Resource Allocation: https://github.com/kubernetes-sigs/dranet.
NETWORK_DRIVER = "dra.net"
# Attribute that says of which network a card is, whatever its driver.
LINK_TYPE = "linkType"
# Under NVIDIA's domain its network operator registers network cards too (nvidia.com/hostdev). So begin slices
# and shares of GPUs: nvidia.com/mig-1g.5gb, nvidia.com/gpu.shared.
_NVIDIA, _OF_NVIDIA_GPUS = "nvidia.com", ("nvidia.com/mig-", "nvidia.com/gpu.")

# Labels that GKE sets: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus and .../how-to/tpus.
GKE_ACCELERATOR = "cloud.google.com/gke-accelerator"
GKE_TPU, GKE_TPU_TOPOLOGY = "cloud.google.com/gke-tpu-accelerator", "cloud.google.com/gke-tpu-topology"

# Labels that hold the name of the product outside of GKE, and what stands in them for a space. NVIDIA: GPU
# feature discovery (NVIDIA/k8s-device-plugin, internal/lm: `sanitise`). AMD: the node labeller
# (ROCm/k8s-device-plugin, cmd/k8s-node-labeller), AMD_Instinct_MI300X_OAM. TPU: TPU nodes are GKE's. Ascend:
# https://www.hiascend.com/document/detail/zh/mindcluster/60rc3/clustersched/reference/api/dlug_api_039.html
# Gaudi is missing: Intel's feature discovery documents a label for "has one", and none for which.
PRODUCT_LABELS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "gpu.nvidia.com": ("nvidia.com/gpu.product", "-"),
        "gpu.amd.com": ("amd.com/gpu.product-name", "_"),
        "tpu.google.com": (GKE_TPU, "-"),
        "npu.huawei.com": ("node.kubernetes.io/npu.chip.name", "-"),
    }
)
# Labels of nodes that only those of one vendor have, beside those under its domain.
VENDOR_BY_LABEL: Mapping[str, Vendor] = MappingProxyType(
    {GKE_ACCELERATOR: VENDOR_BY_NAME["NVIDIA"], GKE_TPU_TOPOLOGY: VENDOR_BY_NAME["TPU"]}
    | {label: VENDOR_BY_DRIVER[driver] for driver, (label, _) in PRODUCT_LABELS.items()}
)
# By one of these a node tells that it has accelerators. GPU feature discovery sets `gpu.present`
# (NVIDIA/k8s-device-plugin, docs/gpu-feature-discovery).
ACCELERATED_NODE_LABELS = (
    GKE_ACCELERATOR,
    "nvidia.com/gpu.present",
    *(label for label, _ in PRODUCT_LABELS.values()),
)


def vendor_of(resource: str) -> Vendor | None:
    """Return the vendor of accelerators under whose domain an extended resource is, whatever it is."""
    return _VENDOR_BY_DOMAIN.get(resource.partition("/")[0])


def is_accelerator(resource: str) -> bool:
    """Return whether an extended resource is accelerators of a vendor in the table, or parts of them."""
    vendor = vendor_of(resource)
    if vendor is None or vendor.domain != _NVIDIA:
        return vendor is not None
    return resource == vendor.resource or resource.startswith(_OF_NVIDIA_GPUS)


def product_in_label(name: str, space: str) -> str:
    """Return the name of a product as feature discovery writes it into a label."""
    return space.join(re.sub(r"[^-A-Za-z0-9_. ]", "", name).split())


# What Google's names of accelerators have beside the model.
_GOOGLES_WORDS, _MEMORY = {"nvidia", "tesla", "mega"}, re.compile(r"[0-9]+gb")


def is_product(value: str, name: str) -> bool:
    """Return whether a label has the name of a product, or of a slice or share of it.

    Google names NVIDIA's in its own way: `nvidia-h100-80gb` and `NVIDIA-H100-80GB-HBM3` have the model in
    common. https://cloud.google.com/compute/docs/gpus
    """
    if value.startswith("nvidia-") and not name.startswith("nvidia-"):
        words = set(value.split("-")) - _GOOGLES_WORDS
        model = {word for word in words if not _MEMORY.fullmatch(word)}
        return bool(model) and model <= set(name.lower().split("-"))
    return value == name or value.startswith((f"{name}-MIG-", f"{name}-SHARED"))


def is_network(driver: str, attributes: Iterable[str]) -> bool:
    """Return whether a device with attributes of these names joins the GPUs of different nodes."""
    return driver == NETWORK_DRIVER or LINK_TYPE in (name.rpartition("/")[2] for name in attributes)


# Dynamic Resource Allocation: Kubernetes' API for it, its limits, and NVIDIA's drivers and kinds.
#
# Sources: k8s.io/api resource/v1 and pkg/apis/resource/validation of Kubernetes 1.36;
# https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu (0.4: driver names,
# api/nvidia.com/resource/v1beta1).

# Served from Kubernetes 1.34 on. Before, v1beta1 and v1beta2 were, where somebody had switched them on.
RESOURCE_API = "resource.k8s.io/v1"
SINCE = "1.34"
# Devices that one claim gets at most (AllocationResultsMaxSize).
MOST_DEVICES = 32

# What drivers publish of a device under their own domain, where that is known: NVIDIA's
# cmd/gpu-kubelet-plugin/deviceinfo.go, of whole GPUs and of MIG devices.
PUBLISHED = {
    "gpu.nvidia.com": frozenset(
        {
            *("type", "uuid", "productName", "brand", "architecture", "memory"),
            *("cudaComputeCapability", "driverVersion", "cudaDriverVersion"),
            *("addressingMode", "gpuModuleID", "parentUUID", "profile"),
            *("multiprocessors", "copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines"),
        }
    ),
}

# IMEX channels: memory of GPUs that several nodes of one NVLink domain share.
CHANNEL_DRIVER = "compute-domain.nvidia.com"
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
COMPUTE_DOMAIN_API = "resource.nvidia.com/v1beta1"
COMPUTE_DOMAIN = "ComputeDomain"
# Nodes of one NVLink domain have the same value of this label: GPU feature discovery sets it
# (k8s-device-plugin, internal/lm/imex.go), or this driver with `gpuCliqueLabelEnabled`. ComputeDomains need
# it (site/content/docs/prerequisites.md).
CLIQUE = "nvidia.com/gpu.clique"

# DeviceClasses that GKE makes for network cards: those for RDMA, and others.
RDMA_CLASS, NETWORK_CLASS = "mrdma.google.com", "netdev.google.com"

# Who installs what publishes a DeviceClass, for messages; others are told without a name.
_CHART = "NVIDIA's DRA driver (chart dra-driver-nvidia-gpu"
INSTALLED_BY = {
    "gpu.nvidia.com": f"{_CHART}, gpuResourcesEnabledOverride: true)",
    CHANNEL_CLASS: f"{_CHART}, resources.computeDomains.enabled: true)",
    RDMA_CLASS: "GKE, on pools with accelerator network profile auto",
    NETWORK_CLASS: "GKE, on pools with accelerator network profile auto",
}
