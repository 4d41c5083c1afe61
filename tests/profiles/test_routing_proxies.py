"""The routing proxies of all profiles: what decode pods have, and what documents may set of it."""

import pytest

from inferfleet.profiles.table import names, profile

LOGS = ["zap-devel", "zap-encoder", "zap-log-level", "zap-stacktrace-level", "zap-time-encoding"]
KNOWN = ["enable-prefiller-sampling", *LOGS]


@pytest.mark.parametrize(
    ("name", "image", "port_flag", "connectors", "known"),
    [
        *(
            (
                name,
                "ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1",
                "vllm-port",
                {"NIXL": "nixlv2", "SharedStorage": "shared-storage", "SGLang": "sglang"},
                KNOWN,
            )
            for name in ("gie-1.5", "gie-1.5-r2")
        ),
        (
            "router-0.10",
            "ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0",
            "model-server-port",
            {
                "NIXL": "nixlv2",
                "SharedStorage": "shared-storage",
                "SGLang": "sglang",
                "Mooncake": "mooncake",
            },
            [
                "decode-chunk-size",
                "enable-p2p-pull",
                "enable-prefiller-sampling",
                "max-idle-conns-per-host",
                "p2p-connector-port",
                "prefill-max-retries",
                "prefill-retry-backoff",
                *LOGS,
            ],
        ),
    ],
)
def test_a_version_has_its_own_image_words_and_flags(
    name: str, image: str, port_flag: str, connectors: dict[str, str], known: list[str]
) -> None:
    proxy = profile(name).proxy
    assert (proxy.image, proxy.engine_port_flag, dict(proxy.connectors), dict(proxy.flags)) == (
        image,
        port_flag,
        connectors,
        {"secure-proxy": "false"},
    )
    assert sorted(proxy.known_flags) == sorted(known)


@pytest.mark.parametrize("name", names())
def test_each_flag_is_for_documents_or_follows_from_them_or_is_refused(name: str) -> None:
    proxy = profile(name).proxy
    groups = [set(proxy.known_flags), set(proxy.own_flags), set(proxy.refused_flags)]
    assert sum(map(len, groups)) == len(set.union(*groups))
    assert {proxy.engine_port_flag, "port", "kv-connector", "data-parallel-size"} <= groups[1]
