"""Words for an engine against the flags of its version."""

import pytest

from inferfleet.documents.problems import Mistake
from inferfleet.serving.engines.check import args_mistakes


def vllm(*args: str) -> tuple[Mistake, ...]:
    return args_mistakes("vLLM", "0.32", args)


def sglang(*args: str) -> tuple[Mistake, ...]:
    return args_mistakes("SGLang", "0.5.23", args)


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--max-num-seqs", "64"),
        ("--max-num-seqs=64",),
        ("--max_num_seqs=64",),
        ("--tensor-parallel=8",),
        ("-tp", "2", "-tp=2"),
        ("--max-model-len", "32k", "--max-model-len=25.6k", "--max-model-len=32K", "--max-model-len=-1"),
        ("--max-model-len", "auto"),
        ("--max-cpu-loras", "None"),
        ("--served-model-name", "a", "b", "--seed", "-1"),
        ("-O3", "-O=3", "-O", "3"),
        ("--no-enable-prefix-caching",),
        ("--max-lora-rank", "16"),
        ("--moe-backend", "Flashinfer-CUTLASS"),
        ("--attention-config.backend=FLASHINFER", "-ac.backend", "FLASHINFER"),
        ("--kv-transfer-config", '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'),
        ("--kv-transfer-config", '{"kv_connector_extra_config": {"cpu_bytes_to_use": 80m}}'),
        ("--kv-transfer-config.kv_connector_extra_config.connectors+", "a,b"),
        ("--hf-overrides", '{"a": 1}', "--hf-overrides", "a.b.function"),
    ],
)
def test_what_vllm_takes_is_no_mistake(args: tuple[str, ...]) -> None:
    assert vllm(*args) == ()


def test_an_unknown_flag_is_a_mistake_with_the_nearest_name() -> None:
    assert vllm("--seed=1", "--enable-chuncked-prefill", "--xyzzy") == (
        Mistake(
            "'--enable-chuncked-prefill' is no flag of vLLM 0.32.0, which ends with it",
            "Did you mean --enable-chunked-prefill?",
            (1,),
        ),
        Mistake("'--xyzzy' is no flag of vLLM 0.32.0, which ends with it", "Take it out", (2,)),
    )


def test_a_flag_of_former_versions_says_which_had_it() -> None:
    assert vllm("--swap-space", "4") + sglang("--cuda-graph-max-bs=8") == (
        Mistake(
            "'--swap-space' is no flag of vLLM 0.32.0, which ends with it; 0.13.3 had it",
            "Take it out, or write what has taken its place",
            (0,),
        ),
        Mistake(
            "'--cuda-graph-max-bs' is no flag of SGLang 0.5.23, which ends with it; 0.5.19 had it",
            "Take it out, or write what has taken its place",
            (0,),
        ),
    )


def test_a_value_that_is_no_choice_is_a_mistake_with_the_nearest_one() -> None:
    assert vllm("--dtype=bf16", "--runner", "chat") == (
        Mistake(
            "'bf16' is no value of --dtype in vLLM 0.32.0, which ends with it", "Did you mean bfloat16?", (0,)
        ),
        Mistake(
            "'chat' is no value of --runner in vLLM 0.32.0, which ends with it",
            "Choose one of: auto, draft, generate, pooling",
            (2,),
        ),
    )


def test_a_value_of_another_kind_is_a_mistake() -> None:
    found = [
        (mistake.field_path, mistake.next_step)
        for mistake in vllm(
            "--port=http",
            "--gpu-memory-utilization=90%",
            "--max-model-len=32Ki",
            "--limit-mm-per-prompt",
            "image=1",
            "--kv-events-config=on",
            "--port.x=1",
        )
    ]
    assert found == [
        ((0,), "It takes a whole number"),
        ((1,), "It takes a number"),
        ((2,), "It takes a whole number, such as 4096 or 4k, or auto"),
        ((4,), "It takes JSON"),
        ((5,), "It takes a JSON object"),
        ((6,), "It takes a whole number"),
    ]


def test_an_unknown_key_of_an_object_is_a_mistake_with_the_nearest_one() -> None:
    assert vllm("--attention-config.bakend", "x", "--kv-transfer-config", '{"x": 1}') == (
        Mistake(
            "'bakend' is no key of --attention-config in vLLM 0.32.0, which ends with it",
            "Did you mean backend?",
            (0,),
        ),
        Mistake(
            "'x' is no key of --kv-transfer-config in vLLM 0.32.0, which ends with it",
            "Known keys: enable_permute_local_kv, engine_id, kv_buffer_device, kv_connector, "
            "kv_connector_extra_config, kv_connector_module_path, kv_load_failure_policy, kv_port, kv_role",
            (3,),
        ),
    )


def test_objects_that_are_nested_too_deep_are_a_mistake() -> None:
    [mistake] = vllm("--kv-transfer-config", "[" * 50_000)
    assert mistake.field_path == (1,)


def test_what_else_the_parser_refuses_is_said_in_its_words() -> None:
    assert sglang("--pp=2", "--skip-tokenizer-init=true", "stray", "--port") == (
        Mistake(
            "SGLang 0.5.23 ends with '--pp=2': ambiguous option: --pp=2 could match --pp-size, "
            "--pp-max-micro-batch-size, --pp-async-batch-depth",
            "Correct it as it says",
            (0,),
        ),
        Mistake(
            "SGLang 0.5.23 ends with '--skip-tokenizer-init=true': argument --skip-tokenizer-init: "
            "ignored explicit argument 'true'",
            "Correct it as it says",
            (1,),
        ),
        Mistake(
            "SGLang 0.5.23 ends with '--port': argument --port: expected one argument",
            "Correct it as it says",
            (3,),
        ),
    )


def test_a_word_without_a_flag_is_a_mistake() -> None:
    assert vllm("--enforce-eager", "true") == (
        Mistake(
            "'true' belongs to no flag, and vLLM 0.32.0 ends with it",
            "Write its flag before it, or take it out",
            (1,),
        ),
    )


def test_sglang_takes_dashes_alone_and_other_suffixes() -> None:
    assert sglang("--context-length", "32Ki", "--context-length=1.5k") == ()
    assert [
        mistake.field_path for mistake in sglang("--context_length", "32k", "--context-length", "32K")
    ] == [
        (0,),
        (3,),
    ]


@pytest.mark.parametrize(
    ("engine", "version"), [("vLLM", "0.33"), ("vLLM", "0.3"), ("SGLang", "0.5.2"), ("TensorRT-LLM", "1.0")]
)
def test_a_version_without_a_table_is_not_judged(engine: str, version: str) -> None:
    assert args_mistakes(engine, version, ["--xyzzy"]) == ()


@pytest.mark.parametrize("version", ["0.32", "0.32.0"])
def test_a_version_is_that_of_its_releases(version: str) -> None:
    assert len(args_mistakes("vLLM", version, ["--xyzzy"])) == 1
