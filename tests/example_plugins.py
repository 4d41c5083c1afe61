"""Configs of the built-in plugins, for tests over all of them: those that suit the pod of a request."""

from typing import Any

from inferfleet.plugins.contract import Request

# Those that look at what others made, in the order in which the guides say to write them.
LAST = ("demo-pod-tweaks", "group-env", "restricted", "json-patch")
# Those that give pods what level restricted of the Pod Security Standards forbids.
UNRESTRICTED = {"network-fabric"}
Configs = tuple[dict[str, Any], ...]
DIGEST = "0123456789abcdef" * 4
_PRODUCTS = {
    "gpu.nvidia.com": "NVIDIA-H100-80GB-HBM3",
    "gpu.amd.com": "AMD_Instinct_MI300X_OAM",
    "tpu.google.com": "tpu-v6e-slice",
}


def _accelerator(request: Request) -> Configs:
    product = _PRODUCTS.get(request.accelerator.driver)
    named = {"product": [product]} if product else {"product": "HL-325", "productLabel": "example.com/gaudi"}
    return (
        {"engineEnv": [{"name": "NCCL_DEBUG", "value": "WARN"}]},
        {**named, "runtimeClassName": "vendor"},
    )


def _tracing(request: Request) -> Configs:
    http = {"endpoint": "http://collector.monitoring:4318", "protocol": "http/protobuf"}
    full = {**http, "serviceName": "chat", "sampleRatio": 0.05, "resourceAttributes": {"team": "a,b c"}}
    if request.deployment.engine == "Triton":
        return (http, full)
    return ({"endpoint": "https://collector.monitoring:4317"}, full)


def _engine_args(request: Request) -> Configs:
    # Of the others it writes the port alone, which is the usual one here, or nothing.
    return ({},) if request.deployment.engine in ("vLLM", "SGLang", "TensorRT-LLM") else ()


EXAMPLES: dict[str, Any] = {
    "accelerator": _accelerator,
    "demo-pod-tweaks": (
        {"annotations": {"example.com/team": "chat"}, "env": [{"name": "LOG", "value": "info"}]},
    ),
    "engine-args": _engine_args,
    "entry-address-file": ({}, {"path": "/run/entry/address", "image": "busybox:1"}),
    "group-env": ({},),
    "hugepages": ({"amount": "4Gi"}, {"size": "1Gi", "amount": "2Gi"}),
    "istio": (
        {"inject": False},
        {"nativeSidecar": True, "excludeInboundPorts": [5600], "excludeOutboundPorts": [5600, 29500]},
    ),
    "json-patch": (
        {
            "operations": [
                {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "spot", "operator": "Exists"}},
                {"op": "add", "path": "/spec/priorityClassName", "value": "serving"},
                {"op": "remove", "path": "/metadata/labels/example.com~1old"},
                {
                    "op": "replace",
                    "path": "/spec/containers/name=engine/image",
                    "value": "registry.example.com/engine:2",
                },
                {"op": "test", "path": "/spec/priorityClassName", "value": "serving"},
            ]
        },
    ),
    "lws-standard-labels": ({},),
    "model-cache": (
        {"pvc": {"claimName": "models", "subPath": "hf"}, "hfToken": {"name": "hf", "key": "token"}},
        {"image": {"reference": f"registry.example.com/qwen@sha256:{DIGEST}"}, "offline": True},
        {
            "gcsFuse": {"bucket": "models", "mountOptions": ["implicit-dirs"]},
            "offline": True,
        },
        {"emptyDir": {"sizeLimit": "200Gi"}},
        {
            "oci": {
                "reference": f"registry.example.com/qwen@sha256:{DIGEST}",
                "sizeLimit": "20Gi",
                "pullSecret": "registry",
            },
            "offline": True,
        },
        {
            "pvc": {"claimName": "nim"},
            "layout": "NIM",
            "ngcApiKey": {"name": "ngc", "key": "api-key"},
        },
    ),
    "network-fabric": ({"fabric": "InfiniBand"}, {"fabric": "InfiniBand", "ncclIbHca": "=mlx5_0,mlx5_1"}),
    "prometheus": ({}, {"port": 9400, "path": "/stats"}, {"scrape": False}),
    "restricted": ({"runAsUser": 1000, "fsGroup": 1000}, {}),
    "scheduler": (
        {"system": "Kueue", "queue": "serving"},
        {"system": "KAI", "queue": "serving"},
        {"system": "Volcano", "queue": "serving", "group": "chat"},
    ),
    "topology-spread": (
        {},
        {"topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2},
    ),
    "tracing": _tracing,
}


def examples(name: str, request: Request) -> Configs:
    """Return the configs of a plugin that suit a pod. Raises KeyError for a plugin without examples."""
    known = EXAMPLES[name]
    configs: Configs = known(request) if callable(known) else known
    return configs
