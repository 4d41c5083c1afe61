"""How engines hand KV caches from prefill to decode: connectors, and how the pods find each other.

Sources: of vllm-project/vllm docs/features/nixl_connector_usage.md and mooncake_connector_usage.md,
vllm/envs.py, nixl/scheduler.py and mooncake/mooncake_connector.py below
vllm/distributed/kv_transfer/kv_connector/v1 (each rank of data parallelism has a side channel of its own, at
the port plus its number); of sgl-project/sglang python/sglang/srt/server_args.py and srt/environ.py; of
llm-d/llm-d guides/pd-disaggregation; of llm-d/llm-d-inference-scheduler pkg/sidecar/proxy at v0.7.1 (the
proxy knows NIXL, shared storage and SGLang); of UCX docs/source/faq.md.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

# How the KV cache of a prompt gets from a prefill pod to a decode pod: `spec.prefill.connector`.
Connector = Literal["NIXL", "SharedStorage", "Mooncake", "SGLang"]

# The connectors of engines by their types, the usual one first; the routing proxy of decode pods knows no
# others.
ENGINES: Mapping[str, tuple[Connector, ...]] = {
    "vLLM": ("NIXL", "SharedStorage", "Mooncake"),
    "SGLang": ("SGLang",),
    "Other": ("NIXL", "SharedStorage", "Mooncake", "SGLang"),
}

# Address that a decode engine is told to ask: by default it would ask itself.
NIXL_HOST = "VLLM_NIXL_SIDE_CHANNEL_HOST"
NIXL_PORT = "VLLM_NIXL_SIDE_CHANNEL_PORT"
NIXL_DEFAULT_PORT = 5600
# Where prefill engines of Mooncake and SGLang tell the way to them.
BOOTSTRAP_PORT = 8998
MOONCAKE_PORT = "VLLM_MOONCAKE_BOOTSTRAP_PORT"
# The variable of the routing proxy that says SGLang's.
SGLANG_PROXY_PORT = "SGLANG_BOOTSTRAP_PORT"

# Seconds for which engines keep connections that nobody uses, 5 by default. The routing proxy keeps its own
# for 90 (http.DefaultTransport of Go), and a request on one that the engine just closed fails.
KEEP_ALIVE: Mapping[str, str] = MappingProxyType(
    {"vLLM": "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "SGLang": "SGLANG_TIMEOUT_KEEP_ALIVE"}
)
KEEP_ALIVE_SECONDS = 120

UCX_TLS = "UCX_TLS"
# Without adapters for RDMA in the pod: GPUs of one node among themselves, and TCP to others. Where
# there may be adapters the choice is UCX's, as in llm-d's guides.
UCX_WITHOUT_RDMA = "cuda_ipc,cuda_copy,tcp"
# RoCE of GKE has a network for each adapter. UCX takes adapters of two networks for unreachable without this
# (guides/pd-disaggregation/modelserver/gpu/vllm/gke of llm-d at 02be547).
UCX_ROCE = ("UCX_IB_ROCE_REACHABILITY_MODE", "all")
