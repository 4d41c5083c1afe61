"""Extended resources of device plugins, by the DRA driver that would publish the same devices."""

# Names as the vendors' device plugins register them with the kubelet.
RESOURCE_BY_DRIVER = {
    "gpu.nvidia.com": "nvidia.com/gpu",
    "gpu.amd.com": "amd.com/gpu",
    "gaudi.intel.com": "habana.ai/gaudi",
    "tpu.google.com": "google.com/tpu",
}
