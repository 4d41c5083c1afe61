"""How engines hand KV caches on: variables and ports by which pods of prefill and decode find each other.

vLLM: vllm/envs.py; nixl/scheduler.py and mooncake/mooncake_connector.py below
vllm/distributed/kv_transfer/kv_connector/v1 (before 0.12 the first was nixl_connector.py). Each rank of data
parallelism has a side channel of its own, at the port plus its number. SGLang: srt/environ.py and
srt/server_args.py. UCX: docs/source/faq.md, and guides/pd-disaggregation of llm-d.
"""

from collections.abc import Mapping
from types import MappingProxyType

# Address that a decode engine is told to ask: by default it would ask itself.
NIXL_HOST = "VLLM_NIXL_SIDE_CHANNEL_HOST"
NIXL_PORT = "VLLM_NIXL_SIDE_CHANNEL_PORT"
NIXL_DEFAULT_PORT = 5600
# Where prefill engines of Mooncake and SGLang tell the way to them, and what names another port.
BOOTSTRAP_PORT = 8998
MOONCAKE_PORT = "VLLM_MOONCAKE_BOOTSTRAP_PORT"
SGLANG_PORT_FLAG = "--disaggregation-bootstrap-port"
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
