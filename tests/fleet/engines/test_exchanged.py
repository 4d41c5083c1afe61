"""The revision of what prefill and decode exchange: state, in names of workloads, pickers and pools."""

from typing import Any

import pytest
from inferfleet.fleet.engines.exchanged import changes, facts, revision
from pair import IMAGE, MODEL, NIXL, entries, pair, pods, transfer

from inferfleet.api.kinds.inference_cluster import Images
from inferfleet.api.kinds.model_deployment import ModelDeployment

CLUSTER = Images.model_validate({"engine": {"vLLM": IMAGE, "SGLang": "sglang:1"}})
DECODE = (MODEL, *transfer(NIXL % "kv_consumer"))
PREFILL = (MODEL, *transfer(NIXL % "kv_producer"))
ALONE = (
    "prefill and decode exchange KV caches whose form follows from the document alone, and so do the names "
    "of their pods"
)
CONFIG = '{"kv_role":"kv_consumer",%s}'
PLAIN = '"kv_connector":"NixlConnector"'
EXTRA = ',"kv_connector_extra_config":{%s}'
SGLANG = ("--model-path=m", "--host=0.0.0.0")
ALL = (
    "--model=m",
    "--revision=v1",
    "--quantization=fp8",
    '--hf-overrides={"rope_theta": 1}',
    "--dtype=bfloat16",
    "--kv-cache-dtype=fp8",
    "--block-size=128",
    "--attention-backend=FLASHINFER",
    '--attention-config={"use_cudnn": true}',
    "--no-disable-hybrid-kv-cache-manager",
    '--speculative-config={"method": "mtp"}',
    "-dcp=2",
)


def _revision(*args: Any, **spec: Any) -> str:
    return revision(pair(*args, **spec), CLUSTER)


@pytest.mark.parametrize(
    ("deployment", "expected"),
    [
        (pair(), "124715"),
        (pair(pods(*ALL), pods(*ALL), sizes=({"tensor": 8}, {"tensor": 2})), "0b9135"),
        (
            pair(apart={"connector": "Mooncake"}, decode=pods("--model=m"), prefill=pods("--model=m")),
            "d77648",
        ),
        (pair(pods(*SGLANG, image=None), pods(*SGLANG, image=None), engine="SGLang"), "21a48c"),
        (pair(pods(script='vllm serve "$MODEL"'), pods(script='vllm serve "$MODEL"')), "c069a4"),
        (pair(entries(pods(*DECODE), pods(*DECODE, "--headless")), pods(*PREFILL)), "124715"),
    ],
)
def test_a_revision_is_what_deployed_stacks_already_have(deployment: ModelDeployment, expected: str) -> None:
    assert revision(deployment, CLUSTER) == expected


def test_a_deployment_that_is_not_split_has_none() -> None:
    document = pair().model_dump(by_alias=True, exclude_none=True)
    del document["spec"]["prefill"]
    assert revision(ModelDeployment.model_validate(document), CLUSTER) == ""


@pytest.mark.parametrize(
    "same",
    [
        pair(pods(*DECODE[1:], MODEL)),
        pair(pods("serve", "Qwen/Qwen3-32B", *DECODE[1:])),
        pair(pods("--model", "Qwen/Qwen3-32B", *DECODE[1:])),
        pair(pods(script=f"exec vllm serve Qwen/Qwen3-32B --kv-transfer-config '{NIXL % 'kv_consumer'}'")),
        pair(pods(MODEL, *transfer('{"kv_role": "kv_consumer",\n "kv_connector": "NixlConnector"}'))),
        pair(
            pods(
                MODEL,
                "--kv-transfer-config.kv_connector=NixlConnector",
                "--kv_transfer_config.kv_role=kv_consumer",
            )
        ),
        pair(pods(MODEL), pods(MODEL)),
        pair(pods(MODEL, *transfer(NIXL % "kv_both"))),
        pair(pods(MODEL, *transfer(CONFIG % '"kv_connector":"NixlPullConnector"'))),
        pair(pods(MODEL, *transfer(CONFIG % f'{PLAIN},"kv_load_failure_policy":"recompute"'))),
        pair(pods(MODEL, *transfer(CONFIG % f'{PLAIN},"kv_buffer_device":"cuda"'))),
        pair(pods(MODEL, *transfer(CONFIG % (PLAIN + EXTRA % '"kv_lease_duration":60,"num_threads":8')))),
        pair(pods(MODEL, *transfer(CONFIG % (PLAIN + EXTRA % '"kv_recompute_threshold":64')))),
        pair(pods(*DECODE, env={"VLLM_MOONCAKE_BOOTSTRAP_PORT": "9100"})),
        pair(pods(*DECODE, image=None)),
        pair(pods(*DECODE, "--dtype=auto", "--kv-cache-dtype", "auto", "-dcp=1")),
        pair(pods(*DECODE, "--max-num-seqs=64", "--gpu-memory-utilization=0.9", "--port=8000", "-tp=1")),
        pair(pods(*DECODE, env={"LOG_LEVEL": "info", "UCX_TLS": "tcp"})),
        pair(replicas=7, rollout="Surge", nodeSelector={"cel": "true"}, priority=3),
        pair(apart={"decider": {"type": "Always"}, "nodeSelector": {"cel": "true"}}),
        pair(
            apart={"proxy": {"image": "proxy:2", "enginePort": 9000, "flags": {"v": 5}}, "connector": "NIXL"}
        ),
        pair(sizes=({"tensor": 1, "data": 4, "data_local": 4}, {"tensor": 1})),
    ],
)
def test_what_the_format_does_not_follow_from_changes_no_revision(same: ModelDeployment) -> None:
    assert revision(same, CLUSTER) == revision(pair(), CLUSTER)


@pytest.mark.parametrize("side", ["decode", "prefill"])
@pytest.mark.parametrize(
    "argument",
    [*ALL[1:], "--model=other", "--disable-hybrid-kv-cache-manager", "-pcp=2", "-q=fp8", "--dtype=half"],
)
def test_each_fact_of_each_side_makes_another_revision(side: str, argument: str) -> None:
    own = {"decode": DECODE, "prefill": PREFILL}[side]
    assert _revision(**{side: pods(*own, argument)}) != _revision()


@pytest.mark.parametrize(
    "other",
    [
        pair(pods(*DECODE, image="vllm/vllm-openai:v0.20.1")),
        pair(pods(*DECODE, env={"VLLM_KV_CACHE_LAYOUT": "NHD"})),
        pair(pods(*DECODE, env={"VLLM_MLA_DISABLE": "1"})),
        pair(pods(MODEL, *transfer(CONFIG % '"kv_connector":"NixlPushConnector"'))),
        pair(pods(MODEL, *transfer(CONFIG % f'{PLAIN},"kv_connector_module_path":"ours"'))),
        pair(pods(MODEL, *transfer(CONFIG % f'{PLAIN},"kv_buffer_device":"cpu"'))),
        pair(pods(MODEL, *transfer(CONFIG % (PLAIN + EXTRA % '"backends":["UCX"]')))),
        pair(sizes=({"tensor": 2}, {"tensor": 1})),
        pair(sizes=({"tensor": 1}, {"tensor": 1, "pipeline": 2})),
        pair(apart={"connector": "SharedStorage"}),
        pair(engine="Other"),
        pair(entries(pods(*DECODE), pods(*DECODE, "--block-size=64"))),
    ],
)
def test_image_order_of_blocks_config_sizes_and_connector_make_another_revision(
    other: ModelDeployment,
) -> None:
    assert revision(other, CLUSTER) != revision(pair(), CLUSTER)


@pytest.mark.parametrize("port", ["8998", "9100"])
def test_where_proxies_ask_prefill_is_a_part_of_the_revision(port: str) -> None:
    mooncake = {"connector": "Mooncake"}
    set_ = _revision(prefill=pods(MODEL, env={"VLLM_MOONCAKE_BOOTSTRAP_PORT": port}), apart=mooncake)
    both = [
        _revision(pods(*SGLANG), pods(*SGLANG, *flag), engine="SGLang")
        for flag in ((), (f"--disaggregation-bootstrap-port={port}",))
    ]
    is_default = port == "8998"
    assert (set_ == _revision(prefill=pods(MODEL), apart=mooncake)) is is_default
    assert (both[0] == both[1]) is is_default


def test_the_image_of_a_cluster_counts_where_templates_name_none() -> None:
    deployment = pair(pods(*DECODE, image=None), pods(*PREFILL, image=None))
    newer = Images.model_validate({"engine": {"vLLM": "vllm/vllm-openai:v0.21.0"}})
    assert revision(deployment, CLUSTER) == revision(pair(), CLUSTER) != revision(deployment, newer)


def test_spellings_of_one_number_format_are_one() -> None:
    assert _revision(pods(*DECODE, "--dtype=half")) == _revision(pods(*DECODE, "--dtype", "float16"))


def test_facts_are_what_both_sides_must_agree_on() -> None:
    deployment = pair(pods(*ALL, env={"VLLM_KV_CACHE_LAYOUT": "HND"}))
    template = deployment.spec.workers.entry_template
    assert {name: fact.value for name, fact in facts(template.spec, deployment, "decode").items()} == {
        "image": IMAGE,
        "model": "m",
        "revision": "v1",
        "quantization": "fp8",
        "overrides": '{"rope_theta":1}',
        "dtype": "bfloat16",
        "cacheDtype": "fp8",
        "blockSize": "128",
        "attention": "FLASHINFER",
        "attentionConfig": '{"use_cudnn":true}',
        "speculation": '{"method":"mtp"}',
        "decodeContext": "2",
        "cacheManager": "hybridCache",
        "VLLM_KV_CACHE_LAYOUT": "HND",
        "transfer": '{"class":"NixlConnector"}',
    }


def test_what_a_plugin_writes_against_the_document_is_told_with_what_to_write_instead() -> None:
    deployment = pair()
    written = deployment.spec.workers.entry_template.spec
    final = pods(*DECODE, "--block-size=64", image="mine:1")["spec"]
    told = changes(final, written, deployment, "decode", "Entry", image=None)
    assert [(mistake.what, mistake.next_step, mistake.at) for mistake in told] == [
        (
            f"decode pods get --block-size 64, and the document has nothing of it; {ALONE}",
            "Write --block-size 64 in spec.workers.template",
            ("spec", "containers", 0, "args", 3),
        ),
        (
            f"decode pods get image mine:1, and the document has image {IMAGE}; {ALONE}",
            "Write image mine:1 in spec.workers.template",
            ("spec", "containers", 0, "image"),
        ),
    ]


def test_a_plugin_may_write_what_follows_from_the_document() -> None:
    deployment = pair(pods(MODEL), pods(MODEL))
    written = deployment.spec.workers.entry_template.spec
    final = pods(*DECODE, "--tensor-parallel-size=1", env={"A": "b"})["spec"]
    assert [*changes(final, written, deployment, "decode", "Entry", image=None)] == []


@pytest.mark.parametrize(
    ("model", "before", "after", "same"),
    [
        ("/models", {"oci": {"reference": "r.io/m:v1"}}, {"oci": {"reference": "r.io/m:v2"}}, False),
        ("/models", {"pvc": {"claimName": "a"}}, {"pvc": {"claimName": "b"}}, False),
        (
            "/models",
            {"oci": {"reference": "r.io/m:v1", "sizeLimit": "1Gi"}},
            {"oci": {"reference": "r.io/m:v1", "sizeLimit": "2Gi"}},
            True,
        ),
        # A cache of downloads: engines know the model by its name.
        ("org/m", {"pvc": {"claimName": "a"}}, {"pvc": {"claimName": "b"}}, True),
    ],
)
def test_other_files_below_the_path_of_a_model_are_another_model(
    model: str, before: dict[str, Any], after: dict[str, Any], same: bool
) -> None:
    both = [
        _revision(
            pods(f"--model={model}"),
            pods(f"--model={model}"),
            plugins=[{"name": "model-cache", "config": config}],
        )
        for config in (before, after)
    ]
    assert (both[0] == both[1]) is same


def test_another_image_volume_is_another_model() -> None:
    def mounted(reference: str) -> str:
        document = pair(pods("--model=/models"), pods("--model=/models")).model_dump(
            by_alias=True, exclude_none=True
        )
        spec = document["spec"]["workers"]["template"]["spec"]
        spec["volumes"] = [{"name": "m", "image": {"reference": reference}}]
        return revision(ModelDeployment.model_validate(document), CLUSTER)

    assert mounted("r.io/m:v1") == mounted("r.io/m:v1") != mounted("r.io/m:v2")
