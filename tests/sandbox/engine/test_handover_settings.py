"""What an engine's arguments say of prompts that it hands over, and which engines fit each other."""

import json
from dataclasses import replace
from typing import Any

import pytest

from sandbox.engine.failure import EngineFailure
from sandbox.engine.handover.layout import Layout, refusal
from sandbox.engine.handover.transfer import Transfer
from sandbox.engine.protocol import Start, command
from sandbox.engine.settings import Settings, settings
from sandbox.engine.steering import PREFIX, Steering, steering

NIXL = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
LAYOUT = Layout("NixlConnector", "vllm-openai:v0.11.0", "Q", "auto", "auto", 16, 1)


def read(
    *args: str,
    engine: str = "vllm",
    gpus: int = 1,
    env: dict[str, str] | None = None,
    image: str = "mirror.example.com/vllm/vllm-openai:v0.11.0@sha256:00",
) -> Settings:
    start = Start("uid", "ml/q-1", "127.1.0.2", 8000, engine, args, env or {}, gpus, image=image)
    return settings(start, Steering())


def configured(*args: str, env: dict[str, str] | None = None, gpus: int = 1, **config: Any) -> Settings:
    return read("vllm", "serve", "Q", f"--kv-transfer-config={json.dumps(config)}", *args, env=env, gpus=gpus)


def inner(*configs: dict[str, Any]) -> dict[str, Any]:
    return {
        "kv_connector": "MultiConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {"connectors": list(configs)},
    }


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (read("vllm", "serve", "Q"), None),
        (configured(**NIXL), Transfer("nixl", "both", LAYOUT, host="localhost", port=5600)),
        (
            configured(
                *("-tp=2", "--block-size=128", "--dtype=bfloat16", "--kv-cache-dtype=fp8"),
                gpus=2,
                env={"VLLM_NIXL_SIDE_CHANNEL_HOST": "127.1.0.2", "VLLM_NIXL_SIDE_CHANNEL_PORT": "6000"},
                **NIXL | {"kv_role": "kv_producer", "kv_load_failure_policy": "recompute"},
                kv_connector_extra_config={"kv_lease_duration": 30, "enforce_handshake_compat": False},
            ),
            Transfer(
                "nixl",
                "both",
                replace(LAYOUT, dtype="bfloat16", cache_dtype="fp8", block_size=128, tensor=2),
                host="127.1.0.2",
                port=6000,
                lease=30,
                strict=False,
                recompute=True,
            ),
        ),
        (
            configured(**inner({"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}, NIXL)),
            Transfer("nixl", "both", LAYOUT, host="localhost", port=5600),
        ),
        (
            configured(
                kv_connector="SharedStorageConnector",
                kv_role="kv_consumer",
                kv_connector_extra_config={"shared_storage_path": "/mnt/kv"},
            ),
            Transfer(
                "storage", "decode", replace(LAYOUT, connector="SharedStorageConnector"), store="/mnt/kv"
            ),
        ),
        (
            configured(
                kv_connector="LMCacheConnectorV1",
                kv_role="kv_producer",
                env={"LMCACHE_REMOTE_URL": "redis://cache:6379"},
            ),
            Transfer(
                "storage",
                "prefill",
                replace(LAYOUT, connector="LMCacheConnectorV1"),
                store="redis://cache:6379",
            ),
        ),
        (
            read(
                *("vllm", "serve", "Q", "--kv-transfer-config.kv_connector=NixlConnector"),
                *("--kv_transfer_config.kv_role", "kv_both"),
                "--kv-transfer-config.kv_connector_extra_config.kv_lease_duration=60",
            ),
            Transfer("nixl", "both", LAYOUT, host="localhost", port=5600, lease=60),
        ),
        (
            read(
                *("sglang.launch_server", "--model-path=Q", "--page-size=64"),
                *("--disaggregation-mode=prefill", "--disaggregation-transfer-backend=nixl"),
                "--disaggregation-bootstrap-port=9000",
                engine="sglang",
            ),
            Transfer(
                "bootstrap",
                "prefill",
                replace(LAYOUT, connector="nixl", version="", block_size=64),
                port=9000,
            ),
        ),
        (
            read(
                *("sglang.launch_server", "--model-path=Q", "--disaggregation-mode", "decode"),
                engine="sglang",
            ),
            Transfer("bootstrap", "decode", replace(LAYOUT, connector="mooncake", version=""), port=8998),
        ),
        (read("sglang.launch_server", "--model-path=Q", engine="sglang"), None),
    ],
)
def test_arguments_say_how_prompts_are_handed_over(actual: Settings, expected: Transfer | None) -> None:
    assert actual.transfer == expected


@pytest.mark.parametrize(
    ("config", "note"),
    [
        ({"kv_connector": "MooncakeConnector"}, "hands nothing over by MooncakeConnector"),
        ({"kv_connector": "NixelConnector"}, "vLLM may not know the connector NixelConnector"),
        ({"kv_connector": "Own", "kv_connector_module_path": "own"}, "hands nothing over by Own"),
        ({"kv_connector": "LMCacheConnectorV1"}, "has no LMCACHE_REMOTE_URL: it shares"),
        ({"kv_connector": "ExampleConnector"}, "has no shared_storage_path: it shares"),
    ],
)
def test_a_connector_that_shares_nothing_here_is_in_the_log(config: dict[str, Any], note: str) -> None:
    read = configured(kv_role="kv_both", **config)
    assert read.transfer is None
    assert any(note in line for line in read.notes)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--kv-transfer-config={kv"], "Invalid JSON"),
        (["--kv-transfer-config=[1]"], "should be an object"),
        (['--kv-transfer-config={"kv_connector": "NixlConnector"}'], "Please specify kv_role"),
        (['--kv-transfer-config={"kv_role": "prefill"}'], "kv_role\n  Input should be 'kv_producer', "),
        (
            [f"--kv-transfer-config={json.dumps(NIXL | {'kv_load_failure_policy': 'retry'})}"],
            "kv_load_failure_policy\n  Input should be 'recompute' or 'fail'",
        ),
        ([f"--kv-transfer-config={json.dumps(NIXL | {'kv_connector_extra_config': 1})}"], "be an object"),
    ],
)
def test_a_transfer_config_that_is_none_ends_vllm_before_it_starts(args: list[str], says: str) -> None:
    with pytest.raises(EngineFailure) as refused:
        read("vllm", "serve", "Q", *args)
    assert refused.value.code == 2
    assert str(refused.value).startswith(
        "vllm serve: error: argument --kv-transfer-config: 1 validation error"
    )
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (inner() | {"kv_connector_extra_config": {}}, "connectors"),
        (NIXL | {"kv_connector_extra_config": {"kv_lease_duration": "long"}}, "'long' is no time in seconds"),
    ],
)
def test_a_connector_refuses_its_own_configuration(config: dict[str, Any], says: str) -> None:
    with pytest.raises(EngineFailure, match=says) as refused:
        configured(**config)
    assert refused.value.code == 1


def test_an_entry_by_its_path_replaces_a_configuration_that_is_given_whole() -> None:
    entry = "--kv-transfer-config.kv_load_failure_policy=recompute"
    assert configured(entry, **NIXL).transfer is None


def test_a_port_or_mode_that_is_none_is_refused() -> None:
    with pytest.raises(EngineFailure, match="VLLM_NIXL_SIDE_CHANNEL_PORT"):
        configured(env={"VLLM_NIXL_SIDE_CHANNEL_PORT": "none"}, **NIXL)
    prefill = ("sglang.launch_server", "--model-path=Q")
    with pytest.raises(EngineFailure, match="--disaggregation-bootstrap-port: invalid int value: 'auto'"):
        read(*prefill, "--disaggregation-bootstrap-port=auto", engine="sglang")
    with pytest.raises(EngineFailure, match="invalid choice: 'both'"):
        read(*prefill, "--disaggregation-mode=both", engine="sglang", image="lmsysorg/sglang:v0.5.23")


@pytest.mark.parametrize(
    ("prefill", "says"),
    [
        ({}, ""),
        ({"model": "Other"}, "incompatible configurations: model 'Q' here and 'Other' there."),
        ({"cache_dtype": "fp8", "dtype": "half"}, "dtype 'auto' here and 'half' there, cache_dtype 'auto'"),
        ({"version": "vllm-openai:v1"}, "version 'vllm-openai:v0.11.0' here and 'vllm-openai:v1' there"),
        ({"connector": "Other"}, "connector 'NixlConnector' here and 'Other' there"),
        ({"block_size": 128}, "local=16, remote=128"),
        ({"tensor": 2}, ""),
        ({"tensor": 4}, ""),
        ({"tensor": 8}, ""),
        ({"tensor": 3}, "Local tensor parallel size 4 is not divisible by remote tensor parallel size 3."),
    ],
)
def test_a_decode_takes_what_fits_its_own_cache(prefill: dict[str, Any], says: str) -> None:
    own = replace(LAYOUT, tensor=4)
    why = refusal(own, replace(LAYOUT, **prefill), strict=True)
    assert says in why
    assert bool(why) == bool(says)


def test_newer_engines_read_caches_that_are_spread_over_more_gpus() -> None:
    own = replace(LAYOUT, version="vllm-openai:v0.12.0", tensor=2)
    assert refusal(own, replace(own, tensor=4), strict=True) == ""
    assert "is not divisible" in refusal(own, replace(own, tensor=3), strict=True)


def test_what_is_not_strict_looks_at_sizes_alone() -> None:
    assert refusal(LAYOUT, replace(LAYOUT, model="Other", version="x"), strict=False) == ""
    assert "local=16, remote=32" in refusal(LAYOUT, replace(LAYOUT, model="O", block_size=32), strict=False)


def test_an_annotation_says_how_fast_prompts_are_computed() -> None:
    assert steering({PREFIX + "prefill-tokens-per-second": "500"}) == Steering(prefill_per_second=500)
    with pytest.raises(EngineFailure, match="prefill-tokens-per-second is 'slow'"):
        steering({PREFIX + "prefill-tokens-per-second": "slow"})


def test_the_agent_tells_the_image() -> None:
    line = {"op": "start", "id": "u", "name": "ml/q", "address": "127.1.0.2", "port": 1, "engine": "vllm"}
    assert command(json.dumps(line | {"image": "vllm:v1"})) == Start(
        "u", "ml/q", "127.1.0.2", 1, "vllm", image="vllm:v1"
    )
