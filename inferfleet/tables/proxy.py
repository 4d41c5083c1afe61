"""The routing proxy of decode pods by its versions: image, flags, and how it calls the ways to hand KV on.

Flags that follow from documents: pkg/sidecar/proxy/options.go of llm-d-inference-scheduler v0.7.1 and
llm-d-router v0.10.0. Names of images: .github/workflows/ci-release.yaml of both; they changed after v0.7.1. A
flag or value that it does not take ends the proxy with exit code 0, and it says which.
"""

from inferfleet.tables.profile import ProxyTable

# Where the engine of a decode pod listens. llm-d's guides give it this port, and v0.10.0 takes it by default;
# one for all versions, because one command line of an engine serves clusters of several.
ENGINE_PORT = 8200
# Path that it answers itself, as soon as it listens and whatever the engine does.
HEALTH_PATH = "/health"

_OWN = {
    "port": "write spec.engine.port instead",
    "vllm-port": "write spec.prefill.proxy.enginePort instead",
    "kv-connector": "write spec.prefill.connector instead",
    "data-parallel-size": "it follows from the topology",
    "secure-proxy": "gateways, and pods of prefill, speak plain HTTP to it; a service mesh can encrypt "
    "between pods (plugin istio)",
}

SCHEDULER_0_7 = ProxyTable(
    image="ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1",
    engine_port_flag="vllm-port",
    connectors={"NIXL": "nixlv2", "SharedStorage": "shared-storage", "SGLang": "sglang"},
    # Its default is TLS, which nothing that asks it speaks.
    flags={"secure-proxy": "false"},
    # `connector` is an old name of the same.
    own_flags={**_OWN, "connector": _OWN["kv-connector"]},
)

ROUTER_0_10 = ProxyTable(
    image="ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0"
    "@sha256:1344adff65f96f76fc00c6003a1c63c1e9bb70f3628307f61f748a89a265b260",
    engine_port_flag="model-server-port",
    connectors={
        "NIXL": "nixlv2",
        "SharedStorage": "shared-storage",
        "SGLang": "sglang",
        "Mooncake": "mooncake",
    },
    flags={"secure-proxy": "false"},
    own_flags={
        **_OWN,
        "model-server-port": _OWN["vllm-port"],
        "mooncake-bootstrap-port": "it follows from spec.prefill.connector",
        "tracing": "write serving.tracing of the cluster instead",
    },
    tracing_flag="tracing",
    mooncake_port_flag="mooncake-bootstrap-port",
)
