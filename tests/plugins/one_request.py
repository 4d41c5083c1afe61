"""What plugins are told of a pod, in tests that are about something else."""

from inferfleet.api.kinds.inference_class import Device
from inferfleet.plugins.contract import Request

REQUEST = Request(
    namespace="ml",
    deployment="web",
    workload="web-decode-h100",
    cluster="east",
    pool="h100",
    role="decode",
    position="Entry",
    engine="vLLM",
    class_name="h100-8x",
    accelerator=Device(name="gpu", driver="gpu.nvidia.com", device_class_name="gpu.nvidia.com", count=8),
    gpus=2,
)
