"""Pairs of prefill and decode as guides have them: nothing is said of any."""

import pytest
from pair import MODEL, NIXL, NODES, entries, pair, pods, said, transfer

from inferfleet.api.kinds.model_deployment import ModelDeployment

WIDE = ({"tensor": 4}, {"tensor": 2})
TWO_PODS = ({"tensor": 16}, {"tensor": 16})
SGLANG = ("--host=0.0.0.0", "--model-path=m")
MEETS = (*NODES[:2], "--dist-init-addr=$(LWS_LEADER_ADDRESS):20000")
STAGED = {"SGLANG_DISAGG_STAGING_BUFFER": "1"}
MOONCAKE = '{"kv_connector":"MooncakeConnector","kv_role":"%s"}'
LMCACHE = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
EXAMPLE = (
    '{"kv_connector":"ExampleConnector","kv_role":"kv_both",'
    '"kv_connector_extra_config":{"shared_storage_path":"/kv/$(INFERFLEET_REVISION)"}}'
)
BOTH = (
    '{"kv_connector":"MultiConnector","kv_role":"kv_both","kv_connector_extra_config":{"connectors":['
    '{"kv_connector":"NixlConnector","kv_role":"kv_both"},'
    '{"kv_connector":"OffloadingConnector","kv_role":"kv_both"}]}}'
)
OURS = '{"kv_connector":"Ours","kv_role":"kv_both","kv_connector_module_path":"ours.kv"}'


def _vllm(*args: str, role: str = "kv_both", config: str = NIXL) -> object:
    return pods(MODEL, *transfer(config % role if "%s" in config else config), *args)


@pytest.mark.parametrize(
    "deployment",
    [
        pair(),
        # llm-d guides/pd-disaggregation/modelserver/gpu/vllm/base at 04291b76 and 34272a64.
        pair(
            _vllm("--tensor-parallel-size=4", "--block-size=128", "--no-disable-hybrid-kv-cache-manager"),
            _vllm(
                "--tensor-parallel-size=2",
                "--block-size=128",
                "--no-disable-hybrid-kv-cache-manager",
                role="kv_producer",
            ),
            sizes=WIDE,
        ),
        pair(
            pods(script=f"exec vllm serve m -tp 4 --kv-transfer-config '{NIXL % 'kv_both'}'"),
            pods("serve", "m", "-tp=2", *transfer(NIXL % "kv_both")),
            sizes=WIDE,
        ),
        pair(
            pods(
                MODEL,
                "--kv_transfer_config.kv_connector=NixlConnector",
                "--kv-transfer-config.kv_role",
                "kv_both",
            ),
            _vllm(),
        ),
        pair(_vllm(config=BOTH), _vllm(config=BOTH)),
        pair(_vllm(config=OURS), _vllm(config=OURS)),
        pair(
            pods("--model=deepseek-ai/DeepSeek-R1", "-tp=2", *transfer(NIXL % "kv_both")),
            pods("--model=deepseek-ai/DeepSeek-R1", "-tp=8", *transfer(NIXL % "kv_both")),
            sizes=({"tensor": 2}, {"tensor": 8}),
        ),
        pair(
            entries(_vllm("-tp=16", *NODES), _vllm("-tp=16", *NODES, "--headless")),
            entries(_vllm("-tp=16", *NODES), _vllm("-tp=16", *NODES, "--headless")),
            sizes=TWO_PODS,
        ),
        pair(
            pods(MODEL, "-dp=4", "-dpl=4", *transfer(NIXL % "kv_both")),
            _vllm(),
            sizes=({"tensor": 1, "data": 4, "data_local": 4}, {"tensor": 1}),
        ),
        pair(
            _vllm(config=MOONCAKE, role="kv_consumer"),
            _vllm(config=MOONCAKE, role="kv_producer"),
            apart={"connector": "Mooncake"},
        ),
        pair(_vllm(config=LMCACHE), _vllm(config=LMCACHE), apart={"connector": "SharedStorage"}),
        pair(_vllm(config=EXAMPLE), _vllm(config=EXAMPLE), apart={"connector": "SharedStorage"}),
        # llm-d guides/pd-disaggregation/modelserver/gpu/sglang/base at d5f76180 and aa770a7f.
        pair(
            *(
                pods(
                    *SGLANG,
                    f"--disaggregation-mode={role}",
                    "--disaggregation-transfer-backend=nixl",
                    "--tensor-parallel-size=2",
                )
                for role in ("decode", "prefill")
            ),
            engine="SGLang",
            sizes=({"tensor": 2}, {"tensor": 2}),
        ),
        pair(
            *(
                pods(*SGLANG, "--tp=16", *MEETS, "--disaggregation-mode", role)
                for role in ("decode", "prefill")
            ),
            engine="SGLang",
            sizes=TWO_PODS,
        ),
        pair(
            *(
                pods(*SGLANG, f"--tp={size}", "--disaggregation-mode", role, env=STAGED)
                for role, size in (("decode", 4), ("prefill", 2))
            ),
            engine="SGLang",
            sizes=WIDE,
        ),
    ],
)
def test_nothing_is_said_of_a_pair_that_understands_each_other(deployment: ModelDeployment) -> None:
    assert said(deployment) == []
