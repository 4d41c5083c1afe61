"""Dynamic Resource Allocation: Kubernetes' API for it, its limits, and NVIDIA's drivers and kinds.

Sources: k8s.io/api resource/v1 and pkg/apis/resource/validation of Kubernetes 1.36;
https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu (0.4: driver names, api/nvidia.com/resource/v1beta1).
"""

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
