"""The stand-in's parser takes and refuses words as vLLM's and SGLang's do, with a sample of their flags."""

import json

import pytest

from inferfleet.tables.flags import Flag, FlagTable
from sandbox.engine.command.arguments import Arguments, read
from sandbox.engine.command.flags import SGLANG, VLLM
from sandbox.engine.failure import EngineFailure


def _table(engine: str, *flags: Flag) -> FlagTable:
    vllm = engine == "vLLM"
    return FlagTable(
        engine,
        version="1",
        flags=flags,
        underscores=vllm,
        dotted=vllm,
        abbreviations=True,
        joined_level=vllm,
        suffixes={"k": True, "K": False},
        removed={},
    )


OF_VLLM = _table(
    "vLLM",
    Flag(("--model",)),
    Flag(("--served-model-name",), "+"),
    Flag(("--port",), kind="int"),
    Flag(("--tensor-parallel-size", "-tp"), kind="int"),
    Flag(("--enforce-eager", "--no-enforce-eager"), 0),
    Flag(("--dtype",), choices=("auto", "half")),
    Flag(("--attention-backend",), choices=("flash_attn",), folded=True),
    Flag(("--max-model-len",), kind="size or auto"),
    Flag(("--max-num-seqs",), kind="size", none=True),
    Flag(("--gpu-memory-utilization",), kind="float"),
    Flag(("--kv-transfer-config",), kind="object", none=True, keys=frozenset(("kv_connector", "kv_role"))),
    Flag(("--optimization-level",)),
    Flag(("--hf-overrides",), kind="text or JSON"),
    Flag(("--limit-mm-per-prompt",), kind="JSON"),
)
OF_SGLANG = _table(
    "SGLang",
    Flag(("--model-path", "--model")),
    Flag(("--served-model-name",)),
    Flag(("--tp-size", "--tensor-parallel-size", "--tp"), kind="int"),
    Flag(("--pp-size", "--pipeline-parallel-size"), kind="int"),
    Flag(("--pp-max-micro-batch-size",), kind="int"),
    Flag(("--trust-remote-code",), 0),
)


def vllm(*words: str, judged: bool = True) -> Arguments:
    return read(("vllm", "serve", *words), VLLM, OF_VLLM, judged=judged)


def sglang(*words: str) -> Arguments:
    return read(("python3", "-m", "sglang.launch_server", *words), SGLANG, OF_SGLANG, judged=True)


@pytest.mark.parametrize(
    ("given", "values", "model"),
    [
        (vllm("Q"), {}, "Q"),
        (vllm("--enforce-eager", "--port", "1", "Q"), {"--enforce-eager": (), "--port": ("1",)}, "Q"),
        (vllm("--model", "Q"), {}, "Q"),
        (vllm("--port=1", "--model=Q"), {"--port": ("1",)}, "Q"),
        (vllm("Q", "--tensor-parallel=8"), {"--tensor-parallel-size": ("8",)}, "Q"),
        (vllm("Q", "--tensor_parallel_size=2", "-tp", "4"), {"--tensor-parallel-size": ("4",)}, "Q"),
        (vllm("Q", "--served_model_name", "a", "b"), {"--served-model-name": ("a", "b")}, "Q"),
        (vllm("Q", "--max-model-len=32k", "--max-num-seqs", "1K"),
         {"--max-model-len": ("32k",), "--max-num-seqs": ("1K",)}, "Q"),
        (vllm("Q", "--max-model-len", "-1"), {"--max-model-len": ("-1",)}, "Q"),
        (vllm("Q", "--max-model-len", "auto"), {"--max-model-len": ("auto",)}, "Q"),
        (vllm("Q", "--max-num-seqs", "4", "--max-num-seqs", "None"), {}, "Q"),
        (vllm("Q", "--enforce-eager", "--no-enforce-eager"), {}, "Q"),
        (vllm("Q", "--attention-backend", "FLASH-ATTN"), {"--attention-backend": ("FLASH-ATTN",)}, "Q"),
        (vllm("Q", "-O3"), {"--optimization-level": ("3",)}, "Q"),
        (vllm("Q", "-O", "2"), {"--optimization-level": ("2",)}, "Q"),
        (vllm("Q", "--hf-overrides", "any"), {"--hf-overrides": ("any",)}, "Q"),
        (vllm("Q", "--limit-mm-per-prompt.image", "4", "--limit-mm-per-prompt.video+", '{"a":1,"b":2}'),
         {"--limit-mm-per-prompt": ('{"image": 4, "video": ["{\\"a\\":1", "\\"b\\":2}"]}',)}, "Q"),
        (vllm("Q", '--kv-transfer-config={"kv_connector": "N"}', "--kv_transfer_config.kv_role=kv_both"),
         {"--kv-transfer-config": ('{"kv_role": "kv_both"}',)}, "Q"),
    ],
)  # fmt: skip
def test_words_say_what_they_say_to_vllm(
    given: Arguments, values: dict[str, tuple[str, ...]], model: str | None
) -> None:
    assert (_told(given, OF_VLLM), given.model) == (values, model)


@pytest.mark.parametrize(
    "given",
    [
        sglang("--model", "Q", "--tp=2", "--pp-size", "2"),
        read(("sglang", "serve", "Q", "--tp-size=2", "--pp-size=2"), SGLANG, OF_SGLANG, judged=True),
    ],
)
def test_words_say_what_they_say_to_sglang(given: Arguments) -> None:
    values = {"--model-path": ("Q",), "--tp-size": ("2",), "--pp-size": ("2",)}
    assert (_told(given, OF_SGLANG), given.model) == (values, None)


def _told(given: Arguments, table: FlagTable) -> dict[str, tuple[str, ...]]:
    """The values by the first spelling of each flag. They stand under the others, too."""
    firsts = {flag.options[0] for flag in table.flags}
    return {flag: values for flag, values in given.values.items() if flag in firsts}


API_SERVER = ("python3", "-m", "vllm.entrypoints.openai.api_server")
BAD = json.dumps({"kv_connector": "N", "kv_rolle": "kv_both"})


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        (("Q", "--max-nums-seqs=4"), "vllm: error: unrecognized arguments: --max-nums-seqs=4", 2),
        (("Q", "--swap-space", "4"), "vllm: error: unrecognized arguments: --swap-space 4", 2),
        (("M", "--model", "Other"), "vllm: error: unrecognized arguments: M", 2),
        (("--model",), "IndexError: list index out of range", 1),
        (("Q", "--dtype=bf16"), "vllm serve: error: argument --dtype: invalid choice: 'bf16' (choose ", 2),
        (("Q", "--max"), "vllm serve: error: ambiguous option: --max could match --max-model-len, --max-", 2),
        (("Q", "-tp", "x"),
         "vllm serve: error: argument --tensor-parallel-size/-tp: invalid int value: 'x'", 2),
        (("Q", "--port=8k"), "vllm serve: error: argument --port: invalid int value: '8k'", 2),
        (("Q", "--max-num-seqs=auto"), "vllm serve: error: argument --max-num-seqs: invalid size value: ", 2),
        (("Q", "--max-num-seqs=1.5K"),
         "vllm serve: error: argument --max-num-seqs: Decimals are not allowed with binary suffix", 2),
        (("Q", "--max-num-seqs=1Q"), "vllm serve: error: argument --max-num-seqs: invalid size value: '1", 2),
        (("Q", "--gpu-memory-utilization=most"),
         "vllm serve: error: argument --gpu-memory-utilization: invalid float value: 'most'", 2),
        (("Q", "--max-model-len"), "vllm serve: error: argument --max-model-len: expected one argument", 2),
        (("Q", "--enforce-eager=1"),
         "vllm serve: error: argument --enforce-eager/--no-enforce-eager: ignored explicit argument '1'", 2),
        (("Q", "--limit-mm-per-prompt", "x"),
         "vllm serve: error: argument --limit-mm-per-prompt: Value x cannot be converted to JSON.", 2),
        (("Q", "--kv-transfer-config", BAD),
         "vllm serve: error: argument --kv-transfer-config: 1 validation error\nkv_rolle\n  Unexpected", 2),
        (("--served-model-name", "chat", "Q"), "ValueError: `model` should be provided as the first", 1),
    ],
)  # fmt: skip
def test_vllm_refuses_words(words: tuple[str, ...], says: str, code: int) -> None:
    with pytest.raises(EngineFailure) as refused:
        vllm(*words)
    assert (str(refused.value)[: len(says)], refused.value.code) == (says, code)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("--model-path=Q", "--pp=2"),
            "ambiguous option: --pp=2 could match --pp-size, --pp-max-micro-batch-size",
        ),
        (("--model-path=Q", "--served-model-name", "a", "b"), "unrecognized arguments: b"),
        (("--model-path=Q", "--trust_remote_code"), "unrecognized arguments: --trust_remote_code"),
        (("Q",), "the following arguments are required: --model-path/--model"),
    ],
)
def test_sglang_refuses_words(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(EngineFailure) as refused:
        sglang(*words)
    assert (str(refused.value), refused.value.code) == (f"sglang serve: error: {says}", 2)


def test_the_module_of_vllm_calls_itself_by_its_file() -> None:
    with pytest.raises(EngineFailure, match=r"^api_server\.py: error: unrecognized arguments: --bogus$"):
        read((*API_SERVER, "--model=Q", "--bogus"), VLLM, OF_VLLM, judged=True)


def test_of_another_version_unknown_words_and_choices_are_passed_over() -> None:
    given = vllm("--swap-space", "4", "Q", "--dtype=bf16", "--new-switch", "--port=1", judged=False)
    assert (given.model, given.text("--dtype"), given.text("--port")) == ("Q", "bf16", "1")
