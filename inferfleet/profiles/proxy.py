"""The routing proxy of decode pods by its versions: image, flags, and how it calls the ways to hand KV on.

Flags: pkg/sidecar/proxy/options.go of llm-d-inference-scheduler v0.7.1 and llm-d-router v0.10.0, and
pkg/log/zap/zap.go of controller-runtime. Names of images: .github/workflows/ci-release.yaml of both; they
changed after v0.7.1. A value that it does not take ends the proxy with exit code 0.
"""

from inferfleet.profiles.profile import FlagKind, ProxyTable

# Where the engine of a decode pod listens. llm-d's guides give it this port, and v0.10.0 takes it by default;
# one for all versions, because one command line of an engine serves clusters of several.
ENGINE_PORT = 8200
# Path that it answers itself, as soon as it listens and whatever the engine does.
HEALTH_PATH = "/health"

# The last element of its image's name: of both versions, and in builds by its Makefile's name.
PROGRAMS = frozenset({"llm-d-routing-sidecar", "llm-d-router-disagg-sidecar", "pd-sidecar"})

_LOGS: dict[str, FlagKind] = {
    "zap-devel": "bool",
    "zap-encoder": "text",
    "zap-log-level": "level",
    "zap-stacktrace-level": "text",
    "zap-time-encoding": "text",
}
_OWN = {
    "port": "write spec.engine.port instead",
    "vllm-port": "write spec.prefill.proxy.enginePort instead",
    "kv-connector": "write spec.prefill.connector instead",
    "data-parallel-size": "it follows from the topology",
}
_PLAIN = "the gateway, and pods of prefill on the same port of the InferencePool, speak plain HTTP"
_ENCRYPT = "Remove it; a service mesh can encrypt between pods (plugin istio)"
_ENGINES = "engines take plain HTTP here, because probes, pickers and gateways speak that to them"
_RIGHTS = (
    "it reads pods and InferencePools by Kubernetes' API, for which the account of the engine has no right"
)
_HEADER = "Remove it: the endpoint picker takes the header that names a prefill pod away from clients"
_ENCODE = "encoders of other media are no role of a deployment"
_REMOVE = "Remove it"
_REFUSED = {
    "secure-proxy": (_PLAIN, _ENCRYPT),
    "cert-path": (_PLAIN, _ENCRYPT),
    "enable-tls": (_ENGINES, _ENCRYPT),
    "tls-insecure-skip-verify": (_ENGINES, _REMOVE),
    "enable-ssrf-protection": (_RIGHTS, _HEADER),
    "inference-pool": (_RIGHTS, _REMOVE),
    "pool-group": (_RIGHTS, _REMOVE),
    "kubeconfig": (_RIGHTS, _REMOVE),
    "ec-connector": (_ENCODE, _REMOVE),
}
_OLD_NAMES = ("it is an old name of another flag", "Remove it")
_OLD_OWN = {"connector": "write spec.prefill.connector instead"}
_OLD_TLS = {
    "prefiller-use-tls": (_ENGINES, _ENCRYPT),
    "decoder-use-tls": (_ENGINES, _ENCRYPT),
    "prefiller-tls-insecure-skip-verify": (_ENGINES, _REMOVE),
    "decoder-tls-insecure-skip-verify": (_ENGINES, _REMOVE),
}

SCHEDULER_0_7 = ProxyTable(
    image="ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1",
    engine_port_flag="vllm-port",
    connectors={"NIXL": "nixlv2", "SharedStorage": "shared-storage", "SGLang": "sglang"},
    # Its default is TLS, which nothing that asks it speaks.
    flags={"secure-proxy": "false"},
    known_flags={"enable-prefiller-sampling": "bool", **_LOGS},
    own_flags={**_OWN, **_OLD_OWN},
    refused_flags={
        **_REFUSED,
        **_OLD_TLS,
        "inference-pool-namespace": _OLD_NAMES,
        "inference-pool-name": _OLD_NAMES,
    },
)

_FILE = ("flags are written one by one here", "Write its entries as flags")
_MORIIO = ("MoRI-IO is no connector of a document", _REMOVE)
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
    known_flags={
        "enable-prefiller-sampling": "bool",
        "max-idle-conns-per-host": "int",
        "prefill-max-retries": "int",
        "prefill-retry-backoff": "duration",
        "decode-chunk-size": "int",
        "p2p-connector-port": "int",
        "enable-p2p-pull": "bool",
        **_LOGS,
    },
    own_flags={
        **_OWN,
        "model-server-port": _OWN["vllm-port"],
        "mooncake-bootstrap-port": "it follows from spec.prefill.connector",
        "tracing": "write serving.tracing of the cluster instead",
    },
    refused_flags={
        **_REFUSED,
        "configuration": _FILE,
        "configuration-file": _FILE,
        # It counts name lookups of MoRI-IO and nothing else.
        "metrics-port": _MORIIO,
        **{
            f"moriio-{name}": _MORIIO
            for name in (
                "write-mode",
                "decode-notify-port",
                "local-pod-ip",
                "decode-handshake-port",
                "parallel-dispatch",
                "parallel-decode-wait-timeout",
                "prefill-handshake-port",
                "prefill-notify-port",
                "tp-size",
                "dp-size",
                "remote-hosts",
                "dp-size-local",
                "decode-hosts",
            )
        },
    },
    tracing_flag="tracing",
    mooncake_port_flag="mooncake-bootstrap-port",
)
